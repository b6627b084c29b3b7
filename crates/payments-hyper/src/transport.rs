use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use payments_core::{
    Deadlines, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse,
};
use tokio::runtime::{self, Handle};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::body::CappedBody;
use crate::builder::HyperTransportBuilder;
use crate::connection::Exchange;
use crate::connector::Connector;
use crate::deadline::{self, Alarm};
use crate::link::Link;
#[cfg(feature = "http2")]
use crate::multiplexed::MultiplexedPool;
use crate::origin::{LastOrigin, Origin};
use crate::outgoing::Outgoing;
use crate::pool::Pool;

/// HTTP/1.1 over TCP and TLS, by hyper, rustls and tokio.
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

struct Shared {
    connector: Connector,
    last_origin: LastOrigin,
    pool: Pool,
    #[cfg(feature = "http2")]
    multiplexed: MultiplexedPool,
    /// One permit for each request that may be under way.
    permits: Option<Semaphore>,
}

impl HyperTransport {
    /// A builder with every setting at its default.
    pub fn builder() -> HyperTransportBuilder {
        HyperTransportBuilder::with_defaults()
    }

    pub(crate) fn from_parts(connector: Connector, limits: Limits) -> Self {
        let Limits { idle_timeout, max_idle, max_under_way } = limits;
        let shared = Shared {
            connector,
            last_origin: LastOrigin::default(),
            pool: Pool::new(idle_timeout, max_idle),
            #[cfg(feature = "http2")]
            multiplexed: MultiplexedPool::new(idle_timeout),
            permits: max_under_way.map(|count| Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl fmt::Debug for HyperTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperTransport").finish_non_exhaustive()
    }
}

impl Transport for HyperTransport {
    fn send(
        &self,
        request: TransportRequest,
    ) -> impl Future<Output = Result<TransportResponse, TransportError>> + Send {
        let deadlines = request.deadlines();
        let cap = request.response_cap();
        // Here and not below, because a future keeps room for what it was given, also when it has long made something else
        // of it.
        let prepared = self.shared.last_origin.for_uri(request.uri());
        let mut prepared = prepared.map(|origin| (Outgoing::new(request, &origin), origin));
        async move {
            let (outgoing, origin) = match &mut prepared {
                Ok(prepared) => prepared,
                Err(error) => return Err(not_processed(TransportErrorKind::Other, *error)),
            };
            let is_taken = AtomicBool::new(false);
            let mut call = pin!(self.shared.call(outgoing, origin, deadlines, cap, &is_taken));
            poll_fn(|cx| deadline::poll_call(call.as_mut(), &is_taken, cx)).await
        }
    }
}

impl Shared {
    /// One call within a runtime. `is_taken` is set while the request may be on a connection.
    async fn call(
        &self,
        outgoing: &mut Outgoing,
        origin: &Origin,
        deadlines: Deadlines,
        cap: usize,
        is_taken: &AtomicBool,
    ) -> Result<TransportResponse, TransportError> {
        let started = Instant::now();
        let connect_by = deadline::after(started, deadlines.connect());
        let total_ends = deadline::after(started, deadlines.total());
        let runtime = Handle::current().id();
        let mut alarm = pin!(deadline::alarm(total_ends)?);

        // Nothing leaves before here has ended: a failure is NotProcessed.
        let _permit = self.permit(connect_by).await?;
        let (mut link, head) = loop {
            let mut link = self.link(origin, runtime, connect_by, total_ends).await?;

            // From here on the request may have been read: a failure is Unknown, unless hyper hands the request back.
            is_taken.store(true, Ordering::Relaxed);
            let exchange = deadline::before(alarm.as_mut(), pin!(link.exchange(outgoing, origin))).await;
            match exchange {
                None => return Err(TransportError::unknown(TransportErrorKind::Timeout)),
                Some(Exchange::Lost(error)) => {
                    return Err(TransportError::unknown(kind_of(&error)).with_source(error));
                }
                Some(Exchange::Refused(error)) => {
                    return Err(not_processed(TransportErrorKind::Closed, error));
                }
                Some(Exchange::HandedBack(error)) if !link.is_reused() => {
                    return Err(not_processed(TransportErrorKind::Closed, error));
                }
                // Ends, because each turn uses up a pooled connection and a new one is not reused.
                Some(Exchange::HandedBack(_)) => {
                    is_taken.store(false, Ordering::Relaxed);
                    #[cfg(feature = "http2")]
                    self.multiplexed.forget(origin, runtime);
                }
                Some(Exchange::Answered(head)) => break (link, head),
            }
        };

        // From here on there is a status: a failure is Answered, unless the answer cannot be told from another's.
        if has_ambiguous_length(head.headers()) {
            return Err(TransportError::unknown(TransportErrorKind::Protocol)
                .with_source("the answer gives its length more than once"));
        }
        let (parts, mut body) = head.into_parts();
        let mut read = CappedBody::new(cap);
        let failure = read_body(&mut link, &mut body, &mut read, alarm, total_ends).await.err();
        let answer = TransportResponse::new(Response::from_parts(parts, read.into_bytes()));
        if let Some(failure) = failure {
            return Err(failure.after(answer));
        }
        self.release(link, origin.clone(), runtime);
        Ok(answer)
    }

    async fn permit(&self, connect_by: Instant) -> Result<Option<SemaphorePermit<'_>>, TransportError> {
        let Some(permits) = &self.permits else {
            return Ok(None);
        };
        let alarm = pin!(deadline::alarm(connect_by)?);
        match deadline::before(alarm, pin!(permits.acquire())).await {
            Some(Ok(permit)) => Ok(Some(permit)),
            Some(Err(closed)) => Err(not_processed(TransportErrorKind::Cancelled, closed)),
            None => Err(TransportError::not_processed(TransportErrorKind::Timeout)),
        }
    }

    /// A connection that is open, or else a new one by the connect deadline; and either before the call's end.
    async fn link(
        &self,
        origin: &Origin,
        runtime: runtime::Id,
        connect_by: Instant,
        total_ends: Instant,
    ) -> Result<Link, TransportError> {
        let now = Instant::now();
        let in_time = |now| {
            let is_late = now >= total_ends;
            if is_late { Err(TransportError::not_processed(TransportErrorKind::Timeout)) } else { Ok(()) }
        };
        in_time(now)?;
        #[cfg(feature = "http2")]
        if let Some(connection) = self.multiplexed.take(origin, runtime) {
            return Ok(Link::Multiplexed(connection));
        }
        if let Some(connection) = self.pool.take(origin, runtime, now) {
            return Ok(Link::Exclusive(connection));
        }
        let time_left = connect_by.saturating_duration_since(now);
        // In a box, because it is large, and most calls find a connection that is open.
        let mut connecting = Box::pin(self.connector.connect(origin, time_left));
        let alarm = pin!(deadline::alarm(connect_by)?);
        let link = deadline::before(alarm, connecting.as_mut())
            .await
            .unwrap_or_else(|| Err(TransportError::not_processed(TransportErrorKind::Timeout)))?;
        #[cfg(feature = "http2")]
        if let Link::Multiplexed(connection) = &link {
            self.multiplexed.share(origin, runtime, connection);
        }
        in_time(Instant::now())?;
        Ok(link)
    }

    /// Keeps what carried a whole exchange for the next.
    fn release(&self, link: Link, origin: Origin, runtime: runtime::Id) {
        match link {
            Link::Exclusive(connection) => {
                if let Some(connection) = connection.into_idle() {
                    self.pool.put(origin, runtime, connection);
                }
            }
            // It is shared already.
            #[cfg(feature = "http2")]
            Link::Multiplexed(_) => {}
        }
    }
}

struct BodyFailure {
    kind: TransportErrorKind,
    source: Option<hyper::Error>,
}

impl BodyFailure {
    fn after(self, partial: TransportResponse) -> TransportError {
        let error = TransportError::answered(self.kind, partial);
        match self.source {
            Some(source) => error.with_source(source),
            None => error,
        }
    }
}

/// Reads the body to its end, to the cap or to the deadline, into `read`.
///
/// An answer that announces more than the cap is read up to the cap all the same, because its beginning may hold the
/// transaction's id.
async fn read_body(
    link: &mut Link,
    body: &mut Incoming,
    read: &mut CappedBody,
    mut alarm: Pin<&mut Alarm>,
    total_ends: Instant,
) -> Result<(), BodyFailure> {
    for frames in 1.. {
        if body.is_end_stream() {
            break;
        }
        let frame = deadline::before(alarm.as_mut(), pin!(link.frame(body))).await;
        // The alarm is asked where there is something to wait for, and one read may bring very many pieces.
        let frame = frame.filter(|_| frames % FRAMES_BETWEEN_LOOKS != 0 || Instant::now() < total_ends);
        let kind = match frame {
            Some(Some(Ok(frame))) => match frame.into_data().map(|piece| read.push(piece)) {
                // Trailers carry nothing that the interface knows.
                Err(_) | Ok(Ok(())) => continue,
                Ok(Err(_over_cap)) => TransportErrorKind::BodyTooLarge,
            },
            Some(Some(Err(error))) => {
                return Err(BodyFailure { kind: TransportErrorKind::BodyTruncated, source: Some(error) });
            }
            Some(None) if link.has_brought_all_of(body) => break,
            Some(None) => TransportErrorKind::BodyTruncated,
            None => TransportErrorKind::Timeout,
        };
        return Err(BodyFailure { kind, source: None });
    }
    Ok(())
}

/// So few that they take no time worth speaking of, and so many that looking at the clock takes none.
const FRAMES_BETWEEN_LOOKS: u64 = 256;

/// An answer whose end two readers can see in two places may be somebody else's, or an attack. hyper accepts some of
/// these and refuses others; here they are refused alike, and its status is not believed either.
fn has_ambiguous_length(headers: &HeaderMap) -> bool {
    let (mut lengths, mut is_coded) = (0, false);
    for (name, value) in headers {
        if name == CONTENT_LENGTH {
            lengths += value.as_bytes().split(|byte| *byte == b',').count();
        } else if name == TRANSFER_ENCODING {
            is_coded = true;
        }
    }
    lengths > 1 || (lengths == 1 && is_coded)
}

fn not_processed(
    kind: TransportErrorKind,
    source: impl Into<Box<dyn StdError + Send + Sync>>,
) -> TransportError {
    TransportError::not_processed(kind).with_source(source)
}

fn kind_of(error: &hyper::Error) -> TransportErrorKind {
    if error.is_parse() {
        return TransportErrorKind::Protocol;
    }
    let mut source = error.source();
    while let Some(this) = source {
        // An io::Error holds rustls' own error and does not name it as its source.
        let inner = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if this.is::<rustls::Error>() || inner.is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
        {
            return TransportErrorKind::Tls;
        }
        source = this.source();
    }
    TransportErrorKind::Closed
}
