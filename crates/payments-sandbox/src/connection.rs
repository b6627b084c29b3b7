use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1::{self, Parts};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use payments_fake::Reply;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::body::ContentBody;
use crate::patient_socket::PatientSocket;
use crate::pause::pause;
use crate::real_time::RealTime;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::socket::Socket;
use crate::symptom;
use crate::watched_socket::{Watch, WatchedSocket};

/// Serves one connection to its end.
///
/// hyper reads the requests and writes the whole answers. For anything else the service fails on purpose: hyper then
/// writes nothing and lets go of the socket, and the symptom is shown on that.
pub(crate) async fn serve(socket: impl Socket, site: Arc<Site>, mut shutdown: Shutdown) {
    let address = socket.tcp().peer_addr().ok();
    let (socket, watch) = WatchedSocket::new(PatientSocket::new(socket));
    let symptom = SymptomSlot::default();
    let conversation = Arc::new(Conversation {
        address,
        watch,
        site: Arc::clone(&site),
        time: RealTime(shutdown.clone()),
        symptom: symptom.clone(),
    });
    // Boxed, because hyper hands the socket back only if the service's future may be moved.
    let service = service_fn(move |request| Box::pin(answer(request, Arc::clone(&conversation))));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(LARGEST_HEAD)
        // A client that has said all it had to say still wants its answer.
        .half_close(true)
        .serve_connection(TokioIo::new(socket), service);

    let mut is_stopping = false;
    loop {
        let has_ended = tokio::select! {
            // However it ended, the socket is free then; why it ended is in the slot, or is the client's affair.
            _ = poll_fn(|context| connection.poll_without_shutdown(context)) => true,
            () = shutdown.begun(), if !is_stopping => false,
        };
        if has_ended {
            break;
        }
        is_stopping = true;
        Pin::new(&mut connection).graceful_shutdown();
    }
    let Parts { io, .. } = connection.into_parts();
    let Some((mut socket, refused)) = io.into_inner().into_inner() else { return };
    let unreadable = || refused.map(|status| Reply::Answer(site.unreadable(status)));
    // An error while saying goodbye means that the client went first.
    let _ = match symptom.take().or_else(unreadable) {
        Some(reply) => symptom::show(reply, socket, &mut shutdown).await,
        None => socket.shutdown().await,
    };
}

/// What all requests of a connection have in common.
struct Conversation<S> {
    address: Option<SocketAddr>,
    watch: Watch<S>,
    site: Arc<Site>,
    time: RealTime,
    symptom: SymptomSlot,
}

/// Chosen by this SDK: a client has ten seconds for the head of a request, an idle connection included.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Chosen by this SDK: and ten more for its body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Chosen by this SDK: what a request's head may have, because the newest requests are kept.
const LARGEST_HEAD: usize = 64 * 1024;

async fn answer<S: Socket>(
    request: Request<Incoming>,
    conversation: Arc<Conversation<S>>,
) -> Result<Response<ContentBody>, NotAnswered> {
    let Conversation { address, watch, site, time, symptom } = &*conversation;
    let (head, body) = request.into_parts();
    let mut reading = pin!(read(body, site.wanted_body(head.uri.path())));
    // Nearly every body comes together with its head, and needs no timer.
    let read = match poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await {
        Poll::Ready(read) => Ok(read),
        Poll::Pending => timeout(BODY_TIMEOUT, reading).await,
    };
    let body = match read {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => {
            if is_malformed(&error) {
                symptom.put(Reply::Answer(site.malformed_chunks()));
            }
            // Otherwise the client went away in the middle of its request, which therefore is none.
            return Err(NotAnswered);
        }
        Err(_) => return Ok(whole(site.too_slow())),
    };
    let request = Request::from_parts(head, body);
    if let Some(answer) = site.administer(&request).await {
        return Ok(answer.map(|content| content.until(time.0.clone())));
    }
    // Whether it closed its side only or the connection is broken, it is not charged any more.
    let given_up = async { drop(watch.departure().await) };
    match site.answer(request, *address, time, given_up).await {
        Reply::Answer(answer) => Ok(whole(answer)),
        Reply::Delayed { by, answer } => {
            let mut shutdown = time.0.clone();
            pause(by, &mut shutdown, watch.departure()).await.map_err(|_| NotAnswered)?;
            Ok(whole(answer))
        }
        reply => {
            symptom.put(reply);
            Err(NotAnswered)
        }
    }
}

fn whole(answer: Response<Bytes>) -> Response<ContentBody> {
    answer.map(|body| ContentBody::Whole(Full::new(body)))
}

/// The body as far as it is wanted, unless it broke off.
///
/// The rest is read and forgotten, for as long as a body may take: a client that writes all before it reads meets the
/// answer and not a reset, and may go on.
async fn read(mut body: Incoming, wanted: usize) -> hyper::Result<Bytes> {
    // Most bodies come in one piece, which is then handed on and not copied.
    let mut whole = Bytes::new();
    let mut pieces = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if whole.is_empty() && pieces.is_empty() && data.len() <= wanted {
            whole = data;
            continue;
        }
        pieces.extend_from_slice(&std::mem::take(&mut whole));
        let fits = data.len().min(wanted - pieces.len());
        pieces.extend_from_slice(&data[..fits]);
    }
    Ok(if pieces.is_empty() { whole } else { pieces.freeze() })
}

/// Whether what came is no body, and not only too little of one.
fn is_malformed(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData))
}

/// Where the service leaves what is to be shown on the socket.
#[derive(Clone, Default)]
struct SymptomSlot(Arc<Mutex<Option<Reply>>>);

impl SymptomSlot {
    fn put(&self, reply: Reply) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reply);
    }

    fn take(&self) -> Option<Reply> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Makes hyper end the connection without an answer.
#[derive(Debug)]
struct NotAnswered;

impl fmt::Display for NotAnswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this request gets no answer")
    }
}

impl Error for NotAnswered {}
