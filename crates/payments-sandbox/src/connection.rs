use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use payments_core::Timer as _;
use payments_fake::Reply;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::body::{Body, whole};
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::socket::{End, Socket};
use crate::symptom;

/// One connection, and what all of its requests have in common.
pub(crate) struct ClientConnection {
    pub(crate) client: SocketAddr,
    pub(crate) socket: Socket,
    pub(crate) site: Arc<Site>,
    pub(crate) shutdown: Shutdown,
    /// Held while a request is answered, which is not the client's affair.
    pub(crate) answering: Mutex<()>,
}

impl ClientConnection {
    /// Serves it to its end, or until the server stops and the client has had its last moment.
    pub(crate) async fn serve(self, graceful: Watcher) {
        tokio::select! {
            biased;
            () = self.serve_to_the_end(graceful) => {}
            () = self.is_given_up() => {}
        }
    }

    /// Ready when the server stops and the client has had its time to send the rest of a request or to read a response.
    async fn is_given_up(&self) {
        self.shutdown.begun().await;
        loop {
            drop(self.answering.lock().await);
            sleep(LAST_MOMENT).await;
            if self.answering.try_lock().is_ok() {
                return;
            }
        }
    }

    /// hyper reads the requests and writes the whole responses. For anything else the service fails on purpose: hyper then
    /// writes nothing and lets go of the socket, and the symptom is shown on that.
    async fn serve_to_the_end(&self, graceful: Watcher) {
        let connection = http1::Builder::new()
            .max_header_size(LARGEST_HEAD)
            // A client that has closed its sending side still wants its response.
            .half_close(true)
            .serve_connection(TokioIo::new(self.socket.clone()), service_fn(|request| self.answer(request)));
        // Why it ended is in the socket, or is the client's affair.
        let _ = graceful.watch(connection).await;
        let reply = match self.socket.take_end() {
            None => return,
            Some(End::Unreadable(status)) => Reply::Answer(self.site.unreadable(status)),
            Some(End::Symptom(reply)) => reply,
        };
        // An error means that the client went first, which is its right.
        let _ = symptom::show(reply, self.socket.clone(), &self.shutdown).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, &'static str> {
        let Self { client, socket, site, shutdown, answering } = self;
        let (head, body) = request.into_parts();
        let body = read(body, site.largest_body(head.uri.path())).await.map_err(|error| {
            if is_malformed(&error) {
                let msg = "the body is not in chunks as Transfer-Encoding says";
                socket.end_with(End::Symptom(Reply::Answer(site.bad_request(msg))));
            }
            // Otherwise the client went away in the middle of its request, which therefore is none.
            NOT_ANSWERED
        })?;
        let _answering = answering.lock().await;
        let request = Request::from_parts(head, body);
        if let Some(response) = site.administer(&request).await {
            return Ok(response);
        }
        match site.answer(request, *client, shutdown, socket.departure()).await {
            Reply::Answer(response) => Ok(response.map(whole)),
            Reply::Delayed { by, answer: response } => {
                shutdown.sleep(by).await;
                Ok(response.map(whole))
            }
            reply => {
                socket.end_with(End::Symptom(reply));
                Err(NOT_ANSWERED)
            }
        }
    }
}

/// Chosen by this SDK: what a request's head may have, because the newest requests are kept.
const LARGEST_HEAD: usize = 64 * 1024;

/// Chosen by this SDK: how long a stopping server waits for each client.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// The body, or a byte more than `largest` of it, unless it broke off.
///
/// The rest is read and forgotten: a client that writes all before it reads meets the response and not a reset, and may go
/// on.
async fn read(body: Incoming, largest: usize) -> hyper::Result<Bytes> {
    let mut room = largest + 1;
    let cut = body.map_frame(|frame| {
        frame.map_data(|mut data| {
            data.truncate(room);
            room -= data.len();
            data
        })
    });
    // Most bodies come in one piece, which is then handed on and not copied.
    Ok(cut.collect().await?.to_bytes())
}

/// Whether what came is no body, and not only too little of one.
fn is_malformed(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData))
}

/// Makes hyper end the connection without a response.
const NOT_ANSWERED: &str = "this request gets no response";
