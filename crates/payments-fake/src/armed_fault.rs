//! The armed faults of a gateway, and the JSON form of a fault, which the sandbox's admin interface uses too.

use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::document::{self, DocumentError, members};
use crate::{Fault, FaultKind, Phase};

/// Identifies one armed fault of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

impl fmt::Display for FaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault_{}", self.0)
    }
}

/// An armed fault and how often it fired.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArmedFault {
    /// Its id.
    pub id: FaultId,
    /// The fault.
    pub fault: Fault,
    /// How many requests for its operation have arrived since it was armed.
    pub seen: u32,
    /// For how many of them it fired.
    pub fired: u32,
}

impl fmt::Display for ArmedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, fault, seen, fired } = self;
        write!(f, "{id}: {fault} (seen {seen}, fired {fired})")
    }
}

/// The armed faults of one gateway, in the order in which they were armed.
#[derive(Debug, Default)]
pub(crate) struct ArmedFaults {
    pub(crate) list: Vec<ArmedFault>,
    armed: u64,
}

impl ArmedFaults {
    pub(crate) fn arm(&mut self, fault: Fault) -> FaultId {
        self.armed += 1;
        let id = FaultId(self.armed);
        self.list.push(ArmedFault { id, fault, seen: 0, fired: 0 });
        id
    }

    pub(crate) fn disarm(&mut self, id: FaultId) -> bool {
        let before = self.list.len();
        self.list.retain(|armed| armed.id != id);
        self.list.len() < before
    }

    /// The fault that fires for this request, if any: of those that are due, the one armed first. The others count the
    /// request as seen and stay due.
    pub(crate) fn fire(&mut self, operation: OperationName) -> Option<Fault> {
        let mut firing = None;
        for ArmedFault { fault, seen, fired, .. } in &mut self.list {
            if fault.operation.is_some_and(|own| own != operation) {
                continue;
            }
            if firing.is_none() && *seen >= fault.skip && *fired < fault.times {
                *fired += 1;
                firing = Some(fault.clone());
            }
            *seen = seen.saturating_add(1);
        }
        firing
    }

    /// The panic message that lists the faults that never fired, or `None` if all did.
    pub(crate) fn unfired(&self) -> Option<String> {
        let unfired = self.list.iter().filter(|armed| armed.fired == 0);
        let lines: Vec<String> = unfired.map(|armed| format!("  {armed}")).collect();
        (!lines.is_empty()).then(|| {
            format!("armed faults that never fired, so the test did not test them:\n{}", lines.join("\n"))
        })
    }
}

impl Fault {
    /// Reads a fault from its JSON form. `operation`, `phase` and `kind` are required. Their values are the names that
    /// [`OperationName::as_str`] (or `any`), [`Phase::as_str`] and [`FaultKind::as_str`] return:
    ///
    /// ```
    /// use payments_fake::{Fault, FaultKind};
    ///
    /// let fault = Fault::from_json(r#"{"operation": "transaction", "phase": "after_commit", "kind": "reset"}"#)?;
    /// assert_eq!(fault.kind(), FaultKind::Reset);
    /// # Ok::<(), payments_fake::DocumentError>(())
    /// ```
    ///
    /// | field | kinds and meaning | default |
    /// |---|---|---|
    /// | `status` | `status`, `html`: the HTTP status, 200 to 599 | 502 |
    /// | `retry_after` | `status`, `html`: the header, seconds or a date | none |
    /// | `bytes` | `truncate`: how much of the body arrives; `drip`: the size of a piece | 10 |
    /// | `delay_ms` | `delay`: how long; `drip`: the pause before each piece | 500 |
    /// | `skip` | how many requests pass first | 0 |
    /// | `times` | how many times it fires | 1 |
    ///
    /// Fields that a kind does not use are accepted, and so are `id`, `seen` and `fired`, which [`ArmedFault::to_json`]
    /// writes.
    ///
    /// # Errors
    ///
    /// The first problem found.
    pub fn from_json(json: &str) -> Result<Self, DocumentError> {
        document::read(json).map(FaultDocument::into)
    }

