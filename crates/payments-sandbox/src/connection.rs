use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::Watcher;
use payments_fake::Reply;
use payments_model::unversioned::MAX_BODY_BYTES;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::activity::Activity;
use crate::admin;
use crate::body::{Body, full};
use crate::last_response::LastResponse;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::socket::{End, Socket, State};
use crate::symptom;

/// One client connection.
pub(crate) struct ClientConnection {
    pub(crate) client: SocketAddr,
    pub(crate) socket: Socket,
    pub(crate) activity: Arc<Activity>,
    pub(crate) site: Arc<Site>,
    pub(crate) shutdown: Shutdown,
    /// Held while a request is processed, because that time does not count against the client.
    pub(crate) processing: Mutex<()>,
    pub(crate) last: LastResponse,
}

impl ClientConnection {
    /// Serves the connection until it ends, or until the server stops and the client's grace period is over.
    pub(crate) async fn run(self, graceful: Watcher) {
        tokio::select! {
            biased;
            () = self.serve_requests(graceful) => {}
            () = self.grace_period_over() => {}
        }
        self.last.report().await;
    }

    /// Ready when the server stops and the client has had its time to finish a request or to read a response.
    async fn grace_period_over(&self) {
        self.shutdown.begun().await;
        loop {
            drop(self.processing.lock().await);
            sleep(GRACE_PERIOD).await;
            if self.processing.try_lock().is_ok() {
                return;
            }
        }
    }

    /// hyper reads the requests and writes the complete responses. For a symptom, the service returns an error on purpose:
    /// hyper then writes nothing and releases the socket, and `symptom` writes to it.
    async fn serve_requests(&self, graceful: Watcher) {
        let connection = http1::Builder::new()
            .max_header_size(LARGEST_HEAD)
            // A client that has closed its sending side still expects its response.
            .half_close(true)
            .serve_connection(TokioIo::new(self.socket.clone()), service_fn(|request| self.respond(request)));
        let ended = graceful.watch(connection).await;
        let (reply, has_body) = match self.socket.take_end(ended.as_ref().is_err_and(hyper::Error::is_parse))
        {
            None => {
                self.last.report().await;
                // An error means that the client left first.
                let _ = self.socket.close().await;
                return;
            }
            Some(End::Unreadable) => {
                self.last.report().await;
                let is_too_large = ended.is_err_and(|error| error.is_parse_too_large());
                (Reply::Response(self.site.unreadable(is_too_large)), true)
            }
            Some(End::Reply { reply, has_body }) => (reply, has_body),
        };
        // A symptom may keep the connection open on purpose.
        let _handling = self.activity.handle_request();
        let mut socket = self.socket.clone();
        let seen = symptom::write(reply, has_body, &mut socket, &self.shutdown).await;
        self.last.report_seen(&seen).await;
        let _ = symptom::end(&seen, has_body, socket, &self.shutdown).await;
    }

    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Body>, &'static str> {
        let Self { client, socket, activity, site, shutdown, processing, last } = self;
        // hyper has written the response before it reads another request.
        self.last.report().await;
        socket.set_state(State::Processing);
        let (head, body) = request.into_parts();
        let admin = site.admin_at(head.uri.path());
        let largest = if admin.is_some() { admin::LARGEST_BODY } else { MAX_BODY_BYTES };
        let body = read(body, largest).await.map_err(|error| {
            if is_malformed(&error) {
                let msg = "the body is not in chunks as Transfer-Encoding says";
                let reply = Reply::Response(site.bad_request(msg));
                socket.set_state(State::Ending(End::Reply { reply, has_body: true }));
            }
            // Otherwise the client left in the middle of its request, which is therefore ignored.
            NO_RESPONSE
        })?;
        let _processing = processing.lock().await;
        let handling = activity.handle_request();
        let is_head = head.method == Method::HEAD;
        let request = Request::from_parts(head, body);
        if let Some(admin) = admin {
            let response = site.administer(Arc::clone(admin), request).await;
            // The response to a HEAD is whole, even if that to a GET is a stream.
            if is_head || matches!(response.body(), Body::Left(_)) {
                socket.set_state(State::Responding);
            } else {
                drop(handling);
                activity.streams();
            }
            return Ok(response);
        }
        let (reply, answered) = site.reply_to(request, *client, shutdown, socket.departure()).await;
        match reply {
            Reply::Response(response) => {
                last.begin(answered).await;
                Ok(response.map(full))
            }
            reply => {
                last.begin_symptom(answered).await;
                socket.set_state(State::Ending(End::Reply { reply, has_body: !is_head }));
                Err(NO_RESPONSE)
            }
        }
    }
}

/// The limit of a request head, chosen by this SDK. The newest requests are stored, so it must be small.
const LARGEST_HEAD: usize = 64 * 1024;

/// How long a stopping server waits for each client, chosen by this SDK.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// The body, or one byte more than `largest` of it. Fails if the body is incomplete.
///
/// The rest is read and discarded, so that a client that writes everything before it reads gets the response instead of a
/// reset, and can continue to use the connection.
async fn read(body: Incoming, largest: usize) -> hyper::Result<Bytes> {
    let mut room = largest + 1;
    let cut = body.map_frame(|frame| {
        frame.map_data(|mut data| {
            data.truncate(room);
            room -= data.len();
            data
        })
    });
    // Most bodies arrive in one piece, which is then not copied.
    Ok(cut.collect().await?.to_bytes())
}

/// Whether the body is malformed, and not only incomplete.
fn is_malformed(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| matches!(cause.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData))
}

/// Makes hyper end the connection without a response.
const NO_RESPONSE: &str = "this request gets no response";
