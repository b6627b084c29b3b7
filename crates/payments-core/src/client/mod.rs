//! The client. It adds deadlines, retries of lookups and the observer to a transport.

mod attempt;
mod builder;
mod named_calls;
mod random;
mod retry;
mod span;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{CallError, Cause, Error};
use crate::operation::{Exchange, Operation, ResponseData};
use crate::response::Success;
use crate::transport::{before, grace_after_stop};
use crate::{
    ApiKey, CallId, CallerHeaders, Deadlines, Endpoint, TransportError, TransportErrorKind, TransportRequest,
};
use attempt::{Attempt, Call};
pub use builder::ClientBuilder;
use builder::{Settings, Shared};
pub(crate) use named_calls::named_calls;
pub use random::RandomSource;
use retry::pause;

/// A client of the service.
///
/// Cloning is cheap and shares the transport. A payment or void is sent at most once, and its [`Error::outcome`] says
/// whether the money can have moved. A lookup fails with [`LookupError`](crate::LookupError), which says nothing about money.
///
/// # Dropping a call
///
/// If you drop the future of a payment or a void after its first poll, the outcome is unknown and no error reports it: the service
/// may have processed the request. Set a [deadline](ClientBuilder::total_timeout) instead of wrapping the call in a timeout of
/// your own, and record [`Observer::attempt_abandoned`](crate::Observer::attempt_abandoned).
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
    endpoint: Endpoint,
    settings: Settings,
    headers: CallerHeaders,
}

impl Client {
    /// Returns a builder for a client of the service at `endpoint`, over an HTTP stack and its clock. For a client with every
    /// default, use `payments_hyper::client(endpoint)`.
    ///
    /// An asynchronous stack and its [`Timer`](crate::Timer) make this client with [`build`](ClientBuilder::build), a blocking
    /// stack and its [`blocking::Timer`](crate::blocking::Timer) a [`blocking::Client`](crate::blocking::Client) with
    /// [`build_blocking`](ClientBuilder::build_blocking).
    pub fn builder<T, C>(endpoint: Endpoint, transport: T, timer: C) -> ClientBuilder<T, C> {
        ClientBuilder::new(endpoint, transport, timer)
    }

    /// Runs any operation. A payment or a void is sent at most once. A lookup may be retried within the total deadline.
    /// [`process_card`](Self::process_card) and the methods below it are short forms of this one.
    ///
    /// # Errors
    ///
    /// [`Error`] for a payment or a void, [`LookupError`](crate::LookupError) for a lookup.
    pub async fn call<O: Operation>(&self, operation: &O) -> Result<Success<O::Data>, O::Error> {
        let Shared { timer, random, observer, .. } = &*self.shared;
        let id = CallId(random.next());
        let exchange = Exchange::new(operation.as_request(), &self.endpoint, Some(id));
        let call = Call::start(exchange, observer.as_deref(), &**timer, id);
        let result = self.attempts(&call).await;
        call.finish(&result);
        result
    }

    async fn attempts<D: ResponseData, E: CallError>(&self, call: &Call<'_>) -> Result<Success<D>, E> {
        let Shared { timer, random, .. } = &*self.shared;
        let started = timer.now();
        let total = self.settings.total_timeout;
        let left = || total.saturating_sub(timer.now().saturating_duration_since(started));
        let (mut number, mut time_left) = (1, total);
        loop {
            let mut attempt = Attempt::new(call, number);
            let result: Result<Success<D>, E> = self.send(call, &mut attempt, time_left).await;
            attempt.finish(&result);
            let Err(error) = result else { return result };
            // A payment or a void is never sent again.
            if call.exchange.facts.operation.moves_money() {
                return Err(error);
            }
            let Some(pause) = pause(self.settings.lookup_retries, number, error.failed_call(), &**random)
            else {
                return Err(error);
            };
            if pause >= left() {
                return Err(error);
            }
            timer.sleep(pause).await;
            // The pause can take longer than requested, for example while the computer sleeps. If no time is left for another
            // attempt, the last attempt's error says more than a timeout.
            time_left = left();
            if time_left.is_zero() {
                return Err(error);
            }
            number += 1;
        }
    }

