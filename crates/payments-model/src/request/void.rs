use std::fmt;

use super::RequestMembers;
use super::body::{Object, check_size};
use super::check::Check;
use super::draft::VoidDraft;
use super::members::from_json;
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
/// let void = Void::new(TransactionId::new("txn_1")?).with_reason("ordered twice")?;
/// assert_eq!(void.to_json().as_ref(), br#"{"TransactionId":"txn_1","TransactionFor":"Void","Reason":"ordered twice"}"#);
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct Void {
    transaction_id: TransactionId,
    reason: Option<String>,
}

impl Void {
    /// A void of this transaction, without a reason.
    ///
    /// An id that the service returned may be any text of any length, and its transaction can still be voided.
    /// [`from_json`](Self::from_json) reads only what [`TransactionId::new`] accepts: keep any other id as text.
    pub const fn new(transaction_id: TransactionId) -> Self {
        Self { transaction_id, reason: None }
    }

    /// Sets `Reason`.
    ///
    /// # Errors
    ///
    /// If the request is larger than 64 KiB of JSON, the limit of every request. Any shorter text is accepted.
    pub fn with_reason(mut self, text: impl Into<String>) -> Result<Self, ValidationError> {
        self.reason = Some(text.into());
        check_size(&self.to_json()).map(|()| self)
    }

    from_json! {
        /// Without `TransactionFor` a void has `Void`.
    }

    #[doc(hidden)]
    pub fn from_members(members: &RequestMembers<'_>) -> Result<Self, ValidationError> {
        let (draft, others) = VoidDraft::read(members.as_slice());
        let mut check = Check::default();
        let transaction_id = check.required(draft.transaction_id, TransactionId::check);
        check.optional(draft.transaction_for, |text| {
            if text == TRANSACTION_FOR { Ok(()) } else { Err("must be Void") }
        });
        let reason = check.text(draft.reason);
        check.unknown(&others, &[VoidDraft::NAMES]);
        Ok(Self { transaction_id: check.finish(transaction_id)?, reason })
    }

    /// The request as JSON: the bytes that are sent, in the order of the interface's table. [`from_json`](Self::from_json)
    /// reads it, so that a request can wait in a queue. It holds the reason, which may be personal.
    pub fn to_json(&self) -> SecretBytes {
        let mut object = Object::new();
        object
            .member("TransactionId", self.transaction_id.as_str())
            .member("TransactionFor", TRANSACTION_FOR)
            .optional("Reason", self.reason.as_ref());
        object.into_bytes()
    }

    /// `TransactionId`, the transaction to void.
    pub const fn transaction_id(&self) -> &TransactionId {
        &self.transaction_id
    }

    /// `Reason`, if set.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

impl fmt::Debug for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transaction_id, reason } = self;
        f.debug_struct("Void")
            .field("transaction_id", transaction_id)
            .field("reason", &reason.as_ref().map(|_| Redacted))
            .finish()
    }
}

const TRANSACTION_FOR: &str = "Void";
