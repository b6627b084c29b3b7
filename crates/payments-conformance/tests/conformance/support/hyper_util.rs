//! A small but correct transport over hyper-util's client and hyper-rustls.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::iter::successors;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_timer::Delay;
use futures_util::future::{Either, select};
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{HttpConnector, capture_connection};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use payments_conformance::Setup;
use payments_core::{
    Transport, TransportError, TransportErrorKind as Kind, TransportRequest, TransportResponse,
};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

pub(crate) struct HyperUtil(Client<Connector, CallBody>);

impl HyperUtil {
    pub(crate) fn new(setup: &Setup) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(setup.authority_der().to_vec())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut tls = tls.unwrap().with_root_certificates(roots).with_no_client_auth();
        if setup.wants_http2() {
            tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = Connector(HttpsConnector::from((tcp, tls)));
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).http1_max_buf_size(64 * 1024).http1_max_headers(1000);
        Self(client.build(connector))
    }
}

impl Transport for HyperUtil {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(TransportError::not_processed(Kind::Configuration));
        }
        let (deadlines, cap) = (request.deadlines(), request.response_cap());
        // Not tokio's timer, which a flood of interim responses starves.
        let mut deadline = pin!(Delay::new(deadlines.total().min(LONGEST)));
        let connect_by = Instant::now() + deadlines.connect().min(LONGEST);
        if deadlines.total().is_zero() {
            return Err(TransportError::not_processed(Kind::Timeout));
        }
        // Dropping this ends the request body.
        let call = Arc::new(());
        let (head, body) = request.into_http().into_parts();
        let mut request = Request::from_parts(head, CallBody(body, Arc::downgrade(&call)));
        let connection = capture_connection(&mut request);
        let response = pin!(CONNECT_BY.scope(connect_by, self.0.request(request)));
        let response = match select(response, deadline.as_mut()).await {
            Either::Left((response, _)) => response.map_err(not_answered)?,
            Either::Right(_) if connection.connection_metadata().is_none() => {
                return Err(TransportError::not_processed(Kind::Timeout));
            }
            Either::Right(_) => return Err(TransportError::unknown(Kind::Timeout)),
        };
        if has_two_lengths(response.headers()) {
            if let Some(connection) = connection.connection_metadata().as_ref() {
                connection.poison();
            }
            return Err(TransportError::unknown(Kind::Protocol));
        }
        read(response, cap, deadline).await.map(Into::into)
    }
}

/// Reads the body up to the cap.
async fn read(
    response: Response<Incoming>,
    cap: usize,
    mut deadline: Pin<&mut Delay>,
) -> Result<Response<Bytes>, TransportError> {
    let (head, mut incoming) = response.into_parts();
    // Over HTTP/2, hyper treats a stream reset with NO_ERROR as the end of the body.
    let length = head.headers.get(CONTENT_LENGTH).filter(|_| head.version == http::Version::HTTP_2);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let has_body = ![204, 304].contains(&head.status.as_u16());
    let mut body = BytesMut::new();
    let broken = loop {
        let frame = match select(pin!(incoming.frame()), deadline.as_mut()).await {
            Either::Left((frame, _)) => frame,
            Either::Right(_) => break Some(Kind::Timeout),
        };
        match frame {
            None if has_body && length.is_some_and(|length| length != body.len()) => {
                break Some(Kind::BodyTruncated);
            }
            None => break None,
            Some(Err(_)) => break Some(Kind::BodyTruncated),
            Some(Ok(frame)) => {
                let Ok(data) = frame.into_data() else { continue };
                let fits = data.len().min(cap - body.len());
                body.extend_from_slice(&data[..fits]);
                if fits < data.len() {
                    break Some(Kind::BodyTooLarge);
                }
            }
        }
    };
    let response = Response::from_parts(head, body.freeze());
    match broken {
        None => Ok(response),
        Some(kind) => Err(TransportError::answered(kind, response)),
    }
}

/// What an error of hyper-util proves.
fn not_answered(error: legacy::Error) -> TransportError {
    let was_not_sent = successors(error.source(), |&cause| cause.source()).any(|cause| {
        let hyper = cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled);
        let refused = cause.downcast_ref::<h2::Error>().is_some_and(|error| {
            error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM) && error.is_reset()
        });
        hyper || refused
    });
    if error.is_connect() || error.connect_info().is_none() || was_not_sent {
        return TransportError::not_processed(Kind::Connect).with_source(error);
    }
    TransportError::unknown(Kind::Closed).with_source(error)
}

/// hyper rejects all other ambiguous lengths.
fn has_two_lengths(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH)
}

/// A body that ends when its call is dropped. Otherwise the connection's task would send the rest.
struct CallBody(Bytes, Weak<()>);

impl Body for CallBody {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        if self.1.strong_count() == 0 {
            return Poll::Ready(Some(Err("the call was dropped")));
        }
        let length = self.0.len().min(16 * 1024);
        Poll::Ready((length > 0).then(|| Ok(Frame::data(self.0.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

tokio::task_local! {
    /// The connect deadline of the current call.
    static CONNECT_BY: Instant;
}

/// Applies one deadline to name resolution, TCP and TLS together.
#[derive(Clone)]
struct Connector(HttpsConnector<HttpConnector>);

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Box<dyn StdError + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connected = timeout_at(CONNECT_BY.get(), self.0.call(uri));
        Box::pin(async move { connected.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))? })
    }
}

/// Longer than any test, but within the range of every clock.
const LONGEST: Duration = Duration::from_hours(24 * 365);
