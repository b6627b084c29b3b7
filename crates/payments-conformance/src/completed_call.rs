use std::time::Duration;

use http::StatusCode;
use payments_core::{Delivery, TransportError, TransportErrorKind, TransportResponse};

use crate::violation::Violation;

/// What a call gave, and when.
#[derive(Debug)]
pub(crate) struct CompletedCall {
    pub(crate) id: String,
    pub(crate) result: Result<TransportResponse, TransportError>,
    pub(crate) took: Duration,
    /// The total deadline that the call had.
    pub(crate) total: Duration,
}

impl CompletedCall {
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        self.result.as_ref().err().map(TransportError::delivery)
    }

    /// An answer, of this status.
    pub(crate) fn must_have_status(&self, status: StatusCode) -> Result<&TransportResponse, Violation> {
        match &self.result {
            Ok(response) if response.status() == status => Ok(response),
            _ => Err(self.expected(&format!("an answer with status {}", status.as_u16()))),
        }
    }

    /// An answer with status 200 and this body.
    pub(crate) fn must_have_body(&self, body: &[u8]) -> Result<&TransportResponse, Violation> {
        let response = self.must_have_status(StatusCode::OK)?;
        if response.body() == body {
            return Ok(response);
        }
        let shown = |bytes: &[u8]| {
            let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
            format!("{} bytes {text:?}", bytes.len())
        };
        Err(Violation::new(format!(
            "{} was answered with a body of {}, not the one that was sent to it: {}",
            self.id,
            shown(response.body()),
            shown(body)
        )))
    }

    /// The server's echo of the call's own id.
    pub(crate) fn must_get_own_response(&self) -> Result<&Self, Violation> {
        self.must_have_body(self.id.as_bytes())?;
        Ok(self)
    }

    pub(crate) fn must_fail(&self) -> Result<&TransportError, Violation> {
        self.result.as_ref().err().ok_or_else(|| self.expected("an error"))
    }

    /// An error that leaves open whether the request was read.
    pub(crate) fn must_be_unknown(&self) -> Result<&TransportError, Violation> {
        self.must_be(Delivery::Unknown, "an error with Delivery::Unknown")
    }

    pub(crate) fn must_be_not_processed(&self) -> Result<&TransportError, Violation> {
        self.must_be(Delivery::NotProcessed, "an error with Delivery::NotProcessed")
    }

    /// An error after this status was read, with what came of the body.
    pub(crate) fn must_have_partial_response(&self, status: StatusCode) -> Result<&TransportResponse, Violation> {
        let wanted =
            format!("an error with Delivery::Answered({}) that keeps what came of the body", status.as_u16());
        let error = self.must_be(Delivery::Answered(status), &wanted)?;
        error.partial().ok_or_else(|| self.expected(&wanted))
    }

    /// An error that says by its kind that a deadline ended.
    pub(crate) fn must_be_a_timeout(&self) -> Result<&TransportError, Violation> {
        let error = self.must_fail()?;
        if error.kind() == TransportErrorKind::Timeout {
            return Ok(error);
        }
        Err(self.expected("an error of the kind Timeout"))
    }

    /// Anything but the claim that nothing was sent.
    pub(crate) fn must_not_be_not_processed(&self) -> Result<&Self, Violation> {
        if self.delivery() == Some(Delivery::NotProcessed) {
            return Err(self.expected("an answer, or an error that does not claim Delivery::NotProcessed"));
        }
        Ok(self)
    }

    /// The call ended with its total deadline; gives by how much it was late.
    pub(crate) fn must_end_with_the_deadline(&self) -> Result<Duration, Violation> {
        if self.took + CLOCK_RESOLUTION < self.total || self.took > self.total + TOLERANCE {
            return Err(Violation::new(format!(
                "the call of {} ended after {:.0?}; its total deadline was {:.0?}, and it should have ended with it",
                self.id, self.took, self.total
            )));
        }
        Ok(self.took.saturating_sub(self.total))
    }

    /// The call ended before its total deadline or with it.
    pub(crate) fn must_end_by_the_deadline(&self) -> Result<(), Violation> {
        if self.took <= self.total + TOLERANCE {
            return Ok(());
        }
        Err(Violation::new(format!(
            "the call of {} ended after {:.0?}; its total deadline was {:.0?}, and it should have ended by then",
            self.id, self.took, self.total
        )))
    }

    /// What the call gave, in one line, with nothing of a body.
    pub(crate) fn summary(&self) -> String {
        let Self { id, result, took, .. } = self;
        match result {
            Ok(response) => {
                format!(
                    "{id} was answered with status {} and a body of {} bytes, after {took:.0?}",
                    response.status().as_u16(),
                    response.body().len()
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

    fn must_be(&self, delivery: Delivery, wanted: &str) -> Result<&TransportError, Violation> {
        match &self.result {
            Err(error) if error.delivery() == delivery => Ok(error),
            _ => Err(self.expected(wanted)),
        }
    }

    pub(crate) fn expected(&self, wanted: &str) -> Violation {
        Violation::new(format!("{}; it should have given {wanted}", self.summary()))
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
const CLOCK_RESOLUTION: Duration = Duration::from_millis(10);

/// The goal is 50 ms, and the figure is in the report. A busy machine can take this much longer.
const TOLERANCE: Duration = Duration::from_secs(2);
