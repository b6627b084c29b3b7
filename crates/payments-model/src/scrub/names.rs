//! Values after the names of secret fields, in JSON, in JSON within JSON, in forms and in plain words.

use std::ops::Range;

use crate::redact::is_secret_name;

/// Where the values after secret names are, without their quotes.
///
/// It does not follow quotes from the start of the text, because the text may begin in the middle of one.
pub(super) fn values_of_secret_names(text: &str) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut position = 0;
    while let Some(ahead) = text[position..].find(is_name_character) {
        let name_start = position + ahead;
        position = name_start + length_while(&text[name_start..], is_name_character);
        if !is_secret_name(&text[name_start..position]) {
            continue;
        }
        if let Some((before_value, length)) = value_after(&text[position..]) {
            let value_start = position + before_value;
            position = value_start + length;
            values.push(value_start..position);
        }
    }
    values
}

/// Where the value begins in a text that follows a name, and how long it is. Quotes are not part of it.
fn value_after(text: &str) -> Option<(usize, usize)> {
    let after_name = text.trim_start_matches(['\\', '"', '\'']).trim_start();
    let after_mark = after_name.strip_prefix([':', '='])?.trim_start();
    let unescaped = after_mark.trim_start_matches('\\');
    let (value, length) =
        if let Some(quote) = unescaped.chars().next().filter(|first| matches!(first, '"' | '\'')) {
            let is_escaped = unescaped.len() < after_mark.len();
            let value = &unescaped[1..];
            (value, quoted_length(value, quote, is_escaped))
        } else if after_mark.starts_with(['{', '[']) {
            (after_mark, nested_length(after_mark))
        } else {
            let length = length_while(after_mark, |character| {
                !character.is_whitespace() && !",;:=&}]<>\"'".contains(character)
            });
            // "account: closed" is prose; a bare secret has digits.
            if !after_mark[..length].contains(|character: char| character.is_ascii_digit()) {
                return None;
            }
            (after_mark, length)
        };
    Some((text.len() - value.len(), length))
}

/// The length of a quoted value, up to its closing quote or to where the text was cut.
fn quoted_length(value: &str, quote: char, quotes_are_escaped: bool) -> usize {
    let mut backslashes = 0;
    for (index, character) in value.char_indices() {
        if character == quote && (backslashes > 0) == quotes_are_escaped {
            return index - backslashes;
        }
        backslashes = match character {
            '\\' if backslashes == 0 || quotes_are_escaped => backslashes + 1,
            _ => 0,
        };
    }
    value.len()
}

/// The length of an object or array, up to its closing bracket or to where the text was cut.
fn nested_length(value: &str) -> usize {
    let mut depth = 0_i64;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (index, character) in value.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 1 => return index + 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    value.len()
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn length_while(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|character| !belongs(character)).unwrap_or(text.len())
}
