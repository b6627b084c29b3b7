//! Where a setting came from, for messages about it.

use std::ffi::OsString;
use std::{env, fmt};

use crate::failure::Failure;

/// Where a setting came from, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An option, such as `--base-url`.
    Flag(&'static str),
    /// An environment variable, such as `PAYMENTS_BASE_URL`.
    Variable(&'static str),
    /// The file that this option or variable names.
    FileOf(&'static str),
    /// It is not set.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::FileOf(name) => write!(f, "the file of {name}"),
            Self::Default => f.write_str("default"),
        }
    }
}

pub(super) const BASE_URL: &str = "PAYMENTS_BASE_URL";
pub(super) const API_KEY: &str = "PAYMENTS_API_KEY";
pub(super) const API_KEY_FILE: &str = "PAYMENTS_API_KEY_FILE";
pub(super) const MERCHANT: &str = "PAYMENTS_MERCHANT";
pub(super) const TIMEOUT: &str = "PAYMENTS_TIMEOUT";
pub(super) const CA_CERT: &str = "PAYMENTS_CA_CERT";
pub(super) const PROXY: &str = "PAYMENTS_PROXY";

/// A variable's value; an empty one counts as unset.
pub(super) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The value of the option, else of the variable, with its source.
pub(super) fn chosen<T: From<OsString>>(
    option: Option<T>,
    flag: &'static str,
    name: &'static str,
) -> Option<(T, Source)> {
    let option = option.map(|value| (value, Source::Flag(flag)));
    option.or_else(|| Some((variable(name)?.into(), Source::Variable(name))))
}

/// The same for a text.
pub(super) fn chosen_text(
    option: Option<&String>,
    flag: &'static str,
    name: &'static str,
) -> Result<Option<(String, Source)>, Failure> {
    if let Some(text) = option {
        return Ok(Some((text.clone(), Source::Flag(flag))));
    }
    Ok(text_variable(name)?.map(|text| (text, Source::Variable(name))))
}

pub(super) fn text_variable(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = variable(name) else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| {
        Failure::configuration(format!(
            "the environment variable {name} is not valid UTF-8; nothing was sent"
        ))
    })
}

/// What stands between a colon and the last at sign of an address.
pub(super) fn password_in(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://").unwrap_or(("", address));
    Some(rest.rsplit_once('@')?.0.split_once(':')?.1)
}

/// The warning about a password in an option. The variable is the place for it.
pub(crate) fn seen_in_arguments(option: &str, variable: &str) -> String {
    format!(
        "every user of this machine can read the arguments of its processes, and {option} contains a password: \
         set {variable} instead"
    )
}
