//! What is shown in place of a value, and which field names stand for a secret.

use std::fmt;

/// Stands where a secret or personal value was.
pub(crate) const REDACTED: &str = "[redacted]";

/// Prints as the redaction mark.
pub(crate) struct Redacted;

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Whether a field of this name holds card or account data, whoever spelled it: case and punctuation do not
/// count.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let mut folded = [0_u8; LONGEST_NAME];
    let mut length = 0;
    for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
        let Some(place) = folded.get_mut(length) else {
            return false;
        };
        *place = byte.to_ascii_lowercase();
        length += 1;
    }
    SECRET_NAMES.iter().any(|secret| secret.as_bytes() == &folded[..length])
}

const LONGEST_NAME: usize = 24;

/// The interface's own names and what other services call the same things.
const SECRET_NAMES: [&str; 42] = [
    "aba",
    "abanumber",
    "account",
    "accountno",
    "accountnumber",
    "acctno",
    "acctnumber",
    "achaccount",
    "bankaccount",
    "bankaccountnumber",
    "cardcode",
    "cardcvc",
    "cardcvv",
    "cardexpiry",
    "cardno",
    "cardnum",
    "cardnumber",
    "cardsecuritycode",
    "ccnumber",
    "creditcard",
    "creditcardnumber",
    "csc",
    "cvc",
    "cvc2",
    "cvv",
    "cvv2",
    "cvvcode",
    "exp",
    "expdate",
    "expiration",
    "expirationdate",
    "expiry",
    "expirydate",
    "iban",
    "pan",
    "primaryaccountnumber",
    "routing",
    "routingno",
    "routingnumber",
    "securitycode",
    "track1",
    "track2",
];

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, SECRET_NAMES, is_secret_name};

    #[test]
    fn d62_secret_names_are_known_in_any_spelling() {
        for name in
            ["Cvv", "CVV2", "card_number", "Card-Number", "expiry date", "AccountNumber", "PAN", "i.b.a.n"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in
            ["", "Amount", "TransactionId", "AccountName", "panel", "x", "cvvcvvcvvcvvcvvcvvcvvcvvcvvcvv"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn every_secret_name_can_be_recognized() {
        for name in SECRET_NAMES {
            assert!(name.len() <= LONGEST_NAME && is_secret_name(name), "{name}");
        }
    }
}
