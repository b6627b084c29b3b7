//! Checks a document against a table of the interface.

use serde_json::Value;

use crate::tables::{Kind, Row};

impl Kind {
    pub(crate) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64(),
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
        }
    }
}

/// Every member of the document is in the table and has its type, the members are in the table's order, and no required
/// member is missing.
pub(crate) fn assert_follows(document: &[u8], table: &[Row]) {
    let value: Value = serde_json::from_slice(document).unwrap();
    let members = value.as_object().unwrap();
    for (name, member) in members {
        let row =
            table.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} is not in the table"));
        assert!(row.kind.fits(member), "{name} is not {:?}", row.kind);
    }
    for row in table {
        assert!(!row.required || members.contains_key(row.name), "{} is missing", row.name);
    }
    assert_in_order(document, table.iter().map(|row| row.name));
}

/// The document's members with these names are in this order. Quotes inside strings are escaped, so `"Name":` is a member.
pub(crate) fn assert_in_order<'a>(document: &[u8], names: impl Iterator<Item = &'a str>) {
    let text = str::from_utf8(document).unwrap();
    let places: Vec<usize> = names.filter_map(|name| text.find(&format!("\"{name}\":"))).collect();
    assert!(places.is_sorted(), "out of order: {places:?}");
}
