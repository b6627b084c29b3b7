use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use payments_model::mask;
use payments_model::unversioned::{Envelope, redact, without_half_a_number};
use zeroize::Zeroizing;

/// The secrets of a call, to be masked in the texts that are kept of it: those of the request and the API key. They are copied
/// once for each call, shared by everything that is kept of it, and set to zero when the last part is dropped.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Option<Arc<Shared>>);

struct Shared {
    of_request: Vec<Zeroizing<String>>,
    api_key: HeaderValue,
}

impl Secrets {
    pub(crate) fn new(of_request: &[&str], api_key: &HeaderValue) -> Self {
        let of_request = of_request.iter().map(|secret| Zeroizing::new((*secret).to_owned())).collect();
        Self(Some(Arc::new(Shared { of_request, api_key: api_key.clone() })))
    }

    fn api_key(&self) -> Option<&str> {
        self.0.as_ref()?.api_key.to_str().ok()
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let of_request = self.0.iter().flat_map(|shared| &shared.of_request);
        of_request.map(|secret| secret.as_str()).chain(self.api_key())
    }

    /// The id without the API key and this card number, if it contains one of them. Nothing else is replaced: by chance, a security
    /// code occurs in more than one of a hundred random ids.
    pub(crate) fn redacted_id(&self, id: &str, card_number: Option<&str>) -> Option<String> {
        let secrets: Vec<&str> = card_number.into_iter().chain(self.api_key()).collect();
        match redact(id, &secrets) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }

    /// Whether a secret occurs in a text that cannot be masked, such as an id. Secrets that are short enough to occur by chance do not
    /// count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.iter().any(|secret| matches!(redact(text, &[secret]), Cow::Owned(_)))
    }

    /// Returns the text [masked](mask), on one line and cut to this length.
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

    /// The same for a message, which may already be cut.
    pub(crate) fn mask_message(&self, text: &str, max_bytes: usize) -> String {
        let longest = Envelope::MAX_JOINED_CHARACTERS;
        let is_cut = text.len() >= longest && text.chars().count() == longest;
        let length = if is_cut { self.without_half_a_secret(text.as_bytes()).len() } else { text.len() };
        self.mask(&text[..text.floor_char_boundary(length)], max_bytes)
    }

    /// Wraps a value so that its `Debug` is masked.
    pub(crate) fn masked_debug<'a>(&'a self, value: &'a dyn fmt::Debug) -> impl fmt::Debug + 'a {
        MaskedDebug { value, secrets: self }
    }

    /// Removes part of a secret from the end of a text that was cut, because masking would not recognize it.
    pub(crate) fn without_half_a_secret<'a>(&self, start: &'a [u8]) -> &'a [u8] {
        let halves = self.iter().filter_map(|secret| {
            let secret = secret.as_bytes();
            (1..secret.len()).rev().find(|&length| start.ends_with(&secret[..length]))
        });
        without_half_a_number(&start[..start.len() - halves.max().unwrap_or(0)])
    }

    /// Returns a `status_code` masked. A short number is kept even if it equals a secret: a security code of 400 must not hide the
    /// service's `status_code` 400.
    pub(crate) fn mask_code(&self, text: &str, max_bytes: usize) -> String {
        let is_short_number =
            text.len() < MIN_DISTINCTIVE_BYTES && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short_number { text.to_owned() } else { self.mask(text, max_bytes) }
    }
}

/// A shorter secret, such as a security code or an expiry, occurs by chance.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// Control characters, and separators and direction marks that can change how a log line looks.
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
