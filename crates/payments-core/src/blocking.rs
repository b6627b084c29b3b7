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

use payments_model::{
    AchTransaction, CardTransaction, CustomerId, CustomerRecord, TokenTransaction, TransactionId,
    TransactionReceipt, TransactionRecord, Void,
};

use crate::{
    CallerHeaders, Endpoint, Error, Jitter, LookupError, Observer, Operation, Sleep, Success, SystemTimer,
    TransportError, TransportRequest, TransportResponse, VoidReceipt,
};

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

/// The client's clock. The default is the standard library's; `payments-fake` has `ManualClock` for tests.
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
    /// Returns a builder for a client of the service at `endpoint`, over a blocking HTTP stack.
    pub fn builder(endpoint: Endpoint, transport: impl Transport) -> ClientBuilder {
        ClientBuilder(crate::ClientBuilder::new(
            endpoint,
            Immediate(transport),
            BlockingTimer(Arc::new(SystemTimer)),
        ))
    }

    /// Runs any operation. A payment or a void is sent at most once. A lookup may be retried within the total deadline.
    ///
    /// # Errors
    ///
    /// [`Error`] for a payment or a void, [`LookupError`] for a lookup.
    pub fn call<O: Operation>(&self, operation: &O) -> Result<Success<O::Data>, O::Error> {
        output_of(self.0.call(operation))
    }

    /// Processes a card payment, a sale or an authorization. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the card can have been charged.
    pub fn process_card(&self, payment: &CardTransaction) -> Result<Success<TransactionRecord>, Error> {
        self.call(payment)
    }

    /// Processes an ACH payment. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the account can have been debited.
    pub fn process_ach(&self, payment: &AchTransaction) -> Result<Success<TransactionRecord>, Error> {
        self.call(payment)
    }

    /// Processes a payment with a stored token. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the token can have been charged.
    pub fn process_token(&self, payment: &TokenTransaction) -> Result<Success<TransactionReceipt>, Error> {
        self.call(payment)
    }

    /// Voids a previously authorized transaction. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the authorization can have been voided. After
    /// [`Outcome::Unknown`](crate::Outcome::Unknown), [look the transaction up](Self::transaction) before voiding again.
    pub fn void(&self, void: &Void) -> Result<Success<VoidReceipt>, Error> {
        self.call(void)
    }

    /// Looks up one transaction. Retried within the deadline after a transient failure.
    ///
    /// # Errors
    ///
    /// [`LookupError`]. It says nothing about an earlier charge, so do not send a charge again because of it.
    pub fn transaction(&self, id: &TransactionId) -> Result<Success<TransactionRecord>, LookupError> {
        output_of(self.0.transaction(id))
    }

    /// Looks up one customer. Retried within the deadline after a transient failure.
    ///
    /// # Errors
    ///
    /// [`LookupError`]. It says nothing about an earlier charge, so do not send a charge again because of it.
    pub fn customer(&self, id: &CustomerId) -> Result<Success<CustomerRecord>, LookupError> {
        output_of(self.0.customer(id))
    }

    /// Returns the same client, over the same connections, with another total deadline.
    #[must_use]
    pub fn with_total_timeout(&self, total: Duration) -> Self {
        Self(self.0.with_total_timeout(total))
    }

    /// Returns the same client, over the same connections, with another number of retries for lookups.
    #[must_use]
    pub fn with_lookup_retries(&self, retries: u32) -> Self {
        Self(self.0.with_lookup_retries(retries))
    }

    /// Returns the same client with these headers on every request. See
    /// [`Client::with_headers`](crate::Client::with_headers).
    #[must_use]
    pub fn with_headers(&self, headers: CallerHeaders) -> Self {
        Self(self.0.with_headers(headers))
    }

    /// The service that this client calls, in one spelling. See [`Endpoint::service`].
    pub fn service(&self) -> &str {
        self.0.service()
    }

    /// Whether this text contains the API key. See [`Client::is_api_key_in`](crate::Client::is_api_key_in).
    pub fn is_api_key_in(&self, text: &str) -> bool {
        self.0.is_api_key_in(text)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Builds a blocking [`Client`]. Only the endpoint and the transport have no default.
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder(crate::ClientBuilder);

impl ClientBuilder {
    /// How long name resolution, TCP and TLS may take together; 10 seconds by default. If this time runs out, nothing was sent.
    pub fn connect_timeout(self, connect: Duration) -> Self {
        Self(self.0.connect_timeout(connect))
    }

    /// How long a whole call may take, including a lookup's retries; 60 seconds by default.
    ///
    /// A charge whose response is late has an unknown outcome. A short deadline makes more of them, not fewer.
    pub fn total_timeout(self, total: Duration) -> Self {
        Self(self.0.total_timeout(total))
    }

    /// How often a lookup is retried after a transient failure; twice by default. Payments and voids are never retried.
    pub fn lookup_retries(self, retries: u32) -> Self {
        Self(self.0.lookup_retries(retries))
    }

    /// How many bytes of a response body are read; 1 MiB by default. A charge with a longer response is unknown.
    pub fn response_cap(self, bytes: usize) -> Self {
        Self(self.0.response_cap(bytes))
    }

    /// Sets the observer of every attempt.
    pub fn observer(self, observer: impl Observer) -> Self {
        Self(self.0.observer(observer))
    }

    /// Adds headers to every attempt. See [`ClientBuilder::headers`](crate::ClientBuilder::headers).
    pub fn headers(self, add: impl Fn(&mut CallerHeaders) + Send + Sync + 'static) -> Self {
        Self(self.0.headers(add))
    }

    /// Sets the source of random numbers for a lookup's pauses and for call ids, so that tests are repeatable.
    pub fn jitter(self, jitter: impl Jitter) -> Self {
        Self(self.0.jitter(jitter))
    }

    /// Sets the clock: the standard library's by default.
    pub fn timer(self, timer: impl Timer) -> Self {
        Self(self.0.timer(BlockingTimer(Arc::new(timer))))
    }

    /// Builds the client. It connects and sends nothing before the first call.
    #[must_use]
    pub fn build(self) -> Client {
        Client(self.0.build())
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
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
struct BlockingTimer<T: ?Sized>(Arc<T>);

impl<T: Timer + ?Sized> crate::Timer for BlockingTimer<T> {
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

impl Timer for SystemTimer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) {
        sleep(duration);
    }
}

/// Polls a future once. Every part of a blocking call is ready when it is polled.
fn output_of<F: Future>(call: F) -> F::Output {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a blocking transport and its clock never leave a call pending"),
    }
}
