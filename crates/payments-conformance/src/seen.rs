use std::time::Duration;

use http::StatusCode;
use payments_core::{Delivery, TransportError, TransportErrorKind, TransportResponse};

use crate::breach::Breach;

/// What a call gave, and when.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) id: String,
    pub(crate) result: Result<TransportResponse, TransportError>,
    pub(crate) took: Duration,
    /// The total deadline that the call had.
    pub(crate) total: Duration,
}

impl Seen {
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        self.result.as_ref().err().map(TransportError::delivery)
    }

    /// An answer, of this status.
    pub(crate) fn must_be_answered(&self, status: StatusCode) -> Result<&TransportResponse, Breach> {
        match &self.result {
            Ok(answer) if answer.status() == status => Ok(answer),
            _ => Err(self.breach(&format!("an answer with status {}", status.as_u16()))),
        }
    }

    /// An answer with status 200 and this body.
    pub(crate) fn must_bring(&self, body: &[u8]) -> Result<&TransportResponse, Breach> {
        let answer = self.must_be_answered(StatusCode::OK)?;
        if answer.body() == body {
            return Ok(answer);
        }
        let shown = |bytes: &[u8]| {
            let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
            format!("{} bytes {text:?}", bytes.len())
        };
        Err(Breach::new(format!(
            "{} was answered with a body of {}, not the one that was sent to it: {}",
            self.id,
            shown(answer.body()),
            shown(body)
        )))
    }

    /// The server's echo of the call's own id.
    pub(crate) fn must_be_its_own(&self) -> Result<&Self, Breach> {
        self.must_bring(self.id.as_bytes())?;
        Ok(self)
    }

    pub(crate) fn must_fail(&self) -> Result<&TransportError, Breach> {
        self.result.as_ref().err().ok_or_else(|| self.breach("an error"))
    }

    /// An error that leaves open whether the request was read.
    pub(crate) fn must_be_unknown(&self) -> Result<&TransportError, Breach> {
        self.must_be(Delivery::Unknown, "an error with Delivery::Unknown")
    }

    pub(crate) fn must_be_not_processed(&self) -> Result<&TransportError, Breach> {
        self.must_be(Delivery::NotProcessed, "an error with Delivery::NotProcessed")
    }

    /// An error after this status was read, with what came of the body.
    pub(crate) fn must_be_cut_off(&self, status: StatusCode) -> Result<&TransportResponse, Breach> {
        let wanted =
            format!("an error with Delivery::Answered({}) that keeps what came of the body", status.as_u16());
        let error = self.must_be(Delivery::Answered(status), &wanted)?;
        error.partial().ok_or_else(|| self.breach(&wanted))
    }

    /// An error that says by its kind that a deadline ended.
    pub(crate) fn must_be_a_timeout(&self) -> Result<&TransportError, Breach> {
        let error = self.must_fail()?;
        if error.kind() == TransportErrorKind::Timeout {
            return Ok(error);
        }
        Err(self.breach("an error of the kind Timeout"))
    }

    /// Anything but the claim that nothing was sent.
    pub(crate) fn must_not_be_not_processed(&self) -> Result<&Self, Breach> {
        if self.delivery() == Some(Delivery::NotProcessed) {
            return Err(self.breach("an answer, or an error that does not claim Delivery::NotProcessed"));
        }
        Ok(self)
    }

    /// The call ended with its total deadline; gives by how much it was late.
    pub(crate) fn must_end_with_the_deadline(&self) -> Result<Duration, Breach> {
        if self.took + CLOCKS_DIFFER < self.total || self.took > self.total + NOISE {
            return Err(Breach::new(format!(
                "the call of {} ended after {:.0?}; its total deadline was {:.0?}, and it should have ended with it",
                self.id, self.took, self.total
            )));
        }
        Ok(self.took.saturating_sub(self.total))
    }

    /// The call ended before its total deadline or with it.
    pub(crate) fn must_end_by_the_deadline(&self) -> Result<(), Breach> {
        if self.took <= self.total + NOISE {
            return Ok(());
        }
        Err(Breach::new(format!(
            "the call of {} ended after {:.0?}; its total deadline was {:.0?}, and it should have ended by then",
            self.id, self.took, self.total
        )))
    }

    /// What the call gave, in one line, with nothing of a body.
    pub(crate) fn told(&self) -> String {
        let Self { id, result, took, .. } = self;
        match result {
            Ok(answer) => {
                format!(
                    "{id} was answered with status {} and a body of {} bytes, after {took:.0?}",
                    answer.status().as_u16(),
                    answer.body().len()
                )
            }
            Err(error) => format!(
                "{id} failed as {:?} with Delivery::{:?}, after {took:.0?}: {error}{}",
                error.kind(),
                error.delivery(),
                sources(error)
            ),
        }
    }

    fn must_be(&self, delivery: Delivery, wanted: &str) -> Result<&TransportError, Breach> {
        match &self.result {
            Err(error) if error.delivery() == delivery => Ok(error),
            _ => Err(self.breach(wanted)),
        }
    }

    pub(crate) fn breach(&self, wanted: &str) -> Breach {
        Breach::new(format!("{}; it should have given {wanted}", self.told()))
    }
}

fn sources(error: &dyn std::error::Error) -> String {
    let mut text = String::new();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// A stack may count by a coarser clock than the kit's.
const CLOCKS_DIFFER: Duration = Duration::from_millis(10);

/// The goal is 50 ms, and the figure is in the report. A busy machine can take this much longer.
const NOISE: Duration = Duration::from_secs(2);
