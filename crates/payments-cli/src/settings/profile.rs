//! Profiles: named settings in a file.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::Duration;

use payments_model::printable_field_name;
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::access;
use super::proxy::has_password;
use super::source::{PROFILE, ProfileName, Source, text_variable, variable};
use crate::args::{self, ClientOptions};
use crate::failure::Failure;
use crate::files;

/// The settings of a profile.
pub(super) struct Profile {
    pub(super) name: ProfileName,
    /// The folder that its relative paths start from, so that a charge does not depend on the current folder.
    pub(super) folder: PathBuf,
    pub(super) entries: Entries,
}

impl Profile {
    pub(super) fn source(&self) -> Source {
        Source::Profile(self.name.clone())
    }
}

/// The settings in one table, with paths as written in the file.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) base_url: Option<String>,
    /// Not together with `api_key_file`.
    pub(super) api_key: Option<Zeroizing<String>>,
    pub(super) api_key_file: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
    pub(super) ca_cert: Option<PathBuf>,
    /// May contain a password.
    pub(super) proxy: Option<Zeroizing<String>>,
}

impl Entries {
    /// Reads a table. Calls `problem` for each invalid entry, never with its value.
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
                "timeout" => match number(value.get_ref()).map(args::timeout) {
                    Some(Ok(timeout)) => entries.timeout = Some(timeout),
                    Some(Err(rule)) => problem(place, format!("timeout {rule}")),
                    None => problem(place, "timeout must be a number, without quotes".to_owned()),
                },
                _ => {
                    let name = shown_name(name);
                    problem(place, format!("{name} is not a setting; a profile may have {SETTINGS}"));
                    continue;
                }
            }
            if text.is_none() && name != "timeout" {
                problem(place, format!("{name} must be a string in quotes"));
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

    /// The secret in it, which nobody else may read.
    pub(super) fn secret(&self) -> Option<&'static str> {
        if self.api_key.is_some() {
            Some("key")
        } else if self.proxy.as_ref().is_some_and(|proxy| has_password(proxy)) {
            Some("password")
        } else {
            None
        }
    }
}

/// An unknown name, if it is spelled like a setting: on a line that lost its beginning, it may be the API key.
fn shown_name(name: &str) -> &str {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    if is_plain && (1..=20).contains(&name.len()) { name } else { "(unprintable field name)" }
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

/// The profile that the option or the variable names.
///
/// Chosen by this command: without either there is no profile, not even one called `default`, and no file is read. A charge
/// against production must be requested by name.
pub(super) fn chosen(options: &ClientOptions) -> Result<Option<Profile>, Failure> {
    let name = match &options.profile {
        Some(name) => Some(name.clone()),
        None => text_variable(PROFILE)?,
    };
    let Some(name) = name else { return Ok(None) };
    let path = location()?;
    let refused = |why: &str| {
        let path = files::name_in_brackets(&path);
        Failure::configuration(format!(
            "the file of profiles{path} {why}; nothing was sent: fix the file or choose another profile"
        ))
    };
    let cannot_be_read = |error: std::io::Error| {
        refused(
            "cannot be read: create it, or do not choose a profile (payments help settings shows an example)",
        )
        .with_cause(&error)
    };
    let file = File::open(&path).map_err(cannot_be_read)?;
    let metadata = file.metadata().map_err(cannot_be_read)?;
    if let Some(why) = access::refusal(&metadata) {
        return Err(refused(why));
    }
    let bytes = files::read_up_to(file, LARGEST_FILE)
        .map_err(cannot_be_read)?
        .ok_or_else(|| refused("is larger than 64 KiB"))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| refused("is not UTF-8"))?;
    profile(text, &metadata, &name, &path).map(Some).map_err(|why| refused(&why))
}

