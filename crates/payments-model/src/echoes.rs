use crate::record_fields::WireValue;
use crate::scrub::Secrets;
use crate::{Field, RawJson};

/// The secrets of a request, which the service may send back in its answer.
///
/// Every answer is looked through for them, and to prepare a search would cost more than to read the record. So of the
/// fields that the interface has nothing is searched but what is in a wrong shape, texts with so many digits that a card or
/// an account can be among them, and of codes also texts in which a secret stands as it was sent. What the others say an
/// account may well say as well, such as the name of its holder, and it is wanted.
pub(crate) struct Echoes<'s> {
    secrets: &'s [&'s str],
    search: Option<Secrets>,
}

impl<'s> Echoes<'s> {
    pub(crate) fn of(secrets: &'s [&'s str]) -> Self {
        Self { secrets, search: None }
    }

    /// Replaces the field if it holds a secret.
    pub(crate) fn redact<T: WireValue>(&mut self, field: &mut Field<T>) {
        if is_suspect(field) {
            self.search_in(field);
        }
    }

    /// The same for a field in which nothing but a code is wanted.
    pub(crate) fn redact_code<T: WireValue>(&mut self, field: &mut Field<T>) {
        if is_suspect(field) || self.stand_plainly_in(field) {
            self.search_in(field);
        }
    }

    /// Whether one of them stands in the text, in any spelling.
    pub(crate) fn are_in(&mut self, text: &str) -> bool {
        self.search.get_or_insert_with(|| Secrets::new(self.secrets, SHORTEST)).stand_in(text)
    }

    fn search_in<T: WireValue>(&mut self, field: &mut Field<T>) {
        let is_echo = match field {
            Field::Absent | Field::Null => false,
            Field::Value(value) => value.text().is_some_and(|text| self.are_in(text)),
            Field::Unreadable(raw) => self.are_in(raw.text()),
        };
        if is_echo {
            *field = Field::Unreadable(RawJson::redacted());
        }
    }

    /// Looks at each place once, without the preparation that pays only for longer texts.
    fn stand_plainly_in<T: WireValue>(&self, field: &Field<T>) -> bool {
        let stands_in = |text: &str, secret: &str| {
            let (text, secret) = (text.as_bytes(), secret.as_bytes());
            secret.len() >= SHORTEST
                && text.windows(secret.len()).any(|window| window.eq_ignore_ascii_case(secret))
        };
        let text = field.value().and_then(WireValue::text);
        text.is_some_and(|text| self.secrets.iter().any(|secret| stands_in(text, secret)))
    }
}

fn is_suspect<T: WireValue>(field: &Field<T>) -> bool {
    match field {
        Field::Absent | Field::Null => false,
        Field::Value(value) => value.text().is_some_and(has_many_digits),
        Field::Unreadable(_) => true,
    }
}

fn has_many_digits(text: &str) -> bool {
    let digits_in = |bytes: &[u8]| bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    text.len() >= FEWEST_DIGITS && {
        // The processor counts such a block at once.
        let (blocks, rest) = text.as_bytes().as_chunks::<16>();
        blocks.iter().map(|block| digits_in(block)).sum::<usize>() + digits_in(rest) >= FEWEST_DIGITS
    }
}

/// Of a card number; few texts have as many.
const FEWEST_DIGITS: usize = 12;

/// A security code would strike amounts and counters that only look alike.
const SHORTEST: usize = 5;
