use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use payments_core::transport::{ProcessId, ServerAddress, grace_after_stop};
use payments_core::{Deadlines, TransportError, TransportErrorKind};

thread_local! {
    /// The call that runs on this thread. ureq passes nothing from its caller to a connection, but it runs a whole call on its
    /// caller's thread.
    static CURRENT: RefCell<Option<Rc<Attempt>>> = const { RefCell::new(None) };
}

/// One call: its server, its deadlines, and how far it got.
pub(crate) struct Attempt {
    /// The process that made the call. A process that is forked during the call has a copy of it.
    process: ProcessId,
    pub(crate) server: ServerAddress,
    connect_ends: Instant,
    total_ends: Cell<Instant>,
    progress: Cell<Progress>,
    clock: Cell<Clock>,
    /// See [`allow_reuse`](Self::allow_reuse).
    may_be_reused: RefCell<Arc<AtomicBool>>,
}

/// How far an attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing was written, and no connection is being opened.
    Unsent,
    Resolving,
    Connecting,
    Handshaking,
    /// A write of the request has begun. This is final.
    MayBeSent,
}

/// What the checks of the deadline have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    OnTime,
    /// The process was stopped, and the total deadline was moved once: see [`grace_after_stop`].
    InGrace,
    Expired,
}

impl Attempt {
    /// Runs `call` as an attempt that starts now.
    pub(crate) fn run<T>(server: ServerAddress, deadlines: Deadlines, call: impl FnOnce(&Self) -> T) -> T {
        let now = Instant::now();
        let attempt = Rc::new(Self {
            process: ProcessId::current(),
            server,
            connect_ends: now + deadlines.connect(),
            total_ends: Cell::new(now + deadlines.total()),
            progress: Cell::new(Progress::Unsent),
            clock: Cell::new(Clock::OnTime),
            may_be_reused: RefCell::default(),
        });
        let _restored = Outer(CURRENT.replace(Some(Rc::clone(&attempt))));
        call(&attempt)
    }

    /// The attempt that runs on this thread. Without one, nothing is read or written.
    pub(crate) fn current() -> io::Result<Rc<Self>> {
        let attempt = CURRENT
            .with_borrow(Clone::clone)
            .ok_or_else(|| io::Error::other("no call is in progress on this thread"))?;
        if attempt.is_of_another_process() {
            return Err(io::Error::other("the process forked during the call, which its parent continues"));
        }
        Ok(attempt)
    }

    fn is_of_another_process(&self) -> bool {
        !self.process.is_current()
    }

    /// Checks the deadline and returns the time left: until the connect deadline while a connection is being opened, otherwise
    /// until the total one.
    ///
    /// After a stop of the process, it moves the total deadline once, by a grace in which nothing is written.
    ///
    /// # Errors
    ///
    /// If the deadline has passed. Then the attempt has [expired](Self::is_expired).
    pub(crate) fn time_left(&self) -> io::Result<Duration> {
        let now = Instant::now();
        if self.progress() == Progress::MayBeSent
            && let Some(grace) = grace_after_stop(self.total_ends.get(), now)
            && self.clock.get() == Clock::OnTime
        {
            self.clock.set(Clock::InGrace);
            self.total_ends.set(now + grace);
            return Ok(grace);
        }
        self.time_left_to_write()
    }

    /// The same without the grace: after the deadline nothing more is written.
    ///
    /// # Errors
    ///
    /// As [`time_left`](Self::time_left).
    pub(crate) fn time_left_to_write(&self) -> io::Result<Duration> {
        let ends = match self.progress() {
            Progress::Resolving | Progress::Connecting | Progress::Handshaking => self.connect_ends,
            Progress::Unsent | Progress::MayBeSent => self.total_ends.get(),
        };
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.clock.set(Clock::Expired);
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.clock.get() == Clock::Expired
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.get()
    }

    pub(crate) fn set_progress(&self, progress: Progress) {
        // If ureq ever opened a second connection within a call, the first write would still count.
        if self.progress() != Progress::MayBeSent {
            self.progress.set(progress);
        }
    }

    /// The connection is open, and nothing was written.
    ///
    /// # Errors
    ///
    /// If the connect deadline has passed: this process was stopped meanwhile. Nothing is written.
    pub(crate) fn connected(&self) -> io::Result<()> {
        self.time_left_to_write()?;
        self.set_progress(Progress::Unsent);
        Ok(())
    }

    /// Called before each write of the request. From then on, the server may have read it, and the connection is not reused until
    /// the call [allows it](Self::allow_reuse).
    ///
    /// # Errors
    ///
    /// If the total deadline has passed. Then nothing is written.
    pub(crate) fn begin_write(&self, may_be_reused: &Arc<AtomicBool>) -> io::Result<()> {
        self.time_left_to_write()?;
        self.set_progress(Progress::MayBeSent);
        may_be_reused.store(false, Ordering::Relaxed);
        self.may_be_reused.replace(Arc::clone(may_be_reused));
        Ok(())
    }

