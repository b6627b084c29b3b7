use std::error::Error;
use std::iter;
use std::ops::Range;

use payments_core::{TransportError, TransportResponse};

use crate::test_request::{API_KEY, CARD_NUMBER};
use crate::violation::{Rule, Violation};

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

/// Fails if the text contains one of these named secrets, in upper or lower case, in plain, escaped or encoded.
pub(crate) fn must_not_hold(place: &str, text: &str, secrets: &[(&str, &str)]) -> Result<(), Violation> {
    let once = unescaped(text);
    let twice = unescaped(&once);
    let mut readings = vec![text.to_lowercase(), once.to_lowercase(), twice.to_lowercase()];
    readings.dedup();
    for text in readings {
        let dense: String = text.split_whitespace().collect();
        for (name, secret) in secrets {
            let plain = [(*secret).to_owned(), secret.replace(' ', "+")];
            let is_plain = plain.iter().any(|secret| text.contains(&secret.to_lowercase()));
            if is_plain || encodings(secret).iter().any(|code| dense.contains(&code.to_lowercase())) {
                let found = format!("{place} shows the {name}; remove it or mask it");
                return Err(Violation::general(found, Rule::ShowsNoSecret));
            }
        }
    }
    Ok(())
}

/// The secret as a list of byte values, as hexadecimal digits, and in both alphabets of base64, without spaces.
fn encodings(secret: &str) -> Vec<String> {
    let numbers: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    let digits = secret.bytes().map(|byte| format!("{byte:02x}"));
    // In a longer text, the secret may begin at each of three places in a group of letters.
    let letters = (0..3).map(|start| base64(&secret.as_bytes()[start..]));
    let in_both = letters.flat_map(|letters| [letters.replace('+', "-").replace('/', "_"), letters]);
    [numbers.join(","), digits.collect()].into_iter().chain(in_both).collect()
}

/// The whole groups of four letters.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = bytes.as_chunks().0.iter().flat_map(|[first, second, third]| {
        let bits = u32::from_be_bytes([0, *first, *second, *third]);
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[(bits >> shift & 63) as usize]))
    });
    letters.collect()
}

/// The text without percent-encoding (`%c3%ab`) and the escapes of JSON (`\u00eb`) and Rust (`\u{eb}`, `\xc3\xab`).
fn unescaped(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['%', '\\']) {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let (length, meant) = escape(rest).unwrap_or_else(|| (1, rest.as_bytes()[..1].to_vec()));
        bytes.extend(meant);
        rest = &rest[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The length of the escape at the start of the text, and what it means.
fn escape(text: &str) -> Option<(usize, Vec<u8>)> {
    let number = |digits: Range<usize>| u32::from_str_radix(text.get(digits)?, 16).ok();
    let character = |code: u32| char::from_u32(code).map(|meant| meant.to_string().into_bytes());
    let byte = |code: u32| u8::try_from(code).ok().map(|meant| vec![meant]);
    match text.as_bytes() {
        [b'%', ..] => Some((3, byte(number(1..3)?)?)),
        [_, b'x', ..] => Some((4, byte(number(2..4)?)?)),
        [_, b'u', b'{', ..] => {
            let end = text.find('}')?;
            Some((end + 1, character(number(3..end)?)?))
        }
        [_, b'u', ..] => Some((6, character(number(2..6)?)?)),
        [_, meant @ (b'"' | b'\'' | b'/' | b'\\'), ..] => Some((2, vec![*meant])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let name = "Zo\u{eb} \u{c5}ngstr\u{f6}m-\u{141}UKASIEWICZ";
        let secrets = [("card number", "4111111111111111"), ("name", name)];
        for text in [
            "pan=4111111111111111&",
            "[52, 49, 49, 49, 49, 49, 49, 49, 49, 49, 49, 49, 49, 49, 49, 49]",
            "34313131 31313131 31313131 31313131",
            // At each place in a group of letters.
            "NDExMTExMTExMTExMTExMXl6",
            "eDQxMTExMTExMTExMTExMTF5eg==",
            "eHg0MTExMTExMTExMTExMTExeXo=",
            "Wm/DqyDDhW5nc3Ryw7ZtLcWBVUtBU0lFV0lDWnk=",
            r"Wm\/DqyDDhW5nc3Ryw7ZtLcWBVUtBU0lFV0lDWnk=",
            "Wm_DqyDDhW5nc3Ryw7ZtLcWBVUtBU0lFV0lDWnk=",
            "eHhab8OrIMOFbmdzdHLDtm0txYFVS0FT\nSUVXSUNaeQ==",
            "%34111111111111111",
            "Zo%C3%AB%20%C3%85ngstr%C3%B6m-%C5%81UKASIEWICZ",
            "zo%c3%ab+%c3%85ngstr%c3%b6m-%c5%81ukasiewicz",
            r"\u0034111111111111111",
            r"Zo\u00eb \u00c5ngstr\u00F6m-\u0141UKASIEWICZ",
            r"Zo\\u00eb \\u00c5ngstr\\u00F6m-\\u0141UKASIEWICZ",
            r"Zo\u{eb} \u{c5}ngstr\u{f6}m-\u{141}UKASIEWICZ",
            r"Zo\xc3\xab \xc3\x85ngstr\xc3\xb6m-\xc5\x81UKASIEWICZ",
        ] {
            must_not_hold("the log", text, &secrets).expect_err(text);
        }
        for text in ["", "%", r"\", r"\u", r"\u{", "%zz 100 % \u{eb}", "411111111111111", "Zo\u{eb}"] {
            assert!(must_not_hold("the log", text, &secrets).is_ok(), "{text}");
        }
    }
}
