//! The billing file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fastrand::Rng;

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) token: &'static str,
    pub(crate) cents: u64,
}

impl Row {
    /// Whether the service charges this row.
    pub(crate) fn is_good(&self) -> bool {
        self.token == "tok_approved"
    }

    /// The row as a request.
    pub(crate) fn payment(&self) -> String {
        let Self { key, token, cents } = self;
        let (whole, cents) = (cents / 100, cents % 100);
        format!(
            r#"{{"TokenId":"{token}","Amount":{whole}.{cents:02},"ConvenienceFeeActive":false,"ReferenceNo":"{key}"}}"#
        )
    }
}

/// Rows with different amounts; the service rejects some of them.
pub(crate) fn rows(chance: &mut Rng) -> Vec<Row> {
    let first = chance.u64(1..50_000);
    (0..chance.u64(8..40))
        .map(|number| Row {
            key: format!("inv-{number}"),
            token: match chance.u8(..16) {
                0 => "tok_declined",
                1 => "tok_insufficient_funds",
                2 => "tok_removed",
                _ => "tok_approved",
            },
            cents: first + 7 * number,
        })
        .collect()
}

/// Writes the rows, with or without keys.
pub(crate) fn write(rows: &[Row], path: &Path, chance: &mut Rng) {
    // Without a key, the reference is the key.
    let has_key = chance.bool();
    let mut text = if has_key { "Key," } else { "" }.to_owned();
    text.push_str("TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n");
    for Row { key, token, cents } in rows {
        if has_key {
            write!(text, "{key},").unwrap();
        }
        writeln!(text, "{token},{}.{:02},false,{key}", cents / 100, cents % 100).unwrap();
    }
    fs::write(path, text).unwrap();
}