/// The keys and the key files in the whole file, if a profile is chosen, even if the file is refused.
pub(super) fn keys(options: &ClientOptions) -> (Vec<Zeroizing<String>>, Vec<PathBuf>) {
    let (mut keys, mut key_files) = (Vec::new(), Vec::new());
    let is_chosen = options.profile.is_some() || variable(PROFILE).is_some();
    if let Some(path) = location().ok().filter(|path| is_chosen && path.is_file())
        && let Ok(Some(bytes)) = files::read(&path, LARGEST_FILE)
        && let Ok(text) = str::from_utf8(&bytes)
    {
        let (root, _) = DeTable::parse_recoverable(text);
        let mut tables = vec![root.get_ref()];
        while let Some(table) = tables.pop() {
            for (name, value) in table {
                match (&**name.get_ref(), value.get_ref()) {
                    (_, DeValue::Table(table)) => tables.push(table),
                    ("api_key", DeValue::String(key)) => keys.push(Zeroizing::new(key.to_string())),
                    ("api_key_file", DeValue::String(name)) => {
                        key_files.push(path.parent().unwrap_or(&path).join(&**name));
                    }
                    _ => {}
                }
            }
        }
    }
    (keys, key_files)
}

/// `$XDG_CONFIG_HOME/payments/config.toml`, with `$HOME/.config` if the variable is not set or, as its standard says, not an
/// absolute path.
fn location() -> Result<PathBuf, Failure> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let folder = variable("XDG_CONFIG_HOME")
        .and_then(absolute)
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".config")));
    folder.map(|folder| folder.join("payments").join("config.toml")).ok_or_else(|| {
        Failure::configuration(
            "a profile is chosen, but the folder of its file is not known; nothing was sent: \
             set XDG_CONFIG_HOME or HOME, or do not choose a profile",
        )
    })
}

/// The profile `name`. The whole file must be valid, and all errors are reported together.
fn profile(text: &str, metadata: &Metadata, name: &str, path: &Path) -> Result<Profile, String> {
    // The parser's message quotes the file, so only its position is used.
    let root = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line(text, span.start));
        format!("is not valid TOML at line {line}")
    })?;
    let mut problems = Vec::new();
    let mut names = Vec::new();
    let mut found = None;
    let mut secret = None;
    for (heading, value) in root.get_ref() {
        let profiles = value.get_ref().as_table().filter(|_| heading.get_ref() == "profiles");
        let Some(profiles) = profiles else {
            let place = line(text, heading.span().start);
            let heading = printable_field_name(heading.get_ref());
            problems.push(format!(
                "line {place}: {heading} is not in a profile: write [profiles.NAME] above settings"
            ));
            continue;
        };
        for (own, value) in profiles {
            let place = line(text, own.span().start);
            let own = own.get_ref();
            if printable_field_name(own) != *own {
                problems.push(format!(
                    "line {place}: a profile's name must be letters, digits, - and _, with few digits"
                ));
                continue;
            }
            names.push(own.to_string());
            let Some(table) = value.get_ref().as_table() else {
                problems.push(format!(
                    "line {place}: {own} is not a table: write [profiles.{own}] above settings"
                ));
                continue;
            };
            let entries = Entries::read(table, |at, problem| {
                problems.push(format!("line {}: {problem}", line(text, at)));
            });
            secret = secret.or_else(|| entries.secret());
            if own == name {
                found = Some(entries);
            }
        }
    }
    if let Some(why) = secret.and_then(|secret| access::refusal_of_secret(metadata, secret)) {
        return Err(why);
    }
    if !problems.is_empty() {
        return Err(format!("is refused ({})", problems.join("; ")));
    }
    let entries = found.ok_or_else(|| match &*names {
        [] => "has no profile: add one (payments help settings shows how)".to_owned(),
        names => format!("has no such profile: choose one of {}", names.join(", ")),
    })?;
    Ok(Profile {
        folder: path.parent().unwrap_or(path).to_owned(),
        name: ProfileName::new(name.to_owned(), path.to_owned()),
        entries,
    })
}

/// The line number, from 1, of a byte offset.
fn line(text: &str, place: usize) -> usize {
    1 + text.bytes().take(place).filter(|byte| *byte == b'\n').count()
}

/// Enough for dozens of profiles; a larger file is something else.
const LARGEST_FILE: usize = 64 * 1024;
