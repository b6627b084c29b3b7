use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use payments_conformance::{Act, Arrivals, ID_HEADER, Script};
use payments_core::{TransportError, TransportErrorKind as Kind, TransportRequest, TransportResponse};

/// A transport without sockets. It waits in simulated time, at most thirty seconds for anything.
pub(crate) struct Simulated {
    script: Script,
    arrivals: Arrivals,
    requests: AtomicUsize,
}

impl Simulated {
    pub(crate) fn new(script: &Script, arrivals: &Arrivals) -> Self {
        Self { script: script.clone(), arrivals: arrivals.clone(), requests: AtomicUsize::new(0) }
    }

    pub(crate) fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (total, request) = (request.deadlines().total(), request.into_http());
        if total.is_zero() {
            return Err(TransportError::not_processed(Kind::Timeout));
        }
        let act = self.script.act(self.requests.fetch_add(1, Ordering::SeqCst));
        if matches!(act, Act::Refuse) {
            return Err(TransportError::not_processed(Kind::Connect));
        }
        self.arrivals.record(&request);
        let truncated = |answer: &Response<Bytes>, length: usize| {
            let mut part = answer.clone();
            part.body_mut().truncate(length);
            part
        };
        match act {
            Act::Echo => {
                Ok(Response::new(Bytes::copy_from_slice(request.headers()[ID_HEADER].as_bytes())).into())
            }
            Act::Answer(answer) => Ok(answer.clone().into()),
            Act::Truncate { answer, bytes } => {
                Err(TransportError::answered(Kind::BodyTruncated, truncated(answer, *bytes)))
            }
            Act::Silence => {
                wait(total.min(LONGEST_WAIT));
                Err(TransportError::unknown(Kind::Timeout))
            }
            Act::Drip { answer, bytes, every } => {
                let waited = if *every > LONGEST_WAIT { LONGEST_WAIT.min(total) } else { total };
                wait(waited);
                let pieces = usize::try_from(waited.as_nanos() / every.as_nanos()).unwrap();
                Err(TransportError::answered(Kind::Timeout, truncated(answer, pieces * bytes)))
            }
            Act::Garbage(_) => Err(TransportError::unknown(Kind::Protocol)),
            _ => Err(TransportError::unknown(Kind::Closed)),
        }
    }
}

/// The current time plus the time that this thread has waited.
pub(crate) fn now() -> Instant {
    Instant::now() + WAITED.get()
}

fn wait(time: Duration) {
    WAITED.set(WAITED.get() + time);
}

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

const LONGEST_WAIT: Duration = Duration::from_secs(30);
