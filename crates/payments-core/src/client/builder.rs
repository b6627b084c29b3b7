use std::fmt;
use std::time::Duration;

use super::retry::{RandomJitter, RetryPolicy};
use super::{CallerHeaders, Client, Shared};
use crate::transport::BoxedTransport;
use crate::{Deadlines, Endpoint, Jitter, Observer, Timer, Transport, TransportRequest};

/// Builds a [`Client`]. Everything has a default except what is given first: the endpoint, the transport and its clock.
///
/// ```
/// use std::time::Duration;
///
/// use payments_core::Client;
///
/// # let gateway = payments_fake::FakeGateway::new();
/// # let (endpoint, transport, timer) = (gateway.endpoint(), gateway.transport(), gateway.clock().clone());
/// let client = Client::builder(endpoint, transport, timer)
///     .connect_timeout(Duration::from_secs(5))
///     .total_timeout(Duration::from_secs(90))
///     .lookup_retries(1)
///     .build();
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder {
    shared: Shared,
    settings: Settings,
}

/// What a call may change for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) connect_timeout: Duration,
    pub(crate) total_timeout: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) response_cap: usize,
}

impl ClientBuilder {
    pub(crate) fn new(endpoint: Endpoint, transport: impl Transport, timer: impl Timer) -> Self {
        Self {
            shared: Shared {
                endpoint,
                transport: BoxedTransport::new(transport),
                timer: Box::new(timer),
                jitter: Box::new(RandomJitter),
                observer: None,
                headers: None,
            },
            settings: Settings {
                connect_timeout: Deadlines::DEFAULT_CONNECT,
                total_timeout: Deadlines::DEFAULT_TOTAL,
                retry: RetryPolicy::DEFAULT,
                response_cap: TransportRequest::DEFAULT_RESPONSE_CAP,
            },
        }
    }

    /// How long name resolution, TCP and TLS may take together; 10 seconds by default. When it ends nothing was sent.
    pub fn connect_timeout(mut self, connect: Duration) -> Self {
        self.settings.connect_timeout = connect;
        self
    }

    /// How long a whole call may take, a lookup's retries included; 60 seconds by default.
    ///
    /// A charge whose response is late is an unknown outcome: a short deadline makes more of them, not fewer.
    pub fn total_timeout(mut self, total: Duration) -> Self {
        self.settings.total_timeout = total;
        self
    }

    /// How often a lookup that failed in passing is retried; twice by default. Payments and voids never are.
    pub fn lookup_retries(mut self, retries: u32) -> Self {
        self.settings.retry.retries = retries;
        self
    }

    /// How many bytes of a response's body are read; 1 MiB by default. A charge whose response is longer is unknown.
    pub fn response_cap(mut self, bytes: usize) -> Self {
        self.settings.response_cap = bytes;
        self
    }

    /// Sets the observer of every attempt.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.shared.observer = Some(Box::new(observer));
        self
    }

    /// Adds headers to every attempt, such as those of the trace that the program is in. `add` runs on the path of the payment,
    /// before anything is sent, so it must return at once and not panic.
    ///
    /// ```
    /// use payments_core::Client;
    ///
    /// # let gateway = payments_fake::FakeGateway::new();
    /// # let (endpoint, transport, timer) = (gateway.endpoint(), gateway.transport(), gateway.clock().clone());
    /// let client = Client::builder(endpoint, transport, timer)
    ///     .headers(|headers| {
    ///         // The name and the value are right, so it cannot fail.
    ///         let _ = headers.insert("x-client", "billing");
    ///     })
    ///     .build();
    /// # payments_fake::block_on(client.transaction(&"txn_1".parse()?)).unwrap_err();
    /// # assert_eq!(gateway.requests()[0].headers()["x-client"], "billing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn headers(mut self, add: impl Fn(&mut CallerHeaders) + Send + Sync + 'static) -> Self {
        self.shared.headers = Some(Box::new(add));
        self
    }

    /// Sets the source of the random numbers for a lookup's pauses and for call ids, for tests that must repeat exactly.
    pub fn jitter(mut self, jitter: impl Jitter) -> Self {
        self.shared.jitter = Box::new(jitter);
        self
    }

    /// Replaces the clock, for the blocking client, which has a default one.
    pub(crate) fn timer(mut self, timer: impl Timer) -> Self {
        self.shared.timer = Box::new(timer);
        self
    }

    /// The client. Nothing is sent, and no connection is made, before the first call.
    #[must_use]
    pub fn build(self) -> Client {
        Client::from_parts(self.shared, self.settings)
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared, settings } = self;
        f.debug_struct("ClientBuilder")
            .field("endpoint", &shared.endpoint)
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}
