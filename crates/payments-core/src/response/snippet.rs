use std::fmt;

use bytes::Bytes;

use super::secrets::Secrets;

/// The beginning of a response body, kept for a person who investigates the outcome.
#[derive(Clone)]
pub(crate) struct Snippet(Bytes);

impl Snippet {
    const MAX_BYTES: usize = 2048;

    /// The secrets are masked here if the body repeats them. What needs no secret to be found is masked on access. `is_cut`: the end
    /// of the body is missing.
    pub(crate) fn new(body: &Bytes, is_cut: bool, repeats_secrets: bool, secrets: &Secrets<'_>) -> Self {
        let start = body.get(..Self::MAX_BYTES).or_else(|| is_cut.then_some(body));
        let start = start.map(|start| secrets.without_half_a_secret(start));
        Self(match start {
            _ if repeats_secrets => masked(start.unwrap_or(body), secrets).into(),
            None => body.clone(),
            // Copied, so that the rest of a long body can be freed.
            Some(start) => Bytes::copy_from_slice(start),
        })
    }

    /// Whether it is HTML or XML.
    pub(crate) fn is_page(&self) -> bool {
        let body = self.0.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.0);
        body.trim_ascii_start().starts_with(b"<")
    }

    /// At most 2 KiB, masked.
    pub(crate) fn text(&self) -> String {
        masked(&self.0, &Secrets::default())
    }
}

fn masked(body: &[u8], secrets: &Secrets<'_>) -> String {
    secrets.mask(&String::from_utf8_lossy(body), Snippet::MAX_BYTES)
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(start) = self;
        write!(f, "[{} bytes]", start.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk_live_51H";

    fn snippet(body: impl Into<Bytes>) -> Snippet {
        let (body, secrets) = (body.into(), Secrets::new([KEY].into_iter(), None, &[], None));
        Snippet::new(&body, false, secrets.are_masked_in(&String::from_utf8_lossy(&body)), &secrets)
    }

    fn text(body: String) -> String {
        snippet(body).text()
    }

    #[test]
    fn a_secret_is_masked_when_the_body_is_read_d64() {
        let kept = snippet(format!("{{\"key\":\"{KEY}\"}}"));
        assert_eq!(kept.0, r#"{"key":"[redacted]"}"#);
    }

    /// The snippet of a body that is cut `behind` bytes after the beginning of `tail`.
    fn at_the_cut(behind: usize, tail: &str) -> String {
        let before = "x".repeat(Snippet::MAX_BYTES - behind - 1);
        text(format!("{before}\"{tail}\"{}", "x".repeat(200)))
    }

    #[test]
    fn half_a_card_number_at_the_cut_is_removed_d64() {
        for card in ["4929 9073-9031 8794", "4929.9073.9031.8794"] {
            for behind in 0..card.len() {
                assert!(at_the_cut(behind, card).ends_with("x\""), "{behind}");
            }
            for behind in card.len()..60 {
                assert!(!at_the_cut(behind, card).contains("4929"), "{behind}");
            }
        }
    }

    #[test]
    fn half_a_known_secret_at_the_cut_is_removed_d64() {
        for behind in 0..KEY.len() {
            assert!(at_the_cut(behind, KEY).ends_with("x\""), "{behind}");
        }
        for behind in KEY.len()..60 {
            let text = at_the_cut(behind, KEY);
            assert!(text.contains("x\"[redacted]"), "{behind}: {text}");
        }
    }

    #[test]
    fn debug_shows_only_the_length_d62() {
        let snippet = snippet("Ada");
        assert_eq!(format!("{snippet:?}"), "[3 bytes]");
    }

    #[test]
    fn a_snippet_is_at_most_two_kibibytes_of_whole_characters_d64() {
        let text = text("\u{20ac}".repeat(2000));
        assert_eq!(text.len(), 2046);
        assert!(text.chars().all(|letter| letter == '\u{20ac}'));
    }
}
