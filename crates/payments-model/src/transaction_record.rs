use std::fmt;

use crate::echoes::Echoes;
use crate::json::Json;
use crate::json_object::Member;
use crate::record_fields::{
    Personal, RecordMembers, RecordSink, Scrubbed, read_amount, read_code, read_text, read_type, to_json,
};
use crate::{Amount, Field, MaskedCard, OtherFields, TransactionId, TransactionTypeCode};

/// A transaction as the service describes it: the answer to a card or ACH payment and to a look-up.
///
/// Everything but the identifier is optional when read, because a payment that went through must not become
/// an error over an odd field. Numbers carried as texts and texts carried as numbers are understood where the
/// field is an identifier, a code or an amount. Absent, `null` and empty stay distinct.
///
/// With the feature `serde` it is read by `serde_json`'s own deserializer and written by its serializer; what was written
/// reads back equal. `Debug` shows identifiers, amounts, codes and the masked card, and nothing personal.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct TransactionRecord {
    /// `TransactionId`, the one field that must be there.
    pub transaction_id: TransactionId,
    /// `BaseAmount`. How it relates to `Amount` the interface does not show; nothing is derived from either.
    pub base_amount: Field<Amount>,
    /// `Amount`. Not compared with what was requested.
    pub amount: Field<Amount>,
    /// `CardNumber`. At most the last four digits are legible, whatever the service sent.
    pub card_number: Field<MaskedCard>,
    /// `BillingEmail`.
    pub billing_email: Field<String>,
    /// `BillingCustomerName`.
    pub billing_customer_name: Field<String>,
    /// `BillingAddress`. May be empty.
    pub billing_address: Field<String>,
    /// `BillingCity`. May be empty.
    pub billing_city: Field<String>,
    /// `BillingState`. May be null.
    pub billing_state: Field<String>,
    /// `BillingPostalCode`. May be empty.
    pub billing_postal_code: Field<String>,
    /// `BillingCountry`. A numeric identifier, where a request has a text. What the numbers mean the
    /// interface does not show.
    pub billing_country: Field<i64>,
    /// `BillingCountryCode`.
    pub billing_country_code: Field<String>,
    /// `BillingPhoneNumber`.
    pub billing_phone_number: Field<String>,
    /// `TransactionType`. 1 is a sale, 2 an authorisation; other numbers may come.
    pub transaction_type: Field<TransactionTypeCode>,
    /// `Status`. A code whose meaning the interface does not show: it never decides whether a payment
    /// succeeded.
    pub status: Field<String>,
    /// Fields that the interface does not have.
    pub other: OtherFields,
}

impl TransactionRecord {
    /// A record with this identifier and nothing else.
    pub fn new(transaction_id: TransactionId) -> Self {
        Self {
            transaction_id,
            base_amount: Field::Absent,
            amount: Field::Absent,
            card_number: Field::Absent,
            billing_email: Field::Absent,
            billing_customer_name: Field::Absent,
            billing_address: Field::Absent,
            billing_city: Field::Absent,
            billing_state: Field::Absent,
            billing_postal_code: Field::Absent,
            billing_country: Field::Absent,
            billing_country_code: Field::Absent,
            billing_phone_number: Field::Absent,
            transaction_type: Field::Absent,
            status: Field::Absent,
            other: OtherFields::default(),
        }
    }

