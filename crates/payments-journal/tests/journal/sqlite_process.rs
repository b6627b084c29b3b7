//! Another process with the journal in a file.

use std::env;
use std::io::stdin;
use std::path::Path;

use payments_journal::internals::{Change, IntentStore};
use payments_journal::{IntentState, Journal, SqliteReader, SqliteStore, StateName, StoreError};
use tokio::runtime;

use crate::contract::{as_processed, at, begin, key};
use crate::process::{Process, respond};

/// The journal's path, in a process that runs commands.
const JOURNAL: &str = "PAYMENTS_TEST_JOURNAL";

impl Process {
    /// Has the journal open, until it is dropped.
    pub(crate) fn start(journal: &Path) -> Self {
        Self::start_under(&[], journal)
    }

    /// Through another program, such as one that limits it.
    pub(crate) fn start_under(wrapper: &[&str], journal: &Path) -> Self {
        Self::of_test(wrapper, "sqlite_process::child_process", (JOURNAL, journal.as_os_str()))
    }
}

/// The process that is started above. In an ordinary test run it does nothing.
#[test]
fn child_process() {
    let Some(journal) = env::var_os(JOURNAL) else { return };
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let mut store = None;
    for line in stdin().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        let response = match (&words[..], &store) {
            (["open"], _) => {
                if let Some(store) = store.take() {
                    crate::sqlite::close(store);
                }
                match SqliteStore::open(&journal) {
                    Ok(opened) => {
                        store = Some(opened);
                        "opened".to_owned()
                    }
                    Err(error) => failed(&error),
                }
            }
            (["close"], _) => {
                if let Some(store) = store.take() {
                    crate::sqlite::close(store);
                }
                "closed".to_owned()
            }
            (["read"], _) => runtime.block_on(read(Path::new(&journal))),
            (["begin", key], Some(store)) => runtime.block_on(begun(store, key)),
            (["end", key], Some(store)) => runtime.block_on(ended(store, key)),
            (["charge", key], Some(store)) => runtime.block_on(charged(store, key)),
            (["charge", keys, from, to], Some(store)) => {
                let (from, to): (u32, u32) = (from.parse().unwrap(), to.parse().unwrap());
                let mut responses = (from..to)
                    .map(|number| runtime.block_on(charged(store, &format!("{keys}{number}"))))
                    .inspect(|response| respond(response));
                let failure = responses.find(|response| response.starts_with("failed"));
                failure.map_or_else(|| "done".to_owned(), |_| "stopped".to_owned())
            }
            _ => panic!("unknown command: {line:?}"),
        };
        respond(&response);
    }
}

/// `failed KIND: MESSAGE`.
fn failed(error: &StoreError) -> String {
    let kinds = [
        ("in_doubt", error.is_in_doubt()),
        ("poisoned", error.is_poisoned()),
        ("unavailable", error.is_unavailable()),
        ("refused", error.is_refused()),
        ("damaged", error.is_damaged()),
    ];
    let (kind, _) = kinds.into_iter().find(|(_, is_it)| *is_it).unwrap();
    format!("failed {kind}: {error}")
}

/// Returns `read KEY=STATE KEY=STATE …` of a journal that is opened only to be read, or the failure.
async fn read(path: &Path) -> String {
    let reader = match SqliteReader::open(path) {
        Ok(Some(reader)) => reader,
        Ok(None) => return "missing".to_owned(),
        Err(error) => return failed(&error),
    };
    match Journal::read_only(reader).pages(StateName::ALL).next().await {
        Ok(intents) => intents.iter().flatten().fold("read".to_owned(), |text, intent| {
            let kind = match &intent.state {
                IntentState::Unknown(failure) => format!("({})", failure.kind),
                _ => String::new(),
            };
            format!("{text} {}={}{kind}", intent.key, intent.state.name().as_str())
        }),
        Err(error) => failed(&error),
    }
}

/// Returns `begun`, `kept`, or the failure.
async fn begun(store: &SqliteStore, key: &str) -> String {
    match store.apply(begin(key, store, 0)).await {
        Ok(applied) => if applied.written().is_some() { "begun" } else { "kept" }.to_owned(),
        Err(error) => failed(&error),
    }
}

/// Returns `ended` once the outcome of this key is written, or the failure.
async fn ended(store: &SqliteStore, name: &str) -> String {
    // A checkpoint may have failed since the begin.
    let intent = match store.find(&key(name)).await {
        Ok(intent) => intent.unwrap(),
        Err(error) => return failed(&error),
    };
    let ending = as_processed(&format!("txn_{name}"));
    match store.apply(Change::end(intent.key, intent.attempt_id, ending, at(1))).await {
        Ok(applied) => if applied.written().is_some() { "ended" } else { "kept" }.to_owned(),
        Err(error) => failed(&error),
    }
}

/// Returns `charged KEY` if it was begun and ended here, `kept` if another has begun it, or the failure.
async fn charged(store: &SqliteStore, key: &str) -> String {
    match begun(store, key).await {
        begun if begun == "begun" => {}
        not_begun => return not_begun,
    }
    match ended(store, key).await {
        ended if ended == "ended" => format!("charged {key}"),
        not_ended => not_ended,
    }
}
