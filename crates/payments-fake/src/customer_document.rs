//! A customer as JSON: the interface's record. What a person writes is read strictly, what was kept as it is.

use payments_model::{CustomerId, CustomerRecord, Field};

use crate::document_reader::DocumentReader;

/// The customer that a document holds, or everything that is wrong with it. Only `CustomerId` is required.
pub(crate) fn read(json: &str) -> Result<(CustomerId, CustomerRecord), Vec<String>> {
    let mut reader = DocumentReader::new(json)?;
    let mut record = serde_json::from_str::<CustomerRecord>(json).expect("every JSON object is a record");
    let id = reader.required::<CustomerId>("CustomerId", "must be an id as a text");
    reader.must_be_readable("CustomerName", &record.customer_name, TEXT);
    reader.must_be_readable("Email", &record.email, TEXT);
    reader.must_be_readable("PhoneNumber", &record.phone_number, TEXT);
    reader.must_be_small("CountryId", &record.country_id);
    reader.must_be_readable("CountryCode", &record.country_code, TEXT);
    reader.must_be_readable("Address", &record.address, TEXT);
    reader.must_be_readable("City", &record.city, TEXT);
    reader.must_be_readable("PostalCode", &record.postal_code, TEXT);
    reader.must_be_small("StateId", &record.state_id);
    reader.finish()?;

    // A look-up shows every field of the interface.
    for text in texts(&mut record) {
        if text.value().is_none() {
            *text = Field::Value(String::new());
        }
    }
    for number in [&mut record.country_id, &mut record.state_id] {
        if number.value().is_none() {
            *number = Field::Value(0);
        }
    }
    mask(&mut record);
    Ok((id.expect("a missing one is a problem"), record))
}

/// Masks card numbers that somebody wrote into a text.
pub(crate) fn mask(record: &mut CustomerRecord) {
    for text in texts(record) {
        if let Field::Value(text) = text {
            *text = payments_model::mask(text, &[]).into_owned();
        }
    }
}

fn texts(record: &mut CustomerRecord) -> [&mut Field<String>; 7] {
    let CustomerRecord {
        customer_id: _,
        customer_name,
        email,
        phone_number,
        country_id: _,
        country_code,
        address,
        city,
        postal_code,
        state_id: _,
        ..
    } = record;
    [customer_name, email, phone_number, country_code, address, city, postal_code]
}

const TEXT: &str = "must be a text";

/// A customer that was kept. A test may have made it odder than [`read`] allows.
pub(crate) fn kept(json: &str) -> Option<CustomerRecord> {
    serde_json::from_str(json).ok()
}
