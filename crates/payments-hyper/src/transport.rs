use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use payments_core::{
    Deadlines, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use tokio::runtime::{self, Handle};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::body::{Call, CallBody};
use crate::builder::HyperTransportBuilder;
use crate::connector::{Connector, connecting_by};
use crate::deadline::{self, Alarm, FAR_AWAY};
use crate::evidence::not_answered;
use crate::socket::Closer;
use crate::uri;

/// HTTP/1.1 over TCP and TLS, by hyper-util's client and hyper-rustls.
///
/// Clones are cheap and share their connections. A call must be made [within a tokio runtime](crate#runtime) that has its
/// network and time drivers. Anywhere else it is a configuration error: nothing was sent.
///
/// See the [crate's documentation](crate) for what it proves and how.
#[derive(Clone)]
pub struct HyperTransport {
    shared: Arc<Shared>,
}

/// How many connections there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) idle_timeout: Duration,
    pub(crate) max_idle: usize,
    pub(crate) max_under_way: Option<usize>,
}

type Client = legacy::Client<Connector, CallBody>;

struct Shared {
    connector: Connector,
    limits: Limits,
    /// The last used first. A connection's task belongs to the runtime that opened it: in another one, nothing would drive it.
    clients: Mutex<Vec<(runtime::Id, Arc<Client>)>>,
    /// One permit for each request that may be in flight.
    permits: Option<Semaphore>,
}

impl HyperTransport {
    /// A builder with every setting at its default.
    pub fn builder() -> HyperTransportBuilder {
        HyperTransportBuilder::with_defaults()
    }

    pub(crate) fn from_parts(connector: Connector, limits: Limits) -> Self {
        let permits =
            limits.max_under_way.map(|count| Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        Self { shared: Arc::new(Shared { connector, limits, clients: Mutex::default(), permits }) }
    }
}

impl fmt::Debug for HyperTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperTransport").finish_non_exhaustive()
    }
}

impl Transport for HyperTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let deadlines = request.deadlines();
        let cap = request.response_cap();
        let call = Call::new();
        let mut request = self.shared.prepare(request, &call)?;
        let connection = capture_connection(&mut request);
        let held = Held { connection: connection.clone(), call, has_head: false, is_answered: false };

        let mut exchange = pin!(self.shared.exchange(request, held, deadlines, cap));
        poll_fn(|cx| deadline::poll_call(exchange.as_mut(), || is_assigned(&connection), cx)).await
    }
}

impl Shared {
    /// The request with the headers that are the transport's own. hyper adds the length, but not that of an empty body.
    fn prepare(&self, request: TransportRequest, call: &Call) -> Result<Request<CallBody>, TransportError> {
        let (mut head, body) = request.into_http().into_parts();
        let host = uri::host(&head.uri)
            .map_err(|reason| TransportError::not_processed(TransportErrorKind::Other).with_source(reason))?;
        if head.uri.scheme() == Some(&Scheme::HTTP) && self.connector.has_remote_proxy() {
            return Err(TransportError::not_processed(TransportErrorKind::Configuration).with_source(
                "a plain http address cannot be used with a proxy that is not on this machine: \
                 card data and API key would cross the network in clear",
            ));
        }
        head.version = Version::HTTP_11;
        head.headers.insert(HOST, host);
        head.headers.remove(TRANSFER_ENCODING);
        head.headers.remove(CONTENT_LENGTH);
        if body.is_empty() && !head.method.is_safe() {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
        }
        Ok(Request::from_parts(head, call.body(body)))
    }

    /// One call within a runtime.
    async fn exchange(
        &self,
        request: Request<CallBody>,
        held: Held,
        deadlines: Deadlines,
        cap: usize,
    ) -> Result<TransportResponse, TransportError> {
        let started = Instant::now();
        let connect_by = deadline::after(started, deadlines.connect());
        let total_ends = deadline::after(started, deadlines.total());
        let mut alarm = pin!(deadline::alarm(total_ends)?);
        let _permit = self.permit(connect_by).await?;
        if Instant::now() >= total_ends {
            return Err(TransportError::not_processed(TransportErrorKind::Timeout));
        }

        let response = pin!(connecting_by(connect_by, self.client().request(request)));
        // Dropped before the future above, which would put the connection back into the pool.
        let mut held = held;
        let response = match deadline::before(alarm.as_mut(), response).await {
            Some(response) => response.map_err(not_answered)?,
            None if is_assigned(&held.connection) => {
                return Err(TransportError::unknown(TransportErrorKind::Timeout));
            }
            None => return Err(TransportError::not_processed(TransportErrorKind::Timeout)),
        };
        if has_ambiguous_length(response.headers()) {
            return Err(TransportError::unknown(TransportErrorKind::Protocol)
                .with_source("the response gives its length more than once"));
        }
        held.has_head = true;
        let result = read(response, cap, alarm, total_ends).await;
        held.is_answered = result.is_ok();
        result
    }

