use super::fields::{code, customer_id, record, text};
use crate::CustomerId;
use crate::json::Json;

record! {
    /// A customer, as a customer lookup returns it.
    ///
    /// Every field is optional when read. So is the identifier, because the caller of the lookup already knows it. The record is
    /// read as leniently as a [`TransactionRecord`](crate::TransactionRecord). `Debug` shows identifiers and no personal data.
    pub struct CustomerRecord {
        /// `CustomerId`.
        shown customer_id: CustomerId = "CustomerId", customer_id;
        /// `CustomerName`.
        personal customer_name: String = "CustomerName", text;
        /// `Email`.
        personal email: String = "Email", text;
        /// `PhoneNumber`.
        personal phone_number: String = "PhoneNumber", text;
        /// `CountryId`. The interface does not document what the numbers mean.
        shown country_id: i64 = "CountryId", Json::integer;
        /// `CountryCode`.
        personal country_code: String = "CountryCode", code;
        /// `Address`.
        personal address: String = "Address", text;
        /// `City`.
        personal city: String = "City", text;
        /// `PostalCode`.
        personal postal_code: String = "PostalCode", code;
        /// `StateId`. The interface does not document what the numbers mean.
        shown state_id: i64 = "StateId", Json::integer;
    }
}

impl Default for CustomerRecord {
    fn default() -> Self {
        Self::new()
    }
}
