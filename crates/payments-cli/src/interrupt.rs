//! SIGINT and SIGTERM, caught so that an interrupted command can still report whether the money can have moved.

use std::future::Future;
use std::io;

use crate::call;
use crate::failure::Failure;

/// Catches both signals from the moment it is created.
#[cfg(unix)]
pub(crate) struct Interrupt {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupt {
    /// Must be called within a tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for one of the signals and returns its name.
    pub(crate) async fn arrived(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
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
