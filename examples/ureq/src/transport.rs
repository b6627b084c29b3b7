use std::error::Error as StdError;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_channel::oneshot;
use futures_timer::Delay;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request, Response};
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};
use ureq::config::AutoHeaderValue;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, AsSendBody, Body};

use crate::attempt::{Attempt, Stage};
use crate::threads::Threads;
use crate::wire::WireConnector;

/// HTTP/1.1 over TCP and TLS, by ureq and rustls, on threads of its own.
///
/// Clones are cheap and share their connections and their threads. A call may be made within any runtime or none.
#[derive(Clone)]
pub struct UreqTransport {
    agent: Agent,
    threads: Arc<Threads>,
}

impl UreqTransport {
    /// How many calls may be under way at once: each takes a thread. One more is refused, not processed.
    pub const MOST_CALLS: usize = 128;

    /// A transport that trusts `roots` and no others; [`RootCerts::WebPki`] are Mozilla's, for the public web.
    pub fn new(roots: RootCerts) -> Self {
        // Given explicitly: without, ureq takes what the process has installed.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .root_certs(roots)
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            // A 307 or 308 would be answered by posting the card number to another host.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            // The request has every header that it needs, and an answer in a coding that it did not ask for is unreadable.
            .user_agent(AutoHeaderValue::None)
            .accept(AutoHeaderValue::None)
            .accept_encoding(AutoHeaderValue::None)
            .build();
        let agent = Agent::with_parts(config, WireConnector::default(), DefaultResolver::default());
        Self { agent, threads: Arc::new(Threads::at_most(Self::MOST_CALLS)) }
    }
}

impl fmt::Debug for UreqTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UreqTransport").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Transport for UreqTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let attempt = Arc::new(Attempt::starting_now(request.deadlines()));
        let connect = Delay::new(attempt.time_to_connect());
        let total = Delay::new(attempt.time_left());
        let (answer, mut answered) = oneshot::channel();
        let call = {
            let (attempt, agent) = (Arc::clone(&attempt), self.agent.clone());
            move || {
                let result = attempt.on_this_thread(|| call(&attempt, &agent, request));
                // Nobody is told if the future was dropped meanwhile.
                let _ = answer.send(result);
            }
        };
        self.threads
            .start(call)
            .map_err(|error| TransportError::not_processed(TransportErrorKind::Other).with_source(error))?;

        let _dropped = EndOnDrop(&attempt);
        let mut result = before(connect, &mut answered).await;
        if result.is_none() {
            attempt.expire_unless_sent();
            result = before(total, &mut answered).await;
        }
        if result.is_none() {
            attempt.expire();
            // The thread is freed by that, and it alone knows what was read.
            result = Some(answered.await);
        }
        match result {
            Some(Ok(result)) => result,
            Some(Err(oneshot::Canceled)) | None => {
                Err(attempt.no_status(TransportErrorKind::Other, "the thread that made the call panicked"))
            }
        }
    }
}

/// What the future gives, or `None` if the deadline ends first.
///
/// The time-outs of a socket are late by up to an eighth of their length, so they are not left alone with it.
async fn before<F: Future + Unpin>(mut deadline: Delay, future: &mut F) -> Option<F::Output> {
    poll_fn(|cx| match Pin::new(&mut *future).poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Pin::new(&mut deadline).poll(cx).map(|()| None),
    })
    .await
}

