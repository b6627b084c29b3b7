use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::rt::TokioTimer;
use payments_core::Deadlines;
use tokio::runtime;

use crate::call::CallBody;
use crate::connector::Connector;
use crate::socket::ConnectionExecutor;

/// hyper-util's clients, each with its own pool.
pub(crate) struct Clients {
    connector: Connector,
    limits: Limits,
    most_runtimes: usize,
    /// One client for each runtime, most recently used first. A connection's task belongs to the runtime that opened it; on
    /// another runtime nothing would drive it.
    built: Mutex<Vec<(runtime::Id, Arc<Client>)>>,
}

/// Limits on the number of connections and on how long they may be idle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) idle_timeout: Duration,
    pub(crate) max_idle: usize,
    pub(crate) max_in_flight: Option<usize>,
}

pub(crate) type Client = legacy::Client<Connector, CallBody>;

impl Clients {
    pub(crate) fn new(connector: Connector, limits: Limits) -> Self {
        Self { connector, limits, most_runtimes: most_runtimes(), built: Mutex::default() }
    }

    /// The client of this runtime.
    pub(crate) fn get(&self, runtime: runtime::Id) -> Arc<Client> {
        // No change can panic halfway, so a poisoned list is still consistent.
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        match built.iter().position(|(id, _)| *id == runtime) {
            Some(index) => built[..=index].rotate_right(1),
            None => built.insert(0, (runtime, Arc::new(self.build()))),
        }
        built.truncate(self.most_runtimes);
        Arc::clone(&built[0].1)
    }

    fn build(&self) -> Client {
        let Limits { idle_timeout, max_idle, max_in_flight: _ } = self.limits;
        let mut builder = legacy::Client::builder(ConnectionExecutor);
        builder
            .pool_timer(TokioTimer::new())
            // The pool adds it to the current time, which must not overflow.
            .pool_idle_timeout(idle_timeout.min(Deadlines::LONGEST))
            .pool_max_idle_per_host(if idle_timeout.is_zero() { 0 } else { max_idle })
            // A larger head is an error. The "exact size" option would make this limit 2 KiB.
            .http1_max_buf_size(MAX_HEAD_SIZE)
            .http1_max_headers(MAX_HEADERS)
            // RFC 9112 (5.2) tells a client to read them. A payment must not become unknown because of them.
            .http1_allow_obsolete_multiline_headers_in_responses(true);
        #[cfg(feature = "http2")]
        builder
            .timer(TokioTimer::new())
            .http2_max_header_list_size(u32::try_from(MAX_HEAD_SIZE).unwrap_or(u32::MAX))
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .http2_keep_alive_while_idle(true);
        builder.build(self.connector.clone())
    }
}

/// Chosen by this SDK: how many runtimes keep their client; the least recently used client is dropped first. Some servers have a
/// runtime for each core.
fn most_runtimes() -> usize {
    thread::available_parallelism().map_or(1, usize::from).saturating_mul(2).max(8)
}

/// Chosen by this SDK: the limit for the status line and headers of a response.
const MAX_HEAD_SIZE: usize = 64 * 1024;

/// Chosen by this SDK. With more than hyper's default of 100, hyper allocates two lists of this many entries for each response.
const MAX_HEADERS: usize = 1000;

/// Chosen by this SDK: a connection that the network dropped silently is detected within 8 seconds.
#[cfg(feature = "http2")]
const PING_INTERVAL: Duration = Duration::from_secs(3);
#[cfg(feature = "http2")]
const PING_TIMEOUT: Duration = Duration::from_secs(5);
