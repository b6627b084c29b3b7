//! The client. It adds deadlines, retries of lookups and the observer to a transport.

mod attempt_reporter;
mod builder;
mod headers;
mod retry;
mod span;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use payments_model::{
    AchTransaction, CardTransaction, CustomerId, CustomerRecord, TokenTransaction, TransactionId,
    TransactionReceipt, TransactionRecord, Void,
};

use crate::error::{Cause, Failure};
use crate::observer::CallId;
use crate::operation::OperationError as _;
use crate::response::Secrets;
use crate::transport::{BoxedTransport, before};
use crate::{
    Deadlines, Endpoint, Error, GetCustomer, GetTransaction, LookupError, Observer, Operation, Success,
    Timer, Transport, TransportError, TransportErrorKind, TransportRequest, VoidReceipt,
};
use attempt_reporter::AttemptReporter;
pub use builder::ClientBuilder;
use builder::Settings;
pub use headers::CallerHeaders;
pub use retry::Jitter;
use span::{AttemptSpan, CallSpan};

/// A client of the service.
///
/// Cloning is cheap and shares the transport. A payment or void is sent at most once, and its [`Error::outcome`] says
/// whether the money can have moved. A lookup fails with [`LookupError`], which says nothing about money.
///
/// # Dropping a call
///
/// If you drop the future of a payment or a void after its first poll, the outcome is unknown and no error reports it: the service
/// may have processed the request. Set a [deadline](ClientBuilder::total_timeout) instead of wrapping the call in a timeout of
/// your own, and record [`Observer::attempt_abandoned`].
///
/// # Example
///
/// ```
/// use payments_core::GetTransaction;
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
///
/// # payments_fake::block_on(async {
/// # let client = payments_fake::FakeGateway::new().client();
/// let payment =
///     TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
/// let charged = client.process_token(&payment).await?;
///
/// // Every operation is a value, and `call` runs any of them.
/// let found = client.call(&GetTransaction::new(charged.transaction_id.clone())).await?;
/// assert_eq!(found.amount.value(), Some(&Amount::from_cents(10_50)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    settings: Settings,
    headers: CallerHeaders,
}

pub(crate) struct Shared {
    pub(crate) endpoint: Endpoint,
    pub(crate) transport: BoxedTransport,
    pub(crate) timer: Box<dyn Timer>,
    pub(crate) jitter: Box<dyn Jitter>,
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) headers: Option<Box<HeaderHook>>,
}

/// Adds headers to an attempt.
pub(crate) type HeaderHook = dyn Fn(&mut CallerHeaders) + Send + Sync;

impl Client {
    /// Returns a builder for a client of the service at `endpoint`, over an HTTP stack and its clock. For a client with every
    /// default, use `payments_hyper::client(endpoint)`.
    pub fn builder(endpoint: Endpoint, transport: impl Transport, timer: impl Timer) -> ClientBuilder {
        ClientBuilder::new(endpoint, transport, timer)
    }

    pub(crate) fn from_parts(shared: Shared, settings: Settings) -> Self {
        Self { shared: Arc::new(shared), settings, headers: CallerHeaders::new() }
    }

    /// Runs any operation. A payment or a void is sent at most once. A lookup may be retried within the total deadline.
    /// [`process_card`](Self::process_card) and the methods below it are short forms of this one.
    ///
    /// # Errors
    ///
    /// [`Error`] for a payment or a void, [`LookupError`] for a lookup.
    pub async fn call<O: Operation>(&self, operation: &O) -> Result<Success<O::Data>, O::Error> {
        let span = CallSpan::new(operation, &self.shared.endpoint);
        let result = self.attempts(operation, &span).await;
        span.finish::<O>(&result);
        result
    }