    /// `None` without a readable identifier.
    pub(crate) fn read(members: &[Member<'_>]) -> Option<Self> {
        let mut members = RecordMembers::new(members, &NAMES);
        Some(Self {
            transaction_id: members.transaction_id("TransactionId")?,
            base_amount: members.field("BaseAmount", read_amount),
            amount: members.field("Amount", read_amount),
            card_number: members.masked_card("CardNumber"),
            billing_email: members.field("BillingEmail", read_text),
            billing_customer_name: members.field("BillingCustomerName", read_text),
            billing_address: members.field("BillingAddress", read_text),
            billing_city: members.field("BillingCity", read_text),
            billing_state: members.field("BillingState", read_text),
            billing_postal_code: members.field("BillingPostalCode", read_code),
            billing_country: members.field("BillingCountry", Json::integer),
            billing_country_code: members.field("BillingCountryCode", read_code),
            billing_phone_number: members.field("BillingPhoneNumber", read_text),
            transaction_type: members.field("TransactionType", read_type),
            status: members.field("Status", read_code),
            other: members.other,
        })
    }

    /// The record as JSON, with the interface's names in the order of its table, and with the personal data that `Debug`
    /// hides. To read it back takes the feature `serde`.
    pub fn to_json(&self) -> String {
        to_json(USUAL_LENGTH, |out| self.write(out))
    }

    /// Replaces every field that holds one of these secrets, the secrets of the request that it answers.
    ///
    /// The other fields as [`OtherFields::redact_echoes`] does it. Of those that the interface has, whatever was
    /// readable as something else than a text is left alone, and so is a text with fewer than twelve digits, unless it
    /// is the card number or the status and a secret stands in it as it was sent. The identifier is left alone too, which is
    /// what a payment is found by.
    pub fn redact_echoes(&mut self, secrets: &[&str]) {
        let Self {
            transaction_id: _,
            base_amount,
            amount,
            card_number,
            billing_email,
            billing_customer_name,
            billing_address,
            billing_city,
            billing_state,
            billing_postal_code,
            billing_country,
            billing_country_code,
            billing_phone_number,
            transaction_type,
            status,
            other,
        } = self;
        let mut echoes = Echoes::of(secrets);
        echoes.redact_code(card_number);
        echoes.redact_code(status);
        echoes.redact(base_amount);
        echoes.redact(amount);
        echoes.redact(billing_email);
        echoes.redact(billing_customer_name);
        echoes.redact(billing_address);
        echoes.redact(billing_city);
        echoes.redact(billing_state);
        echoes.redact(billing_postal_code);
        echoes.redact(billing_country);
        echoes.redact(billing_country_code);
        echoes.redact(billing_phone_number);
        echoes.redact(transaction_type);
        other.redact(&mut echoes);
    }

    pub(crate) fn write<W: RecordSink>(&self, out: &mut W) -> Result<(), W::Error> {
        let Self {
            transaction_id,
            base_amount,
            amount,
            card_number,
            billing_email,
            billing_customer_name,
            billing_address,
            billing_city,
            billing_state,
            billing_postal_code,
            billing_country,
            billing_country_code,
            billing_phone_number,
            transaction_type,
            status,
            other,
        } = self;
        out.text("TransactionId", transaction_id.as_str())?;
        out.field("BaseAmount", base_amount)?;
        out.field("Amount", amount)?;
        out.field("CardNumber", card_number)?;
        out.field("BillingEmail", billing_email)?;
        out.field("BillingCustomerName", billing_customer_name)?;
        out.field("BillingAddress", billing_address)?;
        out.field("BillingCity", billing_city)?;
        out.field("BillingState", billing_state)?;
        out.field("BillingPostalCode", billing_postal_code)?;
        out.field("BillingCountry", billing_country)?;
        out.field("BillingCountryCode", billing_country_code)?;
        out.field("BillingPhoneNumber", billing_phone_number)?;
        out.field("TransactionType", transaction_type)?;
        out.field("Status", status)?;
        out.finish(&NAMES, other)
    }
}

impl fmt::Debug for TransactionRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            transaction_id,
            base_amount,
            amount,
            card_number,
            billing_email,
            billing_customer_name,
            billing_address,
            billing_city,
            billing_state,
            billing_postal_code,
            billing_country,
            billing_country_code,
            billing_phone_number,
            transaction_type,
            status,
            other,
        } = self;
        f.debug_struct("TransactionRecord")
            .field("transaction_id", transaction_id)
            .field("base_amount", base_amount)
            .field("amount", amount)
            .field("card_number", card_number)
            .field("billing_email", &Personal(billing_email))
            .field("billing_customer_name", &Personal(billing_customer_name))
            .field("billing_address", &Personal(billing_address))
            .field("billing_city", &Personal(billing_city))
            .field("billing_state", &Personal(billing_state))
            .field("billing_postal_code", &Personal(billing_postal_code))
            .field("billing_country", &Scrubbed(billing_country))
            .field("billing_country_code", &Personal(billing_country_code))
            .field("billing_phone_number", &Personal(billing_phone_number))
            .field("transaction_type", &Scrubbed(transaction_type))
            .field("status", &Scrubbed(status))
            .field("other", other)
            .finish()
    }
}

/// Room for nearly every record and what others may want to write behind it.
const USUAL_LENGTH: usize = 1000;

/// The interface's table. Each name is in one place, where it is told by its address from one that was read.
pub(crate) static NAMES: [&str; 15] = [
    "TransactionId",
    "BaseAmount",
    "Amount",
    "CardNumber",
    "BillingEmail",
    "BillingCustomerName",
    "BillingAddress",
    "BillingCity",
    "BillingState",
    "BillingPostalCode",
    "BillingCountry",
    "BillingCountryCode",
    "BillingPhoneNumber",
    "TransactionType",
    "Status",
];
