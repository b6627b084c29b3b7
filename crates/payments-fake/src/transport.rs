use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use payments_core::transport::before;
use payments_core::{
    Timer, Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse, blocking,
};
use payments_model::unversioned::RequestMembers;

use crate::gateway_core::GatewayCore;
use crate::{RecordedRequest, Reply, block_on};

/// Carries requests to a [`FakeGateway`](crate::FakeGateway) and reports what a transport over a real socket would report.
///
/// It enforces the total deadline and the response cap, and reports
/// [`NotProcessed`](payments_core::Delivery::NotProcessed) only for a refused connection and a total deadline of zero:
///
/// | the gateway's reply | the result |
/// |---|---|
/// | a complete response before the deadline | the response |
/// | refused | `Connect`, not processed |
/// | none, because the total deadline is zero | `Timeout`, not processed |
/// | closed, reset | `Closed`, unknown |
/// | garbage | `Protocol`, unknown |
/// | stalled, or a response after the deadline | `Timeout`, unknown |
/// | truncated | `BodyTruncated`, answered, with the part that arrived |
/// | dripping beyond the deadline | `Timeout`, answered, with the part that arrived |
/// | a body over the cap, whole, truncated or dripping | `BodyTooLarge`, answered, with the part within the cap |
#[derive(Clone)]
pub struct FakeTransport {
    peer: Peer,
    timer: Arc<dyn Timer>,
}

/// The service that responds.
#[derive(Clone)]
enum Peer {
    Gateway(Arc<GatewayCore>),
    Other(Arc<dyn Fn(Request<Bytes>) -> Reply + Send + Sync>),
}

