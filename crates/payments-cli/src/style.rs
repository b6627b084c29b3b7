//! Colours, only where a person sees them.

use std::env;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(Style::Plain.paint(Tone::Bad, "no"), "no");
        assert_eq!(Style::Coloured.paint(Tone::Bad, "no"), "\u{1b}[31mno\u{1b}[0m");
    }
}
