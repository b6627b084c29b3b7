//! Commands that messages print, ready to paste: each repeats the options of this one without which it would ask another service, or
//! open another journal.

use std::borrow::Cow;
use std::path::Path;
use std::{env, fmt};

use payments_journal::IntentKey;
use payments_model::TransactionId;
use payments_model::unversioned::is_blank;

use super::api_key::KnownKeys;
use super::called_service;
use super::journal_address::{Database, is_witness};
use crate::args::{ClientOptions, TypedOption};
use crate::files::shown_name;
use crate::service::Service;
use crate::style::for_terminal;

/// What the commands repeat.
#[derive(Clone, Default)]
pub(crate) struct PrintedCommands {
    /// The journal and its witness, unless variables name them.
    journal: String,
    /// Base URL and merchant, unless variables name them.
    service: String,
    /// The files without which no service can be called, unless variables name them.
    files: String,
    /// The service that variables name.
    service_by_variables: String,
    /// Not shown, although a person may have given one in place of another text.
    keys: KnownKeys,
}

impl PrintedCommands {
    pub(crate) fn repeating(options: &ClientOptions) -> Self {
        // A key given in place of a path is no file.
        let is_file = |value: &str| Path::new(value).is_file();
        let key_file = options.api_key_file.as_deref().filter(|path| path.is_file());
        let keys = KnownKeys::new(key_file, None);
        let (mut journal, mut service, mut files) = (String::new(), String::new(), String::new());
        for TypedOption { name, value } in &options.typed {
            let Some(value) = value else { continue };
            // What is not valid may hold a secret: the person names it again.
            let again = |valid: Option<String>, placeholder: &str| match valid {
                Some(valid) => keys.mask(&option(name, &valid)),
                None => format!(" --{name} {placeholder}"),
            };
            let if_valid = |service: Service<'_>| service.is_valid().then(|| value.clone());
            match name.as_str() {
                "journal" => {
                    let database = Database::read(value.into()).ok();
                    journal += &again(database.and_then(|database| database.in_a_command()), "PLACE");
                }
                "witness" => {
                    let path = Some(Path::new(value)).filter(|path| is_witness(path) && !keys.is_in(value));
                    journal += &again(path.and_then(shown_name), "FILE");
                }
                "base-url" => {
                    service += &again(if_valid(Service { base_url: value, merchant: None }), "URL");
                }
                "merchant" => {
                    let merchant = Service { base_url: "https://localhost", merchant: Some(value) };
                    service += &again(if_valid(merchant), "LABEL");
                }
                "api-key-file" | "ca-cert" if is_file(value) => files += &keys.mask(&option(name, value)),
                _ => {}
            }
        }
        let service_by_variables =
            called_service(&ClientOptions::default(), &keys).ok().flatten().unwrap_or_default();
        Self { journal, service, files, service_by_variables, keys }
    }

    /// A command of this journal.
    pub(crate) fn journal(&self, command: &str) -> String {
        format!("payments journal {command}{}", self.journal)
    }

    /// A command of this journal about this key.
    pub(crate) fn about_key(&self, command: &str, key: &IntentKey, options: &str) -> String {
        let word = shell_word(key.as_str());
        // What follows `--` is no option.
        if key.as_str().starts_with('-') {
            format!("{} -- {word}", self.journal(&format!("{command}{options}")))
        } else {
            self.journal(&format!("{command} {word}{options}"))
        }
    }

    /// `journal retry` with these options.
    pub(crate) fn retry(&self, options: &str) -> String {
        // Without an option it would reopen the keys of all services, unless it names one key, or a variable the merchant.
        let of_variables = Service::of(&self.service_by_variables);
        let is_named =
            !self.service.is_empty() || of_variables.merchant.is_some() || options.contains("--key");
        let service = match of_variables.base_url {
            base_url if !is_named && !base_url.is_empty() => option("base-url", base_url),
            _ => self.service.clone(),
        };
        format!("{}{service}{}", self.journal(&format!("retry {options}")), by_option())
    }

    /// The command that looks up a transaction. The id must be one that can be looked up.
    pub(crate) fn look_up(&self, id: &TransactionId) -> String {
        let separator = if id.as_str().starts_with('-') { "-- " } else { "" };
        format!("payments transaction get{} {separator}{}", self.service_options(), shell_word(id.as_str()))
    }

    /// The options of a command that calls the service of this one.
    pub(crate) fn service_options(&self) -> String {
        format!("{}{}", self.service, self.files)
    }

    /// The options of a command that calls this service.
    pub(crate) fn options_of_service(&self, service: &str) -> String {
        let (asked, known) = (Service::of(service), Service::of(&self.service_by_variables));
        let mut options = self.files.clone();
        if asked.base_url != known.base_url {
            options += &option("base-url", asked.base_url);
        }
        options.extend(
            asked
                .merchant
                .filter(|label| known.merchant != Some(label))
                .map(|label| option("merchant", label)),
        );
        self.keys.mask(&options)
    }
}

/// Without the keys.
impl fmt::Debug for PrintedCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrintedCommands")
    }
}

fn option(name: &str, value: &str) -> String {
    format!(" --{name} {}", shell_word(&for_terminal(value)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_about_a_key_can_be_pasted() {
        let commands = PrintedCommands::default();
        let command = |key| commands.about_key("resolve", &IntentKey::new(key).unwrap(), " --attempt 2");
        assert_eq!(command("invoice-17"), "payments journal resolve invoice-17 --attempt 2");
        assert_eq!(command("a$b;c"), "payments journal resolve 'a$b;c' --attempt 2");
        assert_eq!(command("-a$b"), "payments journal resolve --attempt 2 -- '-a$b'");
        assert_eq!(command("--by"), "payments journal resolve --attempt 2 -- --by");
    }
}
