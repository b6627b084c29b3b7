//! Where a setting came from, for messages about it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fmt};

use crate::failure::Failure;
use crate::files;

/// Where a setting came from, in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An option, such as `--base-url`.
    Flag(&'static str),
    /// An environment variable, such as `PAYMENTS_BASE_URL`.
    Variable(&'static str),
    /// The chosen profile.
    Profile(ProfileName),
    /// It is not set.
    Default,
}

/// A profile's name and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProfileName(Arc<(String, PathBuf)>);

impl ProfileName {
    /// `name` must be safe to print.
    pub(super) fn new(name: String, file: PathBuf) -> Self {
        Self(Arc::new((name, file)))
    }
}

impl Source {
    /// The source, with the name of the setting if a profile has it.
    pub(super) fn of_setting(&self, name: &str) -> String {
        match self {
            Self::Profile(profile) => format!("{name} in {profile}"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::Profile(profile) => profile.fmt(f),
            Self::Default => f.write_str("default"),
        }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, file) = &*self.0;
        let file = files::shown_name(file);
        write!(f, "profile {name} of {}", file.as_deref().unwrap_or("the file of profiles"))
    }
}

pub(super) const BASE_URL: &str = "PAYMENTS_BASE_URL";
pub(super) const API_KEY: &str = "PAYMENTS_API_KEY";
pub(super) const API_KEY_FILE: &str = "PAYMENTS_API_KEY_FILE";
pub(super) const PROXY: &str = "PAYMENTS_PROXY";
pub(super) const PROFILE: &str = "PAYMENTS_PROFILE";

/// A variable's value; an empty one counts as unset.
pub(super) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

pub(super) fn text_variable(name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = variable(name) else { return Ok(None) };
    value.into_string().map(Some).map_err(|_| {
        Failure::configuration(format!(
            "the environment variable {name} is not valid UTF-8; nothing was sent"
        ))
    })
}

/// Where the API key came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// The source has the key itself.
    Key(Source),
    /// The source has the path of a file with the key.
    File(Source),
}

impl KeySource {
    pub(crate) fn hint(&self) -> String {
        format!("the API key came from {self}")
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(source) => source.fmt(f),
            Self::File(source) => write!(f, "the file of {}", source.of_setting("api_key_file")),
        }
    }
}

/// The warning about a password in an option. The variable is the place for it.
pub(crate) fn seen_in_arguments(option: &str, variable: &str) -> String {
    format!(
        "every user of this machine can read the arguments of its processes, and {option} contains a password: \
         set {variable} instead"
    )
}
