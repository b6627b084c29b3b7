use std::fmt::Debug;

use payments_core::model::{CustomerRecord, TransactionReceipt, TransactionRecord, salvage_transaction_id};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::Json;

/// A record as JSON: what was read and written reads back equal, and salvaging finds no other transaction.
pub fn read_record(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Some(record) = check::<TransactionRecord>(text) {
        assert!(!record.transaction_id.as_str().is_empty());
        assert_eq!(serde_json::from_str::<TransactionRecord>(&record.to_json()).ok(), Some(record));
    }
    check::<TransactionReceipt>(text);
    check::<CustomerRecord>(text);
    if let Some(id) = salvage_transaction_id(data) {
        let written = serde_json::to_string(id.as_str()).expect("a text is JSON");
        assert!(!id.as_str().is_empty());
        // It stands there as it is, or with escapes.
        assert!(text.contains(id.as_str()) || text.contains('\\'), "{written}");
    }
}

fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> Option<T> {
    let record: T = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&record).expect("a record is JSON");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(again, record);
    assert_eq!(serde_json::to_string(&again).expect("a record is JSON"), written);
    assert!(!matches!(Json::read(&written), Err(crate::json::NotRead::NotJson)), "{written}");
    Some(record)
}
