use std::collections::VecDeque;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse};
use payments_model::unversioned::RequestMembers;

use crate::RecordedRequest;

/// A transport that returns scripted responses in order, and records the requests.
///
/// Use it for responses that the [`FakeGateway`](crate::FakeGateway) never sends. Clones are handles to the same script.
///
/// ```
/// use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
/// use payments_core::{Client, Outcome};
/// use payments_fake::{FakeGateway, ManualClock, ScriptedTransport, block_on};
///
/// let script = ScriptedTransport::new().answer(200, r#"{"status":"pending","status_code":101}"#);
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
    pub fn answer(self, status: u16, body: impl Into<Bytes>) -> Self {
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

    /// How many steps of the script are left.
    pub fn remaining(&self) -> usize {
        self.script().steps.len()
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
            RecordedRequest::capture(SystemTime::UNIX_EPOCH, head, body.len(), members.as_ref(), &[]);
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

impl fmt::Debug for ScriptedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTransport").field("requests", &self.requests()).finish_non_exhaustive()
    }
}
