use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::mem;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use payments_fake::Reply;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, Interest, ReadBuf, Ready};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::server::TlsStream;

use crate::activity::Activity;

/// A connection to a client. hyper reads and writes it, the service checks whether the client is still there, and a fault
/// acts on it after hyper has released it.
#[derive(Clone)]
pub(crate) struct Socket(Arc<Mutex<Shared>>);

struct Shared {
    stream: Box<dyn Stream>,
    activity: Arc<Activity>,
    state: State,
    /// Whether a write failed.
    is_broken: bool,
}

/// How far hyper is with the connection.
pub(crate) enum State {
    /// It reads a request. What it writes now is its own refusal of bytes that are no request.
    Reading,
    /// The request is processed, or its response is a stream.
    Processing,
    /// It has a whole response that is not written yet, or only in part.
    Responding,
    /// It releases the connection.
    Ending(End),
    /// Only the service writes.
    Released,
}

/// What to do with the connection after hyper has released it.
pub(crate) enum End {
    /// Respond to bytes that hyper refused as a request.
    Unreadable,
    /// Show this reply. The response to a HEAD has no body.
    Reply { reply: Reply, has_body: bool },
}

/// Plain or encrypted.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    fn tcp(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Stream for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl Socket {
    pub(crate) fn new(stream: impl Stream + 'static, activity: Arc<Activity>) -> Self {
        let stream = Box::new(stream);
        let shared = Shared { stream, activity, state: State::Reading, is_broken: false };
        Self(Arc::new(Mutex::new(shared)))
    }

    /// Called before hyper gets to this state.
    pub(crate) fn set_state(&self, state: State) {
        self.lock().state = state;
    }

    /// Called after hyper has released the connection. If it `cannot_parse` a request, it has not always tried to refuse it.
    pub(crate) fn take_end(&self, cannot_parse: bool) -> Option<End> {
        let state = &mut self.lock().state;
        match mem::replace(state, State::Released) {
            State::Ending(end) => Some(end),
            State::Reading if cannot_parse => Some(End::Unreadable),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Whether a part of a response is not written.
    pub(crate) fn has_unwritten(&self) -> bool {
        matches!(self.lock().state, State::Responding)
    }

    /// Writes all bytes. Fails if the client has left, as far as the system knows.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes).await?;
        self.flush().await?;
        if self.is_broken() { Err(ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    /// Whether something was written that the client did not accept: it had closed its socket, and not only its sending side.
    pub(crate) fn is_broken(&self) -> bool {
        let mut shared = self.lock();
        shared.is_broken |= !matches!(shared.stream.tcp().take_error(), Ok(None));
        shared.is_broken
    }

    /// Closes the sending side. Over TLS this writes to the client, which resets the connection if it is gone.
    pub(crate) async fn close(&self) -> io::Result<()> {
        poll_fn(|context| Pin::new(&mut self.lock().stream).poll_shutdown(context)).await
    }

    /// Makes the connection end with a TCP reset.
    pub(crate) fn reset(&self) -> io::Result<()> {
        self.lock().stream.tcp().set_zero_linger()
    }

    /// Ready when the client has closed its side of the connection or reset it, even if unread data is left.
    pub(crate) async fn departure(&self) {
        let has_closed = |context: &mut Context<'_>| {
            let shared = self.lock();
            let tcp = shared.stream.tcp();
            // The first call registers the waker, the second returns which readiness it is.
            ready!(tcp.poll_read_ready(context)).ok();
            let ready = pin!(tcp.ready(Interest::READABLE)).poll(context);
            ready.map(|ready| ready.map_or(true, Ready::is_read_closed))
        };
        while !poll_fn(has_closed).await {
            // Unread data, which only hyper may read, hides every other event.
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut shared = self.lock();
        let before = buffer.filled().len();
        let read = Pin::new(&mut shared.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            shared.activity.transferred();
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut shared = self.lock();
        if matches!(shared.state, State::Reading | State::Ending(End::Unreadable)) {
            // It has neither a body nor an id, so it is not written: the client gets the service's error body instead.
            shared.state = State::Ending(End::Unreadable);
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut shared.stream).poll_write(context, bytes);
        match written {
            Poll::Ready(Ok(1..)) => shared.activity.transferred(),
            Poll::Ready(Err(_)) => shared.is_broken = true,
            _ => {}
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut shared = self.lock();
        let flushed = Pin::new(&mut shared.stream).poll_flush(context);
        // hyper flushes only what it has written completely.
        if matches!((&shared.state, &flushed), (State::Responding, Poll::Ready(Ok(())))) {
            shared.state = State::Reading;
        }
        flushed
    }

    /// Does nothing, so that hyper leaves it to [`Socket::close`], when it is known whether the client accepted the last response.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
