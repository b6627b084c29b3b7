use std::fmt;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt as _;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Request, Response, Version};
use hyper::body::{Body as _, Incoming};
use payments_core::transport::{ServerAddress, before, grace_after_stop, has_ambiguous_length, read_body};
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use tokio::runtime::{self, Handle};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::builder::HyperTransportBuilder;
use crate::call::{Arrived, Call, CallBody};
use crate::clients::{Clients, Limits};
use crate::connector::{BoxError, Connector, Needed};
use crate::evidence::transport_error;

/// HTTP/1.1, or HTTP/2 if it is allowed, over TCP and TLS, with hyper-util's client and rustls.
///
/// Clones are cheap and share connections. A call must run [inside a tokio runtime](crate#runtime) with network and time drivers.
/// Otherwise it fails with a configuration error, and nothing is sent.
///
/// See the [crate's documentation](crate) for what it proves and how.
#[derive(Clone)]
pub struct HyperTransport {
    shared: Arc<Shared>,
}

struct Shared {
    connector: Connector,
    clients: Clients,
    /// One permit for each request allowed in flight.
    permits: Option<Semaphore>,
}

impl HyperTransport {
    /// Creates a builder with default settings.
    pub fn builder() -> HyperTransportBuilder {
        HyperTransportBuilder::with_defaults()
    }

    pub(crate) fn from_parts(connector: Connector, limits: Limits) -> Self {
        let permits =
            limits.max_in_flight.map(|count| Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        let clients = Clients::new(connector.clone(), limits);
        Self { shared: Arc::new(Shared { connector, clients, permits }) }
    }
}

impl fmt::Debug for HyperTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperTransport").finish_non_exhaustive()
    }
}

impl Transport for HyperTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let started = Instant::now();
        let (deadlines, cap) = (request.deadlines(), request.response_cap());
        let server = request.server()?.clone();
        let tls = self.shared.connector.tls_with(&server).map_err(misconfigured)?;
        let (call, request) = self.shared.prepare(&server, request, started + deadlines.total())?;
        let needed = Needed::new(server, tls, started + deadlines.connect(), call.connection.clone());
        let run = self.shared.run(&needed, started + deadlines.total(), cap, call, request);
        AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|_panic| {
            Err(if needed.may_be_sent() {
                TransportError::unknown(TransportErrorKind::Other).with_source("the transport panicked")
            } else {
                misconfigured(
                    "the call panicked before it had a connection: the tokio runtime has no time driver or no network \
                     driver, or was shut down (build the runtime with enable_all), or code of your own panicked",
                )
            })
        })
    }
}

impl Shared {
    /// Sets the headers that the transport owns.
    fn prepare(
        &self,
        server: &ServerAddress,
        request: TransportRequest,
        total_ends: Instant,
    ) -> Result<(Call, Request<CallBody>), TransportError> {
        if !server.is_https() && self.connector.has_remote_proxy() {
            return Err(misconfigured(
                "card data and API key would cross the network unencrypted, because the address is plain http and the \
                 proxy is not on this machine: use an https address",
            ));
        }
        let mut request = request.into_http();
        *request.version_mut() = Version::HTTP_11;
        let (is_safe, length) = (request.method().is_safe(), request.body().len());
        let headers = request.headers_mut();
        headers.insert(HOST, server.host_header().clone());
        headers.remove(TRANSFER_ENCODING);
        headers.remove(CONTENT_LENGTH);
        if !is_safe {
            headers.insert(CONTENT_LENGTH, length.into());
        }
        Ok(Call::new(request, total_ends))
    }

    async fn run(
        &self,
        needed: &Arc<Needed>,
        total_ends: Instant,
        cap: usize,
        call: Call,
        request: Request<CallBody>,
    ) -> Result<TransportResponse, TransportError> {
        // Before the timers, which panic without one. After the wait for a permit, the call may be polled by another.
        runtime()?;
        let on_time = deadline(total_ends);
        let total = async {
            on_time.await;
            let now = Instant::now();
            if needed.may_be_sent()
                && let Some(grace) = grace_after_stop(total_ends.into_std(), now.into_std())
            {
                deadline(now + grace).await;
            }
        };
        let mut total = pin!(total);
        let _permit = self.permit(needed.by).await?;
        if Instant::now() >= total_ends {
            return Err(TransportError::not_processed(TransportErrorKind::Timeout));
        }

        let response = self.clients.get(runtime()?).request(request);
        let mut response = pin!(needed.during(response));
        let in_time = poll_fn(|context| {
            // After a stop, another call may have returned a connection, on which this request would be sent too late.
            if !needed.may_be_sent() && Instant::now() >= total_ends {
                return Poll::Pending;
            }
            response.as_mut().poll(context)
        });
        // Dropped before the future above, which would return the connection to the pool.
        let mut call = call;
        let response = match before(total.as_mut(), in_time).await {
            Some(response) => response.map_err(transport_error)?,
            None if needed.may_be_sent() => return Err(TransportError::unknown(TransportErrorKind::Timeout)),
            None => return Err(TransportError::not_processed(TransportErrorKind::Timeout)),
        };
        if has_ambiguous_length(response.headers()) {
            return Err(TransportError::unknown(TransportErrorKind::Protocol)
                .with_source("the response gives its length more than once"));
        }
        call.response = Arrived::Head;
        let response = read(response, cap, total).await?;
        call.response = Arrived::Whole;
        Ok(response)
    }

    async fn permit(&self, connect_by: Instant) -> Result<Option<SemaphorePermit<'_>>, TransportError> {
        let Some(permits) = &self.permits else {
            return Ok(None);
        };
        match before(deadline(connect_by), permits.acquire()).await {
            Some(permit) => Ok(Some(permit.expect("the semaphore is never closed"))),
            None => Err(TransportError::not_processed(TransportErrorKind::Timeout)),
        }
    }
}

/// Reads the body to its end, the cap or the deadline.
async fn read(
    response: Response<Incoming>,
    cap: usize,
    total: impl Future<Output = ()>,
) -> Result<TransportResponse, TransportError> {
    let (head, mut body) = response.into_parts();
    let is_http2 = head.version == Version::HTTP_2;
    let piece = |context: &mut Context<'_>| match ready!(Pin::new(&mut body).poll_frame(context)) {
        // hyper treats a stream reset with `NO_ERROR` as the end.
        None if is_http2 && !is_complete(&body) => {
            Poll::Ready(Some(Err("the stream ended too early".into())))
        }
        // The interface has no trailers.
        frame => Poll::Ready(frame.map(|frame| Ok(frame?.into_data().unwrap_or_default()))),
    };
    read_body::<BoxError>(head, cap, total, piece).await
}

/// Whether an HTTP/2 body that ended without an error is complete.
fn is_complete(body: &Incoming) -> bool {
    body.size_hint().exact().map_or_else(|| body.is_end_stream(), |missing| missing == 0)
}

/// A deadline that fires even in a task that has used up tokio's cooperative budget.
fn deadline(at: Instant) -> Unconstrained<Sleep> {
    unconstrained(sleep_until(at))
}

/// Nothing was sent. The kind makes it permanent.
fn misconfigured(why: impl Into<BoxError>) -> TransportError {
    TransportError::not_processed(TransportErrorKind::Configuration).with_source(why)
}

/// The current runtime. Without one tokio would panic.
fn runtime() -> Result<runtime::Id, TransportError> {
    let missing = |_| misconfigured("a tokio runtime is missing: make the call inside one");
    Ok(Handle::try_current().map_err(missing)?.id())
}
