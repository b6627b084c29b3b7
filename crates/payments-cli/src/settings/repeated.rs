//! What a printed command repeats of this one: the options without which it would ask another service, or open another journal.

use std::env;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::api_key::KnownKeys;
use super::called_service;
use super::journal_place::{JournalPlace, base_url};
use crate::args::batch::BatchCommand;
use crate::args::{Arguments, ClientOptions, Command, TokenTransactionCommand, TransactionCommand};
use crate::failure::Purpose;
use crate::files::shown_name;
use crate::report::advice::shell_word;
use crate::style::for_terminal;

static ARGUMENTS: LazyLock<Option<Arguments>> =
    LazyLock::new(|| Arguments::read(&env::args_os().collect::<Vec<_>>()).ok());

/// The journal and its witness, unless variables name them.
pub(crate) fn journal_options() -> String {
    let place = match ARGUMENTS.as_ref().map(|arguments| &arguments.command) {
        Some(Command::Journal(journal)) => &journal.place,
        Some(Command::Batch(BatchCommand::Run(run))) => &run.place,
        Some(
            Command::Transaction(TransactionCommand::Create(payment))
            | Command::TokenTransaction(TokenTransactionCommand::Create(payment)),
        ) => &payment.intent.place,
        Some(Command::Void(void)) => &void.intent.place,
        _ => return String::new(),
    };
    let Ok(Some(found)) = JournalPlace::find(place, Purpose::KeepJournal) else { return String::new() };
    let journal = place.journal.is_some().then(|| option("journal", &found.to_string()));
    let witness = place.witness.as_deref().and_then(shown_name).map(|path| option("witness", &path));
    [journal, witness].into_iter().flatten().collect()
}

/// What calls this service, or without one the service that this command calls, unless variables do.
pub(crate) fn service_options(service: Option<&str>) -> String {
    let Some(options) = ARGUMENTS.as_ref().map(|arguments| &arguments.global.client) else {
        return String::new();
    };
    let called = |options: &ClientOptions| called_service(options).ok().flatten().unwrap_or_default();
    let by_variables = called(&ClientOptions::default());
    let service = service.map_or_else(|| called(options), str::to_owned);
    let url = Some(base_url(&service)).filter(|url| *url != base_url(&by_variables));
    let label = |service: &str| service.split_once('#').map(|(_, label)| label.to_owned());
    let merchant = label(&service).filter(|named| label(&by_variables).as_ref() != Some(named));
    // A key given in place of a path is no file.
    let file = |path: &Option<PathBuf>| path.as_deref().filter(|path| path.is_file()).and_then(shown_name);
    let needed = [
        ("base-url", url.map(str::to_owned)),
        ("merchant", merchant),
        ("api-key-file", file(&options.api_key_file)),
        ("ca-cert", file(&options.ca_cert)),
    ];
    let needed = needed.into_iter().filter_map(|(name, value)| Some(option(name, &value?)));
    KnownKeys::new(options.api_key_file.as_deref(), None).mask(&needed.collect::<String>())
}

fn option(name: &str, value: &str) -> String {
    format!(" --{name} {}", shell_word(&for_terminal(value)))
}
