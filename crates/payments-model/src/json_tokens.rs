//! Looking into a JSON value of any depth without recursion and without making a tree of it.

use zeroize::Zeroizing;

use crate::json_string::unescape;
use crate::redact::{REDACTED, is_secret_name};

/// All texts (without names) and numbers in a JSON value. A text is what its string stands for, because nobody
/// who repeats it in a sentence repeats its escapes; one that stands for no Unicode is as it is written.
pub(crate) fn leaf_texts(json: &str) -> Vec<Zeroizing<String>> {
    let tokens: Vec<Token<'_>> = tokens(json).collect();
    let is_name = |index: usize| matches!(tokens.get(index + 1), Some(Token { text: ":", .. }));
    let leaves = tokens.iter().enumerate().filter(|(index, token)| match token.text.as_bytes()[0] {
        b'"' => !is_name(*index),
        b'-' | b'0'..=b'9' => true,
        _ => false,
    });
    leaves.map(|(_, token)| leaf_text(token.text)).collect()
}

fn leaf_text(token: &str) -> Zeroizing<String> {
    let Some(written) = token.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Zeroizing::new(token.to_owned());
    };
    let unescaped = written.contains('\\').then(|| unescape(token)).flatten();
    Zeroizing::new(unescaped.unwrap_or_else(|| written.to_owned()))
}

/// The JSON value with every value under a secret name, at any depth, replaced; `None` if there is none.
pub(crate) fn redact_nested(json: &str) -> Option<String> {
    if !json.starts_with(['{', '[']) {
        return None;
    }
    let mut output = String::new();
    let mut copied_to = 0;
    let mut tokens = tokens(json).peekable();
    while let Some(name) = tokens.next() {
        if tokens.peek().is_none_or(|next| next.text != ":") || !is_secret_member(name.text) {
            continue;
        }
        tokens.next();
        let Some(first) = tokens.next() else { break };
        let mut end = first.start + first.text.len();
        let mut depth = depth_change(first.text);
        while depth > 0 {
            let Some(token) = tokens.next() else { break };
            depth += depth_change(token.text);
            end = token.start + token.text.len();
        }
        output.push_str(&json[copied_to..first.start]);
        output.push('"');
        output.push_str(REDACTED);
        output.push('"');
        copied_to = end;
    }
    if copied_to == 0 {
        return None;
    }
    output.push_str(&json[copied_to..]);
    Some(output)
}

struct Token<'a> {
    text: &'a str,
    start: usize,
}

/// Splits valid JSON into strings, words (numbers and literals) and single punctuation characters.
fn tokens(json: &str) -> impl Iterator<Item = Token<'_>> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let rest = json[position..].trim_start_matches([' ', '\t', '\n', '\r']);
        let start = json.len() - rest.len();
        let length = match rest.as_bytes().first()? {
            b'"' => string_length(rest),
            b'{' | b'}' | b'[' | b']' | b':' | b',' => 1,
            _ => rest.find([' ', '\t', '\n', '\r', '{', '}', '[', ']', ':', ',', '"']).unwrap_or(rest.len()),
        };
        position = start + length;
        Some(Token { text: &rest[..length], start })
    })
}

/// The length of the string that `json` begins with, quotes included.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    json.len()
}

fn depth_change(token: &str) -> i64 {
    match token {
        "{" | "[" => 1,
        "}" | "]" => -1,
        _ => 0,
    }
}

fn is_secret_member(quoted: &str) -> bool {
    if quoted.contains('\\') {
        return unescape(quoted).is_some_and(|name| is_secret_name(&name));
    }
    is_secret_name(quoted)
}

#[cfg(test)]
mod tests {
    use super::{leaf_texts, redact_nested};

    #[test]
    fn leaves_are_texts_and_numbers_but_not_names() {
        let leaves = |json| leaf_texts(json).iter().map(|leaf| leaf.to_string()).collect::<Vec<_>>();
        let json = r#"{"a": "x\"y", "b": [1.5, true, null, {"c":"-"}], "": ""}"#;
        assert_eq!(leaves(json), ["x\"y", "1.5", "-", ""]);
        assert_eq!(leaves("\"a:b\""), ["a:b"]);
        assert_eq!(leaves("12"), ["12"]);
        assert_eq!(leaves(r#"["\u00302\/3","\"","\ud800","4"]"#), ["02/3", "\"", r"\ud800", "4"]);
    }

    #[test]
    fn d62_values_under_secret_names_are_replaced_and_the_rest_is_left_as_it_is() {
        for (json, redacted) in [
            (r#"{"Cvv" : "1"}"#, Some(r#"{"Cvv" : "[redacted]"}"#)),
            (r#"[{"Cvv":{"Cvv":["}"]}, "b":1}]"#, Some(r#"[{"Cvv":"[redacted]", "b":1}]"#)),
            (
                r#"{"a":"Cvv","Cvv":1,"pan":null}"#,
                Some(r#"{"a":"Cvv","Cvv":"[redacted]","pan":"[redacted]"}"#),
            ),
            (r#"{"a":"\"Cvv\":1"}"#, None),
            (r#"["Cvv",1]"#, None),
            (r#""Cvv""#, None),
        ] {
            assert_eq!(redact_nested(json).as_deref(), redacted);
        }
    }
}