    /// Reads a fault from a header value, such as `after_commit=reset` or `before_commit=status;status=503;retry_after=2`:
    /// phase and kind, then other fields of the [JSON form](Self::from_json). A request asks for its own fault this way.
    ///
    /// # Errors
    ///
    /// The first problem found.
    pub fn from_header(text: &str) -> Result<Self, DocumentError> {
        let mut parts = text.split(';').map(str::trim);
        let malformed = || {
            DocumentError::new("it must be PHASE=KIND, then ;NAME=VALUE for each other field, no name twice")
        };
        let (phase, kind) = parts.next().and_then(|first| first.split_once('=')).ok_or_else(malformed)?;
        let mut document = serde_json::Map::new();
        document.insert("operation".to_owned(), ANY.into());
        document.insert("phase".to_owned(), phase.trim().into());
        document.insert("kind".to_owned(), kind.trim().into());
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(malformed)?;
            let (name, value) = (name.trim(), value.trim());
            let value = match value.parse::<u64>() {
                Ok(number) if name != "retry_after" => Value::from(number),
                _ => Value::from(value),
            };
            if document.insert(name.to_owned(), value).is_some() {
                return Err(malformed());
            }
        }
        document::read_from(Value::Object(document)).map(FaultDocument::into)
    }
}

impl ArmedFault {
    /// The fault in its [JSON form](Fault::from_json), with `id`, `seen` and `fired`.
    pub fn to_json(&self) -> String {
        let Self { id, fault, seen, fired } = self;
        let mut document = json!({
            "id": id.to_string(),
            "operation": fault.operation.map_or(ANY, OperationName::as_str),
            "phase": fault.phase().as_str(),
            "kind": fault.kind.as_str(),
            "skip": fault.skip,
            "times": fault.times,
            "seen": seen,
            "fired": fired,
        });
        match fault.kind {
            FaultKind::Status { status } | FaultKind::Html { status } => {
                document["status"] = status.as_u16().into();
            }
            FaultKind::Truncate { bytes } => document["bytes"] = bytes.into(),
            FaultKind::Drip { bytes, every } => {
                document["bytes"] = bytes.get().into();
                document["delay_ms"] = millis(every);
            }
            FaultKind::Delay { by } => document["delay_ms"] = millis(by),
            _ => {}
        }
        if let Some(retry_after) = &fault.retry_after {
            document["retry_after"] = String::from_utf8_lossy(retry_after.as_bytes()).into();
        }
        document.to_string()
    }
}

/// The members of a fault's JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultDocument {
    #[serde(deserialize_with = "operation")]
    operation: Option<OperationName>,
    #[serde(deserialize_with = "phase")]
    phase: Phase,
    #[serde(deserialize_with = "kind")]
    kind: FaultKind,
    #[serde(default, deserialize_with = "status")]
    status: Option<StatusCode>,
    #[serde(default, deserialize_with = "retry_after")]
    retry_after: Option<HeaderValue>,
    #[serde(default, deserialize_with = "bytes")]
    bytes: Option<usize>,
    #[serde(default, deserialize_with = "delay")]
    delay_ms: Option<Duration>,
    #[serde(default, deserialize_with = "skip")]
    skip: u32,
    #[serde(default = "once", deserialize_with = "times")]
    times: u32,
    // What `ArmedFault::to_json` writes beyond the fault.
    #[serde(default, rename = "id")]
    _id: IgnoredAny,
    #[serde(default, rename = "seen")]
    _seen: IgnoredAny,
    #[serde(default, rename = "fired")]
    _fired: IgnoredAny,
}

impl From<FaultDocument> for Fault {
    fn from(document: FaultDocument) -> Self {
        let FaultDocument {
            operation, phase, kind, status, retry_after, bytes, delay_ms, skip, times, ..
        } = document;
        let kind = kind_named(kind.as_str(), status, bytes, delay_ms).unwrap_or(kind);
        Self { operation, phase, kind, retry_after, skip, times }
    }
}

