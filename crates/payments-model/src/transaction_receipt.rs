use crate::json_object::Member;
use crate::record_fields::{RecordMembers, RecordSink, to_json};
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

    /// The receipt as JSON, with the interface's name first. To read it back takes the feature `serde`.
    pub fn to_json(&self) -> String {
        to_json(0, |out| self.write(out))
    }

    pub(crate) fn write<W: RecordSink>(&self, out: &mut W) -> Result<(), W::Error> {
        let Self { transaction_id, other } = self;
        out.text("TransactionId", transaction_id.as_str())?;
        out.finish(&NAMES, other)
    }
}

/// The interface's table.
const NAMES: [&str; 1] = ["TransactionId"];
