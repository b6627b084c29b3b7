//! The journal's part of the result of a call with a key.

use payments_journal::IntentKey;
use serde::{Serialize, Serializer};

/// The journal's part of the result of a call with a key.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct IntentNote {
    /// `None` if it contains a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<IntentKey>,
    /// The outcome is from another call with the key.
    #[serde(rename = "recorded", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_recorded: bool,
    /// Whether this call may have been sent too, and moved no money: the other call has ended meanwhile.
    #[serde(skip)]
    pub(crate) may_have_been_sent: bool,
    /// Why the outcome could not be recorded in the journal.
    #[serde(rename = "journal", skip_serializing_if = "Option::is_none", serialize_with = "not_recorded")]
    pub(crate) not_recorded: Option<String>,
    /// Another key that was processed as the same transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) same_transaction_as: Option<IntentKey>,
    /// The warning that several attempts with the key may have been charged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) second_charge: Option<String>,
}

impl IntentNote {
    /// What this call did, if another one with the key decides.
    pub(crate) const fn now(&self) -> &'static str {
        if self.may_have_been_sent { "this call moved no money" } else { "nothing was sent now" }
    }
}

#[allow(clippy::ref_option, reason = "serde passes a field by reference")]
fn not_recorded<S: Serializer>(why: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let why = why.as_deref().unwrap_or_default();
    serializer.collect_str(&format_args!("the outcome could not be recorded: {why}"))
}
