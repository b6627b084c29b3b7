use payments_sandbox::{Exchange, Shown};
use serde_json::json;

use crate::escape;
use crate::sandbox_arguments::LogShape;
use crate::stderr;

/// Writes a line to stderr for each request, in the shape that was asked for.
pub(super) fn writer(asked_for: Option<LogShape>) -> Option<impl Fn(&Exchange)> {
    let default = if stderr::is_terminal() { LogShape::Text } else { LogShape::Off };
    let line: fn(&Exchange) -> String = match asked_for.unwrap_or(default) {
        LogShape::Off => return None,
        LogShape::Text => |exchange| escape::for_terminal(&exchange.to_string()),
        LogShape::Json => as_json,
    };
    Some(move |exchange: &Exchange| stderr::write(line(exchange) + "\n"))
}

fn as_json(exchange: &Exchange) -> String {
    let (status, fault) = match exchange.shown {
        Shown::Answer(status) => (Some(status), None),
        Shown::Fault(kind) => (None, Some(kind)),
        _ => (None, None),
    };
    json!({
        "client": exchange.client.to_string(),
        "method": exchange.method,
        "path": exchange.path,
        "status": status,
        "fault": fault,
        "request_id": exchange.request_id,
        "took_us": u64::try_from(exchange.took.as_micros()).unwrap_or(u64::MAX),
    })
    .to_string()
}
