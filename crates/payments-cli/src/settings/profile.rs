//! One profile: settings under a name.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::source::ProfileName;
use crate::timeout;

/// What a profile sets.
pub(super) struct Profile {
    pub(super) name: ProfileName,
    /// What its relative paths begin at: a charge must not depend on the folder that a shell happens to be in.
    pub(super) folder: PathBuf,
    pub(super) base_url: Option<String>,
    pub(super) key: Option<ProfileKey>,
    pub(super) timeout: Option<Duration>,
    /// As it is written.
    pub(super) ca_cert: Option<PathBuf>,
    /// There may be a password in it.
    pub(super) proxy: Option<Zeroizing<String>>,
}

/// The key of a profile, or where it is.
pub(super) enum ProfileKey {
    Key(Zeroizing<String>),
    /// As it is written.
    File(PathBuf),
}

/// The settings of one table, before they belong to a profile.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) base_url: Option<String>,
    pub(super) api_key: Option<Zeroizing<String>>,
    pub(super) api_key_file: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
    pub(super) ca_cert: Option<PathBuf>,
    pub(super) proxy: Option<Zeroizing<String>>,
}

impl Entries {
    /// Reads a table; `problem` is told of each entry that cannot be taken, and never of a value.
    pub(super) fn read(table: &DeTable<'_>, mut problem: impl FnMut(usize, String)) -> Self {
        let mut entries = Self::default();
        for (name, value) in table {
            let place = name.span().start;
            let name = &**name.get_ref();
            let text = value.get_ref().as_str();
            match name {
                "base_url" => entries.base_url = text.map(str::to_owned),
                "api_key" => entries.api_key = text.map(|key| Zeroizing::new(key.to_owned())),
                "api_key_file" => entries.api_key_file = text.map(PathBuf::from),
                "proxy" => entries.proxy = text.map(|address| Zeroizing::new(address.to_owned())),
                "ca_cert" => entries.ca_cert = text.map(PathBuf::from),
                "timeout" => match number(value.get_ref()).map(timeout::timeout) {
                    Some(Ok(timeout)) => entries.timeout = Some(timeout),
                    Some(Err(rule)) => problem(place, format!("timeout {rule}")),
                    None => problem(place, "timeout must be a number, without quotes".to_owned()),
                },
                _ => {
                    let name = shown_name(name);
                    problem(place, format!("{name} is no setting; a profile may hold {SETTINGS}"));
                    continue;
                }
            }
            if text.is_none() && name != "timeout" {
                problem(place, format!("{name} must be a text in quotes"));
            }
            if matches!(name, "api_key" | "api_key_file")
                && entries.api_key.is_some()
                && entries.api_key_file.is_some()
            {
                problem(place, "api_key and api_key_file exclude each other".to_owned());
            }
        }
        entries
    }

    /// What of it nobody else may read.
    pub(super) fn secret(&self) -> Option<&'static str> {
        let has_credentials = |proxy: &Zeroizing<String>| proxy.contains('@');
        if self.api_key.is_some() {
            Some("key")
        } else if self.proxy.as_ref().is_some_and(has_credentials) {
            Some("password")
        } else {
            None
        }
    }
}

/// A name that is no setting, if it is spelled as settings are: in a line that lost its beginning, a key may stand there.
fn shown_name(name: &str) -> &str {
    let is_spelled_so = name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    if is_spelled_so && (1..=20).contains(&name.len()) { name } else { "(unprintable field name)" }
}

const SETTINGS: &str = "base_url, api_key, api_key_file, timeout, ca_cert and proxy";

fn number<'a>(value: &'a DeValue<'_>) -> Option<&'a str> {
    match value {
        DeValue::Integer(integer) if integer.radix() == 10 => Some(integer.as_str()),
        DeValue::Float(float) => Some(float.as_str()),
        _ => None,
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile").field("name", &self.name).finish_non_exhaustive()
    }
}
