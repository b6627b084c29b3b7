use std::cell::RefCell;
use std::error::Error as StdError;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use payments_core::{Deadlines, TransportError, TransportErrorKind};
use ureq::unversioned::transport::ShutdownHandle;

thread_local! {
    /// The attempt that this thread makes. ureq hands nothing of the caller's down to a connection, but it makes a whole
    /// call on the thread that asked for it.
    static CURRENT: RefCell<Option<Arc<Attempt>>> = const { RefCell::new(None) };
}

/// One call, as its future and its thread both see it.
pub(crate) struct Attempt {
    connect_by: Instant,
    total_ends: Instant,
    state: Mutex<State>,
}

/// How far an attempt got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    #[default]
    Resolving,
    Connecting,
    /// A write of the request was begun. This is never taken back.
    MayBeSent,
}

#[derive(Default)]
struct State {
    stage: Stage,
    /// Nothing is written any more.
    ended: bool,
    /// It was a deadline that ended it.
    expired: bool,
    /// Whether the connection failed while the answer was read.
    broken: bool,
    /// The socket that this attempt uses now.
    socket: Option<Weak<dyn ShutdownHandle>>,
}

impl Attempt {
    pub(crate) fn starting_now(deadlines: Deadlines) -> Self {
        let now = Instant::now();
        Self {
            connect_by: now + deadlines.connect(),
            total_ends: now + deadlines.total(),
            state: Mutex::default(),
        }
    }

    /// What this thread is about, if it makes an attempt.
    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Does `work` as this attempt.
    pub(crate) fn on_this_thread<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        /// Ends it even if `work` panics.
        struct Ended;
        impl Drop for Ended {
            fn drop(&mut self) {
                CURRENT.set(None);
            }
        }
        CURRENT.set(Some(Arc::clone(self)));
        let _ended = Ended;
        work()
    }

    pub(crate) fn time_to_connect(&self) -> Duration {
        self.connect_by.saturating_duration_since(Instant::now())
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.total_ends.saturating_duration_since(Instant::now())
    }

    /// The name has an address, and no pooled connection serves.
    pub(crate) fn begin_connecting(&self) {
        let mut state = self.state();
        // Should a stack ever connect again within a call, what was written before stays written.
        state.stage = state.stage.max(Stage::Connecting);
    }

    /// A socket stands: from now on a dropped call ends it, even in the middle of a TLS handshake.
    pub(crate) fn hold(&self, socket: &Weak<dyn ShutdownHandle>) -> io::Result<()> {
        self.held(socket).map(drop)
    }

    /// Asks for leave to write to `socket`; from then on the request may have been read.
    pub(crate) fn begin_write(&self, socket: &Weak<dyn ShutdownHandle>) -> io::Result<()> {
        self.held(socket)?.stage = Stage::MayBeSent;
        Ok(())
    }

    fn held(&self, socket: &Weak<dyn ShutdownHandle>) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if state.ended {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the call has ended"));
        }
        state.socket = Some(Weak::clone(socket));
        Ok(state)
    }

    /// The connection failed.
    pub(crate) fn broke(&self) {
        self.state().broken = true;
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.state().broken
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.state().ended
    }

    pub(crate) fn is_expired(&self) -> bool {
        self.state().expired
    }

    /// The socket is about to be another attempt's, and this one must not shut it down any more.
    pub(crate) fn let_go(&self) {
        self.state().socket = None;
    }

    /// Nothing is written from now on, and a thread that waits on the socket is freed.
    pub(crate) fn end(&self) {
        self.state().end();
    }

    /// The same, because a deadline has passed.
    pub(crate) fn expire(&self) {
        self.state().expire();
    }

    /// The same, unless a write of the request was begun.
    pub(crate) fn expire_unless_sent(&self) {
        // Under one lock: a write that began in between would be a good payment cut off.
        let mut state = self.state();
        if state.stage != Stage::MayBeSent {
            state.expire();
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        self.state().stage
    }

    /// Why there is no status, with the evidence of how far the request got.
    pub(crate) fn no_status(
        &self,
        kind: TransportErrorKind,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> TransportError {
        let evidence = match self.stage() {
            Stage::Resolving | Stage::Connecting => TransportError::not_processed(kind),
            Stage::MayBeSent => TransportError::unknown(kind),
        };
        evidence.with_source(source)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn expire(&mut self) {
        self.expired = true;
        self.end();
    }

    /// Called under the lock, so that the socket cannot be let go in between.
    fn end(&mut self) {
        self.ended = true;
        if let Some(socket) = self.socket.take().and_then(|socket| socket.upgrade()) {
            socket.shutdown();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use payments_core::Delivery;

    use super::*;

    struct Nobody;

    impl ShutdownHandle for Nobody {
        fn shutdown(&self) {}
    }

    /// Whether it was shut down.
    #[derive(Default)]
    struct Socket(AtomicBool);

    impl ShutdownHandle for Socket {
        fn shutdown(&self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn the_connect_deadline_ends_no_call_whose_write_was_begun() {
        let socket = Arc::new(Socket::default());
        let handle: Weak<dyn ShutdownHandle> = Arc::downgrade(&(Arc::clone(&socket) as _));
        // Either may be first, but whoever is first decides for both.
        for _ in 0..2000 {
            let attempt = Attempt::starting_now(Deadlines::default());
            let both = Barrier::new(2);
            let write = thread::scope(|scope| {
                let write = scope.spawn(|| {
                    both.wait();
                    attempt.begin_write(&handle)
                });
                both.wait();
                attempt.expire_unless_sent();
                write.join().expect("it does not panic")
            });
            assert_eq!(write.is_ok(), !attempt.is_ended());
            assert_eq!(attempt.is_expired(), attempt.is_ended());
        }
        assert!(!socket.0.load(Ordering::SeqCst), "a payment that was being written was cut off");
    }

    #[test]
    fn the_connect_deadline_frees_a_thread_that_is_still_in_a_handshake() {
        let socket = Arc::new(Socket::default());
        let handle: Weak<dyn ShutdownHandle> = Arc::downgrade(&(Arc::clone(&socket) as _));
        let attempt = Attempt::starting_now(Deadlines::default());
        attempt.begin_connecting();
        attempt.hold(&handle).expect("the call has not ended");
        attempt.expire_unless_sent();
        assert!(socket.0.load(Ordering::SeqCst));
        attempt.begin_write(&handle).expect_err("the call has ended");
    }

    #[test]
    fn what_may_have_been_sent_is_not_taken_back_by_another_connection() {
        let attempt = Attempt::starting_now(Deadlines::default());
        attempt.begin_connecting();
        let delivery = |attempt: &Attempt| attempt.no_status(TransportErrorKind::Closed, "lost").delivery();
        assert_eq!(delivery(&attempt), Delivery::NotProcessed);
        let socket: Weak<dyn ShutdownHandle> = Weak::<Nobody>::new();
        attempt.begin_write(&socket).expect("the call was not dropped");
        attempt.begin_connecting();
        assert_eq!(delivery(&attempt), Delivery::Unknown);
    }
}
