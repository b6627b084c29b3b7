use std::time::{Duration, SystemTime, UNIX_EPOCH};

use payments_core::OperationName;
use payments_model::{Amount, ConvenienceFee, TokenId, TransactionId, TransactionType};

use crate::{
    AttemptId, Failure, Intent, IntentKey, IntentRequest, IntentState, OwnerId, Resolution, StateName,
    StoreError, Subject, Verdict,
};

/// An [`Intent`] as columns of texts and integers, for stores. Times are milliseconds since 1970 UTC.
///
/// Complete: another column is another version of every store's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "complete: stores make it out of their columns")]
#[allow(missing_docs, reason = "each is the member of `Intent` with that name, or of what that holds")]
pub struct IntentRow {
    pub key: String,
    pub operation: String,
    /// `card`, `account`, `token` or `transaction`.
    pub subject_kind: String,
    /// The last four digits, the token or the transaction's id.
    pub subject: Option<String>,
    pub amount: Option<String>,
    /// `sale`, `auth` or `gateway_default`.
    pub transaction_type: Option<String>,
    pub convenience_fee: Option<bool>,
    pub reference: Option<String>,
    pub state: String,
    pub attempt: String,
    pub owner: String,
    /// A [`Failure`] as JSON.
    pub follows: Option<String>,
    pub attempts: i64,
    pub kind: Option<String>,
    pub http_status: Option<i64>,
    pub reason: Option<String>,
    /// Of the answer.
    pub transaction_id: Option<String>,
    /// `processed` or `not_processed`.
    pub verdict: Option<String>,
    /// What a person named.
    pub resolved_id: Option<String>,
    pub resolved_by: Option<String>,
    pub note: Option<String>,
    pub created_at: i64,
    pub begun_at: i64,
    pub changed_at: i64,
    pub revision: i64,
}

/// The names of its columns in every database, in its order.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const COLUMNS: [&str; 25] = [
    "key",
    "operation",
    "subject_kind",
    "subject",
    "amount",
    "transaction_type",
    "convenience_fee",
    "reference",
    "state",
    "attempt",
    "owner",
    "follows",
    "attempts",
    "kind",
    "http_status",
    "reason",
    "transaction_id",
    "verdict",
    "resolved_id",
    "resolved_by",
    "note",
    "created_at",
    "begun_at",
    "changed_at",
    "revision",
];

impl IntentRow {
    /// What [`Intent::processed_as`] is to a store, which keeps it in an index.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn processed_as(&self) -> Option<&str> {
        match self.verdict.as_deref() {
            Some("processed") => self.resolved_id.as_deref(),
            _ if self.state == StateName::Processed.as_str() => self.transaction_id.as_deref(),
            _ => None,
        }
    }
}

/// The condition that the rows of voids meet, as every database understands it. A void and its payment may have the same
/// transaction; two payments, or two voids, may not.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const IS_VOID: &str = "(operation = 'void')";

impl From<&Intent> for IntentRow {
    fn from(intent: &Intent) -> Self {
        let Intent {
            key,
            request,
            state,
            attempt,
            owner,
            follows,
            attempts,
            created_at,
            begun_at,
            changed_at,
            revision,
        } = intent;
        let IntentRequest { operation, subject, amount, transaction_type, convenience_fee, reference } =
            request;
        let (subject_kind, subject) = match subject {
            Subject::Card { last_four } => ("card", Some(last_four.as_str())),
            Subject::Account => ("account", None),
            Subject::Token(id) => ("token", Some(id.as_str())),
            Subject::Transaction(id) => ("transaction", Some(id.as_str())),
        };
        let failure = match state {
            IntentState::Rejected(failure)
            | IntentState::NotProcessed(failure)
            | IntentState::Unknown(failure)
            | IntentState::Resolved { before: failure, .. } => Some(failure),
            IntentState::Sending | IntentState::Processed { .. } => None,
        };
        let resolution = match state {
            IntentState::Resolved { resolution, .. } => Some(resolution),
            _ => None,
        };
        let transaction_id = match state {
            IntentState::Processed { transaction_id } => Some(transaction_id),
            _ => failure.and_then(|failure| failure.transaction_id.as_ref()),
        };
        let (verdict, resolved_id) = match resolution.map(|resolution| &resolution.verdict) {
            None => (None, None),
            Some(Verdict::Processed(id)) => (Some("processed"), Some(id)),
            Some(Verdict::NotProcessed) => (Some("not_processed"), None),
        };
        // A NUL that a service puts into an id cannot be kept by every database.
        let owned = |text: &str| text.replace('\0', "\u{fffd}");
        Self {
            key: owned(key.as_str()),
            operation: owned(operation.as_str()),
            subject_kind: owned(subject_kind),
            subject: subject.map(owned),
            amount: amount.map(|amount| amount.to_string()),
            transaction_type: transaction_type.map(|kind| owned(name_of_type(kind))),
            convenience_fee: convenience_fee.map(|fee| fee == ConvenienceFee::Active),
            reference: reference.as_deref().map(owned),
            state: owned(state.name().as_str()),
            attempt: owned(attempt.as_str()),
            owner: owned(owner.as_str()),
            follows: follows.as_ref().map(|failure| serde_json::to_string(failure).expect("it has no map")),
            attempts: i64::from(*attempts),
            kind: failure.map(|failure| owned(&failure.kind)),
            http_status: failure.and_then(|failure| failure.http_status).map(i64::from),
            reason: failure.and_then(|failure| failure.reason.as_deref()).map(owned),
            transaction_id: transaction_id.map(|id| owned(id.as_str())),
            verdict: verdict.map(owned),
            resolved_id: resolved_id.map(|id| owned(id.as_str())),
            resolved_by: resolution.map(|resolution| owned(&resolution.by)),
            note: resolution.and_then(|resolution| resolution.note.as_deref()).map(owned),
            created_at: milliseconds(*created_at),
            begun_at: milliseconds(*begun_at),
            changed_at: milliseconds(*changed_at),
            revision: i64::try_from(*revision).unwrap_or(i64::MAX),
        }
    }
}

