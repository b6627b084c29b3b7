use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use http::Extensions;
use hyper_util::client::legacy::connect::{Connected, Connection};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop;

/// A TCP connection whose reads see what has arrived, and which lets timers run.
///
/// tokio remembers whether a socket can be read, and learns better only when its runtime polls the network. A client that
/// was idle since its last payment may therefore not know that the server has closed the connection, and would write the
/// next payment into it. So where tokio has nothing to read, the operating system is asked.
pub(crate) struct Socket {
    tcp: TcpStream,
    closer: Closer,
}

/// Ends a connection whose call has ended, wherever hyper's task for it is: it may wait for a server that reads no more.
#[derive(Clone, Default)]
pub(crate) struct Closer(Arc<CloserState>);

#[derive(Default)]
struct CloserState {
    is_closed: AtomicBool,
    task: AtomicWaker,
}

impl Closer {
    /// The one of a connection that this crate's connector made.
    pub(crate) fn of(connected: &Connected) -> Option<Self> {
        let mut extras = Extensions::new();
        connected.get_extras(&mut extras);
        extras.remove()
    }

    /// Nothing is read or written from now on, and the connection's task drops it.
    pub(crate) fn close(&self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.task.wake();
    }

    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        self.0.task.register(cx.waker());
        let is_closed = self.0.is_closed.load(Ordering::SeqCst);
        if is_closed { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

/// How much of tokio's budget for one turn of a task (128) a read takes.
///
/// hyper reads interim responses (1xx) for as long as there are any. With the usual cost of 1 a turn takes so long that no
/// deadline ends meanwhile.
const COST_OF_A_READ: u8 = 8;

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        Self { tcp, closer: Closer::default() }
    }

    /// Reads what has arrived according to the operating system. The socket does not block, so neither call can wait.
    fn look(&self, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let socket = SockRef::from(&self.tcp);
        let arrived = socket.peek(&mut [MaybeUninit::uninit()]);
        match arrived.and_then(|_| (&*socket).read(buf.initialize_unfilled())) {
            Ok(length) => {
                buf.advance(length);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.closer.check(cx)?;
        let mut read = Pin::new(&mut self.tcp).poll_read(cx, buf);
        // Without budget tokio reads nothing in this turn. Otherwise it has registered the waker.
        if read.is_pending() && coop::has_budget_remaining() {
            read = self.look(buf);
        }
        if read.is_ready() {
            for _ in 0..COST_OF_A_READ {
                if let Poll::Ready(budget) = coop::poll_proceed(cx) {
                    budget.made_progress();
                }
            }
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.closer.check(cx)?;
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.closer.check(cx)?;
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs)
    }

    // Without vectored writes hyper copies the body, and with it the card number, into a buffer of its own, which is not wiped.
    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.closer.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    fn read_one(socket: &mut Socket, cx: &mut Context<'_>) -> Poll<Option<u8>> {
        let mut byte = [0];
        let mut buf = ReadBuf::new(&mut byte);
        Pin::new(socket).poll_read(cx, &mut buf).map(|read| {
            read.unwrap();
            buf.filled().first().copied()
        })
    }

    /// A socket, and the server's end of it.
    async fn socket() -> (Socket, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Socket::new(tcp), listener.accept().unwrap().0)
    }

    #[tokio::test]
    async fn no_peer_starves_the_deadline_by_sending_without_end_d23() {
        let (mut socket, mut server) = socket().await;
        server.write_all(&[b'x'; 100]).unwrap();
        let ready = poll_fn(|cx| {
            let reads = std::iter::repeat_with(|| read_one(&mut socket, cx));
            Poll::Ready(reads.take(100).take_while(Poll::is_ready).count())
        });
        assert!((1..=16).contains(&ready.await));
        tokio::task::yield_now().await;
        assert_eq!(poll_fn(|cx| read_one(&mut socket, cx)).await, Some(b'x'), "it goes on in the next turn");
    }

    #[tokio::test]
    async fn a_read_sees_what_tokio_has_not_been_told_of() {
        let (mut socket, server) = socket().await;
        let end = poll_fn(|cx| {
            assert_eq!(read_one(&mut socket, cx), Poll::Pending);
            // Nothing polls the network between here and the next read.
            server.shutdown(std::net::Shutdown::Both).unwrap();
            Poll::Ready(read_one(&mut socket, cx))
        });
        assert_eq!(end.await, Poll::Ready(None));
    }
}
