use super::refusal::Refusal;
use super::{Admin, Ask};

pub(super) fn post(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    let added = ask.tenant(admin)?.add_customer_json(ask.body())?;
    Ok(added)
}
