use std::ops::Range;

use crate::card_number::luhn_value;
use crate::redact::{REDACTED, is_secret_name};

/// The text without what must not be shown, for messages and snippets that a service may have filled with
/// anything.
///
/// - Values after a name that stands for card or account data (`"Cvv":"123"`, `card_number=…`) are replaced.
/// - Each of `secrets` is replaced where it stands as a whole word; those of a request come from its
///   `secrets()`. Secrets shorter than three characters are ignored.
/// - In every run of 12 to 19 digits, spaces and hyphens between them allowed, that passes the Luhn check or
///   is one of `secrets`, all but the last four digits become `*`.
/// - Control characters become spaces, so that the text stays one line of a log.
///
/// It works on any text, JSON or not, complete or cut short. It is a safety net, not a proof: a secret that
/// is spelled in a way nobody foresaw passes through. Scrub before cutting a text to length, because half a
/// card number looks like none.
///
/// ```
/// let message = "card 4242-4242-4242-4242 refused,\ncvv=123";
/// assert_eq!(payments_model::scrub(message, &[]), "card ****-****-****-4242 refused, cvv=[redacted]");
/// ```
pub fn scrub(text: &str, secrets: &[&str]) -> String {
    let mut by_length: Vec<&str> =
        secrets.iter().copied().filter(|secret| secret.chars().count() >= 3).collect();
    by_length.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    let named = mask_named_values(text);
    let unsecret = by_length.iter().fold(named, |text, secret| mask_word(text, secret));
    let numberless = mask_numbers(&unsecret, &by_length);
    numberless.replace(is_unprintable, " ")
}

/// Control characters, and the separators and direction marks that can make a log line look like another.
fn is_unprintable(character: char) -> bool {
    let rearranges = '\u{2028}'..='\u{202e}';
    let isolates = '\u{2066}'..='\u{2069}';
    character.is_control() || rearranges.contains(&character) || isolates.contains(&character)
}