impl FakeTransport {
    pub(crate) fn new(core: Arc<GatewayCore>) -> Self {
        let timer = Arc::new(core.settings.clock.clone());
        Self { peer: Peer::Gateway(core), timer }
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

    /// Carries the request there and the reply back. `partial` is the part of a response that has arrived.
    async fn carry(
        &self,
        request: Request<Bytes>,
        cap: usize,
        partial: &mut Option<Response<Bytes>>,
    ) -> Result<Response<Bytes>, TransportError> {
        use TransportErrorKind as Kind;
        let reply = match &self.peer {
            Peer::Gateway(core) => core.respond(request, &*self.timer, pending()).await.0,
            Peer::Other(reply) => reply(request),
        };
        match reply {
            Reply::Response(response) => Ok(response),
            Reply::Delayed { by, response } => {
                self.timer.sleep(by).await;
                Ok(response)
            }
            Reply::Drip { response, bytes, every, complete } => {
                let sent = response.body().len().saturating_sub(usize::from(!complete));
                *partial = Some(cut(&response, 0));
                for start in (0..sent).step_by(bytes.get()) {
                    self.timer.sleep(every).await;
                    let arrived = sent.min(start.saturating_add(bytes.get()));
                    if arrived > cap {
                        return Ok(response);
                    }
                    *partial = Some(cut(&response, arrived));
                }
                if complete { Ok(response) } else { pending().await }
            }
            // A transport stops at its cap, before it can see that the rest is missing.
            Reply::Truncated { response, bytes } if bytes > cap => Ok(response),
            Reply::Truncated { response, bytes } => {
                Err(TransportError::answered(Kind::BodyTruncated, cut(&response, bytes)))
            }
            Reply::Garbage(_) => Err(TransportError::unknown(Kind::Protocol)),
            Reply::Refused => Err(TransportError::not_processed(Kind::Connect)),
            Reply::Closed | Reply::Reset => Err(TransportError::unknown(Kind::Closed)),
            Reply::Stalled => pending().await,
        }
    }
}

impl Transport for FakeTransport {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        if request.deadlines().total().is_zero() {
            return Err(TransportError::not_processed(TransportErrorKind::Timeout));
        }
        let cap = request.response_cap();
        let deadline = self.timer.sleep(request.deadlines().total());
        let mut partial = None;
        let result = before(deadline, self.carry(request.into_http(), cap, &mut partial)).await;
        match (result, partial) {
            (Some(Ok(response)), _) if response.body().len() > cap => {
                Err(TransportError::answered(TransportErrorKind::BodyTooLarge, cut(&response, cap)))
            }
            (Some(Ok(response)), _) => Ok(response.into()),
            (Some(Err(error)), _) => Err(error),
            (None, Some(partial)) => Err(TransportError::answered(TransportErrorKind::Timeout, partial)),
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

/// The response with at most `bytes` of its body.
fn cut(response: &Response<Bytes>, bytes: usize) -> Response<Bytes> {
    let mut partial = response.clone();
    *partial.body_mut() = response.body().slice(..bytes.min(response.body().len()));
    partial
}

/// A transport that returns scripted responses in order, and records the requests.
///
/// Use it for responses and errors that the [`FakeGateway`](crate::FakeGateway) never sends. Each step is returned unchanged:
/// unlike [`FakeTransport::over`], it keeps neither the deadlines nor the response cap. Clones are handles to the same script. A step
/// that no request reached fails the test: the drop of the last handle panics, unless the thread is already panicking.
///
/// ```
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_core::{Client, Outcome};
/// use payments_fake::{FakeGateway, ManualClock, ScriptedTransport, block_on};
///
/// let script = ScriptedTransport::new().respond_json(200, r#"{"status":"pending","status_code":101}"#);
/// let client = Client::builder(FakeGateway::new().endpoint(), script.clone(), ManualClock::auto()).build();
///
/// let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build()?;
/// let error = block_on(client.process_token(&payment)).unwrap_err();
/// assert_eq!(error.outcome(), Outcome::Unknown);
/// assert_eq!(script.requests().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "a script does nothing until a client sends through it"]
pub struct ScriptedTransport(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    steps: VecDeque<Step>,
    requests: Vec<RecordedRequest>,
}

impl Drop for Script {
    fn drop(&mut self) {
        let unused = self.steps.len();
        assert!(
            unused == 0 || std::thread::panicking(),
            "steps of the script that no request reached: {unused}"
        );
    }
}

/// With `None`, the transport never responds.
type Step = Option<Result<TransportResponse, TransportError>>;

impl ScriptedTransport {
    /// An empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Responds to the next request with this status and this JSON body.
    ///
    /// # Panics
    ///
    /// If the number is not an HTTP status.
    #[track_caller]
    pub fn respond_json(self, status: u16, body: impl Into<Bytes>) -> Self {
        let mut response = Response::new(body.into());
        *response.status_mut() = StatusCode::from_u16(status).expect("an HTTP status has three digits");
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.respond(response)
    }

    /// Responds to the next request with this response.
    pub fn respond(self, response: Response<Bytes>) -> Self {
        self.then(Some(Ok(response.into())))
    }

    /// Fails the next request with this transport error.
    pub fn fail(self, error: TransportError) -> Self {
        self.then(Some(Err(error)))
    }

    /// Never responds to the next request and ignores its deadline, like a broken transport.
    pub fn hang(self) -> Self {
        self.then(None)
    }

    /// The requests so far, without their secrets, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.script().requests.clone()
    }

    fn then(self, step: Step) -> Self {
        self.script().steps.push_back(step);
        self
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for ScriptedTransport {
    /// # Panics
    ///
    /// If the script has no steps left: an extra request must not look like any kind of response.
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let operation = request.operation();
        let (head, body) = request.into_http().into_parts();
        let members = RequestMembers::read(&body).ok();
        let captured =
            RecordedRequest::capture(Some(operation), head, body.len(), members.as_ref(), iter::empty());
        let step = {
            let mut script = self.script();
            script.requests.push(captured);
            script.steps.pop_front()
        };
        match step.unwrap_or_else(|| panic!("the script has no response left for a request: {operation}")) {
            Some(result) => result,
            None => pending().await,
        }
    }
}

/// Blocks the thread for ever at a step that [hangs](ScriptedTransport::hang).
impl blocking::Transport for ScriptedTransport {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        block_on(Transport::send(self, request))
    }
}

impl fmt::Debug for ScriptedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTransport").field("requests", &self.requests()).finish_non_exhaustive()
    }
}
