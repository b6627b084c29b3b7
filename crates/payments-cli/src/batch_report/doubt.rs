use std::fmt;

use payments_model::Amount;
use serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

/// A row whose outcome is not known, or is not known to the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub(crate) line: u64,
    pub(crate) key: String,
    pub(crate) amount: Amount,
    /// To look up, if one is known.
    pub(crate) transaction_id: Option<String>,
    /// How it ended, if that is known here and could not be written to the journal, which will call it unknown.
    pub(crate) unwritten: Option<Ended>,
    /// One word for why.
    pub(crate) kind: String,
}

/// A row to which the service gave the transaction of another intent of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) line: u64,
    pub(crate) key: String,
    pub(crate) transaction_id: String,
    /// The key of the other one.
    pub(crate) same_transaction_as: String,
}

/// A known end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Processed,
    Rejected,
    NotProcessed,
}

impl Doubt {
    /// Chosen by this command, of those with a known end and of those without;
    /// `payments journal list --unresolved` has them all.
    pub(crate) const MOST_LISTED: usize = 100;
}

impl Ended {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Processed => "processed",
            Self::Rejected => "rejected",
            Self::NotProcessed => "not_processed",
        }
    }
}

/// A line for people.
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, amount, transaction_id, unwritten, kind } = self;
        let word = match unwritten {
            Some(Ended::Processed) => "PROCESSED",
            Some(Ended::Rejected) => "rejected",
            Some(Ended::NotProcessed) => "not processed",
            None => kind,
        };
        write!(f, "line {line}: {key}, {amount} ({word}")?;
        if let Some(id) = transaction_id {
            write!(f, ", TransactionId {id}")?;
        }
        f.write_str(")")
    }
}

impl Serialize for Doubt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { line, key, amount, transaction_id, unwritten, kind } = self;
        let amount = RawValue::from_string(amount.to_string()).map_err(S::Error::custom)?;
        let mut object = serializer.serialize_struct("Doubt", 6)?;
        object.serialize_field("line", line)?;
        object.serialize_field("key", key)?;
        object.serialize_field("amount", &amount)?;
        object.serialize_field("transaction_id", transaction_id)?;
        object.serialize_field("outcome", unwritten.map_or("unknown", Ended::as_str))?;
        object.serialize_field("kind", kind)?;
        object.end()
    }
}

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, transaction_id, same_transaction_as } = self;
        write!(
            f,
            "line {line}: {key} and {same_transaction_as} are both processed as transaction {transaction_id}"
        )
    }
}

impl Serialize for Repeated {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { line, key, transaction_id, same_transaction_as } = self;
        let mut object = serializer.serialize_struct("Repeated", 4)?;
        object.serialize_field("line", line)?;
        object.serialize_field("key", key)?;
        object.serialize_field("transaction_id", transaction_id)?;
        object.serialize_field("same_transaction_as", same_transaction_as)?;
        object.end()
    }
}
