use std::future::{Future, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use payments_fake::Reply;
use payments_fake::unversioned::{ErrorEnvelope, GatewayCore, OpenRecord};
use tokio::task::{spawn_blocking, yield_now};

use crate::activity::IdleClose;
use crate::admin::{self, Admin};
use crate::body::{Body, full};
use crate::control_header::requested_fault;
use crate::description::{VERSION, VERSION_HEADER};
use crate::exchange::Exchange;
use crate::page::{Event, Feed};
use crate::shutdown::Shutdown;

/// What one port serves.
#[derive(Clone)]
pub(crate) enum Port {
    Service,
    Admin(Arc<Admin>),
    Both(Arc<Admin>),
}

/// One port, and what every port shares.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) port: Port,
    pub(crate) service: Arc<GatewayCore>,
    /// Whether a request may ask for its own fault.
    pub(crate) control_headers: bool,
    pub(crate) on_exchange: Option<OnExchange>,
    pub(crate) on_idle_close: Option<OnIdleClose>,
    pub(crate) feed: Feed,
    /// The number of the next response that does not come from the gateway. It starts at another number in each process.
    pub(crate) next_id: Arc<AtomicU64>,
}

/// A request to the service that has its reply.
pub(crate) struct Answered {
    record: Option<OpenRecord>,
    /// The exchange for the log, if it is logged.
    exchange: Option<Box<Exchange>>,
}

/// Called for every request to the service.
pub(crate) type OnExchange = Arc<dyn Fn(&Exchange) + Send + Sync>;

/// Called for every connection that is closed because it was idle.
pub(crate) type OnIdleClose = Arc<dyn Fn(&IdleClose) + Send + Sync>;

impl Site {
    /// The admin interface, if a request to this path is for it. On its own port every request is.
    pub(crate) fn admin_at(&self, path: &str) -> Option<&Arc<Admin>> {
        match &self.port {
            Port::Service => None,
            Port::Admin(admin) => Some(admin),
            Port::Both(admin) => Some(admin).filter(|_| admin::path(path).is_some()),
        }
    }

    /// The admin interface's response.
    pub(crate) async fn administer(&self, admin: Arc<Admin>, request: Request<Bytes>) -> Response<Body> {
        // Writing or saving a large state would delay other connections.
        let handled = spawn_blocking(move || admin.respond(&request)).await;
        let mut response = handled.unwrap_or_else(|error| {
            let message = format!("this is a bug of the sandbox: {error}");
            ErrorEnvelope::new(StatusCode::INTERNAL_SERVER_ERROR, message).response().map(full)
        });
        self.stamp(response.headers_mut());
        response
    }

    /// The reply to a request to the service. A `shutdown` ends the pauses of faults; `given_up` is ready when the client has gone.
    pub(crate) async fn reply_to(
        &self,
        request: Request<Bytes>,
        client: SocketAddr,
        shutdown: &Shutdown,
        given_up: impl Future<Output = ()>,
    ) -> (Reply, Answered) {
        let begun = Instant::now();
        let logged = self.on_exchange.is_some().then(|| self.service.loggable(&request));
        let mut processing = pin!(self.process(request, shutdown, given_up));
        let (mut reply, record) = tokio::select! {
            biased;
            processed = &mut processing => processed,
            () = ready(()) => {
                // It waits, perhaps after it was charged.
                self.feed.send(Event::Change);
                let processed = processing.await;
                // Lets the runtime see whether the client has left meanwhile.
                yield_now().await;
                processed
            }
        };
        let request_id = reply.response_mut().map(|response| self.stamp(response.headers_mut()).clone());
        let exchange = logged.map(|(method, path)| {
            let mut exchange = Exchange {
                client,
                method,
                path,
                status: None,
                symptom: None,
                request_id: request_id.and_then(|id| Some(id.to_str().ok()?.to_owned())),
                recorded: None,
                took: begun.elapsed(),
            };
            exchange.set_reply(&reply);
            Box::new(exchange)
        });
        (reply, Answered { record, exchange })
    }

    /// Reports what the client of a request saw: its reply, or this instead. The exchange is logged only once.
    pub(crate) fn report(&self, answered: &mut Answered, instead: Option<&Reply>) {
        let Answered { record, exchange } = answered;
        if let (Some(reply), Some(record)) = (instead, &record) {
            record.set_reply(reply);
        }
        if let Some(record) = record {
            self.feed.send(Event::Request(record.clone()));
        }
        if let (Some(tell), Some(mut exchange)) = (&self.on_exchange, exchange.take()) {
            if let Some(reply) = instead {
                exchange.set_reply(reply);
            }
            exchange.recorded = record.as_ref().map(OpenRecord::to_request);
            tell(&exchange);
        }
    }

    /// The response to bytes that hyper refuses as a request.
    pub(crate) fn unreadable(&self, is_too_large: bool) -> Response<Bytes> {
        if !is_too_large {
            return self.bad_request("this cannot be read as an HTTP/1.1 request");
        }
        let msg = "Request head is larger than 64 KiB, or has more than 100 fields";
        self.error(&ErrorEnvelope::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, msg))
    }

    pub(crate) fn bad_request(&self, reason: &str) -> Response<Bytes> {
        self.error(&ErrorEnvelope::bad_request(reason))
    }

    fn error(&self, envelope: &ErrorEnvelope) -> Response<Bytes> {
        let mut response = envelope.response();
        self.stamp(response.headers_mut());
        response
    }

    /// The reply, and the record of the request if it is recorded.
    async fn process(
        &self,
        mut request: Request<Bytes>,
        shutdown: &Shutdown,
        given_up: impl Future<Output = ()>,
    ) -> (Reply, Option<OpenRecord>) {
        if self.control_headers {
            match requested_fault(request.headers()) {
                Ok(Some(fault)) => _ = request.extensions_mut().insert(fault),
                Ok(None) => {}
                Err(problem) => {
                    let response = self.bad_request(&format!("Sandbox-Fault: {problem}"));
                    return (Reply::Response(response), None);
                }
            }
        }
        self.service.respond(request, shutdown, given_up).await
    }

    /// Adds the version and a unique id to a response, even to a proxy's error page. Returns the id.
    fn stamp<'a>(&self, headers: &'a mut HeaderMap) -> &'a HeaderValue {
        headers.insert(VERSION_HEADER, HeaderValue::from_static(VERSION));
        headers.entry(REQUEST_ID).or_insert_with(|| {
            let number = self.next_id.fetch_add(1, Ordering::Relaxed);
            HeaderValue::try_from(format!("sbx_{number:016x}")).expect("digits and letters are visible ASCII")
        })
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
