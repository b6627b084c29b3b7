use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{Response, Version};
use http_body::{Body as _, Frame};
use hyper_util::client::legacy::connect::HttpInfo;
use payments_core::transport::{before, grace_after_stop, has_ambiguous_length, read_body};
use payments_core::{
    SystemTimer, Timer as _, Transport, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::builder::ReqwestTransportBuilder;
use crate::call::Call;
use crate::clients::{Client, Clients, ConnectionId};
use crate::connect_deadline::{Misconfigured, Needed};
use crate::evidence::{misconfigured, transport_error};

/// A transport over reqwest: HTTP/1.1 over TCP and TLS, with rustls and tokio.
///
/// Clones are cheap and share their connections. A call needs [a tokio runtime](crate#runtime) with its network and time drivers.
/// Outside a runtime it fails with a configuration error, and nothing was sent.
///
/// The [crate's documentation](crate) says what each failure proves.
#[derive(Clone)]
pub struct ReqwestTransport {
    clients: Arc<Clients>,
}

impl ReqwestTransport {
    /// Returns a builder with every setting at its default.
    pub fn builder() -> ReqwestTransportBuilder {
        ReqwestTransportBuilder::with_defaults()
    }

    pub(crate) fn from_parts(clients: Clients) -> Self {
        Self { clients: Arc::new(clients) }
    }
}

impl fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestTransport").finish_non_exhaustive()
    }
}

impl Transport for ReqwestTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        // A panic must not hide that the request may have been sent. One before there is a connection is an error of the connector.
        AssertUnwindSafe(self.run(request)).catch_unwind().await.unwrap_or_else(|_panic| {
            Err(TransportError::unknown(TransportErrorKind::Other).with_source("the transport panicked"))
        })
    }
}

impl ReqwestTransport {
    async fn run(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let is_https = request.server()?.is_https();
        let (deadlines, cap) = (request.deadlines(), request.response_cap());
        let needed = Needed::new(Instant::now() + deadlines.connect());
        // Not tokio's timer, which does not run while hyper reads a flood of interim responses.
        let timer = SystemTimer::new();
        let (ends, on_time) = (timer.now() + deadlines.total(), timer.sleep(deadlines.total()));
        let total = async {
            on_time.await;
            if needed.may_be_sent()
                && let Some(grace) = grace_after_stop(ends, timer.now())
            {
                timer.sleep(grace).await;
            }
        };
        let mut total = pin!(total);

        let no_runtime = "a tokio runtime is missing: make the call within one";
        let runtime = Handle::try_current().map_err(|_| misconfigured(no_runtime))?;
        let call = Call::new(ends);
        let (head, body) = unchanged_request(request, self.clients.add_a_length)?;
        loop {
            // Read first, so that the client is not older.
            let generation = self.clients.generation();
            let client = self.clients.get(runtime.id(), is_https).map_err(misconfigured)?;
            let mut request = head.try_clone().expect("it has no body");
            *request.body_mut() = Some(reqwest::Body::wrap(call.body(body.clone())));
            // It sends nothing before it is polled, and panics in a runtime without a time driver.
            let response = catch_unwind(AssertUnwindSafe(|| client.http.execute(request)))
                .map_err(|_panic| misconfigured(Misconfigured::PANICKED))?;
            let future = Some(Box::pin(needed.during(response)));
            let mut response = InRuntime { runtime: runtime.clone(), future };
            let in_time = poll_fn(|context| {
                if needed.may_be_sent() {
                    return Pin::new(&mut response).poll(context).map(Some);
                }
                // After a stop, another call may have returned a connection, on which this request would be sent too late.
                if timer.now() >= ends {
                    return Poll::Pending;
                }
                // What this request waits for may be a connection that cannot be trusted.
                if self.clients.generation() != generation {
                    return Poll::Ready(None);
                }
                Pin::new(&mut response).poll(context).map(Some)
            });
            return match before(total.as_mut(), in_time).await {
                Some(Some(Ok(response))) => self.read(&client, response, cap, total).await,
                Some(Some(Err(error))) => Err(transport_error(error)),
                Some(None) => continue,
                None if needed.may_be_sent() => Err(TransportError::unknown(TransportErrorKind::Timeout)),
                None => Err(TransportError::not_processed(TransportErrorKind::Timeout)),
            };
        }
    }

