use std::future::{Future, poll_fn};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use http::Extensions;
use hyper::rt::Executor;
use hyper_util::client::legacy::connect::{Connected, Connection};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop;

/// A TCP connection whose reads see everything that has arrived, and whose reads cannot starve timers.
///
/// tokio caches whether a socket is readable, and updates that only when its runtime polls the network. A client that was idle
/// since its last payment may therefore not know that the server has closed the connection, and would write the next payment
/// into it. hyper reads before it takes a request. If tokio then has nothing to read, this asks the operating system, once for
/// each request.
pub(crate) struct Socket {
    tcp: TcpStream,
    closer: Arc<Closer>,
    /// Whether the last transfer was a write: the next is a response, and tokio reports it.
    awaits_response: bool,
    /// The poll in which something was last read. The rest of that poll needs no second look.
    read_in: Option<u64>,
}

tokio::task_local! {
    /// The number of the current poll of a connection's task.
    static POLL: u64;
}

/// Runs the tasks of connections on the current runtime.
#[derive(Clone, Copy)]
pub(crate) struct ConnectionExecutor;

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for ConnectionExecutor {
    fn execute(&self, task: F) {
        tokio::spawn(async {
            let (mut task, mut polls) = (pin!(task), 0);
            poll_fn(|cx| {
                polls += 1;
                POLL.sync_scope(polls, || task.as_mut().poll(cx))
            })
            .await;
        });
    }
}

/// Closes a connection whose call has ended, even while hyper's task for it waits for a server that no longer reads.
#[derive(Default)]
pub(crate) struct Closer {
    is_closed: AtomicBool,
    task: AtomicWaker,
}

impl Closer {
    /// Ends all reads and writes of this connection, and wakes its task, which then drops it.
    pub(crate) fn close(connected: &Connected) {
        let mut extras = Extensions::new();
        connected.get_extras(&mut extras);
        if let Some(closer) = extras.remove::<Arc<Self>>() {
            closer.is_closed.store(true, Ordering::SeqCst);
            closer.task.wake();
        }
    }

    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        self.task.register(cx.waker());
        let is_closed = self.is_closed.load(Ordering::SeqCst);
        if is_closed { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

/// How much a read of so many bytes costs of tokio's budget for one poll of a task (128): after 64 KiB the poll ends.
///
/// hyper reads interim responses (1xx) for as long as more arrive. If one poll parses many thousands of them, deadlines are missed.
fn read_cost(length: usize) -> usize {
    (length / 512).max(8)
}

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        Self { tcp, closer: Arc::default(), awaits_response: false, read_in: None }
    }

    /// Reads directly from the operating system. The socket is non-blocking, so neither call waits.
    fn read_from_os(&self, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
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
        let before = buf.filled().len();
        let mut read = Pin::new(&mut self.tcp).poll_read(cx, buf);
        // There is none outside a connection's task, for example during the TLS handshake.
        let poll = POLL.try_with(|poll| *poll).ok();
        let was_idle = !self.awaits_response && (poll.is_none() || self.read_in != poll);
        // Without budget, tokio must not read in this poll. With budget, it has registered the waker.
        if read.is_pending() && was_idle && coop::has_budget_remaining() {
            read = self.read_from_os(buf);
        }
        if read.is_ready() {
            self.awaits_response = false;
            self.read_in = poll;
            for _ in 0..read_cost(buf.filled().len() - before) {
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
        self.awaits_response = true;
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
        self.awaits_response = true;
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs)
    }

    // Without vectored writes hyper copies the body, including the card number, into its own buffer, which is never wiped.
    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }
}

impl Connection for Socket {
    fn connected(&self) -> Connected {
        Connected::new().extra(Arc::clone(&self.closer))
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

    /// A socket and its server side.
    async fn socket() -> (Socket, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Socket::new(tcp), listener.accept().unwrap().0)
    }

    #[tokio::test]
    async fn an_endless_stream_does_not_starve_the_deadline_d23() {
        let (mut socket, mut server) = socket().await;
        server.set_nonblocking(true).unwrap();
        while server.write(&[b'x'; 16 * 1024]).is_ok() {}
        let (reads, bytes) = poll_fn(|cx| {
            let (mut reads, mut bytes) = (0, 0);
            let mut long = vec![0; 64 * 1024];
            loop {
                let mut buf = ReadBuf::new(&mut long);
                if Pin::new(&mut socket).poll_read(cx, &mut buf).is_pending() {
                    return Poll::Ready((reads, bytes));
                }
                (reads, bytes) = (reads + 1, bytes + buf.filled().len());
            }
        })
        .await;
        assert!((1..=16).contains(&reads), "{reads} reads");
        assert!((1..128 * 1024).contains(&bytes), "{bytes} bytes");
        tokio::task::yield_now().await;
        assert_eq!(
            poll_fn(|cx| read_one(&mut socket, cx)).await,
            Some(b'x'),
            "reading continues in the next poll"
        );
    }

    #[tokio::test]
    async fn a_read_sees_a_close_that_tokio_has_not_seen() {
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
