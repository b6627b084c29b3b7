use std::fmt;

use crate::echoes::Echoes;
use crate::json::Json;
use crate::json_object::Member;
use crate::record_fields::{
    Personal, RecordMembers, RecordSink, Scrubbed, read_code, read_customer_id, read_text, to_json,
};
use crate::{CustomerId, Field, OtherFields};

/// A customer as the service describes it: the answer to a customer look-up.
///
/// Every field is optional when read, the identifier included: who asked for it knows it. Absent, `null` and
/// empty stay distinct. It is the same leniency as of a [`TransactionRecord`](crate::TransactionRecord).
///
/// With the feature `serde` it is read by `serde_json`'s own deserializer and written by its serializer; what was written
/// reads back equal. `Debug` shows identifiers and nothing personal.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct CustomerRecord {
    /// `CustomerId`.
    pub customer_id: Field<CustomerId>,
    /// `CustomerName`.
    pub customer_name: Field<String>,
    /// `Email`.
    pub email: Field<String>,
    /// `PhoneNumber`.
    pub phone_number: Field<String>,
    /// `CountryId`. What the numbers mean the interface does not show.
    pub country_id: Field<i64>,
    /// `CountryCode`.
    pub country_code: Field<String>,
    /// `Address`.
    pub address: Field<String>,
    /// `City`.
    pub city: Field<String>,
    /// `PostalCode`.
    pub postal_code: Field<String>,
    /// `StateId`. What the numbers mean the interface does not show.
    pub state_id: Field<i64>,
    /// Fields that the interface does not have.
    pub other: OtherFields,
}

impl CustomerRecord {
    /// A record with nothing in it.
    pub fn new() -> Self {
        Self {
            customer_id: Field::Absent,
            customer_name: Field::Absent,
            email: Field::Absent,
            phone_number: Field::Absent,
            country_id: Field::Absent,
            country_code: Field::Absent,
            address: Field::Absent,
            city: Field::Absent,
            postal_code: Field::Absent,
            state_id: Field::Absent,
            other: OtherFields::default(),
        }
    }

    /// Replaces every field that holds one of these secrets, the secrets of the request that it answers.
    ///
    /// The other fields as [`OtherFields::redact_echoes`] does it. Of those that the interface has, whatever was
    /// readable as something else than a text is left alone, and so is a text with fewer than twelve digits, unless it
    /// is an identifier and a secret stands in it as it was sent.
    pub fn redact_echoes(&mut self, secrets: &[&str]) {
        let Self {
            customer_id,
            customer_name,
            email,
            phone_number,
            country_id,
            country_code,
            address,
            city,
            postal_code,
            state_id,
            other,
        } = self;
        let mut echoes = Echoes::of(secrets);
        echoes.redact_code(customer_id);
        echoes.redact_code(country_id);
        echoes.redact_code(state_id);
        echoes.redact(customer_name);
        echoes.redact(email);
        echoes.redact(phone_number);
        echoes.redact(country_code);
        echoes.redact(address);
        echoes.redact(city);
        echoes.redact(postal_code);
        other.redact(&mut echoes);
    }

    pub(crate) fn read(members: &[Member<'_>]) -> Self {
        let mut members = RecordMembers::new(members, &NAMES);
        Self {
            customer_id: members.field("CustomerId", read_customer_id),
            customer_name: members.field("CustomerName", read_text),
            email: members.field("Email", read_text),
            phone_number: members.field("PhoneNumber", read_text),
            country_id: members.field("CountryId", Json::integer),
            country_code: members.field("CountryCode", read_code),
            address: members.field("Address", read_text),
            city: members.field("City", read_text),
            postal_code: members.field("PostalCode", read_code),
            state_id: members.field("StateId", Json::integer),
            other: members.other,
        }
    }

    /// The record as JSON, with the interface's names in the order of its table, and with the personal data that `Debug`
    /// hides. To read it back takes the feature `serde`.
    pub fn to_json(&self) -> String {
        to_json(0, |out| self.write(out))
    }

    pub(crate) fn write<W: RecordSink>(&self, out: &mut W) -> Result<(), W::Error> {
        let Self {
            customer_id,
            customer_name,
            email,
            phone_number,
            country_id,
            country_code,
            address,
            city,
            postal_code,
            state_id,
            other,
        } = self;
        out.field("CustomerId", customer_id)?;
        out.field("CustomerName", customer_name)?;
        out.field("Email", email)?;
        out.field("PhoneNumber", phone_number)?;
        out.field("CountryId", country_id)?;
        out.field("CountryCode", country_code)?;
        out.field("Address", address)?;
        out.field("City", city)?;
        out.field("PostalCode", postal_code)?;
        out.field("StateId", state_id)?;
        out.finish(&NAMES, other)
    }
}

impl Default for CustomerRecord {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CustomerRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            customer_id,
            customer_name,
            email,
            phone_number,
            country_id,
            country_code,
            address,
            city,
            postal_code,
            state_id,
            other,
        } = self;
        f.debug_struct("CustomerRecord")
            .field("customer_id", customer_id)
            .field("customer_name", &Personal(customer_name))
            .field("email", &Personal(email))
            .field("phone_number", &Personal(phone_number))
            .field("country_id", &Scrubbed(country_id))
            .field("country_code", &Personal(country_code))
            .field("address", &Personal(address))
            .field("city", &Personal(city))
            .field("postal_code", &Personal(postal_code))
            .field("state_id", &Scrubbed(state_id))
            .field("other", other)
            .finish()
    }
}

/// The interface's table.
const NAMES: [&str; 10] = [
    "CustomerId",
    "CustomerName",
    "Email",
    "PhoneNumber",
    "CountryId",
    "CountryCode",
    "Address",
    "City",
    "PostalCode",
    "StateId",
];
