use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use payments_core::model::Amount;
use payments_fake::{Change, ChangeLog, Flushed, NotDurable};
use serde_json::value::RawValue;

use crate::WireFault;
use crate::shared::Shared;

/// Records every change of the fake's ledger when it is made, and fails like a disk if the plan says so.
#[derive(Clone)]
pub(crate) struct ChangeRecorder {
    shared: Shared,
    changes: Arc<Mutex<Vec<(usize, Change)>>>,
}

/// The parts of a transaction that the invariants need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The intent, read from its amount.
    pub(crate) intent: Option<usize>,
    /// The requested amount, without a fee.
    pub(crate) cents: i64,
    pub(crate) is_void: bool,
    pub(crate) is_authorisation: bool,
    pub(crate) is_declined: bool,
    /// The intent that voided it, if any.
    pub(crate) voided_by: Option<usize>,
}

impl ChangeRecorder {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared, changes: Arc::default() }
    }

    /// Every change since the last call, in order, with its tenant.
    pub(crate) fn take(&self) -> Vec<(usize, Change)> {
        std::mem::take(&mut *self.changes())
    }

    fn changes(&self) -> MutexGuard<'_, Vec<(usize, Change)>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangeLog for ChangeRecorder {
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>) {
        self.changes().extend(group);
    }

    fn flushed(&self) -> Flushed {
        let has_failed = self.shared.current_wire_fault() == Some(WireFault::NotDurable);
        Box::pin(ready(if has_failed { Err(NotDurable::new()) } else { Ok(()) }))
    }
}

impl Entry {
    /// Reads a document of the fake's ledger.
    pub(crate) fn read(document: &str) -> Self {
        let members: BTreeMap<&str, &RawValue> =
            serde_json::from_str(document).expect("the fake's documents are JSON objects");
        let text = |name: &str| members.get(name).map_or("null", |value| value.get());
        let amount: Amount = text("BaseAmount").parse().expect("a transaction has the requested amount");
        let reason = text("VoidReason").trim_matches('"').strip_prefix(crate::intent::VOID_REASON);
        Self {
            intent: crate::intent::number_of(amount),
            cents: amount.to_cents().expect("amounts in the simulation are whole cents"),
            is_void: text("Operation") == "\"void\"",
            is_authorisation: text("TransactionType") == "2",
            is_declined: text("Declined") == "true",
            voided_by: reason.and_then(|number| number.parse().ok()),
        }
    }
}
