use std::error::Error as StdError;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use bytes::BytesMut;
use futures_timer::Delay;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Response};
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio::time::error::Elapsed;

use crate::call_body::Call;
use crate::connect_deadline::{ConnectDeadline, connecting_by};

/// HTTP/1.1 over TCP and TLS, by reqwest, rustls and tokio.
///
/// Clones are cheap and share their connections. A call must be made within a tokio runtime that has its network and
/// time drivers.
#[derive(Clone)]
pub struct ReqwestTransport {
    shared: Arc<Shared>,
}

struct Shared {
    tls: ClientConfig,
    client: Mutex<reqwest::Client>,
}

impl ReqwestTransport {
    /// Load balancers commonly keep idle connections for 60 seconds; who gives up first meets fewer that are closed.
    const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(30);

    /// A transport that trusts `roots` and no others.
    ///
    /// For the public web: `RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }`.
    ///
    /// # Errors
    ///
    /// If reqwest cannot be built so: its rustls is another version than this crate's, or it finds no resolver.
    pub fn new(roots: RootCertStore) -> Result<Self, Box<dyn StdError + Send + Sync>> {
        // Given explicitly: without, reqwest takes what the process has installed, and panics if that is nothing.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let client = Mutex::new(client(tls.clone())?);
        Ok(Self { shared: Arc::new(Shared { tls, client }) })
    }
}

impl Shared {
    fn client(&self) -> MutexGuard<'_, reqwest::Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves all connections behind, because one of them cannot be trusted and reqwest closes none that is asked for.
    ///
    /// Calls that are under way end as they would.
    fn begin_anew(&self) {
        *self.client() = client(self.tls.clone()).expect("what made a client once makes another");
    }
}

fn client(tls: ClientConfig) -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // A 307 or 308 would be answered by posting the card number to another host.
        .redirect(reqwest::redirect::Policy::none())
        // Over HTTP/2 the default repeats what a server may have processed.
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        // Said although their features are off here: another crate of the same build may switch them on.
        .http1_only()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .pool_idle_timeout(ReqwestTransport::POOL_IDLE_TIMEOUT)
        // Not reqwest's own time-outs: its deadline for a connection is not the request's, and its total one loses what
        // was read of an answer.
        .connector_layer(ConnectDeadline)
        .build()
}

impl fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReqwestTransport").finish_non_exhaustive()
    }
}

impl Transport for ReqwestTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let connect_by = Instant::now() + request.deadlines().connect();
        // Not tokio's: while a server floods a connection with interim answers, hyper reads them without pause, and
        // nobody may be left to look at tokio's clock.
        let mut total = Delay::new(request.deadlines().total());
        let cap = request.response_cap();
        Handle::try_current().map_err(|_| {
            TransportError::not_processed(TransportErrorKind::Configuration)
                .with_source("a tokio runtime is missing: make the call within one")
        })?;
        let call = Call::new();
        let request = as_written(request, &call)?;

        let client = self.shared.client().clone();
        let sending = connecting_by(connect_by, client.execute(request));
        let mut answer = match before(&mut total, sending).await {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => return Err(no_status(error)),
            None => return Err(TransportError::unknown(TransportErrorKind::Timeout)),
        };

        // An answer with two ends may be somebody else's: its status is not believed either.
        if has_ambiguous_length(answer.headers()) {
            self.shared.begin_anew();
            return Err(TransportError::unknown(TransportErrorKind::Protocol)
                .with_source("the answer gives its length more than once"));
        }
        let mut body = BytesMut::new();
        let broken = read_body(&mut answer, &mut body, cap, &mut total).await.err();

        let mut response = Response::new(body.freeze());
        *response.status_mut() = answer.status();
        *response.version_mut() = answer.version();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        match broken {
            None => Ok(TransportResponse::new(response)),
            Some((kind, None)) => Err(TransportError::answered(kind, response)),
            Some((kind, Some(source))) => Err(TransportError::answered(kind, response).with_source(source)),
        }
    }
}

/// What the future gives, or `None` if the deadline ends first.
async fn before<F: Future>(deadline: &mut Delay, future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = deadline => None,
    }
}

type Broken = (TransportErrorKind, Option<reqwest::Error>);

/// Reads piece by piece, so that whatever ends it, what came before is kept: it may hold the transaction's id.
async fn read_body(
    answer: &mut reqwest::Response,
    body: &mut BytesMut,
    cap: usize,
    total: &mut Delay,
) -> Result<(), Broken> {
    loop {
        let piece = match before(total, answer.chunk()).await {
            Some(Ok(Some(piece))) => piece,
            Some(Ok(None)) => return Ok(()),
            Some(Err(error)) => return Err((TransportErrorKind::BodyTruncated, Some(error.without_url()))),
            None => return Err((TransportErrorKind::Timeout, None)),
        };
        let room = cap - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Err((TransportErrorKind::BodyTooLarge, None));
        }
    }
}

/// The request as reqwest takes it, if it leaves its target alone.
///
/// reqwest's `Url` reads `/a/%2e%2e/b` as `/b` and encodes some characters anew: another resource than was asked for.
fn as_written(request: TransportRequest, call: &Call) -> Result<reqwest::Request, TransportError> {
    let written = request.uri().clone();
    let request = request.into_http().map(|body| reqwest::Body::wrap(call.body(body)));
    let request = reqwest::Request::try_from(request).map_err(never_sent)?;
    if request.url().path() != written.path() || request.url().query() != written.query() {
        return Err(never_sent("reqwest would rewrite the path of this address"));
    }
    Ok(request)
}

/// Why there is no status, and what that proves.
fn no_status(error: reqwest::Error) -> TransportError {
    let evidence = if error.is_connect() {
        TransportError::not_processed(if error.is_dns() {
            TransportErrorKind::Resolve
        } else if has_source(&error, <dyn StdError>::is::<Elapsed>) {
            TransportErrorKind::Timeout
        } else if has_source(&error, is_tls) {
            TransportErrorKind::Tls
        } else {
            TransportErrorKind::Connect
        })
    } else {
        // No kind of error and no text of one proves that the server read nothing.
        TransportError::unknown(if has_source(&error, is_no_http) {
            TransportErrorKind::Protocol
        } else {
            TransportErrorKind::Closed
        })
    };
    evidence.with_source(error.without_url())
}

fn never_sent(reason: impl Into<Box<dyn StdError + Send + Sync>>) -> TransportError {
    TransportError::not_processed(TransportErrorKind::Other).with_source(reason)
}

/// Two readers of such an answer can see its end in two places. hyper accepts some of these and refuses others.
fn has_ambiguous_length(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else {
        return false;
    };
    lengths.next().is_some() || first.as_bytes().contains(&b',') || headers.contains_key(TRANSFER_ENCODING)
}

fn has_source(error: &reqwest::Error, is_it: impl Fn(&(dyn StdError + 'static)) -> bool) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if is_it(error) {
            return true;
        }
        source = error.source();
    }
    false
}

fn is_tls(error: &(dyn StdError + 'static)) -> bool {
    // An io::Error does not name what it holds as its source, and here one holds another.
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().is_some_and(|inner| is_tls(inner)),
        None => error.is::<rustls::Error>(),
    }
}

fn is_no_http(error: &(dyn StdError + 'static)) -> bool {
    error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)
}
