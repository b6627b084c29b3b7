use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use payments_fake::Reply;
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use crate::patient_socket::PatientSocket;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::socket::Socket;
use crate::symptom;

/// Serves one connection to its end.
///
/// hyper reads the requests and writes the whole answers. For anything else the service fails on purpose: hyper then
/// writes nothing and lets go of the socket, and the symptom is shown on that.
pub(crate) async fn serve(socket: impl Socket, site: Arc<Site>, mut shutdown: Shutdown) {
    let symptom = SymptomSlot::default();
    let client = socket.tcp().peer_addr().ok();
    // Boxed, because hyper hands the socket back only if the service's future may be moved.
    let service = service_fn(|request| Box::pin(answer(request, client, Arc::clone(&site), symptom.clone())));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(PatientSocket::new(socket)), service);

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
    let mut socket = connection.into_parts().io.into_inner();
    // An error while saying goodbye means that the client went first.
    let _ = match symptom.take() {
        Some(reply) => symptom::show(reply, socket, &mut shutdown).await,
        None => socket.shutdown().await,
    };
}

/// Chosen by this SDK: a client has ten seconds for the head of a request, an idle connection included.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Chosen by this SDK: and ten more for its body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Chosen by this SDK: what a request's head may have, because the newest requests are kept.
const LARGEST_HEAD: usize = 64 * 1024;

async fn answer(
    request: Request<Incoming>,
    client: Option<SocketAddr>,
    site: Arc<Site>,
    symptom: SymptomSlot,
) -> Result<Response<Full<Bytes>>, NotAnswered> {
    let (head, body) = request.into_parts();
    let body = match timeout(BODY_TIMEOUT, read(body, site.wanted_body(head.uri.path()))).await {
        Ok(Some(body)) => body,
        // The client went away in the middle of its request, which therefore is none.
        Ok(None) => return Err(NotAnswered),
        Err(_) => return Ok(site.too_slow().map(Full::new)),
    };
    match site.answer(Request::from_parts(head, body), client).await {
        Reply::Answer(answer) => Ok(answer.map(Full::new)),
        Reply::Delayed { by, answer } => {
            sleep(by).await;
            Ok(answer.map(Full::new))
        }
        reply => {
            symptom.put(reply);
            Err(NotAnswered)
        }
    }
}

/// The body as far as it is wanted, or nothing if the client broke off.
///
/// The rest is read and forgotten, for as long as a body may take: a client that writes all before it reads meets the
/// answer and not a reset, and may go on.
async fn read(mut body: Incoming, wanted: usize) -> Option<Bytes> {
    let mut kept = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        let fits = data.len().min(wanted - kept.len());
        kept.extend_from_slice(&data[..fits]);
    }
    Some(kept.freeze())
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
