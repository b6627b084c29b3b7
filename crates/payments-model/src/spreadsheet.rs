//! What a spreadsheet leaves in a cell where a value was expected.

use crate::violation::Rule;

/// Refuses a formula, a number that was shortened, and an error such as `#REF!`.
///
/// # Errors
///
/// The broken rule.
pub fn check_no_spreadsheet_value(text: &str) -> Result<(), Rule> {
    if text.starts_with(['=', '＝']) || text.starts_with("{=") {
        return Err("must not be a formula of a spreadsheet");
    }
    if is_rounded(text) {
        return Err("must not be a number that a spreadsheet has shortened: format the column as text");
    }
    if is_spreadsheet_error(text) { Err("must not be an error value of a spreadsheet") } else { Ok(()) }
}

/// Whether the text is a long number as spreadsheets write it, such as `1.23457E+11`. Most of its digits are lost.
fn is_rounded(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((number, exponent)) = text.split_once(['E', 'e']) else { return false };
    let (whole, decimals) = number.split_once(['.', ',']).unwrap_or((number, "0"));
    whole.len() == 1
        && is_number(whole)
        && is_number(decimals)
        && exponent.strip_prefix('+').is_some_and(is_number)
}

/// Whether the text is an error value, in any language: `#REF!`, `#DIV/0!`, `#NAME?`, `#¡VALOR!`, or a known one in any case. A
/// column that is too narrow is shown, and copied, as `####`. Some programs write `Err:502`.
fn is_spreadsheet_error(text: &str) -> bool {
    let is_start = |start: &str| start.eq_ignore_ascii_case("Err:");
    if text.get(..4).is_some_and(is_start) {
        let code = &text[4..];
        return code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    }
    let Some(word) = text.strip_prefix('#') else { return false };
    let is_marked = word.strip_suffix(['!', '?']).is_some_and(|word| {
        let is_of_error = |letter: char| {
            (letter.is_alphanumeric() && !letter.is_lowercase()) || matches!(letter, '/' | '_' | '¡' | '¿')
        };
        word.starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '¡' | '¿'))
            && word.chars().all(is_of_error)
    });
    let is_known = || KNOWN_ERRORS.contains(&&*word.to_uppercase());
    is_marked || is_known() || (word.len() >= 2 && word.bytes().all(|byte| byte == b'#'))
}

/// Those without a mark at the end, such as "not available" in the languages of spreadsheets, and the common ones with a mark.
#[rustfmt::skip]
const KNOWN_ERRORS: [&str; 33] = [
    "N/A", "N/C", "NV", "N/D", "N/B", "I/T", "YOK", "Н/Д", "HIÁNYZIK", "NENÍ_K_DISPOZICI", "GETTING_DATA", "LOADING...",
    "LOADING…", "REF!", "DIV/0!", "NAME?", "NULL!", "NUM!", "VALUE!", "SPILL!", "CALC!", "ERROR!", "BUSY!", "CONNECT!", "FIELD!",
    "BLOCKED!", "UNKNOWN!", "WERT!", "BEZUG!", "ZAHL!", "VALEUR!", "NOMBRE!", "NOM?",
];
