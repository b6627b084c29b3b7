use std::fmt;

use bytes::Bytes;

use crate::secrets::{KeptSecrets, Secrets};

/// The beginning of an answer's body, kept for a person who has to find out what happened.
///
/// It is scrubbed when somebody looks, so that the calls that nobody looks into do not pay for it.
#[derive(Clone)]
pub(crate) struct Snippet {
    start: Bytes,
    secrets: KeptSecrets,
}

impl Snippet {
    const MAX_BYTES: usize = 2048;

    /// More is kept than shown, because scrubbing shortens.
    const KEPT_BYTES: usize = 2 * Self::MAX_BYTES;

    pub(crate) fn new(body: &Bytes, secrets: &Secrets<'_>) -> Self {
        let start = match body.get(..Self::KEPT_BYTES) {
            None => body.clone(),
            // Copied, so that a long body is not kept alive for its first lines.
            Some(start) => Bytes::copy_from_slice(without_half_a_secret(start, secrets)),
        };
        Self { start, secrets: secrets.keep() }
    }

    /// At most 2 KiB, without the request's secrets, what looks like a card number, secret fields and control
    /// characters.
    pub(crate) fn text(&self) -> String {
        self.secrets.clean(&String::from_utf8_lossy(&self.start), Self::MAX_BYTES)
    }
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, secrets: _ } = self;
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
    use crate::ApiKey;

    const KEY: &str = "sk_live_51H";

    fn text(body: String) -> String {
        let key = ApiKey::new(KEY).expect("a good key");
        Snippet::new(&Bytes::from(body), &Secrets::new(Vec::new(), &key)).text()
    }

    /// A body whose beginning shrinks to nothing, so that what stands at the cut is shown, followed by `tail`.
    fn at_the_cut(before: usize, tail: &str) -> String {
        let shrinks = "9".repeat(Snippet::KEPT_BYTES - 40 - before);
        format!(r#"{{"Cvv":"{shrinks}","a":"{tail}","b":"{}"}}"#, "x".repeat(200))
    }

    #[test]
    fn d64_a_card_number_at_the_cut_is_not_shown_in_half() {
        for before in 0..60 {
            let text = text(at_the_cut(before, "4929 9073 9031 8794"));
            assert!(!text.contains("4929"), "{before}: {text}");
        }
    }

    #[test]
    fn d64_a_known_secret_at_the_cut_is_not_shown_in_half() {
        for before in 0..60 {
            let text = text(at_the_cut(before, KEY));
            assert!(!text.contains("sk_"), "{before}: {text}");
        }
    }

    #[test]
    fn d64_a_snippet_is_at_most_two_kibibytes_and_whole_letters() {
        let text = text("\u{20ac}".repeat(2000));
        assert_eq!(text.len(), 2046);
        assert!(text.chars().all(|letter| letter == '\u{20ac}'));
    }
}
