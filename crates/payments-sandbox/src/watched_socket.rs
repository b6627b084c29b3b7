use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::patient_socket::PatientSocket;
use crate::refused_head;

/// A connection that hyper reads and writes while the service may look whether its client is still there.
///
/// hyper's own refusals, which have neither a body nor an id, do not get through: [`into_inner`](Self::into_inner) tells
/// of them.
pub(crate) struct WatchedSocket<S>(Arc<Mutex<Watched<S>>>);

/// The service's side of a [`WatchedSocket`].
pub(crate) struct Watch<S>(Arc<Mutex<Watched<S>>>);

struct Watched<S> {
    socket: PatientSocket<S>,
    /// What came while the client was watched.
    ahead: BytesMut,
    has_ended: bool,
    refused: Option<StatusCode>,
}

/// How far ahead of its answers a client can write and still be noticed when it goes.
const FARTHEST_AHEAD: usize = 64 * 1024;

/// hyper looks whether a head is too large once for each read, and would take as much more as it gets at once.
const LARGEST_READ: usize = 4 * 1024;

impl<S> WatchedSocket<S> {
    pub(crate) fn new(socket: PatientSocket<S>) -> (Self, Watch<S>) {
        let watched = Watched { socket, ahead: BytesMut::new(), has_ended: false, refused: None };
        let watched = Arc::new(Mutex::new(watched));
        (Self(Arc::clone(&watched)), Watch(watched))
    }

    /// The connection itself once nobody watches it any more, and the status with which hyper refused what came.
    pub(crate) fn into_inner(self) -> Option<(PatientSocket<S>, Option<StatusCode>)> {
        let watched = Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some((watched.socket, watched.refused))
    }
}

impl<S: AsyncRead + Unpin> Watch<S> {
    /// Ready when the client has closed its side of the connection, which may mean that it only has nothing more to say.
    /// An error means that the connection is broken.
    pub(crate) async fn departure(&self) -> io::Result<()> {
        poll_fn(|context| lock(&self.0).poll_departure(context)).await
    }
}

impl<S: AsyncRead + Unpin> Watched<S> {
    fn poll_departure(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut piece = [0; 1024];
        while !self.has_ended {
            if self.ahead.len() > FARTHEST_AHEAD {
                return Poll::Pending;
            }
            let mut piece = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.socket).poll_read(context, &mut piece))?;
            self.ahead.extend_from_slice(piece.filled());
            self.has_ended = piece.filled().is_empty();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S> Watched<S> {
    /// Whether hyper refuses with these bytes, which are then not written.
    fn refuses(&mut self, bytes: &[u8]) -> bool {
        let refused = refused_head::status(bytes);
        self.refused = self.refused.or(refused);
        refused.is_some()
    }
}

fn lock<S>(watched: &Mutex<Watched<S>>) -> MutexGuard<'_, Watched<S>> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedSocket<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut watched = lock(&self.0);
        let length = buffer.remaining().min(LARGEST_READ);
        if !watched.ahead.is_empty() {
            let length = length.min(watched.ahead.len());
            buffer.put_slice(&watched.ahead[..length]);
            watched.ahead.advance(length);
            return Poll::Ready(Ok(()));
        }
        if watched.has_ended {
            return Poll::Ready(Ok(()));
        }
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(length));
        ready!(Pin::new(&mut watched.socket).poll_read(context, &mut piece))?;
        let length = piece.filled().len();
        buffer.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedSocket<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut watched = lock(&self.0);
        if watched.refuses(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut watched.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut watched = lock(&self.0);
        if let [head] = slices
            && watched.refuses(head)
        {
            return Poll::Ready(Ok(head.len()));
        }
        Pin::new(&mut watched.socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        lock(&self.0).socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).socket).poll_shutdown(context)
    }
}
