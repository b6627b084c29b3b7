use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// The bytes of one connection, in clear or through TLS.
pub(crate) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// How the reads of a connection's socket are to be made, said by whoever drives the connection.
#[derive(Clone)]
pub(crate) struct Reins(Arc<State>);

struct State {
    /// Whether a read must ask the operating system itself.
    ///
    /// tokio remembers whether a socket can be read and learns better only while its runtime polls the network. A
    /// client that slept since its last payment may therefore not know that the server has closed the connection,
    /// would write the next payment into it, and could then no longer say whether it was processed.
    look_first: AtomicBool,
    /// How many reads remain before the connection must let others have their turn, its own deadline among them.
    ///
    /// tokio's budget would allow 128, and hyper can spend seconds on what they bring: it reads interim answers for as
    /// long as there are any.
    reads_left: AtomicU32,
}

impl Reins {
    pub(crate) fn new() -> Self {
        Self(Arc::new(State { look_first: AtomicBool::new(false), reads_left: AtomicU32::new(u32::MAX) }))
    }

    pub(crate) fn look_first(&self, look: bool) {
        self.0.look_first.store(look, Ordering::Relaxed);
    }

    pub(crate) fn allow_reads(&self, count: u32) {
        self.0.reads_left.store(count, Ordering::Relaxed);
    }

    fn must_look_first(&self) -> bool {
        self.0.look_first.load(Ordering::Relaxed)
    }

    pub(crate) fn take_read(&self) -> bool {
        let left = self.0.reads_left.load(Ordering::Relaxed);
        self.allow_reads(left.saturating_sub(1));
        left > 0
    }
}

/// A TCP connection that can be made to look for what has already arrived.
pub(crate) struct Socket {
    tcp: TcpStream,
    reins: Reins,
}

impl Socket {
    pub(crate) fn new(tcp: TcpStream, reins: Reins) -> Self {
        Self { tcp, reins }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.reins.take_read() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let read = Pin::new(&mut self.tcp).poll_read(cx, buf);
        if read.is_ready() || !self.reins.must_look_first() {
            return read;
        }
        // tokio says that there is nothing, and the waker is registered. The socket is non-blocking, so neither of
        // these two calls can wait.
        let socket = SockRef::from(&self.tcp);
        let arrived = socket.peek(&mut [MaybeUninit::uninit()]);
        let read = arrived.and_then(|_| (&*socket).read(buf.initialize_unfilled()));
        match read {
            Ok(length) => {
                buf.advance(length);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
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
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
        }
    }

    // Vectored writes are what keeps hyper from copying the body, and with it the card number, into a buffer of its
    // own that nobody wipes.
    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
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
    async fn socket(reins: &Reins) -> (Socket, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Socket::new(tcp, reins.clone()), listener.accept().unwrap().0)
    }

    #[tokio::test]
    async fn after_its_reads_a_connection_lets_others_have_their_turn() {
        let reins = Reins::new();
        let (mut socket, mut server) = socket(&reins).await;
        io::Write::write_all(&mut server, b"abcd").unwrap();
        assert_eq!(poll_fn(|cx| read_one(&mut socket, cx)).await, Some(b'a'));
        reins.allow_reads(2);
        let turns = poll_fn(|cx| {
            let turns = [(); 3].map(|()| read_one(&mut socket, cx));
            Poll::Ready(turns)
        });
        assert_eq!(turns.await, [Poll::Ready(Some(b'b')), Poll::Ready(Some(b'c')), Poll::Pending]);
        reins.allow_reads(1);
        assert_eq!(poll_fn(|cx| read_one(&mut socket, cx)).await, Some(b'd'));
    }

    #[tokio::test]
    async fn a_look_sees_what_tokio_has_not_been_told_of() {
        let reins = Reins::new();
        let (mut socket, server) = socket(&reins).await;
        let both = poll_fn(|cx| {
            assert_eq!(read_one(&mut socket, cx), Poll::Pending);
            // Nothing polls the network between here and the next read.
            server.shutdown(std::net::Shutdown::Both).unwrap();
            let as_tokio_knows = read_one(&mut socket, cx);
            reins.look_first(true);
            Poll::Ready((as_tokio_knows, read_one(&mut socket, cx)))
        });
        assert_eq!(both.await, (Poll::Pending, Poll::Ready(None)));
    }
}
