use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Response;
use http_body::Body as _;
use http_body_util::Full;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::outgoing::Outgoing;
use crate::relay::Relay;
use crate::stream::{Reins, Stream};

/// One HTTP/1.1 connection that carries one exchange at a time.
///
/// The connection is driven by the very task that waits for the answer and by nobody else: there is no background task
/// to outlive a dropped call, to lose with its runtime, or to be woken for each read.
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Driver,
    is_reused: bool,
}

/// What moves the bytes of a connection.
struct Driver {
    /// `None` once the connection has ended.
    connection: Option<http1::Connection<TokioIo<Stream>, Full<Bytes>>>,
    reins: Reins,
    relay: Relay,
}

/// How the first half of an exchange, up to the answer's head, went.
#[allow(clippy::large_enum_variant, reason = "it is matched where it is made and never stored")]
pub(crate) enum Exchange {
    /// The final status and the headers came.
    Answered(Response<Incoming>),
    /// The connection had ended before hyper wrote anything: the request is back, proof that it never left.
    HandedBack(hyper::Error),
    /// The server says that it did nothing with the request, in the one form in which that is believed.
    #[cfg_attr(not(feature = "http2"), allow(dead_code, reason = "HTTP/1.1 has no such form"))]
    Refused(hyper::Error),
    /// The connection failed after hyper began to write. Nobody can say how much was read.
    Lost(hyper::Error),
}

impl Connection {
    pub(crate) async fn start(stream: Stream, reins: Reins) -> hyper::Result<Self> {
        let (sender, connection) = http1::Builder::new()
            // A head that does not fit is an error. Not the "exact size" option, which would make this limit 2 KiB.
            .max_buf_size(LARGEST_HEAD)
            .handshake(TokioIo::new(stream))
            .await?;
        let driver = Driver { connection: Some(connection), reins, relay: Relay::new() };
        Ok(Self { sender, driver, is_reused: false })
    }

    pub(crate) fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Sends `request` and waits for the head of its answer.
    pub(crate) async fn exchange(&mut self, request: &mut Outgoing) -> Exchange {
        // hyper reads an idle connection before it writes to it. With this set that read is a true one, so that a
        // connection which the server has already closed gives the request back.
        self.driver.reins.look_first(true);
        let mut head = pin!(self.sender.try_send_request(request.take()));
        let driver = &mut self.driver;
        let head = poll_fn(|cx| {
            driver.drive(cx);
            driver.reins.look_first(false);
            head.as_mut().poll(&mut not_woken())
        })
        .await;
        match head {
            Ok(response) => Exchange::Answered(response),
            Err(mut failure) => match failure.take_message() {
                Some(handed_back) => {
                    request.put_back(handed_back);
                    Exchange::HandedBack(failure.into_error())
                }
                None => Exchange::Lost(failure.into_error()),
            },
        }
    }

    /// The next piece of the answer's body; `None` at its end.
    pub(crate) async fn frame(&mut self, body: &mut Incoming) -> Option<hyper::Result<Frame<Bytes>>> {
        poll_fn(|cx| {
            // The first look tells hyper that somebody wants the body, the second takes what that brought.
            self.driver.relay.to_nobody();
            if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(&mut not_woken()) {
                return Poll::Ready(frame);
            }
            self.driver.drive(cx);
            Pin::new(&mut *body).poll_frame(&mut not_woken())
        })
        .await
    }

    /// Prepares the connection for another exchange; `None` where there can be none.
    ///
    /// To be called after the whole body was read: an unread rest makes the connection useless, and hyper says so.
    pub(crate) fn into_idle(mut self: Box<Self>) -> Option<Box<Self>> {
        self.is_reused = true;
        self.driver.relay.to_nobody();
        (self.driver.connection.is_some() && self.sender.is_ready()).then_some(self)
    }
}

/// For what a drive alone can bring. Whoever drives takes it right afterwards, and woken by it would only look again in vain.
fn not_woken() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Chosen by this SDK: the status line and headers of an answer may take 64 KiB.
const LARGEST_HEAD: usize = 64 * 1024;

/// A peer that always has more to say is interrupted after so many reads, of at most [`LARGEST_HEAD`] each.
const READS_IN_A_ROW: u32 = 16;

impl Driver {
    /// Moves bytes. A connection that ended is dropped at once, because that is when hyper hands a queued request back.
    fn drive(&mut self, task: &mut Context<'_>) {
        self.reins.allow_reads(READS_IN_A_ROW);
        let mut cx = self.relay.to(task);
        let ended = self.connection.as_mut().is_some_and(|it| Pin::new(it).poll(&mut cx).is_ready());
        if ended {
            self.connection = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::net::TcpListener;

    use http::Request;
    use payments_core::{Deadlines, OperationName, TransportRequest};
    use tokio::net::TcpStream;

    use super::*;
    use crate::origin::Origin;
    use crate::stream::Socket;

    #[tokio::test]
    async fn d23_a_turn_is_a_few_reads_so_that_no_peer_starves_the_deadline() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpStream::connect(server.local_addr().unwrap()).await.unwrap();
        let reins = Reins::new();
        let stream = Stream::Plain(Socket::new(tcp, reins.clone()));
        let mut connection = Connection::start(stream, reins.clone()).await.unwrap();

        let request = Request::get("http://pay.example/").body(Bytes::new()).unwrap();
        let origin = Origin::of(request.uri()).unwrap();
        let cap = TransportRequest::DEFAULT_RESPONSE_CAP;
        let request =
            TransportRequest::new(request, OperationName::GetTransaction, Deadlines::default(), cap);
        let mut request = Outgoing::new(request, &origin);
        let exchange = pin!(connection.exchange(&mut request));
        assert!(exchange.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let left = iter::repeat_with(|| reins.take_read()).take(1000).take_while(|allowed| *allowed);
        assert!(left.count() <= 16);
    }
}