impl TryFrom<IntentRow> for Intent {
    type Error = StoreError;

    fn try_from(row: IntentRow) -> Result<Self, StoreError> {
        let key = row.key.clone();
        read(row).map_err(|column| {
            StoreError::damaged(format!(
                "the journal is damaged: {column} of the intent {} cannot be read; nothing was sent",
                key.escape_debug()
            ))
        })
    }
}

/// The intent, or the name of the column that cannot be read.
fn read(row: IntentRow) -> Result<Intent, &'static str> {
    let subject = match (row.subject_kind.as_str(), row.subject) {
        ("card", Some(last_four)) => Subject::Card { last_four },
        ("account", None) => Subject::Account,
        ("token", Some(id)) => Subject::Token(TokenId::new(id).map_err(|_| "subject")?),
        ("transaction", Some(id)) => Subject::Transaction(TransactionId::from_answer(id).ok_or("subject")?),
        _ => return Err("subject_kind"),
    };
    let amount = row.amount.map(|text| text.parse::<Amount>()).transpose().map_err(|_| "amount")?;
    let transaction_type =
        row.transaction_type.map(|name| type_of_name(&name).ok_or("transaction_type")).transpose()?;
    let fee_of = |is_active| if is_active { ConvenienceFee::Active } else { ConvenienceFee::Inactive };
    let convenience_fee = row.convenience_fee.map(fee_of);
    let id = |text: Option<String>| text.and_then(TransactionId::from_answer);
    let http_status = row.http_status.map(u16::try_from).transpose().map_err(|_| "http_status")?;
    let (kind, reason) = (row.kind, row.reason);
    let transaction_id = id(row.transaction_id);
    let failure = |transaction_id| {
        let kind = kind.ok_or("kind")?;
        Ok::<_, &'static str>(Failure { kind: kind.into(), http_status, reason, transaction_id })
    };
    let state = match StateName::from_name(&row.state).ok_or("state")? {
        StateName::Sending => IntentState::Sending,
        StateName::Processed => {
            IntentState::Processed { transaction_id: transaction_id.ok_or("transaction_id")? }
        }
        StateName::Rejected => IntentState::Rejected(failure(transaction_id)?),
        StateName::NotProcessed => IntentState::NotProcessed(failure(transaction_id)?),
        StateName::Unknown => IntentState::Unknown(failure(transaction_id)?),
        StateName::Resolved => {
            let verdict = match row.verdict.as_deref() {
                Some("processed") => Verdict::Processed(id(row.resolved_id).ok_or("resolved_id")?),
                Some("not_processed") => Verdict::NotProcessed,
                _ => return Err("verdict"),
            };
            let resolution =
                Resolution { verdict, by: row.resolved_by.ok_or("resolved_by")?, note: row.note };
            IntentState::Resolved { resolution, before: failure(transaction_id)? }
        }
    };
    Ok(Intent {
        key: IntentKey::new(row.key).map_err(|_| "key")?,
        request: IntentRequest {
            operation: OperationName::from_name(&row.operation).ok_or("operation")?,
            subject,
            amount,
            transaction_type,
            convenience_fee,
            reference: row.reference,
        },
        state,
        attempt: AttemptId::from_kept(row.attempt),
        owner: OwnerId::from_kept(row.owner),
        follows: row.follows.map(|json| serde_json::from_str(&json)).transpose().map_err(|_| "follows")?,
        attempts: u32::try_from(row.attempts).map_err(|_| "attempts")?,
        created_at: time(row.created_at).ok_or("created_at")?,
        begun_at: time(row.begun_at).ok_or("begun_at")?,
        changed_at: time(row.changed_at).ok_or("changed_at")?,
        revision: u64::try_from(row.revision).map_err(|_| "revision")?,
    })
}

const fn name_of_type(kind: TransactionType) -> &'static str {
    match kind {
        TransactionType::Sale => "sale",
        TransactionType::Auth => "auth",
        TransactionType::GatewayDefault => "gateway_default",
    }
}

fn type_of_name(name: &str) -> Option<TransactionType> {
    [TransactionType::Sale, TransactionType::Auth, TransactionType::GatewayDefault]
        .into_iter()
        .find(|kind| name_of_type(*kind) == name)
}

/// Milliseconds since 1970 UTC; what is before that counts as 1970.
pub(crate) fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn time(milliseconds: i64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(u64::try_from(milliseconds).ok()?))
}

/// The time as a row can hold it.
pub(crate) fn now() -> SystemTime {
    time(milliseconds(SystemTime::now())).expect("it came out of a time")
}
