//! A fault as JSON, with the names of the sandbox's interface.

use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use payments_core::OperationName;
use serde_json::{Value, json};

use crate::document_reader::DocumentReader;
use crate::{ArmedFault, DocumentError, Fault, FaultKind, FaultTarget, Phase};

impl Fault {
    /// A fault from its JSON form. `operation`, `phase` and `kind` are required, by the names of
    /// [`OperationName::as_str`] (or `any`), [`Phase::as_str`] and [`FaultKind::as_str`]:
    ///
    /// ```
    /// use payments_fake::{Fault, FaultKind};
    ///
    /// let fault = Fault::from_json(r#"{"operation": "transaction", "phase": "after_commit", "kind": "reset"}"#)?;
    /// assert_eq!(fault.kind(), FaultKind::Reset);
    /// # Ok::<(), payments_fake::DocumentError>(())
    /// ```
    ///
    /// | field | is for | default |
    /// |---|---|---|
    /// | `status` | `status`, `html`: the HTTP status, 200 to 599 | 502 |
    /// | `retry_after` | `status`, `html`: the header, seconds or a date | none |
    /// | `bytes` | `truncate`: how much of the body comes; `drip`: the size of a piece | 10 |
    /// | `delay_ms` | `delay`: how long; `drip`: the pause before each piece | 500 |
    /// | `skip` | how many requests pass first | 0 |
    /// | `times` | how many requests it strikes | 1 |
    ///
    /// Fields that a kind does not use are accepted, and so are `id`, `seen` and `fired`, which [`ArmedFault::to_json`]
    /// writes.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn from_json(json: &str) -> Result<Self, DocumentError> {
        read(json).map_err(DocumentError::new)
    }

    /// The fault of such a text as `after_commit=reset` or `before_commit=status;status=503;retry_after=2`, as one
    /// request asks for it: phase and kind, and the other fields of the [JSON form](Self::from_json).
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn from_header(text: &str) -> Result<Self, DocumentError> {
        let mut parts = text.split(';').map(str::trim);
        let malformed = || {
            DocumentError::new(vec!["it must be PHASE=KIND, then ;NAME=VALUE for more, each once".to_owned()])
        };
        let (phase, kind) = parts.next().and_then(|first| first.split_once('=')).ok_or_else(malformed)?;
        let mut document = serde_json::Map::new();
        document.insert("operation".to_owned(), ANY.into());
        document.insert("phase".to_owned(), phase.trim().into());
        document.insert("kind".to_owned(), kind.trim().into());
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(malformed)?;
            let (name, value) = (name.trim(), value.trim());
            if document.contains_key(name) {
                return Err(malformed());
            }
            let value = match value.parse::<u64>() {
                Ok(number) if name != "retry_after" => Value::from(number),
                _ => Value::from(value),
            };
            document.insert(name.to_owned(), value);
        }
        Self::from_json(&Value::Object(document).to_string())
    }
}

impl ArmedFault {
    /// The fault in its [JSON form](Fault::from_json), with its `id`, how many requests for its operation came since
    /// (`seen`) and how many of them it struck (`fired`).
    pub fn to_json(&self) -> String {
        let Self { id, fault, seen, fired } = self;
        let mut document = json!({
            "id": id.to_string(),
            "operation": fault.operation().map_or(ANY, OperationName::as_str),
            "phase": fault.phase().as_str(),
            "kind": fault.kind().as_str(),
            "skip": fault.skipped(),
            "times": fault.strike_count(),
            "seen": seen,
            "fired": fired,
        });
        let more = match fault.kind() {
            FaultKind::Status { status } | FaultKind::Html { status } => {
                vec![("status", json!(status.as_u16()))]
            }
            FaultKind::Truncate { bytes } => vec![("bytes", json!(bytes))],
            FaultKind::Drip { bytes, every } => {
                vec![("bytes", json!(bytes)), ("delay_ms", json!(millis(every)))]
            }
            FaultKind::Delay { by } => vec![("delay_ms", json!(millis(by)))],
            _ => Vec::new(),
        };
        for (name, value) in more {
            document[name] = value;
        }
        if let Some(retry_after) = fault.retry_after_header() {
            document["retry_after"] = String::from_utf8_lossy(retry_after.as_bytes()).into();
        }
        document.to_string()
    }
}