/// Ends the attempt with its future. After the end of the attempt it does nothing.
struct EndOnDrop<'a>(&'a Attempt);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The whole call, on a thread that may block.
fn call(
    attempt: &Attempt,
    agent: &Agent,
    request: TransportRequest,
) -> Result<TransportResponse, TransportError> {
    if attempt.is_ended() {
        return Err(attempt.no_status(TransportErrorKind::Cancelled, "the call has ended"));
    }
    let cap = request.response_cap();
    let (head, body) = request.into_http().into_parts();
    // ureq has no body of length zero where the method may have none.
    let answer = if body.is_empty() && matches!(head.method, Method::GET | Method::HEAD) {
        run(attempt, agent, Request::from_parts(head, ()))
    } else {
        run(attempt, agent, Request::from_parts(head, &body[..]))
    };
    let answer = answer.map_err(|error| attempt.no_status(kind_of(&error, attempt), error))?;

    // An answer with two ends may be somebody else's: its status is not believed either.
    if has_ambiguous_length(answer.headers()) {
        return Err(
            attempt.no_status(TransportErrorKind::Protocol, "the answer gives its length more than once")
        );
    }
    let (head, body) = answer.into_parts();
    let mut read = Vec::new();
    let broken = read_body(attempt, body, &mut read, cap).err();
    let answer = Response::from_parts(head, read.into());
    match broken {
        None => Ok(TransportResponse::new(answer)),
        Some((kind, None)) => Err(TransportError::answered(kind, answer)),
        Some((kind, Some(source))) => Err(TransportError::answered(kind, answer).with_source(source)),
    }
}

fn run(
    attempt: &Attempt,
    agent: &Agent,
    request: Request<impl AsSendBody>,
) -> Result<Response<Body>, ureq::Error> {
    // A time-out of zero is one that ureq takes for a second.
    let at_least = |time: Duration| Some(time.max(Duration::from_millis(1)));
    let request = agent
        .configure_request(request)
        .timeout_resolve(at_least(attempt.time_to_connect()))
        .timeout_connect(at_least(attempt.time_to_connect()))
        .timeout_global(at_least(attempt.time_left()))
        .build();
    agent.run(request)
}

type Broken = (TransportErrorKind, Option<Box<dyn StdError + Send + Sync>>);

/// Whatever ends it, what came before is kept: it may hold the transaction's id.
fn read_body(attempt: &Attempt, body: Body, read: &mut Vec<u8>, cap: usize) -> Result<(), Broken> {
    let one_more = u64::try_from(cap).unwrap_or(u64::MAX).saturating_add(1);
    let ended = body.into_reader().take(one_more).read_to_end(read);
    if read.len() > cap {
        read.truncate(cap);
        return Err((TransportErrorKind::BodyTooLarge, None));
    }
    match ended {
        // A socket that was shut down may look like one that has come to its end.
        _ if attempt.is_expired() => Err((TransportErrorKind::Timeout, None)),
        Err(error) if is_timeout(&error) => Err((TransportErrorKind::Timeout, Some(error.into()))),
        Err(error) => Err((TransportErrorKind::BodyTruncated, Some(error.into()))),
        // A body without a length ends with the connection, but not with one that failed.
        Ok(_) if attempt.is_broken() => Err((TransportErrorKind::BodyTruncated, None)),
        Ok(_) => Ok(()),
    }
}

/// Two readers of such an answer can see its end in two places. ureq accepts some of these and refuses others.
fn has_ambiguous_length(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else {
        return false;
    };
    lengths.next().is_some() || first.as_bytes().contains(&b',') || headers.contains_key(TRANSFER_ENCODING)
}

/// For people and logs alone: what it proves was decided by the attempt.
fn kind_of(error: &ureq::Error, attempt: &Attempt) -> TransportErrorKind {
    match error {
        _ if attempt.is_expired() => TransportErrorKind::Timeout,
        ureq::Error::Timeout(_) => TransportErrorKind::Timeout,
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::TlsRequired => TransportErrorKind::Tls,
        ureq::Error::Io(error) if is_tls(error) => TransportErrorKind::Tls,
        ureq::Error::Io(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
            match attempt.stage() {
                Stage::Resolving => TransportErrorKind::Resolve,
                Stage::Connecting => TransportErrorKind::Connect,
                Stage::MayBeSent => TransportErrorKind::Closed,
            }
        }
        ureq::Error::Protocol(_) | ureq::Error::Http(_) | ureq::Error::LargeResponseHeader(..) => {
            TransportErrorKind::Protocol
        }
        _ => TransportErrorKind::Other,
    }
}

fn is_tls(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn StdError + Send + Sync>::is::<rustls::Error>)
}

fn is_timeout(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<ureq::Error>());
    matches!(inner, Some(ureq::Error::Timeout(_)))
}