members! {
    operation: String => Option<OperationName>,
        "must be transaction, token-transaction, void, get-transaction, get-customer or any",
        |name: String| if name == ANY { Some(None) } else { OperationName::from_name(&name).map(Some) };
    phase: String => Phase, "must be before_commit, after_commit or late",
        |name: String| PHASES.into_iter().find(|phase| phase.as_str() == name);
    kind: String => FaultKind,
        "must be close, reset, stall, drip, truncate, garbage, html, status, delay, wrong_shape or refuse",
        |name: String| kind_named(&name, None, None, None);
    status: Option<u16> => Option<StatusCode>, "must be an HTTP status from 200 to 599", |status| match status {
        None => Some(None),
        Some(status @ 200..600) => StatusCode::from_u16(status).ok().map(Some),
        Some(_) => None,
    };
    /// Accepts seconds as a number too, because people write them so.
    retry_after: Option<Value> => Option<HeaderValue>, "must be seconds or a date, as in the Retry-After header",
        |value| match value {
            None => Some(None),
            Some(Value::String(text)) if !text.is_empty() => HeaderValue::try_from(text).ok().map(Some),
            Some(Value::Number(seconds)) => HeaderValue::try_from(seconds.to_string()).ok().map(Some),
            Some(_) => None,
        };
    bytes: Option<usize> => Option<usize>, "must be a whole number", Some;
    delay: Option<u32> => Option<Duration>, "must be a whole number of milliseconds",
        |millis: Option<u32>| Some(millis.map(|millis| Duration::from_millis(millis.into())));
    skip: Option<u32> => u32, "must be a whole number", |count: Option<u32>| Some(count.unwrap_or(0));
    times: Option<u32> => u32, "must be a whole number above zero",
        |count: Option<u32>| Some(count.unwrap_or(1)).filter(|count| *count > 0);
}

const fn once() -> u32 {
    1
}

/// The kind with these values, or with its defaults.
fn kind_named(
    name: &str,
    status: Option<StatusCode>,
    bytes: Option<usize>,
    delay: Option<Duration>,
) -> Option<FaultKind> {
    let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
    let bytes = bytes.unwrap_or(10);
    let by = delay.unwrap_or(Duration::from_millis(500));
    let kinds = [
        FaultKind::Refuse,
        FaultKind::Close,
        FaultKind::Reset,
        FaultKind::Stall,
        FaultKind::Drip { bytes: NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN), every: by },
        FaultKind::Truncate { bytes },
        FaultKind::Garbage,
        FaultKind::Html { status },
        FaultKind::Status { status },
        FaultKind::Delay { by },
        FaultKind::WrongShape,
    ];
    kinds.into_iter().find(|kind| kind.as_str() == name)
}

fn millis(duration: Duration) -> Value {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).into()
}

const ANY: &str = "any";
const PHASES: [Phase; 3] = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];

#[cfg(test)]
mod tests {
    use OperationName::{Transaction, Void};

    use super::*;
    use crate::FaultKind;

    fn kinds(faults: &mut ArmedFaults, operations: &[OperationName]) -> Vec<Option<FaultKind>> {
        operations.iter().map(|operation| faults.fire(*operation).map(|fault| fault.kind())).collect()
    }

    #[test]
    fn a_fault_fires_for_the_requests_it_was_armed_for() {
        let mut faults = ArmedFaults::default();
        faults.arm(Fault::on(Transaction).before_commit().close().nth(2).times(2));
        let close = Some(FaultKind::Close);
        let fired = kinds(&mut faults, &[Transaction, Void, Transaction, Transaction, Transaction]);
        assert_eq!(fired, [None, None, close, close, None]);
        assert_eq!((faults.list[0].seen, faults.list[0].fired), (4, 2));
    }

    #[test]
    fn the_older_of_two_due_faults_fires_and_the_other_stays_due() {
        let mut faults = ArmedFaults::default();
        faults.arm(Fault::on_any().before_commit().close());
        faults.arm(Fault::on(Void).before_commit().reset());
        assert_eq!(
            kinds(&mut faults, &[Void, Void, Void]),
            [Some(FaultKind::Close), Some(FaultKind::Reset), None]
        );
    }

    #[test]
    fn an_unfired_fault_is_named() {
        let mut faults = ArmedFaults::default();
        let fired = faults.arm(Fault::on(Transaction).before_commit().close());
        faults.arm(Fault::on(Void).after_commit().truncate(7).nth(3).times(2));
        faults.fire(Transaction);
        let message = faults.unfired().unwrap();
        assert!(
            message.ends_with(
                "fault_2: after_commit truncate on void, from request 3, 2 times (seen 0, fired 0)"
            )
        );
        assert!(!message.contains(&fired.to_string()));
        faults.list.clear();
        assert_eq!(faults.unfired(), None);
    }
}