pub(crate) fn read(json: &str) -> Result<Fault, Vec<String>> {
    let mut reader = DocumentReader::new(json)?;
    let target = read_target(&mut reader);
    let phase = reader.text("phase").and_then(|name| PHASES.into_iter().find(|phase| phase.as_str() == name));
    if phase.is_none() {
        reader.problem("phase", "must be before_commit, after_commit or late");
    }
    let kind = read_kind(&mut reader);
    let retry_after = read_retry_after(&mut reader);
    let skip = reader.value::<u32>("skip", "must be a whole number").unwrap_or(0);
    let times = reader.value::<u32>("times", TIMES).unwrap_or(1);
    if times == 0 {
        reader.problem("times", TIMES);
    }
    for written_by_to_json in ["id", "seen", "fired"] {
        reader.take(written_by_to_json);
    }
    reader.finish()?;

    let (Some(target), Some(phase), Some(kind)) = (target, phase, kind) else {
        unreachable!("each of them missing is a problem")
    };
    let fault = target.at(phase).show(kind).skip(skip).times(times);
    Ok(match retry_after {
        Some(text) => fault.retry_after(&text),
        None => fault,
    })
}

fn read_target(reader: &mut DocumentReader<'_>) -> Option<FaultTarget> {
    let name = reader.text("operation");
    let target = name.and_then(|name| match name.as_str() {
        ANY => Some(Fault::on_any()),
        name => OperationName::from_name(name).map(Fault::on),
    });
    if target.is_none() {
        let names: Vec<_> = OperationName::ALL.iter().map(|own| own.as_str()).collect();
        reader.problem("operation", &format!("must be {} or {ANY}", names.join(", ")));
    }
    target
}

fn read_kind(reader: &mut DocumentReader<'_>) -> Option<FaultKind> {
    let name = reader.text("kind");
    let status =
        reader.value::<u16>("status", STATUS).map_or(Ok(StatusCode::BAD_GATEWAY), StatusCode::from_u16);
    let status = status.ok().filter(|status| (200..600).contains(&status.as_u16()));
    if status.is_none() {
        reader.problem("status", STATUS);
    }
    let bytes = reader.value::<u32>("bytes", "must be a whole number").unwrap_or(10);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let delay = reader.value::<u32>("delay_ms", "must be a whole number of milliseconds").unwrap_or(500);
    let delay = Duration::from_millis(delay.into());
    // Something in its place, so that a wrong kind is told together with a wrong status.
    let status = status.unwrap_or_default();
    let kind = name.and_then(|name| match name.as_str() {
        "refuse" => Some(FaultKind::Refuse),
        "close" => Some(FaultKind::Close),
        "reset" => Some(FaultKind::Reset),
        "stall" => Some(FaultKind::Stall),
        "drip" => Some(FaultKind::Drip {
            bytes: NonZeroUsize::new(bytes).unwrap_or(NonZeroUsize::MIN),
            every: delay,
        }),
        "truncate" => Some(FaultKind::Truncate { bytes }),
        "garbage" => Some(FaultKind::Garbage),
        "html" => Some(FaultKind::Html { status }),
        "status" => Some(FaultKind::Status { status }),
        "delay" => Some(FaultKind::Delay { by: delay }),
        "wrong_shape" => Some(FaultKind::WrongShape),
        _ => None,
    });
    if kind.is_none() {
        reader.problem("kind", KINDS);
    }
    kind
}

/// Seconds may be given as a number too: it is what people write.
fn read_retry_after(reader: &mut DocumentReader<'_>) -> Option<String> {
    const RULE: &str = "must be seconds or a date, as the header has it";
    let text = match reader.value::<Value>("retry_after", RULE)? {
        Value::String(text) => text,
        Value::Number(seconds) => seconds.to_string(),
        _ => String::new(),
    };
    let is_usable = !text.is_empty() && HeaderValue::from_str(&text).is_ok();
    if !is_usable {
        reader.problem("retry_after", RULE);
    }
    is_usable.then_some(text)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const ANY: &str = "any";
const PHASES: [Phase; 3] = [Phase::BeforeCommit, Phase::AfterCommit, Phase::Late];
const STATUS: &str = "must be an HTTP status from 200 to 599";
const TIMES: &str = "must be a whole number above zero";
const KINDS: &str =
    "must be close, reset, stall, drip, truncate, garbage, html, status, delay, wrong_shape or refuse";
