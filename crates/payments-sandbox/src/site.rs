use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use payments_fake::{Fault, Reply, RequestedFault, Responder};
use payments_model::unversioned::ErrorEnvelope;

use crate::admin::{self, Admin};
use crate::body::{Content, json};
use crate::exchange::{Exchange, Shown};
use crate::page::{Feed, News};
use crate::shutdown::Shutdown;

/// What is offered on one port.
pub(crate) struct Site {
    pub(crate) service: Responder,
    /// Whether the service is offered here: not if the port is the admin interface's alone.
    pub(crate) serves: bool,
    /// The admin interface, unless it has a port of its own.
    pub(crate) admin: Option<Arc<Admin>>,
    /// Whether a request may ask for its own fault.
    pub(crate) control_headers: bool,
    pub(crate) on_exchange: Option<OnExchange>,
    pub(crate) feed: Feed,
    pub(crate) request_ids: Arc<RequestIds>,
}

/// Who is told of every request to the service.
pub(crate) type OnExchange = Arc<dyn Fn(&Exchange) + Send + Sync>;

impl Site {
    /// The largest body that a request to this path may have.
    pub(crate) fn largest_body(&self, path: &str) -> usize {
        if self.admin_for(path).is_some() { 1024 * 1024 } else { 64 * 1024 }
    }

    /// The admin interface's response, if the request is for it.
    pub(crate) async fn administer(&self, request: &Request<Bytes>) -> Option<Response<Content>> {
        let path = request.uri().path();
        let admin = self.admin_for(path)?;
        let mut answer = if request.body().len() <= self.largest_body(path) {
            admin.answer(request).await
        } else {
            error(StatusCode::PAYLOAD_TOO_LARGE, "Request body is larger than 1 MiB")
        };
        self.stamp(&mut answer);
        Some(answer)
    }

    /// What the client is to be shown. Faults wait by `time`, and `given_up` is ready when the client has gone.
    pub(crate) async fn answer(
        &self,
        request: Request<Bytes>,
        client: SocketAddr,
        time: &Shutdown,
        given_up: impl Future<Output = ()>,
    ) -> Reply {
        let exchange = self.on_exchange.as_ref().map(|tell| {
            let begun = Instant::now();
            let path = self.service.loggable_path(&request);
            let method = self.service.loggable_method(&request);
            (tell, Exchange::begin(client, &method, path), begun)
        });
        let (mut reply, number) = self.serve(request, time, given_up).await;
        if number > 0 {
            self.feed.tell(News::Request(number));
        }
        if let Some(answer) = reply.answer_mut() {
            self.stamp(answer);
        }
        if let Some((tell, mut exchange, begun)) = exchange {
            exchange.took = begun.elapsed();
            if let Some(recorded) = self.service.recorded(number) {
                exchange.note(&recorded);
            }
            exchange.shown = Shown::by(&reply);
            exchange.request_id = reply
                .answer_mut()
                .and_then(|answer| Some(answer.headers().get(REQUEST_ID)?.to_str().ok()?.to_owned()));
            tell(&exchange);
        }
        reply
    }

    /// To a client that sent what hyper refuses to read, with the status that hyper gave it.
    pub(crate) fn unreadable(&self, status: StatusCode) -> Response<Bytes> {
        match status {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
                self.stamped(error(status, "Request head is larger than 64 KiB, or has more than 100 fields"))
            }
            StatusCode::URI_TOO_LONG => self.stamped(error(status, "Request target is too long")),
            _ => self.stamped(bad_request("this cannot be read as an HTTP/1.1 request")),
        }
    }

    /// To a client whose chunks are none.
    pub(crate) fn malformed_chunks(&self) -> Response<Bytes> {
        self.stamped(bad_request("the body is not in chunks as Transfer-Encoding says"))
    }

    /// The reply, and the number under which the request is recorded, if it is.
    async fn serve(
        &self,
        mut request: Request<Bytes>,
        time: &Shutdown,
        given_up: impl Future<Output = ()>,
    ) -> (Reply, u64) {
        if !self.serves {
            let msg = "Path not found: this port is for /_sandbox alone";
            return (Reply::Answer(error(StatusCode::NOT_FOUND, msg)), 0);
        }
        if self.control_headers {
            match requested_fault(request.headers()) {
                Ok(Some(fault)) => _ = request.extensions_mut().insert(RequestedFault(fault)),
                Ok(None) => {}
                Err(problem) => {
                    return (Reply::Answer(bad_request(&format!("Sandbox-Fault: {problem}"))), 0);
                }
            }
        }
        self.service.respond_numbered(request, time, given_up).await
    }

    fn admin_for(&self, path: &str) -> Option<&Admin> {
        let rest = path.strip_prefix(admin::PREFIX)?;
        self.admin.as_deref().filter(|_| rest.is_empty() || rest.starts_with('/'))
    }

    fn stamped(&self, mut answer: Response<Bytes>) -> Response<Bytes> {
        self.stamp(&mut answer);
        answer
    }

    /// Every answer says which sandbox gave it, and has an id of its own, even a proxy's page.
    fn stamp<B>(&self, answer: &mut Response<B>) {
        answer.headers_mut().insert(VERSION_HEADER, HeaderValue::from_static(crate::VERSION));
        answer.headers_mut().entry(REQUEST_ID).or_insert_with(|| self.request_ids.next());
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, serves, admin, control_headers, on_exchange: _, feed: _, request_ids: _ } = self;
        f.debug_struct("Site")
            .field("service", service)
            .field("serves", serves)
            .field("has_admin", &admin.is_some())
            .field("control_headers", control_headers)
            .finish_non_exhaustive()
    }
}

/// The ids of answers that the gateway did not give.
#[derive(Debug)]
pub(crate) struct RequestIds(AtomicU64);

impl RequestIds {
    /// Counts from a number that another start does not have.
    pub(crate) fn new(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }

    fn next(&self) -> HeaderValue {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        HeaderValue::try_from(format!("sbx_{number:016x}")).expect("digits and letters are visible ASCII")
    }
}

fn error<B: From<Bytes>>(status: StatusCode, msg: &str) -> Response<B> {
    json(status, ErrorEnvelope::new(status.as_u16(), msg).encode())
}

fn bad_request(reason: &str) -> Response<Bytes> {
    json(StatusCode::BAD_REQUEST, ErrorEnvelope::bad_request(reason).encode())
}

/// The fault that the request asks for itself, or what is wrong with the header in which it does.
fn requested_fault(headers: &HeaderMap) -> Result<Option<Fault>, String> {
    let mut values = headers.get_all(CONTROL_HEADER).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err("a request can ask for one fault".to_owned()),
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| "it must be visible ASCII".to_owned())?;
            Fault::from_header(text).map(Some).map_err(|problem| problem.to_string())
        }
    }
}

const CONTROL_HEADER: HeaderName = HeaderName::from_static("sandbox-fault");
const VERSION_HEADER: HeaderName = HeaderName::from_static("sandbox-version");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
