use std::error::Error as StdError;

use payments_core::{TransportError, TransportResponse};

use crate::breach::{Breach, SHOWS_A_SECRET};
use crate::charge::{API_KEY, CARD_NUMBER};

/// Everything that a program may print of a call's result must be free of the key and the card.
pub(crate) fn must_hold_no_secret(result: &Result<TransportResponse, TransportError>) -> Result<(), Breach> {
    must_be_absent("the Debug of the result", &format!("{result:?} {result:#?}"))?;
    let mut next: Option<&dyn StdError> = None;
    if let Err(error) = result {
        must_be_absent("the Display of the error", &error.to_string())?;
        next = error.source();
    }
    while let Some(source) = next {
        must_be_absent("the error's chain of sources", &format!("{source} {source:?} {source:#?}"))?;
        next = source.source();
    }
    Ok(())
}

/// The same for one text.
pub(crate) fn must_be_absent(place: &str, text: &str) -> Result<(), Breach> {
    let dense: String = text.split_whitespace().collect();
    for (name, secret) in [("card number", CARD_NUMBER), ("API key", API_KEY)] {
        let shown = text.contains(secret) || encodings(secret).iter().any(|code| dense.contains(code));
        if shown {
            let found = format!("{place} shows the {name}; it should show nothing of it");
            return Err(Breach::owed(found, SHOWS_A_SECRET));
        }
    }
    Ok(())
}

/// The secret as the `Debug` of its bytes shows it, without blanks, and as hexadecimal digits.
fn encodings(secret: &str) -> [String; 2] {
    let numbers: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    let digits = secret.bytes().map(|byte| format!("{byte:02x}"));
    [numbers.join(","), digits.collect()]
}
