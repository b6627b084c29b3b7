use std::fmt::Debug;

use payments_core::model::unversioned::salvage_transaction_id;
use payments_core::model::{CustomerRecord, TransactionReceipt, TransactionRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::{Json, NotRead};

/// A record as JSON. It reads back equal after writing, and a salvaged transaction identifier is part of the text.
pub fn read_record(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Some(record) = check(text, TransactionRecord::to_json) {
        assert!(!record.transaction_id.as_str().is_empty());
    }
    check(text, TransactionReceipt::to_json);
    check(text, CustomerRecord::to_json);
    if let Some(id) = salvage_transaction_id(data) {
        let written = serde_json::to_string(id.as_str()).expect("a string is JSON");
        assert!(!id.as_str().is_empty());
        // The identifier is in the text verbatim or with escapes.
        assert!(text.contains(id.as_str()) || text.contains('\\'), "{written}");
    }
}

fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(
    text: &str,
    to_json: impl Fn(&T) -> String,
) -> Option<T> {
    let record: T = serde_json::from_str(text).ok()?;
    let written = to_json(&record);
    let again: T = read(&written);
    assert_eq!(again, record);
    assert_eq!(to_json(&again), written);

    // Serializing for any format turns some values, such as numbers, into strings. Serializing again must not change anything,
    // except for deep values: they become JSON text, which is then escaped once more.
    let kept = serde_json::to_string(&record).expect("a record is JSON");
    let again: T = read(&kept);
    if Json::read(&written).is_ok_and(|json| depth(&json) < 64) {
        assert_eq!(serde_json::to_string(&again).expect("a record is JSON"), kept);
    }
    Some(record)
}

fn depth(json: &Json) -> usize {
    let inner = match json {
        Json::List(elements) => elements.iter().map(depth).max(),
        Json::Object(members) => members.iter().map(|(_, value)| depth(value)).max(),
        _ => None,
    };
    inner.map_or(0, |inner| inner + 1)
}

fn read<T: DeserializeOwned>(written: &str) -> T {
    assert_ne!(Json::read(written), Err(NotRead::NotJson), "{written}");
    serde_json::from_str(written).expect("a written record can be read")
}
