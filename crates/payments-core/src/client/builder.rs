use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use super::random::{RandomSource, SystemRandom};
use super::retry::DEFAULT_RETRIES;
use crate::observer::Observer;
use crate::transport::transport_trait::ErasedTransport;
use crate::{CallerHeaders, Deadlines, Endpoint, Timer, Transport, TransportRequest};

/// Builds a [`Client`] or a [`blocking::Client`](crate::blocking::Client), depending on the transport.
///
/// Only the endpoint, the transport and its clock have no default.
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
pub struct ClientBuilder<T, C> {
    endpoint: Endpoint,
    settings: Settings,
    shared: Shared<T, C>,
}

/// The settings that can differ between clones of one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) connect_timeout: Duration,
    pub(crate) total_timeout: Duration,
    pub(crate) lookup_retries: u32,
    pub(crate) response_cap: usize,
}

/// What all clones of one client share.
pub(crate) struct Shared<T = Box<dyn ErasedTransport>, C = Box<dyn Timer>> {
    pub(crate) transport: T,
    pub(crate) timer: C,
    pub(crate) random: Box<dyn RandomSource>,
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) headers: Option<Box<HeaderHook>>,
}

/// Adds headers to an attempt.
type HeaderHook = dyn Fn(&mut CallerHeaders) + Send + Sync;

impl<T, C> ClientBuilder<T, C> {
    pub(crate) fn new(endpoint: Endpoint, transport: T, timer: C) -> Self {
        Self {
            endpoint,
            settings: Settings {
                connect_timeout: Deadlines::DEFAULT_CONNECT,
                total_timeout: Deadlines::DEFAULT_TOTAL,
                lookup_retries: DEFAULT_RETRIES,
                response_cap: TransportRequest::DEFAULT_RESPONSE_CAP,
            },
            shared: Shared {
                transport,
                timer,
                random: Box::new(SystemRandom),
                observer: None,
                headers: None,
            },
        }
    }

    /// How long name resolution, TCP and TLS may take together; 10 seconds by default. If this time runs out, nothing was sent.
    pub fn connect_timeout(mut self, connect: Duration) -> Self {
        self.settings.connect_timeout = connect;
        self
    }

    /// How long a whole call may take, including a lookup's retries; 60 seconds by default.
    ///
    /// A charge whose response is late has an unknown outcome. A short deadline makes more of them, not fewer.
    pub fn total_timeout(mut self, total: Duration) -> Self {
        self.settings.total_timeout = total;
        self
    }

    /// How often a lookup is retried after a transient failure; twice by default. Payments and voids are never retried.
    pub fn lookup_retries(mut self, retries: u32) -> Self {
        self.settings.lookup_retries = retries;
        self
    }

    /// How many bytes of a response body are read; 1 MiB by default. A charge with a longer response is unknown.
    pub fn response_cap(mut self, bytes: usize) -> Self {
        self.settings.response_cap = bytes;
        self
    }

    /// Sets the observer of every attempt.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.shared.observer = Some(Box::new(observer));
        self
    }

    /// Adds headers to every attempt, such as those of the current trace. `add` runs during each call, before anything is sent, so
    /// it must return at once and not panic.
    ///
    /// ```
    /// use payments_core::Client;
    ///
    /// # let gateway = payments_fake::FakeGateway::new();
    /// # let (endpoint, transport, timer) = (gateway.endpoint(), gateway.transport(), gateway.clock().clone());
    /// let client = Client::builder(endpoint, transport, timer)
    ///     .headers(|headers| {
    ///         // The name and the value are valid, so this cannot fail.
    ///         let _ = headers.insert("x-client", "billing");
    ///     })
    ///     .build();
    /// # payments_fake::block_on(client.transaction(&"txn_1".parse()?)).unwrap_err();
    /// # assert_eq!(gateway.requests()[0].headers["x-client"], "billing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn headers(mut self, add: impl Fn(&mut CallerHeaders) + Send + Sync + 'static) -> Self {
        self.shared.headers = Some(Box::new(add));
        self
    }

    /// Sets the source of random numbers for a lookup's pauses and for call ids, so that tests are repeatable.
    pub fn random_source(mut self, random: impl RandomSource) -> Self {
        self.shared.random = Box::new(random);
        self
    }

    /// The client over this transport and clock, made of those of the builder.
    pub(crate) fn build_over<U: Transport, D: Timer>(self, wrap: impl FnOnce(T, C) -> (U, D)) -> Client {
        let Self { endpoint, settings, shared: Shared { transport, timer, random, observer, headers } } =
            self;
        let (transport, timer) = wrap(transport, timer);
        let shared: Shared =
            Shared { transport: Box::new(transport), timer: Box::new(timer), random, observer, headers };
        Client { shared: Arc::new(shared), endpoint, settings, headers: CallerHeaders::new() }
    }
}

impl<T: Transport, C: Timer> ClientBuilder<T, C> {
    /// Builds the client. It connects and sends nothing before the first call.
    #[must_use]
    pub fn build(self) -> Client {
        self.build_over(|transport, timer| (transport, timer))
    }
}

impl<T, C> fmt::Debug for ClientBuilder<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("endpoint", &self.endpoint)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
