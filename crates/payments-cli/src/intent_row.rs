//! One intent as a flat row: what every list, document and table of the command shows of it.

use payments_journal::{Failure, Intent, IntentState, Subject, Verdict};
use payments_model::{Amount, ConvenienceFee, TransactionType};

/// The columns that an intent has, beside its times and its transaction.
pub(crate) struct IntentRow {
    pub(crate) key: String,
    pub(crate) operation: String,
    /// `card`, `account`, `token` or `transaction`.
    pub(crate) subject_kind: String,
    /// The last four digits, the token or the transaction's id.
    pub(crate) subject: Option<String>,
    pub(crate) amount: Option<String>,
    pub(crate) transaction_type: Option<String>,
    pub(crate) convenience_fee: Option<bool>,
    pub(crate) reference: Option<String>,
    pub(crate) state: String,
    pub(crate) attempts: u32,
    pub(crate) kind: Option<String>,
    pub(crate) http_status: Option<u16>,
    pub(crate) reason: Option<String>,
    /// `processed` or `not_processed`.
    pub(crate) verdict: Option<String>,
    pub(crate) resolved_by: Option<String>,
    pub(crate) note: Option<String>,
}

impl From<&Intent> for IntentRow {
    fn from(intent: &Intent) -> Self {
        let request = &intent.request;
        let (subject_kind, subject) = match &request.subject {
            Subject::Card { last_four } => ("card", Some(last_four.as_str())),
            Subject::Account => ("account", None),
            Subject::Token(id) => ("token", Some(id.as_str())),
            Subject::Transaction(id) => ("transaction", Some(id.as_str())),
            _ => ("unknown", None),
        };
        let failure: Option<&Failure> = match &intent.state {
            IntentState::Rejected(failure)
            | IntentState::NotProcessed(failure)
            | IntentState::Unknown(failure)
            | IntentState::Resolved { before: failure, .. } => Some(failure),
            _ => None,
        };
        let resolution = match &intent.state {
            IntentState::Resolved { resolution, .. } => Some(resolution),
            _ => None,
        };
        let verdict = resolution.map(|resolution| match resolution.verdict {
            Verdict::Processed(_) => "processed",
            Verdict::NotProcessed => "not_processed",
        });
        let transaction_type = request.transaction_type.map(|kind| match kind {
            TransactionType::Sale => "sale",
            TransactionType::Auth => "auth",
            TransactionType::GatewayDefault => "gateway_default",
        });
        Self {
            key: intent.key.to_string(),
            operation: request.operation.to_string(),
            subject_kind: subject_kind.to_owned(),
            subject: subject.map(str::to_owned),
            amount: request.amount.as_ref().map(Amount::to_string),
            transaction_type: transaction_type.map(str::to_owned),
            convenience_fee: request.convenience_fee.map(|fee| fee == ConvenienceFee::Active),
            reference: request.reference.clone(),
            state: intent.state.name().as_str().to_owned(),
            attempts: intent.attempts,
            kind: failure.map(|failure| failure.kind.to_string()),
            http_status: failure.and_then(|failure| failure.http_status),
            reason: failure.and_then(|failure| failure.reason.clone()),
            verdict: verdict.map(str::to_owned),
            resolved_by: resolution.map(|resolution| resolution.by.clone()),
            note: resolution.and_then(|resolution| resolution.note.clone()),
        }
    }
}
