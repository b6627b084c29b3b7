//! Colours, only on a terminal.

use std::env;
use std::fmt::Write as _;
use std::io::IsTerminal;

use payments_model::unversioned::is_invisible;

/// The meaning of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Success,
    Error,
    /// A warning, or an unknown outcome.
    Warning,
    Heading,
    /// Less important than its surroundings.
    Dim,
}

/// Whether a stream gets colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A terminal that allows colours.
    Coloured,
    /// A file, a pipe, `NO_COLOR` or a terminal without colours.
    Plain,
}

impl Style {
    /// Colours for a terminal, unless `NO_COLOR` is set to anything or `TERM` is `dumb`.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        if stream.is_terminal() && !no_color && !dumb { Self::Coloured } else { Self::Plain }
    }

    /// Colours `text`, which must not contain control characters.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Success => "32",
            Tone::Error => "31",
            Tone::Warning => "1;33",
            Tone::Heading => "1",
            Tone::Dim => "2",
        };
        match self {
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

/// Escapes every character that could move the cursor, change a colour or reorder a line, as `\u{1b}`.
///
/// The fields of a record come from the service, which may be broken or hostile.
pub(crate) fn for_terminal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unsafe(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Escapes these characters in a JSON document, as `\u001b`.
///
/// Outside of strings, JSON has none of them except line breaks and tabs, so the meaning of the document does not change.
pub(crate) fn in_json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for letter in document.chars() {
        if is_unsafe(letter) && !letter.is_ascii_whitespace() {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Control characters, line separators, and the invisible ones of Unicode that reorder text or hide in it.
fn is_unsafe(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') || is_invisible(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            for_terminal("\u{1b}[2J\r\nPAID\u{9b}1m\u{202e}x\u{7f}"),
            "\\u{1b}[2J\\r\\nPAID\\u{9b}1m\\u{202e}x\\u{7f}"
        );
        assert_eq!(for_terminal("Zoë Müller, 東京 \"'\\"), "Zoë Müller, 東京 \"'\\");
    }

    #[test]
    fn escaped_json_has_the_same_meaning() {
        let document = serde_json::to_string("a\u{9b}b\u{202e}c\u{e0041}d\u{1b}\n\t é").unwrap();
        let escaped = in_json(&document);
        assert!(escaped.chars().all(|letter| !is_unsafe(letter)), "{escaped}");
        let read: String = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, "a\u{9b}b\u{202e}c\u{e0041}d\u{1b}\n\t é");
    }
}
