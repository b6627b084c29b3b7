use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use payments_model::unversioned::{
    Envelope, contains_long_secret, contains_secret, redact, without_half_a_secret,
};
use payments_model::{TokenId, mask};

/// The secrets of a call, to be masked in the texts that are kept of it: those of the request, its token and the API key. They are
/// borrowed, so nothing that outlives the call has a copy.
#[derive(Default)]
pub(crate) struct Secrets<'a> {
    /// The token is the last one.
    all: Vec<&'a str>,
    api_key: Option<&'a str>,
    has_token: bool,
}

impl<'a> Secrets<'a> {
    pub(crate) fn new(of_request: Vec<&'a str>, api_key: &'a HeaderValue) -> Self {
        let (mut all, api_key) = (of_request, api_key.to_str().ok());
        all.extend(api_key);
        Self { all, api_key, has_token: false }
    }

    /// Masks this token in texts too. Ids may contain it, because a service may derive one from the other.
    pub(crate) fn with_token(mut self, token: Option<&'a TokenId>) -> Self {
        // A short word or number, such as 400, occurs by chance.
        let is_no_word = |token: &&str| {
            let has = |is: fn(&u8) -> bool| token.as_bytes().iter().any(is);
            token.len() >= MIN_DISTINCTIVE_BYTES || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        };
        let token = token.map(TokenId::as_str).filter(is_no_word);
        self.has_token = token.is_some();
        self.all.extend(token);
        self
    }

    /// Whether masking would replace one of them in this text.
    pub(crate) fn are_masked_in(&self, text: &str) -> bool {
        contains_secret(text, &self.all)
    }

    /// The id without the API key and this card number, if it contains one of them. Nothing else is replaced: by chance, a security
    /// code occurs in more than one of a hundred random ids.
    pub(crate) fn redacted_id(&self, id: &str, card_number: Option<&str>) -> Option<String> {
        match redact(id, &[card_number, self.api_key].map(Option::unwrap_or_default)) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }

    /// Whether a secret occurs in a text that cannot be masked, such as an id. Secrets that are short enough to occur by chance do not
    /// count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        let in_ids = self.all.len() - usize::from(self.has_token);
        contains_long_secret(text, &self.all[..in_ids])
    }

    /// Returns the text [masked](mask), on one line and cut to this length.
    pub(crate) fn mask(&self, text: &str, max_bytes: usize) -> String {
        let kept = match text.as_bytes().get(..max_bytes) {
            None => text,
            Some(start) => &text[..text.floor_char_boundary(self.without_half_a_secret(start).len())],
        };
        let text = mask(kept, &self.all);
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

    /// The `Debug` of a value, if it shows one of the secrets.
    pub(crate) fn debug_of(&self, value: &dyn fmt::Debug) -> MaskedDebug {
        let forms = [format!("{value:?}"), format!("{value:#?}")];
        if !forms.iter().any(|form| self.are_masked_in(form)) {
            return MaskedDebug::default();
        }
        MaskedDebug(Some(Arc::new(forms.map(|form| mask(&form, &self.all).into_owned()))))
    }

    /// Removes part of a secret from the end of a text that was cut, because masking would not recognize it.
    pub(crate) fn without_half_a_secret<'t>(&self, start: &'t [u8]) -> &'t [u8] {
        without_half_a_secret(start, &self.all)
    }

    /// Returns a `status_code` masked. A short number is kept even if it equals a secret: a security code of 400 must not hide the
    /// service's `status_code` 400.
    pub(crate) fn mask_code(&self, text: &str, max_bytes: usize) -> String {
        let is_short_number =
            text.len() < MIN_DISTINCTIVE_BYTES && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_short_number { text.to_owned() } else { self.mask(text, max_bytes) }
    }
}

/// A shorter secret, such as a security code or an expiry, occurs by chance, and a shorter token may be a word.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// Control characters, and separators and direction marks that can change how a log line looks.
fn is_unprintable(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The `Debug` of a value in both forms, masked when the value was read, if it shows a secret: no secret is kept for later.
#[derive(Clone, Default)]
pub(crate) struct MaskedDebug(Option<Arc<[String; 2]>>);

impl MaskedDebug {
    /// What to show for the value. Card-like numbers are masked too.
    pub(crate) fn shown<'a>(&'a self, value: &'a dyn fmt::Debug) -> impl fmt::Debug + 'a {
        Shown { value, forms: self.0.as_deref() }
    }
}

struct Shown<'a> {
    value: &'a dyn fmt::Debug,
    forms: Option<&'a [String; 2]>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, forms } = self;
        match forms {
            Some(forms) => f.write_str(&forms[usize::from(f.alternate())]),
            None if f.alternate() => f.write_str(&mask(&format!("{value:#?}"), &[])),
            None => f.write_str(&mask(&format!("{value:?}"), &[])),
        }
    }
}
