//! A fault as JSON.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::document::{SmallNumber, member_types, must_be, text_or_number, whole};
use crate::fault::{
    ANY, Fault, FaultKind, FaultTarget, Phase, RETRY_AFTER_RULE, STATUS_RULE, TIMES_RULE, is_shown,
    retry_after,
};

/// A fault as a person may have written it. The members that [`ArmedFault::to_json`] adds are accepted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some members are accepted and ignored")]
struct Members {
    operation: Target,
    phase: Phase,
    kind: Kind,
    bytes: Option<SmallNumber>,
    delay_ms: Option<SmallNumber>,
    status: Option<Status>,
    retry_after: Option<RetryAfter>,
    skip: Option<SmallNumber>,
    times: Option<Times>,
    id: Option<IgnoredAny>,
    seen: Option<IgnoredAny>,
    fired: Option<IgnoredAny>,
}

member_types! {
    Target(Option<OperationName>) from String,
        must_be(OperationName::ALL.iter().map(|name| name.as_str()).chain([ANY])),
        |name: String| if name == ANY { Some(None) } else { OperationName::from_name(&name).map(Some) };
    /// The name of a kind, whose values are in other members.
    Kind(&'static str) from String, must_be(kind_names()), |name: String| kind_names().find(|own| *own == name);
    Status(StatusCode) from Value, STATUS_RULE,
        |status| StatusCode::from_u16(whole(status)?.try_into().ok()?).ok().filter(|status| is_shown(*status));
    Times(u32) from Value, TIMES_RULE, |times| whole(times).filter(|times| *times > 0);
    /// Seconds may be a number too, because people write them so.
    RetryAfter(HeaderValue) from Value, RETRY_AFTER_RULE, |value| retry_after(&text_or_number(value)?);
}

fn kind_names() -> impl Iterator<Item = &'static str> {
    FaultKind::all(0, Duration::ZERO, StatusCode::OK).into_iter().map(FaultKind::as_str)
}

/// A valid fault in a document. `Fault` itself has no `Deserialize`, because an error of serde alone may quote a value.
pub(crate) struct FaultDocument(pub(crate) Fault);

impl<'de> Deserialize<'de> for FaultDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Members::deserialize(deserializer)?;
        members.unused().map_or_else(|| Ok(Self(members.into())), |rule| Err(D::Error::custom(rule)))
    }
}

impl Members {
    /// The rule for a member that has no meaning for the kind. Its author meant another kind.
    fn unused(&self) -> Option<&'static str> {
        let has = |kinds: &[&str]| kinds.contains(&self.kind.0);
        let has_response = has(&["status", "html"]);
        let rules = [
            (self.bytes.is_some(), has(&["truncate", "drip"]), "must have bytes only for truncate or drip"),
            (self.delay_ms.is_some(), has(&["delay", "drip"]), "must have delay_ms only for delay or drip"),
            (self.status.is_some(), has_response, "must have status only for status or html"),
            (self.retry_after.is_some(), has_response, "must have retry_after only for status or html"),
        ];
        rules.into_iter().find(|(is_set, is_used, _)| *is_set && !is_used).map(|(.., rule)| rule)
    }
}

impl From<Members> for Fault {
    fn from(document: Members) -> Self {
        let Members { operation: Target(operation), phase, kind: Kind(kind), .. } = document;
        let bytes =
            document.bytes.map_or(10, |SmallNumber(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX));
        let millis = document.delay_ms.map_or(500, |SmallNumber(millis)| millis);
        let status = document.status.map_or(StatusCode::BAD_GATEWAY, |Status(status)| status);
        let kinds = FaultKind::all(bytes, Duration::from_millis(millis.into()), status);
        let kind = kinds.into_iter().find(|own| own.as_str() == kind).expect("it is the name of a kind");
        let mut fault = FaultTarget { operation }.at(phase).show(kind);
        fault.retry_after = document.retry_after.map(|RetryAfter(value)| value);
        fault.skip = document.skip.map_or(fault.skip, |SmallNumber(skip)| skip);
        fault.times = document.times.map_or(fault.times, |Times(times)| times);
        fault
    }
}
