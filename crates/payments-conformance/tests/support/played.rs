use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use payments_conformance::{Act, ID_HEADER, Journal, Script};
use payments_core::{TransportError, TransportErrorKind as Kind, TransportRequest, TransportResponse};

/// A transport without sockets that waits in played time, and never longer than thirty seconds for anything.
pub(crate) struct Played {
    script: Script,
    journal: Journal,
    requests: AtomicUsize,
}

impl Played {
    pub(crate) fn new(script: &Script, journal: &Journal) -> Self {
        Self { script: script.clone(), journal: journal.clone(), requests: AtomicUsize::new(0) }
    }

    pub(crate) fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (total, request) = (request.deadlines().total(), request.into_http());
        let act = self.script.act(self.requests.fetch_add(1, Ordering::SeqCst));
        if matches!(act, Act::Refuse) {
            return Err(TransportError::not_processed(Kind::Connect));
        }
        self.journal.record(&request);
        let piece = |answer: &Response<Bytes>, length: usize| {
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
                Err(TransportError::answered(Kind::BodyTruncated, piece(answer, *bytes)))
            }
            Act::Silence => {
                wait(total.min(PATIENCE));
                Err(TransportError::unknown(Kind::Timeout))
            }
            Act::Drip { answer, bytes, every } => {
                let waited = if *every > PATIENCE { PATIENCE.min(total) } else { total };
                wait(waited);
                let pieces = usize::try_from(waited.as_nanos() / every.as_nanos()).unwrap();
                Err(TransportError::answered(Kind::Timeout, piece(answer, pieces * bytes)))
            }
            Act::Garbage(_) => Err(TransportError::unknown(Kind::Protocol)),
            _ => Err(TransportError::unknown(Kind::Closed)),
        }
    }
}

/// The time, with what was waited for on this thread.
pub(crate) fn now() -> Instant {
    Instant::now() + WAITED.get()
}

fn wait(time: Duration) {
    WAITED.set(WAITED.get() + time);
}

thread_local! {
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

const PATIENCE: Duration = Duration::from_secs(30);
