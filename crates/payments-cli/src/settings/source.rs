//! Where a setting came from, for messages about it.

use std::ffi::OsString;
use std::{env, fmt};

use crate::failure::Failure;
use crate::style::for_terminal;

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

/// The place for an address with a password, because every user of a machine can read the arguments of its processes.
pub(crate) const JOURNAL: &str = "PAYMENTS_JOURNAL";

/// The place of a witness on another disk.
pub(super) const WITNESS: &str = "PAYMENTS_JOURNAL_WITNESS";

/// Whether a missing journal is refused: `true` or `false`.
pub(super) const MUST_EXIST: &str = "PAYMENTS_JOURNAL_MUST_EXIST";

/// Refuses a variable whose name is nearly this one, which is not set. Without it nothing fails, and nothing protects.
pub(super) fn refuse_misspelled(meant: &str) -> Result<(), Failure> {
    // Chosen by this command: two letters that are wrong, missing or too many.
    const MOST_TYPOS: usize = 2;

    if env::var_os(meant).is_some() {
        return Ok(());
    }
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let is_meant = |name: &String| strsim::osa_distance(&name.to_uppercase(), meant) <= MOST_TYPOS;
    names.filter(is_meant).min().map_or(Ok(()), |name| {
        let name = for_terminal(&name);
        Err(Failure::configuration(format!(
            "this command reads no environment variable {name}, and {meant} is not set; nothing was sent: rename it, or unset {name}"
        )))
    })
}

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
