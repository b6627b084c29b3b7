use std::fmt::Debug;

use payments_core::model::unversioned::salvage_transaction_id;
use payments_core::model::{CustomerRecord, RecordError, TransactionReceipt, TransactionRecord};
use serde::Serialize;

use crate::json::{Json, NotRead};

/// A record as JSON. It reads back equal after writing, and a salvaged transaction identifier is part of the text.
pub(crate) fn read_record(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Some(record) = check(text, TransactionRecord::from_json, TransactionRecord::to_json) {
        assert!(!record.transaction_id.as_str().is_empty());
    }
    check(text, TransactionReceipt::from_json, TransactionReceipt::to_json);
    check(text, CustomerRecord::from_json, CustomerRecord::to_json);
    if let Some(id) = salvage_transaction_id(data) {
        let written = serde_json::to_string(id.as_str()).expect("a string is JSON");
        assert!(!id.as_str().is_empty());
        // The identifier is in the text verbatim or with escapes.
        assert!(text.contains(id.as_str()) || text.contains('\\'), "{written}");
    }
}

fn check<T: Serialize + PartialEq + Debug>(
    text: &str,
    from_json: impl Fn(&[u8]) -> Result<T, RecordError>,
    to_json: impl Fn(&T) -> String,
) -> Option<T> {
    let record = from_json(text.as_bytes()).ok()?;
    let written = to_json(&record);
    assert_ne!(Json::read(&written), Err(NotRead::NotJson), "{written}");
    let again = from_json(written.as_bytes()).expect("a written record can be read");
    assert_eq!(again, record);
    assert_eq!(to_json(&again), written);
    assert_eq!(serde_json::to_string(&record).expect("a record is JSON"), written);
    Some(record)
}
