use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use crate::page::HEARTBEAT;

/// What a connection is doing, for the rule that idle connections are closed.
///
/// A connection is idle while it handles no request and transfers no bytes. An unfinished handshake, head or body, and a response
/// that is not read, are idle too. A stream that is read is not idle between two of its heartbeats.
#[derive(Default)]
pub(crate) struct Activity {
    state: Mutex<State>,
    make_room: Notify,
}

struct State {
    /// A request can begin before the guard of the last one is dropped.
    handled: usize,
    last_transfer: Instant,
    /// Whether its response is a stream, which has a heartbeat.
    is_stream: bool,
}

impl Default for State {
    fn default() -> Self {
        Self { handled: 0, last_transfer: Instant::now(), is_stream: false }
    }
}

/// A connection that the sandbox closed because it was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdleClose {
    /// The address of the client.
    pub client: SocketAddr,
    /// For how long nothing was transferred.
    pub idle: Duration,
    /// The number of connections that are served at once, if all were in use and another client was waiting.
    pub reached_limit: Option<usize>,
}

/// `127.0.0.1:40123 closed after 60.0s without a request`.
impl fmt::Display for IdleClose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, idle, reached_limit } = self;
        write!(f, "{client} closed after {idle:.1?} without a request")?;
        match reached_limit {
            Some(limit) => write!(f, ", because all {limit} connections were in use"),
            None => Ok(()),
        }
    }
}

/// The connections of one port.
#[derive(Default)]
pub(crate) struct Activities(Vec<Weak<Activity>>);

impl Activities {
    pub(crate) fn add(&mut self) -> Arc<Activity> {
        self.0.retain(|known| known.strong_count() > 0);
        let activity = Arc::default();
        self.0.push(Arc::downgrade(&activity));
        activity
    }

    /// Asks the connection that has been idle for longest to close. If none has been idle for [`LEAST_IDLE`], returns when to ask
    /// again.
    pub(crate) fn close_oldest_idle(&self) -> Option<Instant> {
        let idle = self.0.iter().filter_map(Weak::upgrade).filter_map(|one| Some((one.idle_since()?, one)));
        let now = Instant::now();
        match idle.min_by_key(|(since, _)| *since) {
            Some((since, oldest)) if now >= since + LEAST_IDLE => {
                oldest.make_room.notify_one();
                None
            }
            Some((since, _)) => Some(since + LEAST_IDLE),
            None => Some(now + LEAST_IDLE),
        }
    }
}

impl Activity {
    /// Called whenever bytes were read or written.
    pub(crate) fn transferred(&self) {
        self.change(|state| state.last_transfer = Instant::now());
    }

    /// Called once the response to a request begins that is a stream.
    pub(crate) fn streams(&self) {
        self.change(|state| state.is_stream = true);
    }

    /// The connection is not idle until the guard is dropped.
    pub(crate) fn handle_request(&self) -> impl Drop + use<'_> {
        struct Handling<'a>(&'a Activity);

        impl Drop for Handling<'_> {
            fn drop(&mut self) {
                self.0.change(|state| *state = State { handled: state.handled - 1, ..State::default() });
            }
        }

        self.change(|state| state.handled += 1);
        Handling(self)
    }

    /// Ready when the connection must be closed: how long it was idle, and whether another client needs its place.
    pub(crate) async fn idle_for_too_long(&self) -> (Duration, bool) {
        loop {
            let Some(since) = self.idle_since() else {
                sleep(LEAST_IDLE).await;
                continue;
            };
            let needs_room = tokio::select! {
                () = sleep_until(since + IDLE_TIMEOUT) => false,
                () = self.make_room.notified() => true,
            };
            // A request may have arrived meanwhile.
            if self.idle_since() == Some(since) {
                return (since.elapsed(), needs_room);
            }
        }
    }

    fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_read = state.is_stream && state.last_transfer.elapsed() < 2 * HEARTBEAT;
        (state.handled == 0 && !is_read).then_some(state.last_transfer)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Chosen by this SDK: how long a connection may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Chosen by this SDK: how long it may be idle if another client needs its place. Clients that make one request after another are
/// not idle in between.
const LEAST_IDLE: Duration = Duration::from_secs(1);
