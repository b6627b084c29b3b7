use serde_json::json;

use super::refusal::Refusal;
use super::{Admin, Ask};

/// Commits what faults in the phase `late` held back.
pub(super) fn post(admin: &Admin, _: &Ask<'_>) -> Result<String, Refusal> {
    Ok(json!({"delivered": admin.gateway.deliver_late()}).to_string())
}
