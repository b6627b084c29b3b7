//! The header `Sandbox-Fault`, by which a request asks for its own fault.

use http::{HeaderMap, HeaderName};
use payments_fake::Fault;
use payments_fake::unversioned::fault_from_value;
use serde_json::{Map, Value};

/// The fault that a request asks for, or the problem of its header.
pub(crate) fn requested_fault(headers: &HeaderMap) -> Result<Option<Fault>, String> {
    let mut values = headers.get_all(CONTROL_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err("a request can ask for only one fault".to_owned());
    }
    let text = value.to_str().map_err(|_| "it must be visible ASCII")?;
    fault_from_header(text).map(Some)
}

/// Reads a fault from a header value, such as `after_commit=reset` or `before_commit=status;status=503;retry_after=2`:
/// phase and kind, then other fields of the [JSON form](Fault::from_json). It is for one request, so `skip` and `times` are
/// refused.
///
/// # Errors
///
/// The first problem found. The message quotes no value.
pub fn fault_from_header(text: &str) -> Result<Fault, String> {
    const MALFORMED: &str = "it must be PHASE=KIND, then ;NAME=VALUE for each other field, no name twice";
    let mut parts = text.split(';').map(|part| part.split_once('=').ok_or(MALFORMED));
    let (phase, kind) = parts.next().ok_or(MALFORMED)??;
    let mut fault: Map<_, Value> = [("operation", "any"), ("phase", phase.trim()), ("kind", kind.trim())]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .into_iter()
        .collect();
    for part in parts {
        let (name, value) = part?;
        let (name, value) = (name.trim(), value.trim());
        if ["skip", "times"].contains(&name) {
            return Err(ONE_REQUEST.to_owned());
        }
        if fault.insert(name.to_owned(), value.into()).is_some() {
            return Err(MALFORMED.to_owned());
        }
    }
    fault_from_value(fault.into()).map_err(|problem| problem.to_string())
}

const ONE_REQUEST: &str =
    "skip and times need an armed fault (POST /_sandbox/faults): a header is for its own request alone";

const CONTROL_HEADER: HeaderName = HeaderName::from_static("sandbox-fault");

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;
    use payments_fake::FaultKind;

    use super::*;

    #[test]
    fn a_header_describes_the_same_faults() {
        let any = Fault::on_any();
        for (header, fault) in [
            ("after_commit=reset", any.after_commit().reset()),
            (" before_commit = close ", any.before_commit().close()),
            ("late=stall", any.late().stall()),
            (
                "before_commit=status;status=503;retry_after=2",
                any.before_commit().status(StatusCode::SERVICE_UNAVAILABLE).retry_after("2"),
            ),
            (
                "after_commit=html; status=504; retry_after=Fri, 31 Jan 2030 12:00:00 GMT",
                any.after_commit()
                    .show(FaultKind::Html { status: StatusCode::GATEWAY_TIMEOUT })
                    .retry_after("Fri, 31 Jan 2030 12:00:00 GMT"),
            ),
            ("after_commit=truncate;bytes=3", any.after_commit().truncate(3)),
            ("after_commit=drip;bytes=3;delay_ms=4", any.after_commit().drip(3, Duration::from_millis(4))),
        ] {
            assert_eq!(fault_from_header(header), Ok(fault), "{header}");
        }
    }

    #[test]
    fn the_error_for_a_wrong_header_does_not_quote_it() {
        const MALFORMED: &str = "it must be PHASE=KIND, then ;NAME=VALUE for each other field, no name twice";
        for (header, problem) in [
            ("", MALFORMED),
            ("reset", MALFORMED),
            ("after_commit=reset;", MALFORMED),
            ("after_commit=reset;4242", MALFORMED),
            ("after_commit=reset;kind=close", MALFORMED),
            ("after_commit=reset;operation=void", MALFORMED),
            ("after_commit=drip;bytes=1;bytes=2", MALFORMED),
            ("=close", "phase: expected one of"),
            ("never=reset", "phase: expected one of `before_commit`, `after_commit`, `late`"),
            ("after_commit=4242", "kind: must be refuse, close, reset"),
            ("after_commit=status;status=42424", "status: must be an HTTP status from 200 to 599"),
            ("after_commit=drip;bytes=-4242", "bytes: must be a whole number"),
            ("after_commit=close;skip=0", ONE_REQUEST),
            ("after_commit=close; times =4242", ONE_REQUEST),
            ("after_commit=close;colour=4242", "colour: expected one of `operation`"),
            ("after_commit=close;4242 4242=1", "(unprintable field name): expected one of `operation`"),
        ] {
            let error = fault_from_header(header).unwrap_err();
            assert!(error.starts_with(problem) && !error.contains("4242"), "{header}: {error}");
        }
    }
}
