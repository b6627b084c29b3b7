//! The variables of the environment that this command reads.

use std::ffi::OsString;

use crate::failure::Failure;

/// Looks a variable up.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

pub(super) const BASE_URL: &str = "PAYMENTS_BASE_URL";
pub(super) const API_KEY: &str = "PAYMENTS_API_KEY";
pub(super) const API_KEY_FILE: &str = "PAYMENTS_API_KEY_FILE";
pub(super) const PROXY: &str = "PAYMENTS_PROXY";
pub(super) const PROFILE: &str = "PAYMENTS_PROFILE";

/// A variable's value; an empty one counts as unset.
pub(super) fn variable(name: &str, environment: Environment<'_>) -> Option<OsString> {
    environment(name).filter(|value| !value.is_empty())
}

pub(super) fn text_variable(name: &str, environment: Environment<'_>) -> Result<Option<String>, Failure> {
    let Some(value) = variable(name, environment) else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| {
        Failure::invalid(
            "configuration",
            format!("the environment variable {name} is not valid UTF-8; nothing was sent"),
        )
    })
}
