//! Colours, only where a person sees them.

use std::env;
use std::fmt::Write as _;
use std::io::IsTerminal;

/// What a piece of text is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// Nobody knows.
    Doubtful,
    /// A heading.
    Heading,
    /// Of less weight than what stands beside it.
    Faint,
}

/// Whether one stream takes colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A terminal, and nobody objects.
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

    /// `text`, which must be harmless already, in its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Doubtful => "1;33",
            Tone::Heading => "1",
            Tone::Faint => "2",
        };
        match self {
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

/// `text` with every character that could move a cursor, change a colour or reorder a line written out, as `\u{1b}`.
///
/// The fields of a record are the service's own words, or whatever a broken or hostile server put in their place.
pub(crate) fn for_terminal(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_treacherous(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// The same JSON document with such characters as `\u001b`, which every reader of JSON turns back.
///
/// Outside its strings a JSON document has none of them but line breaks and tabs, so this changes no meaning.
pub(crate) fn in_json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for letter in document.chars() {
        if is_treacherous(letter) && !letter.is_ascii_whitespace() {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(escaped, "\\u{unit:04x}").expect("a String takes every write");
            }
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Control characters, and the invisible ones of Unicode that reorder text or hide in it.
fn is_treacherous(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(Style::Plain.paint(Tone::Bad, "no"), "no");
        assert_eq!(Style::Coloured.paint(Tone::Bad, "no"), "\u{1b}[31mno\u{1b}[0m");
    }

    #[test]
    fn a_terminal_gets_no_control_character() {
        assert_eq!(
            for_terminal("\u{1b}[2J\r\nPAID\u{9b}1m\u{202e}x\u{7f}"),
            "\\u{1b}[2J\\r\\nPAID\\u{9b}1m\\u{202e}x\\u{7f}"
        );
        assert_eq!(for_terminal("Zoë Müller, 東京 \"'\\"), "Zoë Müller, 東京 \"'\\");
    }

    #[test]
    fn escaped_json_means_the_same() {
        let document = serde_json::to_string("a\u{9b}b\u{202e}c\u{e0041}d\u{1b}\n\t é").unwrap();
        let escaped = in_json(&document);
        assert!(escaped.chars().all(|letter| !is_treacherous(letter)), "{escaped}");
        let read: String = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read, "a\u{9b}b\u{202e}c\u{e0041}d\u{1b}\n\t é");
    }
}
