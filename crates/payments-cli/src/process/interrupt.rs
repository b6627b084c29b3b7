//! Signals that end a command, caught so that it can still report whether the money can have moved. What each does is
//! decided where it is waited for: in `call`, `call::journaled` and `commands::batch::run`.

#[cfg(unix)]
use std::future::poll_fn;
use std::io;
#[cfg(unix)]
use std::task::Poll;
#[cfg(unix)]
use std::time::{Duration, Instant};

use crate::failure::{Abandoned, Failure};
#[cfg(unix)]
use crate::process::spare;

/// Catches signals that would end the process, from the moment it is created.
///
/// One that was ignored when the command started stays ignored, as SIGHUP is under `nohup` and SIGINT in the background of a
/// script, except for SIGTERM: who sends it would next send SIGKILL.
#[cfg(unix)]
pub(crate) struct Interrupt {
    caught: Vec<Caught>,
    has_arrived: bool,
    hung_up_at: Option<Instant>,
}

#[cfg(unix)]
struct Caught {
    name: &'static str,
    arrivals: tokio::signal::unix::Signal,
    /// The system repeats it: a limit of CPU time sends SIGXCPU each second.
    counts_once: bool,
}

/// Chosen by this command: a closed terminal, or a service manager that ends a session, sends SIGHUP and SIGTERM together.
#[cfg(unix)]
const ONE_HANGUP: Duration = Duration::from_secs(2);

#[cfg(unix)]
impl Interrupt {
    /// Must be called within a tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        use rustix::process::Signal;
        use tokio::signal::unix::{SignalKind, signal};

        // Without descriptors, tokio panics.
        spare::require_descriptors()?;
        let mut caught = Vec::new();
        for (name, number, counts_once) in [
            ("SIGINT", Signal::INT, false),
            ("SIGTERM", Signal::TERM, false),
            ("SIGQUIT", Signal::QUIT, false),
            ("SIGHUP", Signal::HUP, false),
            ("SIGXCPU", Signal::XCPU, true),
            ("SIGALRM", Signal::ALARM, false),
            ("SIGUSR1", Signal::USR1, false),
            ("SIGUSR2", Signal::USR2, false),
        ] {
            if number == Signal::TERM || !is_ignored(number.as_raw()) {
                let arrivals = signal(SignalKind::from_raw(number.as_raw()))?;
                caught.push(Caught { name, arrivals, counts_once });
            }
        }
        Ok(Self { caught, has_arrived: false, hung_up_at: None })
    }

    /// Waits for one of the signals and returns its name. SIGHUP never counts as a second one: one closed terminal can send it twice,
    /// from the shell and from the system when the shell has ended, and systemd sends it after SIGTERM.
    pub(crate) async fn arrived(&mut self) -> &'static str {
        loop {
            let name = self.next().await;
            let is_repeated = match name {
                "SIGHUP" => self.has_arrived,
                "SIGTERM" => self.hung_up_at.is_some_and(|at| at.elapsed() < ONE_HANGUP),
                _ => false,
            };
            if !is_repeated {
                self.has_arrived = true;
                self.hung_up_at = (name == "SIGHUP").then(Instant::now);
                return name;
            }
        }
    }

    async fn next(&mut self) -> &'static str {
        let arrived = poll_fn(|context| {
            let arrived =
                self.caught.iter_mut().position(|caught| caught.arrivals.poll_recv(context).is_ready());
            arrived.map_or(Poll::Pending, Poll::Ready)
        });
        let index = arrived.await;
        if self.caught[index].counts_once { self.caught.remove(index).name } else { self.caught[index].name }
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
pub(crate) struct FileLimit {
    runtime: tokio::runtime::Runtime,
    signal: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl FileLimit {
    /// `None` if the signal cannot be caught. Then it ends the process.
    pub(crate) fn catch() -> Option<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        spare::require_descriptors().ok()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        let signal = runtime.block_on(async { signal(kind) }).ok()?;
        Some(Self { runtime, signal })
    }

    /// Whether a write has failed because of it.
    pub(crate) fn is_reached(&mut self) -> bool {
        const ONE_TURN: Duration = Duration::from_millis(1);

        // The runtime sees signals of the past only when it waits.
        self.runtime.block_on(async { tokio::time::timeout(ONE_TURN, self.signal.recv()).await.is_ok() })
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
    /// Runs `work` to its end. The error is the signal that arrived before.
    pub(crate) fn or_signal<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, &'static str>> {
        // A future that contains others by value doubles with each of them.
        let work = Box::pin(work);
        async {
            tokio::select! {
                biased;
                ended = work => Ok(ended),
                signal = self.arrived() => Err(signal),
            }
        }
    }

    /// The same for work that sends nothing.
    pub(crate) async fn unless_arrived<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let ended = self.or_signal(work).await;
        ended.unwrap_or_else(|signal| Err(Abandoned::Signal(signal).before_sending()))
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
