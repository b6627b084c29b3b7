use std::error::Error;
use std::iter;
use std::time::Duration;

use http::StatusCode;
use payments_core::{Delivery, TransportError, TransportErrorKind, TransportResponse};

use crate::violation::{Cause, Rule, Violation, ensure};

/// The result of a call, and how long it took.
#[derive(Debug)]
pub(crate) struct CompletedCall {
    pub(crate) id: String,
    pub(crate) result: Result<TransportResponse, TransportError>,
    pub(crate) took: Duration,
    /// The total deadline of the call.
    pub(crate) total: Duration,
}

impl CompletedCall {
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        self.result.as_ref().err().map(TransportError::delivery)
    }

    /// Requires a response with this status.
    pub(crate) fn must_have_status(&self, status: StatusCode) -> Result<&TransportResponse, Violation> {
        match &self.result {
            Ok(response) if response.status() == status => Ok(response),
            result => {
                let mut expected = self.expected(&format!("a response with status {}", status.as_u16()));
                expected.lacks_response = result.is_err();
                Err(expected)
            }
        }
    }

    /// Requires a response with status 200 and this body.
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
            "{} returned a body of {}; the transport must return the body that was sent: {}",
            self.id,
            shown(response.body()),
            shown(body)
        )))
    }

    /// Requires the server's echo of this call's id.
    pub(crate) fn must_get_own_response(&self) -> Result<(), Violation> {
        let own = self.must_have_body(self.id.as_bytes()).map(drop);
        own.map_err(|violation| violation.false_success(self.result.is_ok()))
    }

    pub(crate) fn must_fail(&self) -> Result<&TransportError, Violation> {
        self.result.as_ref().err().ok_or_else(|| self.expected_error("an error"))
    }

    /// Requires an error with `Delivery::Unknown`.
    pub(crate) fn must_be_unknown(&self) -> Result<(), Violation> {
        self.must_have_delivery(Delivery::Unknown)
    }

    pub(crate) fn must_be_not_processed(&self) -> Result<(), Violation> {
        self.must_have_delivery(Delivery::NotProcessed)
    }

    fn must_have_delivery(&self, delivery: Delivery) -> Result<(), Violation> {
        if self.delivery() == Some(delivery) {
            return Ok(());
        }
        Err(self.expected_error(&format!("an error with Delivery::{delivery:?}")))
    }

    /// Requires an error with this status that keeps what arrived of the body.
    pub(crate) fn must_have_partial_response(
        &self,
        status: StatusCode,
    ) -> Result<&TransportResponse, Violation> {
        let wanted = format!(
            "an error with Delivery::Answered({}) and the part of the body that arrived",
            status.as_u16()
        );
        let error = self.result.as_ref().err().filter(|error| error.delivery() == Delivery::Answered(status));
        error.and_then(TransportError::partial).ok_or_else(|| self.expected_error(&wanted))
    }

    /// Requires the error kind `Timeout`.
    pub(crate) fn must_be_a_timeout(&self) -> Result<(), Violation> {
        let is_timeout = self.must_fail()?.kind() == TransportErrorKind::Timeout;
        self.must(is_timeout, "an error with the kind Timeout")
    }

    /// Accepts any result except `Delivery::NotProcessed`.
    pub(crate) fn must_not_be_not_processed(&self) -> Result<(), Violation> {
        let may_be_processed = self.delivery() != Some(Delivery::NotProcessed);
        self.must(may_be_processed, "a response, or an error without Delivery::NotProcessed")
    }

    /// Requires that the call did not end before its total deadline. Returns how late it was.
    pub(crate) fn must_end_with_the_deadline(&self) -> Result<Duration, Violation> {
        self.must_end_with("total", self.total)
    }

    /// Requires that the call did not end before this deadline. Returns how late it was.
    pub(crate) fn must_end_with(&self, name: &str, deadline: Duration) -> Result<Duration, Violation> {
        let Self { id, took, .. } = self;
        ensure!(
            *took + CLOCK_RESOLUTION >= deadline,
            "{id} ended after {took:.0?}; it must end at its {name} deadline of {deadline:.0?}"
        );
        Ok(took.saturating_sub(deadline))
    }

    /// Requires that the call ended no later than its total deadline, which is a general rule.
    pub(crate) fn must_end_by_the_deadline(&self) -> Result<(), Violation> {
        let Self { id, took, total, .. } = self;
        if *took <= *total + TOLERANCE {
            return Ok(());
        }
        let found = format!(
            "{id} ended after {took:.0?}; it must end no later than its total deadline of {total:.0?}"
        );
        Err(Violation::general(found, Rule::Ends))
    }

    /// The result in one line, without the body.
    pub(crate) fn summary(&self) -> String {
        let Self { id, result, took, .. } = self;
        match result {
            Ok(response) => {
                format!(
                    "{id} returned status {} with a body of {} bytes after {took:.0?}",
                    response.status().as_u16(),
                    response.body().len()
                )
            }
            Err(error) => {
                let sources = iter::successors(Some(error as &dyn Error), |&error| error.source());
                let texts: Vec<_> = sources.map(ToString::to_string).collect();
                format!(
                    "{id} failed with the kind {:?} and Delivery::{:?} after {took:.0?}: {}",
                    error.kind(),
                    error.delivery(),
                    texts.join(": ")
                )
            }
        }
    }

    /// Requires that the result is `wanted`.
    pub(crate) fn must(&self, is_wanted: bool, wanted: &str) -> Result<(), Violation> {
        if is_wanted { Ok(()) } else { Err(self.expected(wanted)) }
    }

    fn expected_error(&self, wanted: &str) -> Violation {
        self.expected(wanted).false_success(self.result.is_ok())
    }

    pub(crate) fn expected(&self, wanted: &str) -> Violation {
        let cause = match &self.result {
            Ok(response) => Cause::Response(response.status()),
            Err(error) => Cause::Error(error.kind(), error.delivery()),
        };
        let mut violation = Violation::of(cause, self.summary());
        violation.wanted = Some(format!("return {wanted}"));
        violation
    }
}

/// A stack's clock may be coarser than the kit's.
const CLOCK_RESOLUTION: Duration = Duration::from_millis(10);

/// The goal is 50 ms, and the report shows the measured value. A busy machine can take this much longer.
pub(crate) const TOLERANCE: Duration = Duration::from_secs(2);
