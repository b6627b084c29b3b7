use std::fmt;

use bytes::Bytes;

use crate::secrets::{KeptSecrets, Secrets};

/// The beginning of an answer's body, kept for a person who has to find out what happened.
///
/// It is not scrubbed before somebody looks.
#[derive(Clone)]
pub(crate) struct Snippet(Bytes);

impl Snippet {
    const MAX_BYTES: usize = 2048;

    /// More is kept than shown, because scrubbing shortens.
    pub(crate) const KEPT_BYTES: usize = 2 * Self::MAX_BYTES;

    pub(crate) fn new(body: &Bytes, secrets: &Secrets<'_>) -> Self {
        Self(match body.get(..Self::KEPT_BYTES) {
            None => body.clone(),
            // Copied, so that a long body is not kept alive for its first lines.
            Some(start) => Bytes::copy_from_slice(without_half_a_secret(start, secrets)),
        })
    }

    /// At most 2 KiB, without the request's secrets, what looks like a card number, secret fields and control
    /// characters.
    pub(crate) fn text(&self, secrets: &KeptSecrets) -> String {
        secrets.clean(&String::from_utf8_lossy(&self.0), Self::MAX_BYTES)
    }
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(start) = self;
        write!(f, "[{} bytes]", start.len())
    }
}

/// Half a secret at the cut would look like none.
fn without_half_a_secret<'a>(start: &'a [u8], secrets: &Secrets<'_>) -> &'a [u8] {
    let halves = secrets.as_slice().iter().filter_map(|secret| {
        let secret = secret.as_bytes();
        (1..secret.len()).rev().find(|&length| start.ends_with(&secret[..length]))
    });
    let start = &start[..start.len() - halves.max().unwrap_or(0)];
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-');
    let end = start.iter().rposition(|byte| !is_of_number(byte)).map_or(0, |last| last + 1);
    &start[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiKey, Endpoint};

    const KEY: &str = "sk_live_51H";

    fn endpoint() -> Endpoint {
        let key = ApiKey::new(KEY).expect("a good key");
        Endpoint::new("https://pay.example.com", key).expect("a good address")
    }

    fn text(body: String) -> String {
        let endpoint = endpoint();
        let secrets = Secrets::new(Vec::new(), &endpoint);
        Snippet::new(&Bytes::from(body), &secrets).text(&secrets.keep())
    }

    /// What is shown of a body whose beginning shrinks to next to nothing, and in which the cut is so many bytes behind
    /// the beginning of `tail`.
    fn at_the_cut(behind: usize, tail: &str) -> String {
        const AROUND: usize = r#"{"Cvv":"","a":""#.len();
        let shrinks = "9".repeat(Snippet::KEPT_BYTES - AROUND - behind);
        text(format!(r#"{{"Cvv":"{shrinks}","a":"{tail}","b":"{}"}}"#, "x".repeat(200)))
    }

    const WHAT_IS_BEFORE: &str = r#"{"Cvv":"[redacted]","a":""#;

    #[test]
    fn d64_a_card_number_at_the_cut_is_not_shown_in_half() {
        const CARD: &str = "4929 9073-9031 8794";
        for behind in 0..CARD.len() {
            assert_eq!(at_the_cut(behind, CARD), WHAT_IS_BEFORE, "{behind}");
        }
        for behind in CARD.len()..60 {
            let text = at_the_cut(behind, CARD);
            assert!(!text.contains("4929"), "{behind}: {text}");
        }
    }

    #[test]
    fn d64_a_known_secret_at_the_cut_is_not_shown_in_half() {
        for behind in 0..KEY.len() {
            assert_eq!(at_the_cut(behind, KEY), WHAT_IS_BEFORE, "{behind}");
        }
        for behind in KEY.len()..60 {
            let text = at_the_cut(behind, KEY);
            assert!(text.starts_with(&format!("{WHAT_IS_BEFORE}[redacted]")), "{behind}: {text}");
        }
    }

    #[test]
    fn d64_what_scrubbing_takes_away_is_made_up_for() {
        let body = format!(r#"{{"Cvv":"{}","a":"{}"}}"#, "9".repeat(1500), "x".repeat(4000));
        assert_eq!(text(body).len(), 2048);
    }

    #[test]
    fn d62_debug_shows_no_more_than_the_length() {
        let endpoint = endpoint();
        let snippet = Snippet::new(&Bytes::from_static(b"Ada"), &Secrets::new(Vec::new(), &endpoint));
        assert_eq!(format!("{snippet:?}"), "[3 bytes]");
    }

    #[test]
    fn d64_a_snippet_is_at_most_two_kibibytes_and_whole_letters() {
        let text = text("\u{20ac}".repeat(2000));
        assert_eq!(text.len(), 2046);
        assert!(text.chars().all(|letter| letter == '\u{20ac}'));
    }
}
