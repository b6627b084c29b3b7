use std::fmt;

use serde::Serialize;

use super::check::Check;
use super::document::from_document;
use super::given::Text;
use super::{FieldName, RequestMembers, UnknownFields, encode};
use crate::secret::Redacted;
use crate::{SecretBytes, TransactionId, ValidationError};

/// A request to void an authorized transaction: the body of `POST /void`.
///
/// `TransactionFor` is always sent as `Void`, the only value in the interface.
///
/// # Examples
///
/// ```
/// use payments_model::{TransactionId, Void};
///
/// let void = Void::new(TransactionId::new("txn_1")?).reason("ordered twice");
/// assert_eq!(void.encode().as_ref(), br#"{"TransactionId":"txn_1","TransactionFor":"Void","Reason":"ordered twice"}"#);
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct Void(Wire);

#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Wire {
    transaction_id: TransactionId,
    transaction_for: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Void {
    /// A void of this transaction, without a reason.
    pub const fn new(transaction_id: TransactionId) -> Self {
        Self(Wire { transaction_id, transaction_for: TRANSACTION_FOR, reason: None })
    }

    /// Sets `Reason`. Any text is accepted.
    pub fn reason(mut self, text: impl Into<String>) -> Self {
        self.0.reason = Some(text.into());
        self
    }

    from_document!();

    #[doc(hidden)]
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        let mut check = Check::new(members.into());
        let transaction_id = check
            .required(FieldName::TransactionId, |text: Text<'_>| TransactionId::check(text.into_string()));
        let transaction_for = check.optional(FieldName::TransactionFor, |text: Text<'_>| {
            if *text == *TRANSACTION_FOR { Ok(()) } else { Err("must be Void") }
        });
        let reason = check.text(FieldName::Reason);
        check.check_unknown(unknown);
        let wire = transaction_for.and_then(|_| {
            Some(Wire { transaction_id: transaction_id?, transaction_for: TRANSACTION_FOR, reason: reason? })
        });
        check.finish(wire).map(|encoded| Self(encoded.wire))
    }

    /// The request as JSON, in the order of the interface's table.
    pub fn encode(&self) -> SecretBytes {
        encode::encode(&self.0)
    }

    /// `TransactionId`, the transaction to void.
    pub const fn transaction_id(&self) -> &TransactionId {
        &self.0.transaction_id
    }

    /// `Reason`, if set.
    pub fn reason_text(&self) -> Option<&str> {
        self.0.reason.as_deref()
    }
}

impl fmt::Debug for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wire { transaction_id, transaction_for: _, reason } = &self.0;
        f.debug_struct("Void")
            .field("transaction_id", transaction_id)
            .field("reason", &reason.as_ref().map(|_| Redacted))
            .finish()
    }
}

const TRANSACTION_FOR: &str = "Void";
