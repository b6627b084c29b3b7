use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::{Connected, Connection};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A TCP connection whose reads see what has arrived, and which lets timers run.
///
/// tokio remembers whether a socket can be read, and learns better only when its runtime polls the network. A client that
/// was idle since its last payment may therefore not know that the server has closed the connection, and would write the
/// next payment into it. So where tokio has nothing to read, the operating system is asked.
pub(crate) struct Socket {
    tcp: TcpStream,
    reads_in_a_row: u8,
}

/// After so many reads without a pause the connection's task yields. hyper reads interim responses (1xx) for as long as there
/// are any, and on a runtime of one thread no deadline would end meanwhile.
const READS_IN_A_ROW: u8 = 16;

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        Self { tcp, reads_in_a_row: 0 }
    }

    fn read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.tcp).poll_read(cx, buf);
        if read.is_ready() {
            return read;
        }
        // tokio has registered the waker. The socket does not block, so neither of these calls can wait.
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
        if self.reads_in_a_row == READS_IN_A_ROW {
            self.reads_in_a_row = 0;
            // This wakes the task after tokio has looked at its timers, which `wake_by_ref` would not wait for.
            let _ = pin!(tokio::task::yield_now()).poll(cx);
            return Poll::Pending;
        }
        let read = self.read(cx, buf);
        self.reads_in_a_row = if read.is_ready() { self.reads_in_a_row + 1 } else { 0 };
        read
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

    // Without vectored writes hyper copies the body, and with it the card number, into a buffer that nobody wipes.
    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        Connected::new()
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
        assert_eq!(ready.await, 16);
        assert_eq!(poll_fn(|cx| read_one(&mut socket, cx)).await, Some(b'x'), "it goes on after a pause");
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
