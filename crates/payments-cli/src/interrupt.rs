//! Signals that end a command, caught so that it can still report whether the money can have moved.

use std::future::Future;
use std::io;

use crate::call;
use crate::failure::Failure;

/// Catches SIGINT, SIGTERM and SIGHUP from the moment it is created.
#[cfg(unix)]
pub(crate) struct Interrupt {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if it was ignored when the command started, as under `nohup`, or has arrived. It counts once, because one closed
    /// terminal can send it twice: from the shell, and from the system when the shell has ended.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Interrupt {
    /// Must be called within a tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let hang_up = SignalKind::hangup();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if is_ignored(hang_up.as_raw_value()) { None } else { Some(signal(hang_up)?) },
        })
    }

    /// Waits for one of the signals and returns its name.
    pub(crate) async fn arrived(&mut self) -> &'static str {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            _ = hung_up => {
                self.hang_up = None;
                "SIGHUP"
            }
        }
    }
}

/// Whether this process ignores a signal. `false` on systems where only unsafe code can ask.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Catches SIGXFSZ until the process ends. A write beyond the limit of `ulimit -f` then fails as on a full disk, instead of
/// ending the process without a report.
#[cfg(unix)]
pub(crate) fn let_writes_fail_at_the_file_limit() {
    use rustix::process::Signal;
    use tokio::runtime;
    use tokio::signal::unix::{SignalKind, signal};

    if let Ok(runtime) = runtime::Builder::new_current_thread().enable_io().build() {
        let _entered = runtime.enter();
        // The handler outlives this value. If it cannot be installed, the signal ends the process as before.
        let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    }
}

/// Catches Ctrl-C from the moment it is created.
#[cfg(windows)]
pub(crate) struct Interrupt(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Interrupt {
    /// Must be called within a tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    /// Waits for Ctrl-C and returns its name.
    pub(crate) async fn arrived(&mut self) -> &'static str {
        self.0.recv().await;
        "Ctrl-C"
    }
}

impl Interrupt {
    /// Runs `work`, which must not send anything, unless a signal arrives first.
    pub(crate) async fn unless_arrived<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            ended = work => ended,
            signal = self.arrived() => Err(call::before_sending(signal)),
        }
    }

    /// The signal that has already arrived, if any, without waiting.
    pub(crate) async fn has_arrived(&mut self) -> Option<&'static str> {
        tokio::select! {
            biased;
            signal = self.arrived() => Some(signal),
            () = std::future::ready(()) => None,
        }
    }
}
