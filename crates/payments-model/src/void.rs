use std::borrow::Cow;
use std::fmt;

use crate::check::{Check, Entry, not_blank};
use crate::document::{self, Draft, Slot};
use crate::json_writer::{self, Length, ObjectWriter};
use crate::redact::Redacted;
use crate::{RequestMembers, SecretBytes, TransactionId, UnknownFields, ValidationError, Violation};

/// A request to void an authorised transaction: the body of `POST /void`.
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
pub struct Void {
    transaction_id: TransactionId,
    reason: Option<String>,
}

impl Void {
    /// A void of this transaction, without a reason.
    pub const fn new(transaction_id: TransactionId) -> Self {
        Self { transaction_id, reason: None }
    }

    /// Sets `Reason`. Any text is taken.
    pub fn reason(mut self, text: impl Into<String>) -> Self {
        self.reason = Some(text.into());
        self
    }

    /// Reads a request out of a JSON object with the interface's field names. `TransactionFor` may be left
    /// out.
    ///
    /// # Errors
    ///
    /// If `TransactionId` is missing or blank, if `TransactionFor` is anything but `Void`; and for each field
    /// that is unknown, repeated, `null` or of another JSON type than the interface names. `body` if it is no
    /// JSON object or too large. Nothing was sent.
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
    pub fn from_members(
        members: &RequestMembers<'_>,
        unknown: UnknownFields,
    ) -> Result<Self, ValidationError> {
        document::parse::<VoidDraft<'_>>(members, unknown)
    }

    /// The request as JSON, in the order of the interface's table.
    pub fn encode(&self) -> SecretBytes {
        json_writer::encode(Length::of(|out| self.write(out)), |out| self.write(out))
    }

    /// `TransactionId`, the transaction to void.
    pub const fn transaction_id(&self) -> &TransactionId {
        &self.transaction_id
    }

    /// `Reason`, if set.
    pub fn reason_text(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    fn write(&self, out: &mut ObjectWriter<'_>) {
        let Self { transaction_id, reason } = self;
        out.text("TransactionId", transaction_id.as_str());
        out.text("TransactionFor", TRANSACTION_FOR);
        out.optional_text("Reason", reason.as_deref());
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

/// The request before it is checked.
#[derive(Default)]
struct VoidDraft<'a> {
    transaction_id: Entry<Cow<'a, str>>,
    transaction_for: Entry<Cow<'a, str>>,
    reason: Entry<Cow<'a, str>>,
}

impl<'a> Draft<'a> for VoidDraft<'a> {
    type Request = Void;

    fn slot(&mut self, name: &str) -> Option<Slot<'_, 'a>> {
        match name {
            "TransactionId" => Some(Slot::Text(&mut self.transaction_id)),
            "TransactionFor" => Some(Slot::Text(&mut self.transaction_for)),
            "Reason" => Some(Slot::Text(&mut self.reason)),
            _ => None,
        }
    }

    fn check(self, unknown: Vec<Violation>) -> Result<Void, ValidationError> {
        let mut check = Check::default();
        let transaction_id = check.required("TransactionId", self.transaction_id, |text| {
            TransactionId::from_answer(not_blank(text)?).ok_or("must not be blank")
        });
        let transaction_for = check.optional("TransactionFor", self.transaction_for, |text| {
            if text == TRANSACTION_FOR { Ok(()) } else { Err("must be Void") }
        });
        let reason = check.any_text("Reason", self.reason);
        check.append(unknown);
        let request = (|| {
            transaction_for?;
            Ok(Void { transaction_id: transaction_id?, reason: reason? })
        })();
        check.finish(request, Void::write).map(|(void, _length)| void)
    }
}

const TRANSACTION_FOR: &str = "Void";
