//! A fault as JSON.

use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::document::{SmallNumber, member_types, text_or_number, whole};
use crate::fault::{ANY, Fault, FaultKind, FaultTarget, Phase};

/// A fault as a person may have written it. Members that its kind does not use are accepted, and so are those that
/// [`ArmedFault::to_json`] adds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultDocument {
    operation: Target,
    phase: Phase,
    kind: Kind,
    bytes: Option<SmallNumber>,
    delay_ms: Option<SmallNumber>,
    status: Option<Status>,
    retry_after: Option<RetryAfter>,
    skip: Option<SmallNumber>,
    times: Option<Times>,
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "seen")]
    _seen: Option<IgnoredAny>,
    #[serde(rename = "fired")]
    _fired: Option<IgnoredAny>,
}

member_types! {
    Target(Option<OperationName>) from String,
        "must be transaction, token-transaction, void, get-transaction, get-customer or any",
        |name: String| if name == ANY { Some(None) } else { OperationName::from_name(&name).map(Some) };
    /// With the values of members that are omitted.
    Kind(FaultKind) from String,
        "must be refuse, close, reset, stall, drip, truncate, garbage, html, status, delay or wrong_shape",
        |name: String| DEFAULTS.into_iter().find(|kind| kind.as_str() == name);
    Status(StatusCode) from Value, "must be an HTTP status from 200 to 599", |status| {
        let status = whole(status).filter(|status| (200..600).contains(status))?;
        StatusCode::from_u16(status.try_into().ok()?).ok()
    };
    Times(u32) from Value, "must be a whole number above zero", |times| whole(times).filter(|times| *times > 0);
    /// Seconds may be a number too, because people write them so.
    RetryAfter(HeaderValue) from Value, "must be seconds or a date, as in the Retry-After header",
        |value| text_or_number(value).filter(|text| !text.is_empty())?.try_into().ok();
}

const DEFAULTS: [FaultKind; 11] = [
    FaultKind::Refuse,
    FaultKind::Close,
    FaultKind::Reset,
    FaultKind::Stall,
    FaultKind::Drip { bytes: NonZeroUsize::MIN.saturating_add(9), every: Duration::from_millis(500) },
    FaultKind::Truncate { bytes: 10 },
    FaultKind::Garbage,
    FaultKind::Html { status: StatusCode::BAD_GATEWAY },
    FaultKind::Status { status: StatusCode::BAD_GATEWAY },
    FaultKind::Delay { by: Duration::from_millis(500) },
    FaultKind::WrongShape,
];

impl From<FaultDocument> for Fault {
    fn from(document: FaultDocument) -> Self {
        let FaultDocument { operation: Target(operation), phase, kind: Kind(mut kind), .. } = document;
        let given_bytes =
            document.bytes.map(|SmallNumber(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX));
        let given_delay = document.delay_ms.map(|SmallNumber(millis)| Duration::from_millis(millis.into()));
        match &mut kind {
            FaultKind::Drip { bytes, every } => {
                *bytes =
                    given_bytes.map_or(*bytes, |given| NonZeroUsize::new(given).unwrap_or(NonZeroUsize::MIN));
                *every = given_delay.unwrap_or(*every);
            }
            FaultKind::Truncate { bytes } => *bytes = given_bytes.unwrap_or(*bytes),
            FaultKind::Delay { by } => *by = given_delay.unwrap_or(*by),
            FaultKind::Html { status } | FaultKind::Status { status } => {
                *status = document.status.map_or(*status, |Status(given)| given);
            }
            _ => {}
        }
        let mut fault = FaultTarget { operation }.at(phase).show(kind);
        fault.retry_after = document.retry_after.map(|RetryAfter(value)| value);
        fault.skip = document.skip.map_or(fault.skip, |SmallNumber(skip)| skip);
        fault.times = document.times.map_or(fault.times, |Times(times)| times);
        fault
    }
}
