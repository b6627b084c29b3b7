//! A customer as a person writes it: the interface's record, read strictly.

use payments_model::{CustomerId, CustomerRecord, Field};

use crate::document_reader::DocumentReader;
use crate::record::without_card_numbers;

/// The customer that a document holds, or everything that is wrong with it. Only `CustomerId` is required.
pub(crate) fn read(json: &str) -> Result<(CustomerId, CustomerRecord), Vec<String>> {
    let mut reader = DocumentReader::new(json)?;
    let mut record = serde_json::from_str::<CustomerRecord>(json)
        .map_err(|_| vec!["it must be a JSON object".to_owned()])?;
    let id = reader.parsed::<CustomerId>("CustomerId", "must be an id as a text");
    if id.is_none() {
        reader.problem("CustomerId", "must be there");
    }
    reader.must_be_readable("CustomerName", &record.customer_name, TEXT);
    reader.must_be_readable("Email", &record.email, TEXT);
    reader.must_be_readable("PhoneNumber", &record.phone_number, TEXT);
    reader.must_be_readable("CountryId", &record.country_id, NUMBER);
    reader.must_be_readable("CountryCode", &record.country_code, TEXT);
    reader.must_be_readable("Address", &record.address, TEXT);
    reader.must_be_readable("City", &record.city, TEXT);
    reader.must_be_readable("PostalCode", &record.postal_code, TEXT);
    reader.must_be_readable("StateId", &record.state_id, NUMBER);
    reader.finish()?;

    complete(&mut record);
    Ok((id.expect("a missing one is a problem"), record))
}

/// A look-up shows every field of the interface.
fn complete(record: &mut CustomerRecord) {
    let CustomerRecord {
        customer_id: _,
        customer_name,
        email,
        phone_number,
        country_id,
        country_code,
        address,
        city,
        postal_code,
        state_id,
        ..
    } = record;
    for text in [customer_name, email, phone_number, country_code, address, city, postal_code] {
        *text = Field::Value(text.value().map_or_else(String::new, |text| without_card_numbers(text)));
    }
    for number in [country_id, state_id] {
        if number.value().is_none() {
            *number = Field::Value(0);
        }
    }
}

const TEXT: &str = "must be a text";
const NUMBER: &str = "must be a whole number";

pub(crate) fn write(customer: &CustomerRecord) -> String {
    serde_json::to_string(customer).expect("a record is JSON")
}