/// Replaces the values after secret names. It does not follow quotes from the start of the text, because the
/// text may begin in the middle of one.
fn mask_named_values(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(name_start) = rest.find(is_name_character) {
        let name_end = length_while(&rest[name_start..], is_name_character) + name_start;
        let value =
            if is_secret_name(&rest[name_start..name_end]) { value_after(&rest[name_end..]) } else { None };
        let Some((before_value, value_length)) = value else {
            output.push_str(&rest[..name_end]);
            rest = &rest[name_end..];
            continue;
        };
        let value_start = name_end + before_value;
        output.push_str(&rest[..value_start]);
        output.push_str(REDACTED);
        rest = &rest[value_start + value_length..];
    }
    output.push_str(rest);
    output
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

/// Replaces a secret where no letter or digit touches it.
fn mask_word(text: String, secret: &str) -> String {
    let mut output = String::new();
    let mut copied_to = 0;
    for (start, _) in text.match_indices(secret) {
        let end = start + secret.len();
        let touches = text[..start].chars().next_back().is_some_and(char::is_alphanumeric)
            || text[end..].chars().next().is_some_and(char::is_alphanumeric);
        if !touches {
            output.push_str(&text[copied_to..start]);
            output.push_str(REDACTED);
            copied_to = end;
        }
    }
    if copied_to == 0 {
        return text;
    }
    output.push_str(&text[copied_to..]);
    output
}

/// Masks what reads as a card number, in groups of digits as people write them.
fn mask_numbers(text: &str, secrets: &[&str]) -> String {
    let is_number = |secret: &&str| secret.len() >= 12 && secret.bytes().all(|byte| byte.is_ascii_digit());
    let secret_numbers: Vec<&str> = secrets.iter().copied().filter(is_number).collect();
    let mut bytes = text.as_bytes().to_vec();
    let groups = digit_groups(text);
    let mut first = 0;
    while first < groups.len() {
        let Some(last) = longest_card_number(text.as_bytes(), &groups[first..], &secret_numbers) else {
            first += 1;
            continue;
        };
        let number = &groups[first..=first + last];
        let digits: usize = number.iter().map(ExactSizeIterator::len).sum();
        for place in number.iter().cloned().flatten().take(digits - 4) {
            bytes[place] = b'*';
        }
        first += last + 1;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Where each group of digits is.
fn digit_groups(text: &str) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, _) in text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
        match groups.last_mut() {
            Some(group) if group.end == index => group.end += 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

/// The index of the last group of the longest card number that begins with the first group.
fn longest_card_number(text: &[u8], groups: &[Range<usize>], secret_numbers: &[&str]) -> Option<usize> {
    let mut length = 0;
    // The Luhn sums for a number of even and of odd length: which digits count double depends on where it ends.
    let mut sums = [0; 2];
    let mut found = None;
    let mut previous_end = None;
    for (index, group) in groups.iter().enumerate() {
        let is_joined = previous_end.is_none_or(|end| group.start == end + 1 && b" -".contains(&text[end]));
        if !is_joined || length + group.len() > 19 {
            break;
        }
        for &digit in &text[group.clone()] {
            sums[length % 2] += luhn_value(digit, true);
            sums[(length + 1) % 2] += luhn_value(digit, false);
            length += 1;
        }
        let is_secret = |secret: &&str| {
            groups[..=index].iter().cloned().flatten().map(|place| text[place]).eq(secret.bytes())
        };
        if length >= 12 && (sums[length % 2].is_multiple_of(10) || secret_numbers.iter().any(is_secret)) {
            found = Some(index);
        }
        previous_end = Some(group.end);
    }
    found
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn length_while(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|character| !belongs(character)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::scrub;

    #[test]
    fn d62_card_numbers_are_masked_to_their_last_four_digits_however_they_are_grouped() {
        for (text, shown) in [
            ("4242424242424242", "************4242"),
            ("4242 4242 4242 4242", "**** **** **** 4242"),
            ("3782-822463-10005!", "****-******-*0005!"),
            ("no 4242424242424242, 12/30", "no ************4242, 12/30"),
            ("card 4242 4242 4242 4242 12", "card **** **** **** 4242 12"),
            ("x4007000000027y", "x*********0027y"),
            ("4242424242424241", "4242424242424241"),
            ("42424242  42424242", "42424242  42424242"),
            ("424242424242", "********4242"),
            ("00000000000", "00000000000"),
            ("6200000000000000001", "6200000000000000001"),
            ("0000000000000000000", "***************0000"),
            ("00000000000000000000", "00000000000000000000"),
        ] {
            assert_eq!(scrub(text, &[]), shown);
        }
    }

    #[test]
    fn d62_a_number_without_check_digit_is_masked_if_it_is_a_known_secret() {
        assert_eq!(scrub("6200 0000 0000 0000 1", &["62000000000000001"]), "**** **** **** *000 1");
    }

    #[test]
    fn d64_values_after_secret_names_are_replaced_in_any_notation() {
        for (text, shown) in [
            (r#"{"Cvv":"123","Amount":1}"#, r#"{"Cvv":"[redacted]","Amount":1}"#),
            (r#"{"Cvv": 123}"#, r#"{"Cvv": [redacted]}"#),
            (r#"{"card_number":"42"#, r#"{"card_number":"[redacted]"#),
            (r#"{"Cvv":{"a":["1"]},"b":2}"#, r#"{"Cvv":[redacted],"b":2}"#),
            (r#"{"Cvv":["]","1"],"b":2}"#, r#"{"Cvv":[redacted],"b":2}"#),
            (r#"{"Cvv":["1"#, r#"{"Cvv":[redacted]"#),
            (r#""{\"cvc\":\"1\",\"b\":\"2\"}""#, r#""{\"cvc\":\"[redacted]\",\"b\":\"2\"}""#),
            (r#"{"Cvv":"1\"2","b":3}"#, r#"{"Cvv":"[redacted]","b":3}"#),
            ("{'cvv': '123'}", "{'cvv': '[redacted]'}"),
            ("cvv=123&amount=1", "cvv=[redacted]&amount=1"),
            (r#"<a href="x>"Cvv":"123"</a>"#, r#"<a href="x>"Cvv":"[redacted]"</a>"#),
            ("account: closed", "account: closed"),
            ("Cvv", "Cvv"),
            ("Cvv:", "Cvv:"),
        ] {
            assert_eq!(scrub(text, &[]), shown);
        }
    }

    #[test]
    fn d64_secrets_are_replaced_as_whole_words_and_the_longest_first() {
        let secrets = ["123", "1230", "12", "ACC 123"];
        assert_eq!(
            scrub("123 1230 12 x123 (123) ACC 123", &secrets),
            "[redacted] [redacted] 12 x123 ([redacted]) [redacted]"
        );
    }

    #[test]
    fn hostile_texts_cost_no_more_than_their_length() {
        for unit in ["cvv:", "cvv=", "cvv:[", "cvv:\"", "1 ", "\\", "\"TransactionId\":", "4242-"] {
            assert!(!scrub(&unit.repeat(50_000), &["123", "4242"]).is_empty());
        }
    }

    #[test]
    fn control_characters_cannot_forge_a_log_line() {
        assert_eq!(scrub("a\r\nb\u{1b}[31m\u{202e}c\u{2028}d", &[]), "a  b [31m c d");
    }
}
