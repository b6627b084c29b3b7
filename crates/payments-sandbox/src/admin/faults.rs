use http::StatusCode;
use payments_fake::{ArmedFault, Fault, FaultId};

use super::refusal::Refusal;
use super::{Admin, Ask};

pub(super) fn get(admin: &Admin, _: &Ask<'_>) -> Result<String, Refusal> {
    let faults: Vec<_> = admin.gateway.faults().iter().map(ArmedFault::to_json).collect();
    Ok(format!(r#"{{"faults":[{}]}}"#, faults.join(",")))
}

pub(super) fn post(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    let id = admin.gateway.arm(Fault::from_json(ask.body())?);
    Ok(armed(admin, |fault| fault.id == id).map_or_else(|| "{}".to_owned(), |fault| fault.to_json()))
}

/// All of them, or the one of `id`.
pub(super) fn delete(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    let Some(id) = ask.parameter("id") else {
        admin.gateway.disarm_all();
        return Ok("{}".to_owned());
    };
    let named: Option<FaultId> = armed(admin, |fault| fault.id.to_string() == id).map(|fault| fault.id);
    match named {
        Some(id) if admin.gateway.disarm(id) => Ok("{}".to_owned()),
        _ => Err(Refusal::new(StatusCode::NOT_FOUND, "no fault is armed with this id")),
    }
}

fn armed(admin: &Admin, is_it: impl Fn(&ArmedFault) -> bool) -> Option<ArmedFault> {
    admin.gateway.faults().into_iter().find(is_it)
}
