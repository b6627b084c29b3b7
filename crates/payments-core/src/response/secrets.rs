use std::fmt;

use payments_model::mask;
use zeroize::Zeroizing;

use crate::Endpoint;

/// What no text kept of a response may show: the secrets of its request, and the API key. A copy, set to zero on drop.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    of_request: Vec<Zeroizing<String>>,
    /// Has the key.
    endpoint: Option<Endpoint>,
}

impl Secrets {
    pub(crate) fn new(of_request: &[&str], endpoint: Option<&Endpoint>) -> Self {
        let of_request = of_request.iter().map(|secret| Zeroizing::new((*secret).to_owned())).collect();
        Self { of_request, endpoint: endpoint.cloned() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let key = self.endpoint.iter().map(|endpoint| endpoint.api_key().expose());
        self.of_request.iter().map(|secret| secret.as_str()).chain(key)
    }

    /// Whether one of them stands in a text that must be shown as it is or not at all, such as an id. Those that are so short
    /// that an id may hold them by chance do not count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.iter().any(|secret| secret.len() >= SHORTEST_TOLD_BY_ITSELF && text.contains(secret))
    }

    /// The text [masked](mask), as one line of a log, cut to this length.
    pub(crate) fn mask(&self, text: &str, max_bytes: usize) -> String {
        let kept = match text.as_bytes().get(..max_bytes) {
            None => text,
            Some(start) => &text[..text.floor_char_boundary(self.without_half_a_secret(start).len())],
        };
        let secrets: Vec<&str> = self.iter().collect();
        let text = mask(kept, &secrets);
        let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let mut text = if is_plain { text.into_owned() } else { text.replace(is_unprintable, " ") };
        text.truncate(text.floor_char_boundary(max_bytes));
        text
    }

    /// What a value's `Debug` writes, masked.
    pub(crate) fn masked_debug<'a>(&'a self, value: &'a dyn fmt::Debug) -> impl fmt::Debug + 'a {
        MaskedDebug { value, secrets: self }
    }

    /// The beginning of a text without half a secret at the cut, which would look like none.
    pub(crate) fn without_half_a_secret<'a>(&self, start: &'a [u8]) -> &'a [u8] {
        let halves = self.iter().filter_map(|secret| {
            let secret = secret.as_bytes();
            (1..secret.len()).rev().find(|&length| start.ends_with(&secret[..length]))
        });
        let start = &start[..start.len() - halves.max().unwrap_or(0)];
        let is_of_number = |byte: &u8| byte.is_ascii_digit() || b" -./_".contains(byte);
        let end = start.iter().rposition(|byte| !is_of_number(byte)).map_or(0, |last| last + 1);
        &start[..end]
    }

    /// A `status_code` masked. A number too short to be anything but a code is kept whatever it equals: a security code of 400
    /// must not hide that the service said 400.
    pub(crate) fn mask_code(&self, text: &str, max_bytes: usize) -> String {
        let is_short_number =
            text.len() < SHORTEST_TOLD_BY_ITSELF && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short_number { text.to_owned() } else { self.mask(text, max_bytes) }
    }
}

/// Shorter ones look like too much else: a security code, an expiry.
const SHORTEST_TOLD_BY_ITSELF: usize = 8;

/// Control characters, and the separators and direction marks that can make a log line look like another.
fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

struct MaskedDebug<'a> {
    value: &'a dyn fmt::Debug,
    secrets: &'a Secrets,
}

impl fmt::Debug for MaskedDebug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, secrets } = self;
        let shown = if f.alternate() { format!("{value:#?}") } else { format!("{value:?}") };
        f.write_str(&mask(&shown, &secrets.iter().collect::<Vec<_>>()))
    }
}
