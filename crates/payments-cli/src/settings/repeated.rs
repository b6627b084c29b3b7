//! What a printed command repeats of this one: the options without which it would ask another service, or open another journal.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::path::Path;

use clap::CommandFactory as _;
use clap::parser::ValueSource;
use payments_model::unversioned::is_blank;

use super::api_key::KnownKeys;
use super::called_service;
use super::journal_address::Database;
use crate::args::{self, Arguments, ClientOptions};
use crate::files::shown_name;
use crate::service::Service;
use crate::style::for_terminal;

/// The options of this command line that are wanted, each as it was typed if it takes a value.
pub(crate) fn typed_options(is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Option<String>)> {
    let mut command = Arguments::command();
    let Ok(all) = command.try_get_matches_from_mut(env::args_os()) else { return Vec::new() };
    let (reached, matches) = args::reached(&command, &all);
    let typed = matches.ids().filter_map(|id| {
        let option = reached.get_arguments().find(|option| option.get_id() == id)?;
        let name = option.get_long().filter(|name| is_wanted(name))?;
        let is_typed = matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        let values = matches.get_raw(id.as_str()).filter(|_| option.get_action().takes_values());
        let values = values.map(|values| values.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(","));
        is_typed.then(|| (name.to_owned(), values))
    });
    typed.collect()
}

/// The journal and its witness, unless variables name them.
fn journal_options() -> String {
    let typed = typed_options(|name| ["journal", "witness"].contains(&name)).into_iter();
    let shown = typed.filter_map(|(name, value)| {
        let value = value?;
        let shown = if name == "journal" {
            Database::read(value.into()).ok()?.to_string()
        } else {
            shown_name(Path::new(&value))?
        };
        Some(option(&name, &shown))
    });
    shown.collect()
}

/// What calls this service, or without one the service that this command calls, unless variables do.
pub(crate) fn service_options(service: Option<&str>) -> String {
    const OF_FILES: [&str; 2] = ["api-key-file", "ca-cert"];

    let is_of_files = |name: &str| OF_FILES.contains(&name);
    let is_wanted =
        |name: &str| is_of_files(name) || (service.is_none() && ["base-url", "merchant"].contains(&name));
    let mut needed = typed_options(is_wanted);
    // A key given in place of a path is no file.
    needed.retain(|(name, value)| {
        !is_of_files(name) || value.as_ref().is_some_and(|it| Path::new(it).is_file())
    });
    let by_variables = called_service(&ClientOptions::default()).ok().flatten().unwrap_or_default();
    let (asked, known) = (Service::of(service.unwrap_or_default()), Service::of(&by_variables));
    if asked.base_url != known.base_url && !asked.base_url.is_empty() {
        needed.push(("base-url".to_owned(), Some(asked.base_url.to_owned())));
    }
    if let Some(label) = asked.merchant.filter(|label| known.merchant != Some(label)) {
        needed.push(("merchant".to_owned(), Some(label.to_owned())));
    }
    let key_file = needed.iter().find(|(name, _)| name == "api-key-file").and_then(|(_, file)| file.clone());
    let shown: String =
        needed.iter().filter_map(|(name, value)| Some(option(name, value.as_ref()?))).collect();
    KnownKeys::new(key_file.as_ref().map(Path::new), None).mask(&shown)
}

fn option(name: &str, value: &str) -> String {
    format!(" --{name} {}", shell_word(&for_terminal(value)))
}

/// A command of this journal, ready to paste.
pub(crate) fn of_journal(command: &str) -> String {
    format!("payments journal {command}{}", journal_options())
}

/// Quotes a key or an id for a shell if it needs quotes.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+=,%".contains(&byte);
    if text.bytes().all(is_plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")).into() }
}

/// The name of the person who is logged in.
pub(crate) fn login_name() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| env::var(name).ok().filter(|name| !is_blank(name)))
}

/// What a command needs that records who decided, where no login name is known.
pub(crate) fn by_option() -> &'static str {
    if login_name().is_some() { "" } else { " --by NAME" }
}

/// `journal retry` with these options, ready to paste.
pub(crate) fn retry_command(options: &str) -> String {
    let named = typed_options(|name| ["base-url", "merchant"].contains(&name));
    let service: String =
        named.iter().filter_map(|(name, value)| Some(option(name, value.as_ref()?))).collect();
    let service = KnownKeys::in_environment().mask(&service);
    format!("{}{service}{}", of_journal(&format!("retry {options}")), by_option())
}
