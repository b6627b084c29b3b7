use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response};
use payments_core::{
    Timer, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse, blocking,
};

use crate::{Reply, Responder, block_on};

/// Carries requests to a [`FakeGateway`](crate::FakeGateway) and reports what a transport over a real socket would report.
///
/// It enforces the total deadline and the response cap, and reports
/// [`NotProcessed`](payments_core::Delivery::NotProcessed) only for a refused connection:
///
/// | the gateway's reply | the result |
/// |---|---|
/// | a complete response before the deadline | the response |
/// | refused | `Connect`, not processed |
/// | closed, reset | `Closed`, unknown |
/// | garbage | `Protocol`, unknown |
/// | stalled, or a response after the deadline | `Timeout`, unknown |
/// | truncated | `BodyTruncated`, answered, with the part that arrived |
/// | dripping beyond the deadline | `Timeout`, answered, with the part that arrived |
/// | a body over the cap | `BodyTooLarge`, answered, with the part within the cap |
#[derive(Clone)]
pub struct FakeTransport {
    peer: Peer,
    timer: Arc<dyn Timer>,
}

/// The service that responds.
#[derive(Clone)]
enum Peer {
    Gateway(Responder),
    Other(Arc<dyn Fn(Request<Bytes>) -> Reply + Send + Sync>),
}

impl FakeTransport {
    pub(crate) fn new(responder: Responder) -> Self {
        let timer = Arc::new(responder.clock().clone());
        Self { peer: Peer::Gateway(responder), timer }
    }

    /// A transport to your own service: the network carries back what `reply` returns for a request. Deadlines, pauses and
    /// drips use `timer`.
    ///
    /// Use it for replies that a [`FakeGateway`](crate::FakeGateway) never sends, including truncated bytes.
    ///
    /// ```
    /// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
    /// use payments_core::{Client, Outcome};
    /// use payments_fake::{FakeGateway, FakeTransport, ManualClock, Reply, block_on};
    ///
    /// let transport = FakeTransport::over(|_request| Reply::Reset, ManualClock::auto());
    /// let client = Client::builder(FakeGateway::new().endpoint(), transport, ManualClock::auto()).build();
    ///
    /// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
    /// assert_eq!(block_on(client.process_token(&payment)).unwrap_err().outcome(), Outcome::Unknown);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn over(reply: impl Fn(Request<Bytes>) -> Reply + Send + Sync + 'static, timer: impl Timer) -> Self {
        Self { peer: Peer::Other(Arc::new(reply)), timer: Arc::new(timer) }
    }

    /// The same transport with another clock than the gateway's, such as the real clock of a runtime.
    #[must_use]
    pub fn with_timer(self, timer: impl Timer) -> Self {
        Self { timer: Arc::new(timer), ..self }
    }

    /// Carries the request there and the reply back. `partial` is the part of a response that has arrived.
    async fn carry(
        &self,
        request: Request<Bytes>,
        partial: &mut Option<Response<Bytes>>,
    ) -> Result<Response<Bytes>, TransportError> {
        use TransportErrorKind as Kind;
        let reply = match &self.peer {
            Peer::Gateway(responder) => responder.respond(request, &*self.timer).await,
            Peer::Other(reply) => reply(request),
        };
        match reply {
            Reply::Answer(answer) => Ok(answer),
            Reply::Delayed { by, answer } => {
                self.timer.sleep(by).await;
                Ok(answer)
            }
            Reply::Drip { answer, bytes, every, complete } => {
                let sent = answer.body().len().saturating_sub(usize::from(!complete));
                *partial = Some(cut(&answer, 0));
                for start in (0..sent).step_by(bytes.max(1)) {
                    self.timer.sleep(every).await;
                    *partial = Some(cut(&answer, sent.min(start.saturating_add(bytes))));
                }
                if complete { Ok(answer) } else { pending().await }
            }
            Reply::Truncated { answer, bytes } => {
                Err(TransportError::answered(Kind::BodyTruncated, cut(&answer, bytes)))
            }
            Reply::Garbage(_) => Err(TransportError::unknown(Kind::Protocol)),
            Reply::Refused => Err(TransportError::not_processed(Kind::Connect)),
            Reply::Closed | Reply::Reset => Err(TransportError::unknown(Kind::Closed)),
            Reply::Stalled | Reply::Held { .. } => pending().await,
        }
    }
}

impl Transport for FakeTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let cap = request.response_cap();
        let deadline = self.timer.sleep(request.deadlines().total());
        let mut partial = None;
        let result = before(deadline, self.carry(request.into_http(), &mut partial)).await;
        match (result, partial) {
            (Some(Ok(answer)), _) if answer.body().len() > cap => {
                Err(TransportError::answered(TransportErrorKind::BodyTooLarge, cut(&answer, cap)))
            }
            (Some(Ok(answer)), _) => Ok(answer.into()),
            (Some(Err(error)), _) => Err(error),
            (None, Some(partial)) => {
                Err(TransportError::answered(TransportErrorKind::Timeout, cut(&partial, cap)))
            }
            (None, None) => Err(TransportError::unknown(TransportErrorKind::Timeout)),
        }
    }
}

/// Blocks the thread until the reply arrives, or until the clock has passed the total deadline.
impl blocking::Transport for FakeTransport {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        block_on(Transport::send(self, request))
    }
}

impl fmt::Debug for FakeTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeTransport").finish_non_exhaustive()
    }
}

/// The result of the work, or `None` if the deadline ends first. The deadline is not polled if the work is ready at once.
pub(crate) async fn before<T>(
    deadline: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut deadline = pin!(deadline);
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => deadline.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// The response with at most `bytes` of its body.
fn cut(response: &Response<Bytes>, bytes: usize) -> Response<Bytes> {
    let mut partial = response.clone();
    *partial.body_mut() = response.body().slice(..bytes.min(response.body().len()));
    partial
}