    async fn permit(&self, connect_by: Instant) -> Result<Option<SemaphorePermit<'_>>, TransportError> {
        let Some(permits) = &self.permits else {
            return Ok(None);
        };
        let alarm = pin!(deadline::alarm(connect_by)?);
        match deadline::before(alarm, pin!(permits.acquire())).await {
            Some(permit) => Ok(Some(permit.expect("the semaphore is never closed"))),
            None => Err(TransportError::not_processed(TransportErrorKind::Timeout)),
        }
    }

    /// The client of the current runtime.
    fn client(&self) -> Arc<Client> {
        let runtime = Handle::current().id();
        // Nothing can panic half-way through a change, so a poisoned list is a whole list.
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        match clients.iter().position(|(id, _)| *id == runtime) {
            Some(index) => clients[..=index].rotate_right(1),
            None => clients.insert(0, (runtime, Arc::new(self.new_client()))),
        }
        clients.truncate(MOST_RUNTIMES);
        Arc::clone(&clients[0].1)
    }

    fn new_client(&self) -> Client {
        let Limits { idle_timeout, max_idle, max_under_way: _ } = self.limits;
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            // The pool adds it to the clock's time, which must not overflow.
            .pool_idle_timeout(idle_timeout.min(FAR_AWAY))
            .pool_max_idle_per_host(if idle_timeout.is_zero() { 0 } else { max_idle })
            // A head that does not fit is an error. Not the "exact size" option, which would make this limit 2 KiB.
            .http1_max_buf_size(LARGEST_HEAD);
        #[cfg(feature = "http2")]
        builder
            .timer(TokioTimer::new())
            .http2_max_header_list_size(u32::try_from(LARGEST_HEAD).unwrap_or(u32::MAX))
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .http2_keep_alive_while_idle(true);
        builder.build(self.connector.clone())
    }
}

/// Chosen by this SDK: the clients of so many runtimes are kept, and of more than that the last used.
const MOST_RUNTIMES: usize = 8;

/// Chosen by this SDK: the status line and headers of a response may take 64 KiB.
const LARGEST_HEAD: usize = 64 * 1024;

/// Chosen by this SDK: a connection that a network dropped without a word is found after 8 seconds at most.
#[cfg(feature = "http2")]
const PING_INTERVAL: Duration = Duration::from_secs(3);
#[cfg(feature = "http2")]
const PING_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the body to its end, to the cap or to the deadline. The part that arrived is always kept: it may hold the
/// transaction's id.
async fn read(
    response: Response<Incoming>,
    cap: usize,
    mut alarm: Pin<&mut Alarm>,
    total_ends: Instant,
) -> Result<TransportResponse, TransportError> {
    let (head, mut body) = response.into_parts();
    let mut read = Bytes::new();
    let (kind, source) = loop {
        match deadline::before(alarm.as_mut(), pin!(body.frame())).await {
            None => break (TransportErrorKind::Timeout, None),
            Some(Some(Err(error))) => break (TransportErrorKind::BodyTruncated, Some(error)),
            Some(Some(Ok(frame))) => {
                // Trailers carry nothing that the interface knows.
                let Ok(mut piece) = frame.into_data() else { continue };
                let room = cap - read.len();
                let is_over_cap = piece.len() > room;
                piece.truncate(room);
                read = joined(read, piece);
                if is_over_cap {
                    break (TransportErrorKind::BodyTooLarge, None);
                }
                // The alarm is asked only where there is something to wait for.
                if !body.is_end_stream() && Instant::now() >= total_ends {
                    break (TransportErrorKind::Timeout, None);
                }
            }
            Some(None) if head.version == Version::HTTP_2 && !is_whole(&body) => {
                break (TransportErrorKind::BodyTruncated, None);
            }
            Some(None) => return Ok(TransportResponse::new(Response::from_parts(head, read))),
        }
    };
    let error = TransportError::answered(kind, Response::from_parts(head, read));
    Err(match source {
        Some(source) => error.with_source(source),
        None => error,
    })
}

/// Nearly every body comes in one piece, which is not copied.
fn joined(read: Bytes, piece: Bytes) -> Bytes {
    if read.is_empty() {
        return piece;
    }
    let mut joined = read.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&*shared));
    joined.extend_from_slice(&piece);
    joined.freeze()
}

/// Whether an HTTP/2 body at whose end hyper saw no error is whole: hyper takes a stream reset with `NO_ERROR` for the end.
fn is_whole(body: &Incoming) -> bool {
    body.size_hint().exact().map_or_else(|| body.is_end_stream(), |missing| missing == 0)
}

/// A response whose end two readers can see in two places may be somebody else's, or an attack. hyper accepts some of
/// these and refuses others.
fn has_ambiguous_length(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else {
        return false;
    };
    lengths.next().is_some() || first.as_bytes().contains(&b',') || headers.contains_key(TRANSFER_ENCODING)
}

/// Whether hyper-util has given the request to a connection. Until then nothing was sent.
fn is_assigned(connection: &CaptureConnection) -> bool {
    connection.connection_metadata().is_some()
}

/// The connection of one call. Dropped before the call went to its end, it keeps an HTTP/1.1 connection from being used again,
/// because more could arrive on it. Over HTTP/2 hyper resets the call's stream.
struct Held {
    connection: CaptureConnection,
    /// The request's body ends when this is dropped.
    call: Call,
    /// Of a response whose end is in one place.
    has_head: bool,
    is_answered: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_sent = self.call.is_body_taken();
        if self.is_answered && is_sent {
            return;
        }
        if let Some(connected) = &*self.connection.connection_metadata()
            && !connected.is_negotiated_h2()
        {
            connected.poison();
            // Once the request is sent and the head is here, the pool may already have given the connection to another
            // call. hyper closes it by itself if the rest of the body is not read.
            if !self.has_head || !is_sent {
                Closer::of(connected).as_ref().into_iter().for_each(Closer::close);
            }
        }
    }
}
