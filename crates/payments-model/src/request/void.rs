use std::fmt;

use serde::Serialize;

use super::check::Check;
use super::given::Text;
use super::{RequestMembers, UnknownFields, encode};
use crate::id::check_not_blank;
use crate::secret::Redacted;
use crate::{SecretBytes, TransactionId, ValidationError};

/// A request to void an authorized transaction: the body of `POST /void`.
///
/// `TransactionFor` is always sent as `Void`, the one value that the interface shows.
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

    /// Sets `Reason`. Any text is taken.
    pub fn reason(mut self, text: impl Into<String>) -> Self {
        self.0.reason = Some(text.into());
        self
    }

    /// Reads a request out of a JSON object with the interface's field names. `TransactionFor` may be left out.
    ///
    /// # Errors
    ///
    /// If `TransactionId` is missing or blank, if `TransactionFor` is anything but `Void`; and for each field that is unknown,
    /// repeated, `null` or of another JSON type than the interface names. `body` if it is no JSON object or too large.
    /// Nothing was sent.
    pub fn from_json(document: &[u8]) -> Result<Self, ValidationError> {
        Self::from_json_with(document, UnknownFields::Refused)
    }

    /// The same with another rule for fields that the interface does not have.
    ///
    /// # Errors
    ///
    /// As [`from_json`](Self::from_json), but for unknown fields only if they are refused.
    pub fn from_json_with(document: &[u8], unknown: UnknownFields) -> Result<Self, ValidationError> {
        Self::from_members(&RequestMembers::read(document)?, unknown)
    }

    /// The same from members that were read already.
    ///
    /// # Errors
    ///
    /// As [`from_json_with`](Self::from_json_with).
    #[doc(hidden)]
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        let mut check = Check::new(members.into());
        let transaction_id = check.required("TransactionId", |text: Text<'_>| {
            check_not_blank(&text)?;
            TransactionId::from_answer(text.into_string()).ok_or("must not be blank")
        });
        let transaction_for = check.optional("TransactionFor", |text: Text<'_>| {
            if *text == *TRANSACTION_FOR { Ok(()) } else { Err("must be Void") }
        });
        let reason = check.text("Reason");
        check.refuse_rest(unknown);
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
