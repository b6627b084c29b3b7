use super::refusal::Refusal;
use super::{Admin, Ask};

pub(super) fn get(_: &Admin, _: &Ask<'_>) -> Result<String, Refusal> {
    Ok(crate::OPENAPI.to_owned())
}
