use std::error::Error;
use std::iter;

use payments_core::{TransportError, TransportResponse};

use crate::test_request::{API_KEY, CARD_NUMBER};
use crate::violation::{SHOWS_A_SECRET, Violation};

/// Fails if anything that a program may print of a call's result contains the API key or the card number.
pub(crate) fn must_hold_no_secret(
    result: &Result<TransportResponse, TransportError>,
) -> Result<(), Violation> {
    must_be_absent("the Debug output of the result", &format!("{result:?} {result:#?}"))?;
    let Err(error) = result else { return Ok(()) };
    must_be_absent("the Display output of the error", &error.to_string())?;
    iter::successors(error.source(), |&error| error.source()).try_for_each(|source| {
        must_be_absent("the source chain of the error", &format!("{source} {source:?} {source:#?}"))
    })
}

/// Fails if the text contains the API key or the card number.
pub(crate) fn must_be_absent(place: &str, text: &str) -> Result<(), Violation> {
    must_not_hold(place, text, &[("card number", CARD_NUMBER), ("API key", API_KEY)])
}

/// Fails if the text contains one of these named secrets, in upper or lower case, in plain or encoded.
pub(crate) fn must_not_hold(place: &str, text: &str, secrets: &[(&str, &str)]) -> Result<(), Violation> {
    let text = text.to_lowercase();
    let dense: String = text.split_whitespace().collect();
    for (name, secret) in secrets {
        let plain = text.contains(&secret.to_lowercase());
        if plain || encodings(secret).iter().any(|code| dense.contains(&code.to_lowercase())) {
            let found = format!("{place} shows the {name}; remove it or mask it");
            return Err(Violation::general(found, SHOWS_A_SECRET));
        }
    }
    Ok(())
}

/// The secret as a list of byte values, as hexadecimal digits, and as an escaped byte string and text, without spaces.
fn encodings(secret: &str) -> [String; 4] {
    let numbers: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    let digits = secret.bytes().map(|byte| format!("{byte:02x}"));
    let dense: String = secret.split_whitespace().collect();
    let (bytes, text) = (dense.as_bytes().escape_ascii().to_string(), dense.escape_default().to_string());
    [numbers.join(","), digits.collect(), bytes, text]
}
