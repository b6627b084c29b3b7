use super::refusal::Refusal;
use super::{Admin, Ask};

pub(super) fn get(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    Ok(ask.tenant(admin)?.state_json())
}
