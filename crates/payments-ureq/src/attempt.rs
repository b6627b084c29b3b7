use std::cell::{Cell, RefCell};
use std::error::Error as StdError;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use payments_core::{Deadlines, TransportError, TransportErrorKind};

thread_local! {
    /// The call that this thread makes. ureq passes nothing of its caller's on to a connection, but it makes a whole call
    /// on its caller's thread.
    static CURRENT: RefCell<Option<Rc<Attempt>>> = const { RefCell::new(None) };
}

/// One call: its deadlines, and how far it got.
pub(crate) struct Attempt {
    connect_ends: Instant,
    total_ends: Instant,
    stage: Cell<Stage>,
    expired: Cell<bool>,
    /// See [`distrust_connection`](Self::distrust_connection).
    distrusted: RefCell<Arc<AtomicBool>>,
}

/// How far an attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing was written, and no connection is being opened.
    Unsent,
    Resolving,
    Connecting,
    Handshaking,
    /// A write of the request was begun. This is never taken back.
    MayBeSent,
}

impl Attempt {
    /// Makes `call` as an attempt that starts now.
    pub(crate) fn run<T>(deadlines: Deadlines, call: impl FnOnce(&Self) -> T) -> T {
        let now = Instant::now();
        let attempt = Rc::new(Self {
            connect_ends: now + deadlines.connect(),
            total_ends: now + deadlines.total(),
            stage: Cell::new(Stage::Unsent),
            expired: Cell::new(false),
            distrusted: RefCell::default(),
        });
        // A logger that makes a call itself would find the attempt of the call that logs.
        let before = CURRENT.replace(Some(Rc::clone(&attempt)));
        let output = call(&attempt);
        CURRENT.set(before);
        output
    }

    /// The attempt that this thread makes. Without one nothing is read or written.
    pub(crate) fn current() -> io::Result<Rc<Self>> {
        CURRENT.with_borrow(Clone::clone).ok_or_else(|| io::Error::other("no call is made on this thread"))
    }

    /// What is left of the deadline: the connect deadline while a connection is being opened, else the total one.
    ///
    /// # Errors
    ///
    /// If the deadline has passed.
    pub(crate) fn time_left(&self) -> io::Result<Duration> {
        let ends = match self.stage() {
            Stage::Resolving | Stage::Connecting | Stage::Handshaking => self.connect_ends,
            Stage::Unsent | Stage::MayBeSent => self.total_ends,
        };
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.expired.set(true);
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.expired.get()
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    pub(crate) fn enter(&self, stage: Stage) {
        // If ureq ever opened a second connection within a call, what was written to the first stays written.
        if self.stage() != Stage::MayBeSent {
            self.stage.set(stage);
        }
    }

    /// Called before a write of the request: from then on the server may have read it.
    ///
    /// # Errors
    ///
    /// If the total deadline has passed. Then nothing is written.
    pub(crate) fn begin_write(&self, distrusted: &Arc<AtomicBool>) -> io::Result<()> {
        self.time_left()?;
        self.enter(Stage::MayBeSent);
        self.distrusted.replace(Arc::clone(distrusted));
        Ok(())
    }

    /// Keeps the connection from being used again. If the response has no body, ureq has already put it into its pool.
    pub(crate) fn distrust_connection(&self) {
        self.distrusted.borrow().store(true, Ordering::Relaxed);
    }

    /// Why there is no status, with the evidence of how far the request got.
    pub(crate) fn no_status(
        &self,
        kind: TransportErrorKind,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> TransportError {
        let evidence = match self.stage() {
            Stage::MayBeSent => TransportError::unknown(kind),
            _ => TransportError::not_processed(kind),
        };
        evidence.with_source(source)
    }
}

#[cfg(test)]
mod tests {
    use payments_core::Delivery;

    use super::*;

    fn delivery(attempt: &Attempt) -> Delivery {
        attempt.no_status(TransportErrorKind::Closed, "lost").delivery()
    }

    #[test]
    fn what_may_have_been_sent_is_not_taken_back_by_another_connection() {
        Attempt::run(Deadlines::default(), |attempt| {
            attempt.enter(Stage::Connecting);
            assert_eq!(delivery(attempt), Delivery::NotProcessed);
            attempt.begin_write(&Arc::default()).expect("the deadline has not passed");
            attempt.enter(Stage::Connecting);
            assert_eq!(delivery(attempt), Delivery::Unknown);
        });
    }

    #[test]
    fn after_the_total_deadline_no_write_is_begun() {
        Attempt::run(Deadlines::new(Duration::ZERO, Duration::ZERO), |attempt| {
            attempt.begin_write(&Arc::default()).expect_err("the deadline has passed");
            assert_eq!((delivery(attempt), attempt.is_expired()), (Delivery::NotProcessed, true));
        });
    }

    #[test]
    fn the_connect_deadline_counts_only_while_a_connection_is_opened() {
        Attempt::run(Deadlines::new(Duration::ZERO, Duration::from_mins(1)), |attempt| {
            for stage in [Stage::Resolving, Stage::Connecting, Stage::Handshaking] {
                attempt.enter(stage);
                attempt.time_left().expect_err("the connect deadline has passed");
            }
            attempt.enter(Stage::Unsent);
            attempt
                .begin_write(&Arc::default())
                .expect("a connection from the pool needs no time to connect");
            attempt.time_left().expect("the total deadline has not passed");
        });
    }

    #[test]
    fn an_attempt_within_another_does_not_end_it() {
        let total_ends = || Attempt::current().expect("an attempt").total_ends;
        Attempt::run(Deadlines::default(), |outer| {
            Attempt::run(Deadlines::default(), |inner| assert_eq!(total_ends(), inner.total_ends));
            assert_eq!(total_ends(), outer.total_ends);
        });
        assert!(Attempt::current().is_err());
    }
}
