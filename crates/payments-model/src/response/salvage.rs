use std::borrow::Cow;

use memchr::memmem;
use serde_json::value::RawValue;

use crate::TransactionId;
use crate::json::Json;

/// The transaction identifier in a body that cannot be read otherwise: truncated, wrapped in HTML, or ambiguous.
///
/// It is a clue for reconciliation, never proof that a payment succeeded. It must be complete and follow the name
/// `"TransactionId"`. `None` if there are two different ones.
pub fn salvage_transaction_id(bytes: &[u8]) -> Option<TransactionId> {
    let mut found = salvaged_transaction_ids(bytes);
    let id = found.next()?;
    found.all(|other| other == id).then_some(id)
}

/// Every complete transaction identifier that follows the name `"TransactionId"`, in any bytes, including repeated ones.
/// Quotes may be escaped as in a JSON string (`\"`, `\u0022`), possibly twice, or in HTML (`&quot;`, `&#34;`).
pub fn salvaged_transaction_ids(bytes: &[u8]) -> impl Iterator<Item = TransactionId> {
    salvaged_values(bytes, "TransactionId").into_iter().filter_map(TransactionId::from_response)
}

/// Whether `"status": "success"` or `"status_code": 100` is anywhere in the bytes.
pub fn claims_success(bytes: &[u8]) -> bool {
    salvaged_values(bytes, "status").iter().any(|status| status.eq_ignore_ascii_case("success"))
        || salvaged_values(bytes, "status_code").iter().any(|code| code == "100")
}

/// Every complete text and whole number that follows this name.
fn salvaged_values(bytes: &[u8], name: &str) -> Vec<String> {
    let bytes = &*with_plain_names(bytes);
    let values = memmem::find_iter(bytes, name).filter_map(|at| {
        let (before, after) = (&bytes[..at], &bytes[at + name.len()..]);
        let quotes = QUOTES.into_iter().map(str::as_bytes);
        quotes
            .filter(|quote| before.ends_with(quote))
            .find_map(|quote| complete_value(after.strip_prefix(quote)?, quote))
    });
    values.map(Cow::into_owned).collect()
}

/// The bytes with each letter, digit and underscore unescaped where JSON has an escape for it: `Transaction\u0049d` is the name too.
fn with_plain_names(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memmem::find(bytes, b"\\u").is_none() {
        return Cow::Borrowed(bytes);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some((first, after)) = rest.split_first() {
        let escape = after.first_chunk::<5>().filter(|_| *first == b'\\');
        if let Some(letter) = escape.copied().and_then(plain_letter) {
            plain.push(letter);
            rest = &rest[6..];
        } else {
            // A backslash and what it escapes stay together.
            let taken = if *first == b'\\' { rest.len().min(2) } else { 1 };
            plain.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
        }
    }
    Cow::Owned(plain)
}

/// The letter of an escape such as `u0049`.
fn plain_letter(escape: [u8; 5]) -> Option<u8> {
    let digits = str::from_utf8(escape.strip_prefix(b"u")?).ok()?;
    let letter = u8::try_from(u16::from_str_radix(digits, 16).ok()?).ok()?;
    (letter.is_ascii_alphanumeric() || letter == b'_').then_some(letter)
}

/// As they are, and as they are escaped in a text of another document, in JSON also in a text of such a text.
const QUOTES: [&str; 14] = [
    "\"",
    "'",
    r#"\""#,
    r#"\\\""#,
    r"\u0022",
    r"\\u0022",
    r"\u0027",
    "&quot;",
    "&#34;",
    "&#x22;",
    "&apos;",
    "&#39;",
    "&#x27;",
    "&amp;quot;",
];

/// The value in `: "…"` or `: 123`, if the next byte shows that it is complete.
fn complete_value<'a>(after_name: &'a [u8], quote: &[u8]) -> Option<Cow<'a, str>> {
    let value = after_name.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    if let Some(text) = value.strip_prefix(quote).filter(|_| quote != b"\"") {
        let text = &text[..memmem::find(text, quote)?];
        return str::from_utf8(text).ok().map(Cow::Borrowed);
    }
    let length = if value.starts_with(b"\"") {
        let mut escaped = false;
        let closing_quote = |byte: &u8| {
            let closes = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            closes
        };
        value.iter().skip(1).position(closing_quote)? + 2
    } else {
        let length = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // A number at the end of the body may have lost digits.
        let goes_on = |next: &u8| next.is_ascii_alphanumeric() || b".+-_".contains(next);
        value.get(length).filter(|next| !goes_on(next)).map(|_| length)?
    };
    let value: &RawValue = serde_json::from_slice(&value[..length]).ok()?;
    Json::from(value).text_or_integer()
}
