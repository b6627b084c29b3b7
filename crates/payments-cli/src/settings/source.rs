//! Where a setting came from: what to look at when it is wrong.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::path_name;

/// Where a setting came from, in the order in which they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// An option, such as `--base-url`.
    Flag(&'static str),
    /// An environment variable, such as `PAYMENTS_BASE_URL`.
    Variable(&'static str),
    /// The chosen profile.
    Profile(ProfileName),
    /// Nobody set it.
    Default,
}

/// A profile's name and the file it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProfileName(Arc<(String, PathBuf)>);

impl ProfileName {
    /// `name` must be harmless to print.
    pub(super) fn new(name: String, file: PathBuf) -> Self {
        Self(Arc::new((name, file)))
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
        let file = path_name::shown(file);
        write!(f, "profile {name} of {}", file.as_deref().unwrap_or("the file of profiles"))
    }
}
