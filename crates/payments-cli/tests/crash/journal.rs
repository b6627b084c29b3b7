//! Reads the journal: with the command or, where the command does not show enough, with the crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use payments_journal::internals::IntentStore as _;
use payments_journal::{FailureKind, IntentState, SqliteStore, StateName};
use serde_json::Value;

use crate::command::Workspace;
use crate::service::cents;

/// A row as `payments journal export` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) state: String,
    pub(crate) kind: String,
    /// `None` if the journal has lost everything about the key.
    pub(crate) cents: Option<u64>,
    pub(crate) transaction_id: Option<String>,
    pub(crate) attempts: u64,
    pub(crate) http_status: Option<u64>,
    pub(crate) resolved_as: Option<String>,
}

impl Intent {
    pub(crate) fn is_crash(&self) -> bool {
        self.state == "unknown" && self.kind == "crash"
    }

    /// Whether a person has said that it may have been sent in the time whose entries the journal has lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.state == "unknown" && self.kind == "lost_history"
    }

    /// Whether the next run sends this row.
    pub(crate) fn may_be_sent(&self) -> bool {
        self.state == "not_processed" || self.resolved_as.as_deref() == Some("not_processed")
    }

    /// Whether money has moved according to the journal.
    pub(crate) fn is_processed(&self) -> bool {
        self.state == "processed" || self.resolved_as.as_deref() == Some("processed")
    }
}

/// All rows, by key.
pub(crate) fn export(workspace: &Workspace) -> BTreeMap<String, Intent> {
    let ended = workspace.payments("journal export").exits(0);
    let mut rows = BTreeMap::new();
    for line in ended.stdout.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        let intent = Intent {
            state: text("state").unwrap(),
            kind: text("kind").unwrap_or_default(),
            cents: row.get("amount").filter(|amount| !amount.is_null()).map(cents),
            transaction_id: text("transaction_id"),
            attempts: row["attempts"].as_u64().unwrap(),
            http_status: row["http_status"].as_u64(),
            resolved_as: text("resolved_as"),
        };
        assert_eq!(intent.cents.is_none(), row["subject"] == "lost", "{line}");
        let key = text("key").unwrap();
        assert!(rows.insert(key, intent).is_none(), "duplicate key: {line}");
    }
    rows
}

/// The keys in flight when the last run was killed, and with `include_crashed` those that are already marked as crashed.
/// Reads a copy, because opening the journal marks rows in flight as crashed.
pub(crate) fn in_flight(workspace: &Workspace, include_crashed: bool) -> BTreeSet<String> {
    if !workspace.journal().exists() {
        return BTreeSet::new();
    }
    let (_folder, copy) = workspace.copy_journal();
    set_permissions(&copy, Permissions::from_mode(0o600)).unwrap();
    let is_in_flight = |intent: &payments_journal::Intent| match &intent.state {
        IntentState::Sending => true,
        IntentState::Unknown(failure) => include_crashed && failure.kind == FailureKind::CRASH,
        _ => false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = match SqliteStore::open(&copy) {
            Ok(store) => store,
            Err(error) => panic!("the journal of a killed run does not open: {error:#}"),
        };
        let (mut keys, mut after) = (BTreeSet::new(), None);
        loop {
            let page = store.list(StateName::UNRESOLVED, after, 1000).await.unwrap();
            let Some((last, _)) = page.last() else { return keys };
            after = Some(*last);
            let found = page.into_iter().map(|(_, intent)| intent).filter(is_in_flight);
            keys.extend(found.map(|intent| intent.key.as_str().to_owned()));
        }
    })
}