    /// Reads the body to its end, the cap or the deadline.
    async fn read(
        &self,
        client: &Client,
        response: reqwest::Response,
        cap: usize,
        total: impl Future<Output = ()>,
    ) -> Result<TransportResponse, TransportError> {
        let unproven = |reason| TransportError::unknown(TransportErrorKind::Protocol).with_source(reason);
        let connection: ConnectionId = response.extensions().get().map(HttpInfo::local_addr);
        // The response may belong to another request, so its status proves nothing. reqwest may use its connection again, or does
        // already.
        if let Some(reason) = ambiguity(&response) {
            self.clients.abandon_connections(client, connection);
            return Err(unproven(reason));
        }
        let (head, mut body) = Response::from(response).into_parts();
        let piece = |context: &mut Context<'_>| {
            // The interface has no trailers.
            let piece = |frame: Frame<Bytes>| frame.into_data().unwrap_or_default();
            Pin::new(&mut body).poll_frame(context).map_ok(piece).map_err(reqwest::Error::without_url)
        };
        let read = read_body(head, cap, total, piece).await;
        // Looked at last: the call that refuses this connection may still run.
        if client.is_untrusted(connection) {
            return Err(unproven("it is unclear where an earlier response on this connection ended"));
        }
        read
    }
}

/// Drops a future within its runtime. A connection that returns to hyper-util's pool spawns a task, which panics outside a runtime.
struct InRuntime<F> {
    runtime: Handle,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for InRuntime<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.future.as_mut().expect("it is taken when this is dropped").as_mut().poll(cx)
    }
}

impl<F> Drop for InRuntime<F> {
    fn drop(&mut self) {
        let _within = self.runtime.enter();
        self.future = None;
    }
}

/// Converts the request to reqwest's type, without its body, and fails if reqwest would change its URL.
///
/// reqwest's `Url` reads `/a/%2e%2e/b` as `/b` and encodes some characters again, which is another resource. It reads a host such as
/// `0x7f.1` as an address.
fn unchanged_request(
    request: TransportRequest,
    needs_length: bool,
) -> Result<(reqwest::Request, Bytes), TransportError> {
    let (server, uri) = (request.server()?.clone(), request.uri().clone());
    let (is_safe, mut request) = (request.method().is_safe(), request.into_http());
    let body = mem::take(request.body_mut());
    let headers = request.headers_mut();
    // Set here, so that no default header of the builder replaces them.
    headers.insert(HOST, server.host_header().clone());
    headers.remove(TRANSFER_ENCODING);
    if needs_length || !is_safe {
        headers.insert(CONTENT_LENGTH, body.len().into());
    }
    let request = reqwest::Request::try_from(request).map_err(|error| misconfigured(error.without_url()))?;
    let url = request.url();
    let is_same_server = url.host_str().is_some_and(|host| is_same_host(host, server.host()))
        && url.port_or_known_default() == Some(server.port());
    if !is_same_server || url.path() != uri.path() || url.query() != uri.query() {
        let reason = "reqwest would rewrite this address: write the base URL with a full IP address or a name as its host, \
                      without the parts `.` and `..`, and without characters that reqwest encodes";
        return Err(misconfigured(reason));
    }
    Ok((request, body))
}

/// An IPv6 address can be written in several ways.
fn is_same_host(host: &str, other: &str) -> bool {
    let address = |host: &str| host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    host.eq_ignore_ascii_case(other) || address(host).is_some_and(|host| Some(host) == address(other))
}

/// Why two readers could disagree about where this response begins or ends, if they could. hyper accepts some of these responses.
fn ambiguity(incoming: &reqwest::Response) -> Option<&'static str> {
    if incoming.version() == Version::HTTP_09 {
        Some("the response has no head")
    } else if has_ambiguous_length(incoming.headers()) {
        Some("the response gives its length more than once")
    } else {
        None
    }
}
