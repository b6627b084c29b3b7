use std::iter::repeat_n;
use std::ops::Range;

use super::escapes::{Decoder, HTML, JSON, URL};

/// A text as one of its readers would have it, and where each of its characters stands in the original.
///
/// Whoever echoes a secret may do so in JSON, in a link or in a page, or in one within the other, and the text
/// does not say which: `%49` in a message may be the letter `I`, or a percent sign before a card number. So
/// every way to read it is tried by itself.
pub(super) struct Reading {
    text: String,
    /// For every byte of `text` the place in the original where its character begins, and where the last ends.
    places: Vec<usize>,
}

impl Reading {
    /// Visits the text as it stands and what becomes of it when each kind of escape is undone, also on top of
    /// another: 13 readings of a text that has escapes of every kind within each other, and one of most texts.
    pub(super) fn for_each_of(text: &str, visit: &mut dyn FnMut(&Self)) {
        let as_it_stands = Self { text: text.to_owned(), places: (0..=text.len()).collect() };
        as_it_stands.visit_with_layers(MOST_LAYERS, visit);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The place in the original of a range of characters of this reading.
    pub(super) fn place_of(&self, range: Range<usize>) -> Range<usize> {
        self.places[range.start]..self.places[range.end]
    }

    /// Only the readings between the original and this one are held at a time.
    fn visit_with_layers(&self, layers: usize, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        if layers == 0 {
            return;
        }
        for decoder in [JSON, URL, HTML] {
            if let Some(undone) = self.undo(decoder) {
                undone.visit_with_layers(layers - 1, visit);
            }
        }
    }

    /// This reading with one kind of escape undone; `None` if it has none.
    fn undo(&self, decoder: Decoder) -> Option<Self> {
        let mut undone = None;
        let mut at = self.text.find(decoder.lead)?;
        let mut copied_to = 0;
        loop {
            if let Some((character, length)) = (decoder.decode)(&self.text[at..]) {
                let undone = undone.get_or_insert_with(|| Self {
                    text: String::with_capacity(self.text.len()),
                    places: Vec::with_capacity(self.text.len() + 1),
                });
                undone.copy(self, copied_to..at);
                let printable = if is_unprintable(character) { ' ' } else { character };
                undone.text.push(printable);
                undone.places.extend(repeat_n(self.places[at], printable.len_utf8()));
                at += length;
                copied_to = at;
            } else {
                at += decoder.lead.len_utf8();
            }
            match self.text[at..].find(decoder.lead) {
                Some(ahead) => at += ahead,
                None => break,
            }
        }
        let mut undone = undone?;
        undone.copy(self, copied_to..self.text.len());
        undone.places.extend(self.places.last());
        Some(undone)
    }

    fn copy(&mut self, from: &Self, range: Range<usize>) {
        self.text.push_str(&from.text[range.clone()]);
        self.places.extend_from_slice(&from.places[range]);
    }
}

/// Control characters, and the separators and direction marks that can make a log line look like another.
pub(super) fn is_unprintable(character: char) -> bool {
    let rearranges = '\u{2028}'..='\u{202e}';
    let isolates = '\u{2066}'..='\u{2069}';
    character.is_control() || rearranges.contains(&character) || isolates.contains(&character)
}

/// A page in a JSON string and a link in a page are seen in practice; three layers are not.
const MOST_LAYERS: usize = 2;

#[cfg(test)]
mod tests {
    use super::Reading;

    fn readings(text: &str) -> Vec<String> {
        let mut readings = Vec::new();
        Reading::for_each_of(text, &mut |reading| readings.push(reading.text().to_owned()));
        readings
    }

    #[test]
    fn a_text_is_read_as_it_stands_and_without_its_escapes() {
        assert_eq!(readings("plain, 100 % & C:\\"), ["plain, 100 % & C:\\"]);
        assert_eq!(readings(r"a\nb"), [r"a\nb", "a b"]);
        assert_eq!(readings(r"a\u0000\u202eb"), [r"a\u0000\u202eb", "a  b"]);
        assert_eq!(readings(r"\\u0027"), [r"\\u0027", r"\u0027", "'"]);
        assert_eq!(readings("%2541"), ["%2541", "%41", "A"]);
        assert_eq!(readings("%252541"), ["%252541", "%2541", "%41"], "no third layer");
        assert_eq!(readings(r"\u0025%41"), [r"\u0025%41", "%%41", "%A", r"\u0025A", "%A"]);
        assert_eq!(readings(r"\u0026#39;"), [r"\u0026#39;", "&#39;", "'"]);
    }

    #[test]
    fn what_was_found_in_a_reading_has_its_place_in_the_original() {
        let text = r"ä\u00e4\\u0034b";
        let mut found = Vec::new();
        Reading::for_each_of(text, &mut |reading| {
            if let Some(at) = reading.text().find('4').filter(|_| reading.text().ends_with("4b")) {
                found.push((reading.text().to_owned(), &text[reading.place_of(at..at + 1)]));
            }
        });
        let expected = [(text, "4"), (r"ää\u0034b", "4"), ("ää4b", r"\\u0034")];
        assert_eq!(found, expected.map(|(reading, place)| (reading.to_owned(), place)));
    }
}
