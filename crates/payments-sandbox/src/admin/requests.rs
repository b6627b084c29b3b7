use payments_core::OperationName;
use payments_fake::RecordedRequest;

use super::refusal::Refusal;
use super::{Admin, Ask};

/// Newest last; `limit` keeps the newest.
pub(super) fn get(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    let operation = ask.parameter("operation").map(named).transpose()?;
    let limit = match ask.parameter("limit") {
        None => usize::MAX,
        Some(text) => text.parse().map_err(|_| Refusal::bad_request("limit must be a whole number"))?,
    };
    let mut requests = admin.gateway.requests();
    if let Some(operation) = operation {
        requests.retain(|request| request.operation() == Some(operation));
    }
    let newest = &requests[requests.len().saturating_sub(limit)..];
    let newest: Vec<_> = newest.iter().map(RecordedRequest::to_json).collect();
    Ok(format!(r#"{{"requests":[{}]}}"#, newest.join(",")))
}

pub(super) fn delete(admin: &Admin, _: &Ask<'_>) -> Result<String, Refusal> {
    admin.gateway.clear_requests();
    Ok("{}".to_owned())
}

fn named(name: &str) -> Result<OperationName, Refusal> {
    OperationName::from_name(name).ok_or_else(|| {
        let names: Vec<_> = OperationName::ALL.iter().map(|operation| operation.as_str()).collect();
        Refusal::bad_request(format!("operation must be one of {}", names.join(", ")))
    })
}
