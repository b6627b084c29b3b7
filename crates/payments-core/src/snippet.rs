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
        // Copied, so that a long body is not kept alive for its first lines.
        let kept = if body.len() > 2 * Self::MAX_BYTES {
            Bytes::copy_from_slice(&body[..2 * Self::MAX_BYTES])
        } else {
            body.clone()
        };
        Self::Unseen(kept)
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

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(Snippet::MAX_BYTES)]
}
