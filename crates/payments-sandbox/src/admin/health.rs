use serde_json::json;

use super::refusal::Refusal;
use super::{Admin, Ask};

pub(super) fn get(admin: &Admin, _: &Ask<'_>) -> Result<String, Refusal> {
    let tenants: Vec<_> = admin.gateway.tenants().collect();
    let transactions: usize = tenants.iter().map(payments_fake::Tenant::transaction_count).sum();
    let health = json!({
        "status": "ok",
        "version": crate::VERSION,
        "seed": admin.seed,
        "tenants": tenants.len(),
        "transactions": transactions,
        "faults": admin.gateway.faults().len(),
    });
    Ok(health.to_string())
}