    async fn attempts<O: Operation>(
        &self,
        operation: &O,
        call_span: &CallSpan,
    ) -> Result<Success<O::Data>, O::Error> {
        let call_id = CallId(self.shared.observer.as_ref().map_or(0, |_| self.shared.jitter.next()));
        let started = self.shared.timer.now();
        let total = self.settings.total_timeout;
        let left = || total.saturating_sub(self.shared.timer.now().saturating_duration_since(started));
        let (mut attempt, mut time_left) = (1, total);
        loop {
            let span = AttemptSpan::new::<O>(call_span, &self.shared.endpoint, attempt);
            let result = self.attempt(operation, &span, call_id, attempt, time_left).await;
            span.finish::<O>(&result);
            let Err(error) = result else { return result };
            let retry = |error: &LookupError| self.settings.retry.pause(attempt, error, &*self.shared.jitter);
            let Some(pause) = error.as_lookup().and_then(retry) else {
                return Err(error);
            };
            if pause >= left() {
                return Err(error);
            }
            self.shared.timer.sleep(pause).await;
            // The pause can take longer than requested, for example while the computer sleeps. If no time is left for another
            // attempt, the last attempt's error says more than a timeout.
            time_left = left();
            if time_left.is_zero() {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Processes a card payment, a sale or an authorization. Sent at most once.
    ///
    /// A success means that the service says it processed the payment. Its record is returned unchanged and is not compared with
    /// the request. The amounts may differ, for example because of a convenience fee.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the card can have been charged.
    pub async fn process_card(&self, payment: &CardTransaction) -> Result<Success<TransactionRecord>, Error> {
        self.call(payment).await
    }

    /// Processes an ACH payment. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the account can have been debited.
    pub async fn process_ach(&self, payment: &AchTransaction) -> Result<Success<TransactionRecord>, Error> {
        self.call(payment).await
    }

    /// Processes a payment with a stored token. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the token can have been charged.
    pub async fn process_token(
        &self,
        payment: &TokenTransaction,
    ) -> Result<Success<TransactionReceipt>, Error> {
        self.call(payment).await
    }

    /// Voids a previously authorized transaction. Sent at most once.
    ///
    /// # Errors
    ///
    /// [`Error::outcome`] says whether the authorization can have been voided. After
    /// [`Outcome::Unknown`](crate::Outcome::Unknown), [look the transaction up](Self::transaction) before voiding
    /// again.
    pub async fn void(&self, void: &Void) -> Result<Success<VoidReceipt>, Error> {
        self.call(void).await
    }

    /// Looks up one transaction. Retried within the deadline after a transient failure.
    ///
    /// # Errors
    ///
    /// [`LookupError`]. It says nothing about an earlier charge, so do not send a charge again because of it.
    pub async fn transaction(&self, id: &TransactionId) -> Result<Success<TransactionRecord>, LookupError> {
        self.call(&GetTransaction::new(id.clone())).await
    }

    /// Looks up one customer. Retried within the deadline after a transient failure.
    ///
    /// # Errors
    ///
    /// [`LookupError`]. It says nothing about an earlier charge, so do not send a charge again because of it.
    pub async fn customer(&self, id: &CustomerId) -> Result<Success<CustomerRecord>, LookupError> {
        self.call(&GetCustomer::new(id.clone())).await
    }

    /// Returns the same client, over the same connections, with another total deadline.
    #[must_use]
    pub fn with_total_timeout(&self, total: Duration) -> Self {
        let mut client = self.clone();
        client.settings.total_timeout = total;
        client
    }

    /// Returns the same client, over the same connections, with another number of retries for lookups.
    #[must_use]
    pub fn with_lookup_retries(&self, retries: u32) -> Self {
        let mut client = self.clone();
        client.settings.retry.retries = retries;
        client
    }

    /// Returns the same client, over the same connections, with these headers on every request: for example for all calls that
    /// one request to a web service causes. They replace the headers of an earlier [`with_headers`](Self::with_headers).
    #[must_use]
    pub fn with_headers(&self, headers: CallerHeaders) -> Self {
        Self { headers, ..self.clone() }
    }

    /// The service that this client calls, in one spelling. See [`Endpoint::service`].
    pub fn service(&self) -> &str {
        self.shared.endpoint.service()
    }

    /// Whether this text contains the API key, for example because a reference or a name was read from the wrong field. Do not keep
    /// or show such a text. A key of fewer than eight characters is not searched for, because it occurs by chance.
    pub fn is_api_key_in(&self, text: &str) -> bool {
        Secrets::new(&[], Some(&self.shared.endpoint)).are_in(text)
    }

    /// Sends the request through the transport once.
    async fn attempt<O: Operation>(
        &self,
        operation: &O,
        span: &AttemptSpan<'_>,
        call_id: CallId,
        attempt: u32,
        total: Duration,
    ) -> Result<Success<O::Data>, O::Error> {
        let Shared { endpoint, transport, timer, jitter: _, observer, headers } = &*self.shared;
        let deadlines = Deadlines::new(self.settings.connect_timeout, total);
        let mut request = operation.request(endpoint)?;
        let added = span.in_scope(|| {
            let mut added = CallerHeaders::new();
            if let Some(add) = headers {
                add(&mut added);
            }
            added = added.with(&self.headers)?;
            #[cfg(feature = "opentelemetry")]
            added.add_current_trace();
            Ok(added)
        });
        match added {
            Ok(added) => added.add_to(request.headers_mut()),
            Err(error) => {
                let failure = Failure::new(Some(O::NAME), Cause::Configuration(error));
                return Err(O::Error::of(operation, failure, Some(endpoint), None, None));
            }
        }
        let cap = self.settings.response_cap;
        let request = TransportRequest::to(endpoint.server(), request, O::NAME, deadlines, cap);

        let observer = observer.as_deref();
        let reporter = observer.map(|observer| {
            AttemptReporter::start(observer, &**timer, endpoint, operation, call_id, attempt)
        });
        let backstop = timer.sleep(deadlines.total() + BACKSTOP);
        let sent = before(backstop, span.instrument(transport.send(request))).await;
        let result = match sent {
            // Refuses a body over the cap even from a transport that ignores the cap.
            Some(Ok(response)) if response.body().len() > cap => {
                let error = TransportError::answered(TransportErrorKind::BodyTooLarge, response);
                Err(operation.not_answered(endpoint, error))
            }
            Some(Ok(response)) => operation.read(endpoint, response.into_http()),
            Some(Err(error)) => Err(operation.not_answered(endpoint, error)),
            None => {
                Err(operation.not_answered(endpoint, TransportError::unknown(TransportErrorKind::Timeout)))
            }
        };
        if let Some(reporter) = reporter {
            reporter.finish::<O>(&result);
        }
        result
    }
}

/// The transport enforces the deadline, because it knows how far the request got. The client ends the call this much later if
/// the transport does not.
const BACKSTOP: Duration = Duration::from_millis(20);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared, settings, headers } = self;
        f.debug_struct("Client")
            .field("endpoint", &shared.endpoint)
            .field("settings", settings)
            .field("headers", headers)
            .finish_non_exhaustive()
    }
}