    named_calls!(async, .await);

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
        client.settings.lookup_retries = retries;
        client
    }

    /// Returns the same client, over the same connections, with these headers on every request: for example for all calls that
    /// one request to a web service causes. They replace the headers of an earlier [`with_headers`](Self::with_headers).
    #[must_use]
    pub fn with_headers(&self, headers: CallerHeaders) -> Self {
        Self { headers, ..self.clone() }
    }

    /// Returns the same client, over the same connections, with another API key of the same merchant: for a key that was replaced
    /// while the program runs.
    ///
    /// A new key is no new [service](Self::service): a journal's intents stay valid. Calls that are in flight keep the old key.
    ///
    /// ```
    /// # payments_fake::block_on(async {
    /// use payments_core::{ApiKey, ErrorKind};
    ///
    /// # let gateway = payments_fake::FakeGateway::builder().api_key("old_key").api_key("new_key").build();
    /// # let client = gateway.client().with_api_key(ApiKey::new("expired_key")?);
    /// let error = client.transaction(&"txn_1".parse()?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Unauthorized);
    ///
    /// let rotated = client.with_api_key(ApiKey::new("new_key")?);
    /// assert_eq!(rotated.service(), client.service());
    /// let error = rotated.transaction(&"txn_1".parse()?).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_api_key(&self, api_key: ApiKey) -> Self {
        Self { endpoint: self.endpoint.with_api_key(api_key), ..self.clone() }
    }

    /// Returns a client of another merchant at the same service, over the same connections. The label names the merchant, and
    /// replaces that of an earlier call.
    ///
    /// The label is part of the [service](Self::service), to which a journal's intents belong: a key that one merchant has used is
    /// not sent for another. Always use the same label for the same merchant.
    ///
    /// # Errors
    ///
    /// A configuration error if the label is not 1 to 64 ASCII letters, digits and `- . _`, or if it contains an API key. These
    /// rules are chosen by this SDK.
    ///
    /// ```
    /// # payments_fake::block_on(async {
    /// use payments_core::ApiKey;
    /// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    ///
    /// # let gateway = payments_fake::FakeGateway::builder().api_key("key_of_books").api_key("key_of_toys").build();
    /// # let client = gateway.client();
    /// let books = client.for_merchant("books", ApiKey::new("key_of_books")?)?;
    /// let toys = client.for_merchant("toys", ApiKey::new("key_of_toys")?)?;
    /// assert_eq!(books.service(), "https://payments.invalid/api/v1/public#books");
    ///
    /// let payment =
    ///     TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
    /// let charged = toys.process_token(&payment).await?;
    /// assert!(toys.transaction(&charged.transaction_id).await.is_ok());
    /// // Each merchant sees its own transactions only.
    /// assert!(books.transaction(&charged.transaction_id).await.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_merchant(&self, label: &str, api_key: ApiKey) -> Result<Self, Error> {
        Ok(Self { endpoint: self.endpoint.for_merchant(label, api_key)?, ..self.clone() })
    }

    /// The service that this client calls, in one spelling, with the label of the merchant. See [`Endpoint::service`].
    pub fn service(&self) -> &str {
        self.endpoint.service()
    }

    /// Whether this text contains the API key or a secret of the request, for example because a reference or a name was read from the
    /// wrong field. Do not keep or show such a text. A token does not count, nor does a secret of fewer than eight characters, because it
    /// occurs by chance.
    pub fn is_secret_in(&self, text: &str, operation: &impl Operation) -> bool {
        Exchange::new(operation.as_request(), &self.endpoint, None).secrets.are_in(text)
    }

    /// Sends the request through the transport once.
    async fn send<D: ResponseData, E: CallError>(
        &self,
        call: &Call<'_>,
        attempt: &mut Attempt<'_>,
        total: Duration,
    ) -> Result<Success<D>, E> {
        let Shared { transport, timer, .. } = &*self.shared;
        let response_cap = self.settings.response_cap;
        let deadlines = Deadlines::new(self.settings.connect_timeout, total);
        let built = call.exchange.request().and_then(|mut request| {
            let added = attempt.span.in_scope(|| self.caller_headers())?;
            added.add_to(request.headers_mut());
            Ok((request, added))
        });
        let (request, caller_headers) = built.map_err(|cause| call.exchange.failed(cause))?;
        let (server, operation) = (Ok(self.endpoint.server().clone()), call.exchange.facts.operation);
        let endpoint = Some(self.endpoint.clone());
        let request = TransportRequest { request, server, operation, deadlines, response_cap, endpoint };
        attempt.start(caller_headers);
        let mut sending = transport.send_boxed(request);
        let in_span = poll_fn(|context| attempt.span.in_scope(|| sending.as_mut().poll(context)));
        // By the system's clock: a virtual one that jumps stops no process.
        let ends = Instant::now() + deadlines.total();
        let limit = async {
            timer.sleep(deadlines.total() + BACKSTOP).await;
            if let Some(grace) = grace_after_stop(ends, Instant::now()) {
                timer.sleep(grace + BACKSTOP).await;
            }
        };
        let sent = before(limit, in_span).await;
        let sent = sent.unwrap_or_else(|| Err(TransportError::unknown(TransportErrorKind::Timeout)));
        match sent {
            // Even from a transport that ignores the cap.
            Ok(response) if response.body().len() > response_cap => {
                let error = TransportError::answered(TransportErrorKind::BodyTooLarge, response);
                Err(call.exchange.error_from_transport(error))
            }
            Ok(response) => call.exchange.read(response.as_http()),
            Err(error) => Err(call.exchange.error_from_transport(error)),
        }
    }

    /// The caller's headers for one attempt.
    fn caller_headers(&self) -> Result<CallerHeaders, Cause> {
        #[cfg_attr(not(feature = "opentelemetry"), expect(unused_mut, reason = "only a trace adds to them"))]
        let mut headers = match &self.shared.headers {
            Some(add) => {
                let mut added = CallerHeaders::new();
                add(&mut added);
                added.with(&self.headers)?
            }
            None => self.headers.clone(),
        };
        #[cfg(feature = "opentelemetry")]
        headers.add_current_trace();
        Ok(headers)
    }
}

/// The transport enforces the deadline, because it knows how far the request got. The client ends the call this much later if
/// the transport does not.
const BACKSTOP: Duration = Duration::from_millis(20);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared: _, endpoint, settings, headers } = self;
        f.debug_struct("Client")
            .field("endpoint", endpoint)
            .field("settings", settings)
            .field("headers", headers)
            .finish_non_exhaustive()
    }
}
