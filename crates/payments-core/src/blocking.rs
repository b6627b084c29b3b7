//! The client for programs without an async runtime: the same operations, errors, deadlines and observer.
//!
//! `payments_ureq::client(endpoint)?` returns one over ureq. For a stack of your own, implement one function, [`Transport::send`].
//!
//! ```
//! use payments_core::Outcome;
//! use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
//!
//! # let client = payments_fake::FakeGateway::new().blocking_client();
//! let payment =
//!     TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
//! match client.process_token(&payment) {
//!     Ok(charged) => println!("processed: transaction {}", charged.transaction_id),
//!     Err(error) => match error.outcome() {
//!         Outcome::NotProcessed => println!("you were not charged ({error:#})"),
//!         Outcome::Rejected => println!("the payment was refused ({error:#})"),
//!         Outcome::Unknown => println!("we are checking your payment ({error:#})"), // never send it again
//!     },
//! }
//! # Ok::<(), payments_core::model::ValidationError>(())
//! ```
//!
//! # Deadlines
//!
//! A blocking call cannot be interrupted from outside, so only the [`Transport`] enforces the deadlines. The client passes them to
//! the transport and does not discard a late response. `payments-conformance` tests that a transport keeps its deadlines.
//!
//! # In an async program
//!
//! A call blocks its thread, and with it every other task on that thread. Call it in `spawn_blocking`, or use the
//! [asynchronous client](crate::Client). A call on a thread of the runtime works and does not panic. But a service on the same
//! thread, such as a sandbox in a `#[tokio::test]`, cannot respond meanwhile.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::client::{ClientBuilder, named_calls};
use crate::error::Error;
use crate::operation::Operation;
use crate::response::Success;
use crate::{ApiKey, CallerHeaders, Sleep, SystemTimer, TransportError, TransportRequest, TransportResponse};

/// A blocking HTTP stack: one attempt, at most one transmission.
///
/// It has the same contract as the [asynchronous trait](crate::Transport) and reports the same evidence. It must return by the
/// total deadline of the request, because nothing else can end the call.
///
/// ```
/// use payments_core::{TransportError, TransportErrorKind, TransportRequest, TransportResponse, blocking};
///
/// struct Unplugged;
///
/// impl blocking::Transport for Unplugged {
///     fn send(&self, _request: TransportRequest) -> Result<TransportResponse, TransportError> {
///         Err(TransportError::not_processed(TransportErrorKind::Connect))
///     }
/// }
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` at most once and returns the whole response, whatever its status.
    ///
    /// # Errors
    ///
    /// [`TransportError`] if the whole response was not read, with the evidence of how far the request got.
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError>;
}

impl<T: Transport> Transport for Arc<T> {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        T::send(self, request)
    }
}

/// The client's clock: [`SystemTimer`], or `ManualClock` of `payments-fake` for tests.
pub trait Timer: Send + Sync + 'static {
    /// The current instant.
    fn now(&self) -> Instant;

    /// The current time of day, for the events of an observer. The system's by default; a clock for tests can replace it.
    fn system_time(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Blocks the thread for `duration`: the pause before a lookup is retried.
    fn sleep(&self, duration: Duration);
}

/// A client of the service for programs without a runtime.
///
/// Cloning is cheap and shares the transport. A payment or void is sent at most once, and its [`Error::outcome`] says
/// whether the money can have moved. See the [module](self) for deadlines.
#[derive(Clone)]
pub struct Client(crate::Client);

impl Client {
    /// Runs any operation. A payment or a void is sent at most once. A lookup may be retried within the total deadline.
    ///
    /// # Errors
    ///
    /// [`Error`] for a payment or a void, [`LookupError`](crate::LookupError) for a lookup.
    pub fn call<O: Operation>(&self, operation: &O) -> Result<Success<O::Data>, O::Error> {
        // Every part of a blocking call is ready when it is polled.
        match pin!(self.0.call(operation)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => unreachable!("a blocking transport and its clock never leave a call pending"),
        }
    }

    named_calls!();

    /// The asynchronous client that each call polls once, for code that is written once for both clients, such as `payments-journal`.
    /// Its calls block while they are polled, and are then ready.
    pub const fn polled(&self) -> &crate::Client {
        &self.0
    }

    /// See [`Client::with_total_timeout`](crate::Client::with_total_timeout).
    #[must_use]
    pub fn with_total_timeout(&self, total: Duration) -> Self {
        Self(self.0.with_total_timeout(total))
    }

    /// See [`Client::with_lookup_retries`](crate::Client::with_lookup_retries).
    #[must_use]
    pub fn with_lookup_retries(&self, retries: u32) -> Self {
        Self(self.0.with_lookup_retries(retries))
    }

    /// See [`Client::with_headers`](crate::Client::with_headers).
    #[must_use]
    pub fn with_headers(&self, headers: CallerHeaders) -> Self {
        Self(self.0.with_headers(headers))
    }

    /// See [`Client::with_api_key`](crate::Client::with_api_key).
    #[must_use]
    pub fn with_api_key(&self, api_key: ApiKey) -> Self {
        Self(self.0.with_api_key(api_key))
    }

    /// See [`Client::for_merchant`](crate::Client::for_merchant).
    ///
    /// # Errors
    ///
    /// A configuration error if the label is not 1 to 64 ASCII letters, digits and `- . _`, or if it contains an API key.
    pub fn for_merchant(&self, label: &str, api_key: ApiKey) -> Result<Self, Error> {
        self.0.for_merchant(label, api_key).map(Self)
    }

    /// See [`Client::service`](crate::Client::service).
    pub fn service(&self) -> &str {
        self.0.service()
    }
}

impl<T: Transport, C: Timer> ClientBuilder<T, C> {
    /// Builds the client for programs without a runtime. It connects and sends nothing before the first call.
    #[must_use]
    pub fn build_blocking(self) -> Client {
        let wrap = |transport, timer| (Immediate(transport), BlockingTimer(Arc::new(timer)));
        Client(self.build_over(wrap))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Timer for SystemTimer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) {
        sleep(duration);
    }
}

/// Adapts a blocking transport to the asynchronous client: polling its future blocks, and then it is ready.
struct Immediate<T>(T);

impl<T: Transport> crate::Transport for Immediate<T> {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        self.0.send(request)
    }
}

/// Adapts a blocking clock. The client's own time limit is never polled, because the transport is always ready first.
struct BlockingTimer<T>(Arc<T>);

impl<T: Timer> crate::Timer for BlockingTimer<T> {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn system_time(&self) -> SystemTime {
        self.0.system_time()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let timer = Arc::clone(&self.0);
        Box::pin(async move { timer.sleep(duration) })
    }
}
