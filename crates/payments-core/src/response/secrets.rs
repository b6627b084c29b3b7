use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use payments_model::unversioned::{
    Message, contains_long_secret, contains_secret, redact, without_half_a_secret,
};
use payments_model::{CardNumber, OtherFields, TokenId, mask};

/// The secrets of a call, to be masked in the texts that are kept of it. They are borrowed, so nothing that outlives the call has a
/// copy.
#[derive(Default)]
pub(crate) struct Secrets<'a> {
    /// The API keys, the card number, the other secrets of the request, and its token.
    all: Vec<&'a str>,
    /// How many of them, from the first, are replaced in the ids of a success.
    replaced_in_ids: usize,
    /// How many of them, from the first, may be in no other id. A service may derive an id from a token.
    hidden_in_ids: usize,
    /// The names of the request's account fields.
    account_names: Vec<&'a str>,
}

impl<'a> Secrets<'a> {
    pub(crate) fn new(
        api_keys: impl Iterator<Item = &'a str>,
        card_number: Option<&'a CardNumber>,
        others: &[&'a str],
        token: Option<&'a TokenId>,
    ) -> Self {
        // A short word or number, such as 400, occurs by chance.
        let is_no_word = |token: &&str| {
            let has = |is: fn(&u8) -> bool| token.as_bytes().iter().any(is);
            token.len() >= MIN_DISTINCTIVE_BYTES || has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        };
        let mut all = Vec::with_capacity(others.len() + 3);
        all.extend(api_keys);
        all.extend(card_number.map(CardNumber::expose_secret));
        let replaced_in_ids = all.len();
        all.extend(others);
        let hidden_in_ids = all.len();
        all.extend(token.map(TokenId::as_str).filter(is_no_word));
        Self { all, replaced_in_ids, hidden_in_ids, account_names: Vec::new() }
    }

    pub(crate) fn with_account_names(self, account_names: Vec<&'a str>) -> Self {
        Self { account_names, ..self }
    }

    /// Whether masking would replace one of them in this text.
    pub(crate) fn are_masked_in(&self, text: &str) -> bool {
        contains_secret(text, &self.all)
    }

    /// The id without the API key and the card number, if it contains one of them. Nothing else is replaced: by chance, a security
    /// code occurs in more than one of a hundred random ids.
    pub(crate) fn redacted_id(&self, id: &str) -> Option<String> {
        match redact(id, &self.all[..self.replaced_in_ids]) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }

    /// Whether a secret occurs in a text that cannot be masked, such as an id. Secrets that are short enough to occur by chance do not
    /// count.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        contains_long_secret(text, &self.all[..self.hidden_in_ids])
    }

    /// The text without the secrets that [are in](Self::are_in) it.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        redact(text, &self.all[..self.hidden_in_ids])
    }

    /// Redacts the account fields of the request in fields of a response, and what the secrets [are in](Self::are_in).
    pub(crate) fn redact_fields(&self, fields: &mut OtherFields) {
        fields.redact(&self.account_names, &self.all[..self.hidden_in_ids]);
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
    pub(crate) fn mask_message(
        &self,
        Message { text, is_cut, .. }: &Message<'_>,
        max_bytes: usize,
    ) -> String {
        let length = if *is_cut { self.without_half_a_secret(text.as_bytes()).len() } else { text.len() };
        self.mask(&text[..text.floor_char_boundary(length)], max_bytes)
    }

    /// The `Debug` of a value in both forms, masked, if it shows one of the secrets.
    pub(crate) fn masked_debug(&self, value: &dyn fmt::Debug) -> Option<Arc<[String; 2]>> {
        let forms = [format!("{value:?}"), format!("{value:#?}")];
        let is_shown = forms.iter().any(|form| self.are_masked_in(form));
        is_shown.then(|| Arc::new(forms.map(|form| mask(&form, &self.all).into_owned())))
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
    let changes_a_line = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    changes_a_line || character.is_control()
}
