use std::fmt;

use bytes::Bytes;

use super::secrets::Secrets;

/// The beginning of a response body, kept for a person who investigates the outcome. It is masked on access.
#[derive(Clone, Default)]
pub(crate) struct Snippet(Bytes);

impl Snippet {
    const MAX_BYTES: usize = 2048;

    pub(crate) fn new(body: &Bytes, secrets: &Secrets) -> Self {
        Self(match body.get(..Self::MAX_BYTES) {
            None => body.clone(),
            // Copied, so that the rest of a long body can be freed.
            Some(start) => Bytes::copy_from_slice(secrets.without_half_a_secret(start)),
        })
    }

    /// Whether it is HTML or XML.
    pub(crate) fn is_page(&self) -> bool {
        let body = self.0.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.0);
        body.trim_ascii_start().starts_with(b"<")
    }

    /// At most 2 KiB, masked.
    pub(crate) fn text(&self, secrets: &Secrets) -> String {
        secrets.mask(&String::from_utf8_lossy(&self.0), Self::MAX_BYTES)
    }
}

impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(start) = self;
        write!(f, "[{} bytes]", start.len())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const KEY: &str = "sk_live_51H";

    fn secrets() -> Secrets {
        Secrets::new(&[], &HeaderValue::from_static(KEY))
    }

    fn text(body: String) -> String {
        Snippet::new(&Bytes::from(body), &secrets()).text(&secrets())
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
        let snippet = Snippet::new(&Bytes::from_static(b"Ada"), &secrets());
        assert_eq!(format!("{snippet:?}"), "[3 bytes]");
    }

    #[test]
    fn a_snippet_is_at_most_two_kibibytes_of_whole_characters_d64() {
        let text = text("\u{20ac}".repeat(2000));
        assert_eq!(text.len(), 2046);
        assert!(text.chars().all(|letter| letter == '\u{20ac}'));
    }
}
