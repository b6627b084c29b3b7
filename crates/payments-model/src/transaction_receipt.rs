use serde_core::de::{Deserialize, Deserializer, Error as _};
use serde_core::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::Json;
use crate::json_object::Member;
use crate::record_fields::{RecordMembers, RecordSink, RecordWriter};
use crate::{OtherFields, TransactionId};

/// The answer to a token payment and to a void: the identifier of a transaction and, as the interface has it,
/// no more.
///
/// A void may answer with an identifier of its own; it need not be the one that was voided.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionReceipt {
    /// `TransactionId`.
    pub transaction_id: TransactionId,
    /// Fields that the interface does not have, such as the rest of a record that a service may add.
    pub other: OtherFields,
}

impl TransactionReceipt {
    /// A receipt with this identifier and nothing else.
    pub fn new(transaction_id: TransactionId) -> Self {
        Self { transaction_id, other: OtherFields::default() }
    }

    /// `None` without a readable identifier.
    pub(crate) fn read(members: &[Member<'_>]) -> Option<Self> {
        let mut members = RecordMembers::new(members, &NAMES);
        Some(Self { transaction_id: members.transaction_id("TransactionId")?, other: members.other })
    }
}

impl Serialize for TransactionReceipt {
    /// Writes the interface's name and the other fields. For `serde_json` alone.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { transaction_id, other } = self;
        let mut out = RecordWriter::new(serializer)?;
        out.text("TransactionId", transaction_id.as_str())?;
        out.finish(&NAMES, other)
    }
}

impl<'de> Deserialize<'de> for TransactionReceipt {
    /// Reads what `serde_json` reads, and only that; not inside `flatten` or untagged enums.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Json::from(&*raw)
            .members()
            .ok()
            .and_then(|members| Self::read(&members))
            .ok_or_else(|| D::Error::custom("a transaction receipt is a JSON object with one TransactionId"))
    }
}

/// The interface's table.
const NAMES: [&str; 1] = ["TransactionId"];
