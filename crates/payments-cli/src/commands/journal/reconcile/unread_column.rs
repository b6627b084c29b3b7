//! A column that is not read, and whether it may be a status in words that this command does not know.

use std::collections::BTreeMap;

use payments_journal::ReportCell;

use super::cells::{self, Written};
use crate::commands::journal::status_words::{self, is_among, letters};

pub(super) struct UnreadColumn {
    pub(super) index: usize,
    heading: String,
    /// How often each word occurs; `None` if the column is no status.
    words: Option<BTreeMap<String, u64>>,
}

/// Chosen by this command: a processor has fewer statuses in one report, and more words are names or ids.
const MOST_WORDS: usize = 12;

/// Chosen by this command: so few words may be statuses even if each row has another.
const FEW_WORDS: usize = 3;

impl UnreadColumn {
    pub(super) fn new(index: usize, heading: &str) -> Self {
        let is_known = status_words::is_of_something_else(heading) || is_about_something_else(heading);
        Self { index, heading: heading.to_owned(), words: (!is_known).then(BTreeMap::new) }
    }

    /// Adds the cell of a row.
    pub(super) fn add(&mut self, cell: &str) {
        if let Some(words) = &mut self.words {
            *words.entry(cell.trim().to_owned()).or_default() += 1;
            if words.len() > MOST_WORDS + 1 {
                self.words = None;
            }
        }
    }

    /// Its words, if it may be a status: its rows differ, in words that are few and nothing else.
    pub(super) fn status_words(&self) -> Option<&BTreeMap<String, u64>> {
        let words = self.words.as_ref().filter(|words| words.len() > 1)?;
        let rows = words.values().sum::<u64>();
        let filled: Vec<_> = words.keys().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let is_id = filled.len() as u64 == rows && filled.iter().all(|word| is_mixed(word));
        let is_few = filled.len() <= FEW_WORDS.max(usize::try_from(rows / 2).unwrap_or(usize::MAX));
        let is_flag = status_words::is_success(&self.heading)
            && filled.iter().all(|word| status_words::is_yes_or_no(word));
        let is_else = filled.iter().all(|word| is_no_status(word));
        (is_few && filled.len() <= MOST_WORDS && !is_id && !is_flag && !is_else).then_some(words)
    }
}

/// Words of headings about a person, a place, a currency, a card or a product.
const NAMES: &str = "agent artikel bank brand bundesland channel ciudad city client cliente country currency devise email employee \
                     filiale funding gateway item kanal kunde kundin land language marke marque menge merchant method moneda \
                     name ort pa\u{ed}s pays person phone plan plz product producto produit produkt qty quantity region sku \
                     sprache stadt store telefon terminal town user ville w\u{e4}hrung zip";

/// How compounds of the same meaning end.
const NAME_ENDS: [&str; 6] = ["kunde", "land", "marke", "name", "stadt", "w\u{e4}hrung"];

const CARD_BRANDS: &str =
    "amex americanexpress diners dinersclub discover girocard jcb maestro mastercard unionpay visa";

const CURRENCIES: &str = "aed ars aud brl cad chf clp cny cop czk dkk eur gbp hkd huf idr ils inr jpy krw mxn myr nok nzd pen php \
                          pln ron sar sek sgd thb try twd uah usd vnd zar";

fn is_about_something_else(heading: &str) -> bool {
    let words = status_words::heading_words(heading);
    words.iter().any(|word| is_among(NAMES, word) || NAME_ENDS.iter().any(|end| word.ends_with(end)))
}

/// Whether a cell is a time, an amount, a currency, a card brand, a long number, an address or a sentence.
fn is_no_status(word: &str) -> bool {
    let letters = letters(word);
    let is_amount = word.contains(['.', ',']) && matches!(cells::amount(word), ReportCell::Read(_));
    // Codes of statuses are shorter.
    let is_number = letters.len() > 4 && letters.chars().all(|it| it.is_ascii_digit());
    is_amount
        || is_number
        || Written::parse(word).is_some()
        || is_among(CARD_BRANDS, &letters)
        || is_among(CURRENCIES, &letters)
        || word.contains(['@', '/'])
        || word.chars().count() > LONGEST_WORD
}

/// Chosen by this command: the words of a status are shorter.
const LONGEST_WORD: usize = 60;

/// Of letters and digits, as ids are.
fn is_mixed(word: &str) -> bool {
    word.chars().any(|it| it.is_ascii_digit()) && word.chars().any(char::is_alphabetic)
}