    /// Allows the connection to return to ureq's pool, once the body has been read.
    ///
    /// ureq returns the connection of a response without a body before the call sees its head, so that one is never reused.
    pub(crate) fn allow_reuse(&self) {
        self.may_be_reused.borrow().store(true, Ordering::Relaxed);
    }

    /// The error of a call without a status, with the evidence of how far the request got.
    pub(crate) fn no_status(&self, kind: TransportErrorKind) -> TransportError {
        match self.progress() {
            Progress::MayBeSent => TransportError::unknown(kind),
            // The parent may send the request.
            _ if self.is_of_another_process() => TransportError::unknown(kind),
            _ => TransportError::not_processed(kind),
        }
    }
}

/// Restores the attempt that ran before, also after a panic: a logger that makes a call runs within the call that logs.
struct Outer(Option<Rc<Attempt>>);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use payments_core::Delivery;

    use super::*;

    fn run<T>(deadlines: Deadlines, call: impl FnOnce(&Attempt) -> T) -> T {
        let server = ServerAddress::of(&"http://127.0.0.1".parse().unwrap()).unwrap();
        Attempt::run(server, deadlines, call)
    }

    fn delivery(attempt: &Attempt) -> Delivery {
        attempt.no_status(TransportErrorKind::Closed).delivery()
    }

    #[test]
    fn another_connection_does_not_reset_what_may_be_sent() {
        run(Deadlines::default(), |attempt| {
            attempt.set_progress(Progress::Connecting);
            assert_eq!(delivery(attempt), Delivery::NotProcessed);
            attempt.begin_write(&Arc::default()).expect("the deadline has not passed");
            attempt.set_progress(Progress::Connecting);
            assert_eq!(delivery(attempt), Delivery::Unknown);
        });
    }

    #[test]
    fn no_write_begins_after_the_total_deadline() {
        run(Deadlines::new(Duration::ZERO, Duration::ZERO), |attempt| {
            attempt.begin_write(&Arc::default()).expect_err("the deadline has passed");
            assert_eq!((delivery(attempt), attempt.is_expired()), (Delivery::NotProcessed, true));
        });
    }

    /// The head may have been sent, and the body was not.
    #[test]
    fn rest_of_a_request_is_not_sent_after_a_stop_d23() {
        run(Deadlines::default(), |attempt| {
            attempt.begin_write(&Arc::default()).expect("the deadline has not passed");
            let second_ago = Instant::now().checked_sub(Duration::from_secs(1));
            attempt.total_ends.set(second_ago.expect("the clock is older"));
            attempt.begin_write(&Arc::default()).expect_err("the deadline has passed");
            assert_eq!((delivery(attempt), attempt.is_expired()), (Delivery::Unknown, true));
        });
    }

    #[test]
    fn only_what_may_be_sent_has_one_grace_after_a_stop_d23() {
        let second_ago = || Instant::now().checked_sub(Duration::from_secs(1)).expect("the clock is older");
        run(Deadlines::default(), |attempt| {
            let stopped = || attempt.total_ends.set(second_ago());
            stopped();
            attempt.set_progress(Progress::MayBeSent);
            assert!(attempt.time_left().expect("a grace") <= Duration::from_millis(100));
            stopped();
            attempt.time_left().expect_err("the grace is over");
        });
        run(Deadlines::default(), |attempt| {
            attempt.total_ends.set(second_ago());
            attempt.time_left().expect_err("nothing is sent after the deadline");
            assert!(attempt.is_expired());
        });
    }

    #[test]
    fn the_connect_deadline_applies_only_while_connecting() {
        run(Deadlines::new(Duration::ZERO, Duration::from_mins(1)), |attempt| {
            for progress in [Progress::Resolving, Progress::Connecting, Progress::Handshaking] {
                attempt.set_progress(progress);
                attempt.time_left().expect_err("the connect deadline has passed");
                attempt.connected().expect_err("the process was stopped while it connected");
                assert_eq!((delivery(attempt), attempt.is_expired()), (Delivery::NotProcessed, true));
            }
            attempt.set_progress(Progress::Unsent);
            attempt
                .begin_write(&Arc::default())
                .expect("the connect deadline does not apply to a pooled connection");
            attempt.time_left().expect("the total deadline has not passed");
        });
    }

    #[test]
    fn a_nested_attempt_does_not_end_the_outer_one() {
        let total_ends = || Attempt::current().expect("an attempt").total_ends.get();
        run(Deadlines::default(), |outer| {
            run(Deadlines::default(), |inner| assert_eq!(total_ends(), inner.total_ends.get()));
            assert_eq!(total_ends(), outer.total_ends.get());
            let panicking = AssertUnwindSafe(|| run(Deadlines::default(), |_| panic!("on purpose")));
            catch_unwind(panicking).expect_err("it panicked");
            assert_eq!(total_ends(), outer.total_ends.get());
        });
        assert!(Attempt::current().is_err());
    }
}
