use std::error::Error as StdError;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{Request, Uri, Version};
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::runtime;
use tokio::time::Instant;

use crate::connection::Exchange;
use crate::origin::Origin;
use crate::outgoing::Outgoing;
use crate::stream::Stream;

/// A handle to an HTTP/2 connection, which carries the requests of many calls at once.
///
/// Unlike an HTTP/1.1 connection it is driven by a task of the runtime, because no single call could: it ends with the
/// connection, and that with the last handle.
#[derive(Clone)]
pub(crate) struct Multiplexed {
    sender: http2::SendRequest<Full<Bytes>>,
    is_reused: bool,
}

impl Multiplexed {
    /// To be called within a runtime.
    pub(crate) async fn start(stream: Stream) -> hyper::Result<Self> {
        let (sender, driver) = http2::Builder::new(TokioExecutor::new())
            .max_header_list_size(LARGEST_HEAD)
            .handshake(TokioIo::new(stream))
            .await?;
        // Its end is told to every call that it carries, and to the next one by `is_closed`.
        drop(tokio::spawn(driver));
        Ok(Self { sender, is_reused: false })
    }

    pub(crate) fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Sends `request` and waits for the head of its answer.
    pub(crate) async fn exchange(&mut self, request: &mut Outgoing, origin: &Origin) -> Exchange {
        let mut failure = match self.sender.try_send_request(as_http2(request.take(), origin)).await {
            Ok(response) => return Exchange::Answered(response),
            Err(failure) => failure,
        };
        let handed_back = failure.take_message();
        let error = failure.into_error();
        match handed_back {
            Some(handed_back) => {
                request.put_back(as_http1(handed_back, origin));
                Exchange::HandedBack(error)
            }
            None if is_refused_by_server(&error) => Exchange::Refused(error),
            None => Exchange::Lost(error),
        }
    }

    /// The next piece of the answer's body; `None` at its end.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await
    }

    /// Whether a body at whose end hyper saw no error is whole.
    ///
    /// A stream that the server resets with `NO_ERROR` ends without one, because RFC 9113 §8.1 lets a server do that after
    /// a whole answer. hyper does not look whether it was whole.
    pub(crate) fn has_brought_all_of(body: &Incoming) -> bool {
        match body.size_hint().exact() {
            Some(missing) => missing == 0,
            None => body.is_end_stream(),
        }
    }
}

/// Chosen by this SDK: the headers of an answer may take 64 KiB.
const LARGEST_HEAD: u32 = 64 * 1024;

/// HTTP/2 names the server in the URI and has no `Host`.
fn as_http2(mut request: Request<Full<Bytes>>, origin: &Origin) -> Request<Full<Bytes>> {
    *request.uri_mut() = origin.uri(path_of(&request));
    *request.version_mut() = Version::HTTP_2;
    request.headers_mut().remove(HOST);
    request
}

/// The form in which a request waits, so that it may go out on either kind of connection.
fn as_http1(mut request: Request<Full<Bytes>>, origin: &Origin) -> Request<Full<Bytes>> {
    *request.uri_mut() = Uri::from(path_of(&request));
    *request.version_mut() = Version::HTTP_11;
    request.headers_mut().insert(HOST, origin.host_header());
    request
}

fn path_of(request: &Request<Full<Bytes>>) -> PathAndQuery {
    request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"))
}

/// Whether the server itself reset this stream as refused, which RFC 9113 reserves for a request that was not processed.
///
/// `GOAWAY` promises the same for later streams and is not believed: servers were seen to process what they disowned.
fn is_refused_by_server(error: &hyper::Error) -> bool {
    let mut source = error.source();
    while let Some(this) = source {
        if let Some(error) = this.downcast_ref::<h2::Error>() {
            return error.is_remote()
                && error.is_reset()
                && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        }
        source = this.source();
    }
    false
}

/// The shared connections, one for each server and runtime.
pub(crate) struct MultiplexedPool {
    connections: Mutex<Vec<Entry>>,
    idle_timeout: Duration,
}

struct Entry {
    origin: Origin,
    runtime: runtime::Id,
    last_taken: Instant,
    connection: Multiplexed,
}

impl MultiplexedPool {
    pub(crate) fn new(idle_timeout: Duration) -> Self {
        Self { connections: Mutex::new(Vec::new()), idle_timeout }
    }

    pub(crate) fn take(&self, origin: &Origin, runtime: runtime::Id) -> Option<Multiplexed> {
        let mut connections = self.lock();
        self.remove_dead(&mut connections);
        let entry = connections.iter_mut().find(|entry| entry.is_for(origin, runtime))?;
        entry.last_taken = Instant::now();
        Some(entry.connection.clone())
    }

    /// Shares `connection` with later calls, unless another call of the same burst has already shared its own.
    pub(crate) fn share(&self, origin: &Origin, runtime: runtime::Id, connection: &Multiplexed) {
        if self.idle_timeout.is_zero() {
            return;
        }
        let mut connections = self.lock();
        self.remove_dead(&mut connections);
        if !connections.iter().any(|entry| entry.is_for(origin, runtime)) {
            let connection = Multiplexed { sender: connection.sender.clone(), is_reused: true };
            connections.push(Entry {
                origin: origin.clone(),
                runtime,
                last_taken: Instant::now(),
                connection,
            });
        }
    }

    /// Gives up a connection that gave a request back, so that the next attempt opens another.
    pub(crate) fn forget(&self, origin: &Origin, runtime: runtime::Id) {
        self.lock().retain(|entry| !entry.is_for(origin, runtime));
    }

    fn remove_dead(&self, connections: &mut Vec<Entry>) {
        connections.retain(|entry| {
            !entry.connection.sender.is_closed() && entry.last_taken.elapsed() < self.idle_timeout
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Nothing can panic half-way through a change, so a poisoned list is a whole list.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_for(&self, origin: &Origin, runtime: runtime::Id) -> bool {
        self.runtime == runtime && self.origin == *origin
    }
}
