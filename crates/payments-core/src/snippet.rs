use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use payments_model::scrub;

/// The beginning of an answer's body, kept for a person who has to find out what happened.
#[derive(Clone)]
pub(crate) enum Snippet {
    /// Holds none of the request's secrets; the rest of the scrubbing waits until somebody looks.
    Unseen(Bytes),
    Scrubbed(String),
}

impl Snippet {
    const MAX_BYTES: usize = 2048;

    /// Secrets are looked for in the whole body: one that straddles the cut would otherwise be kept in half.
    pub(crate) fn new(body: &Bytes, secrets: &[&str]) -> Self {
        let echoes = secrets.iter().any(|secret| contains(body, secret.as_bytes()));
        if echoes {
            return Self::Scrubbed(cut(&scrub(&String::from_utf8_lossy(body), secrets)).to_owned());
        }
        Self::Unseen(match body.get(..2 * Self::MAX_BYTES) {
            None => body.clone(),
            // Copied, so that a long body is not kept alive for its first lines; and not cut within a number, because
            // half a card number does not look like one.
            Some(start) => Bytes::copy_from_slice(without_last_number(start)),
        })
    }

    /// At most 2 KiB, scrubbed of what looks like a card number, of secret fields and of control characters.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Unseen(body) => cut(&scrub(&String::from_utf8_lossy(body), &[])).to_owned().into(),
            Self::Scrubbed(text) => text.into(),
        }
    }
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen(_) | Self::Scrubbed(_) => f.write_str("[redacted]"),
        }
    }
}

fn contains(body: &[u8], secret: &[u8]) -> bool {
    !secret.is_empty() && body.windows(secret.len()).any(|window| window == secret)
}

fn without_last_number(bytes: &[u8]) -> &[u8] {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
    let end = bytes.iter().rposition(|byte| !is_of_number(byte)).map_or(0, |last| last + 1);
    &bytes[..end]
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(Snippet::MAX_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d64_a_card_number_at_the_cut_is_not_shown_in_half() {
        // Replacing the long secret moves what stands behind it to the front.
        let body = |padding: usize| {
            let hidden = "9".repeat(4096 - 40 - padding);
            Bytes::from(format!(
                r#"{{"Cvv":"{hidden}","a":"4929 9073 9031 8794","b":"{}"}}"#,
                "x".repeat(100)
            ))
        };
        for padding in 0..60 {
            let text = Snippet::new(&body(padding), &[]).text().into_owned();
            assert!(!text.contains("4929"), "{padding}: {text}");
        }
    }

    #[test]
    fn d64_a_secret_across_the_cut_is_not_shown_in_half() {
        let body = Bytes::from(format!("{}sk_live_51H", "x ".repeat(1020)));
        let text = Snippet::new(&body, &["sk_live_51H"]).text().into_owned();
        assert!(!text.contains("sk_"), "{text}");
    }

    #[test]
    fn d64_a_snippet_is_at_most_two_kibibytes_and_whole_letters() {
        let text = Snippet::new(&Bytes::from("\u{20ac}".repeat(2000)), &[]).text().into_owned();
        assert_eq!(text.len(), 2046);
        assert!(text.chars().all(|letter| letter == '\u{20ac}'));
    }
}
