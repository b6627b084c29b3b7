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
    #[serde(default, deserialize_with = "not_null")]
    operation: Option<Target>,
    #[serde(default, deserialize_with = "not_null")]
    phase: Option<Phase>,
    #[serde(default, deserialize_with = "not_null")]
    kind: Option<Kind>,
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
    Target(Option<OperationName>) from String, must_be(operation_names()),
        |name: String| if name == ANY { Some(None) } else { OperationName::from_name(&name).map(Some) };
    /// The name of a kind, whose values are in other members.
    Kind(&'static str) from String, must_be(kind_names()), |name: String| kind_names().find(|own| *own == name);
    Status(StatusCode) from Value, STATUS_RULE,
        |status| StatusCode::from_u16(whole(status)?.try_into().ok()?).ok().filter(|status| is_shown(*status));
    Times(u32) from Value, TIMES_RULE, |times| whole(times).filter(|times| *times > 0);
    /// Seconds may be a number too, because people write them so.
    RetryAfter(HeaderValue) from Value, RETRY_AFTER_RULE, |value| retry_after(&text_or_number(value)?);
}

fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(member: D) -> Result<Option<T>, D::Error> {
    T::deserialize(member).map(Some)
}

fn operation_names() -> impl Iterator<Item = &'static str> {
    OperationName::ALL.iter().map(|name| name.as_str()).chain([ANY])
}

fn kind_names() -> impl Iterator<Item = &'static str> {
    FaultKind::all(0, Duration::ZERO, StatusCode::OK).into_iter().map(FaultKind::as_str)
}

/// A valid fault in a document. `Fault` itself has no `Deserialize`, because an error of serde alone may quote a value.
pub(crate) struct FaultDocument(pub(crate) Fault);

impl<'de> Deserialize<'de> for FaultDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Members::deserialize(deserializer)?.into_fault().map(Self).map_err(D::Error::custom)
    }
}

impl Members {
    fn into_fault(self) -> Result<Fault, String> {
        let Some(Target(operation)) = self.operation else {
            return Err(missing("operation", operation_names()));
        };
        let Some(phase) = self.phase else {
            return Err(missing(
                "phase",
                [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late].map(Phase::as_str),
            ));
        };
        let Some(Kind(kind)) = self.kind else { return Err(missing("kind", kind_names())) };
        // The author of a member that has no meaning for the kind meant another kind.
        for (member, is_set, users) in [
            ("bytes", self.bytes.is_some(), ["truncate", "drip"]),
            ("delay_ms", self.delay_ms.is_some(), ["delay", "drip"]),
            ("status", self.status.is_some(), ["status", "html"]),
            ("retry_after", self.retry_after.is_some(), ["status", "html"]),
        ] {
            if is_set && !users.contains(&kind) {
                return Err(format!("must not have {member} unless its kind is {}", users.join(" or ")));
            }
        }
        let bytes = self.bytes.map_or(10, |SmallNumber(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX));
        let millis = self.delay_ms.map_or(500, |SmallNumber(millis)| millis);
        let status = self.status.map_or(StatusCode::BAD_GATEWAY, |Status(status)| status);
        let kinds = FaultKind::all(bytes, Duration::from_millis(millis.into()), status);
        let kind = kinds.into_iter().find(|own| own.as_str() == kind).expect("it is the name of a kind");
        let mut fault = FaultTarget { operation }.at(phase).show(kind);
        fault.retry_after = self.retry_after.map(|RetryAfter(value)| value);
        fault.skip = self.skip.map_or(fault.skip, |SmallNumber(skip)| skip);
        fault.times = self.times.map_or(fault.times, |Times(times)| times);
        Ok(fault)
    }
}

fn missing(member: &str, values: impl IntoIterator<Item = &'static str>) -> String {
    format!("missing field `{member}`, which {}", must_be(values.into_iter()))
}
