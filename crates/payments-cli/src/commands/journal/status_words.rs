//! Words and columns with which reports and people say that a payment was made, or was not made or not kept.

use std::collections::BTreeMap;

use payments_journal::{ReportCell, RowStatus};
use payments_model::mask;

use super::cells::{self, Written};
use crate::args::journal::ReconcileArguments;
use crate::failure::Failure;
use crate::style::for_terminal;

/// Of a payment that was made and given back, or will be; and of one that was not made, or not yet.
const AGAINST: [&str; 2] = [
    "annulled canceled cancelation cancellation cancelled chargeback chargedback dispute disputed refund refunded refunds \
    reversal reversed undone void voided",
    "abandoned blocked decline declined denied error expired fail failed failure pending refused rejected unapproved unpaid \
    unsuccessful",
];

/// A word in a cell that contradicts a payment that was made and kept.
pub(super) fn against_a_charge(cell: &str) -> Option<&'static str> {
    words(cell).find_map(|word| AGAINST.into_iter().flat_map(|words| words.split(' ')).find(|it| *it == word))
}

/// Whether such a word is the whole cell.
pub(super) fn is_only_against(cell: &str) -> bool {
    against_a_charge(cell).is_some_and(|word| cell.trim().eq_ignore_ascii_case(word))
}

/// Whether a status cannot mean that money moved, whatever a person says. A pending one can.
pub(super) fn is_no_charge(status: &str) -> bool {
    let is_against = |word: String| word != "pending" && against_a_charge(&word).is_some();
    let mut said = words(status);
    let is_denied = match said.next().as_deref() {
        Some("kein" | "keine" | "never" | "nicht" | "not") => true,
        // A no-show is charged.
        Some("no" | "non") => said.next().is_some_and(|word| is_among(CHARGE, &word)),
        _ => false,
    };
    is_denied || words(status).any(is_against)
}

/// Words of a status that can only mean that the money moved, or will: two lists are easily mixed up. The last ones are the
/// commonest of other languages.
const CHARGE: &str = "approved captured paid settled succeeded success successful betaald bezahlt gebucht pagado pagato pay\u{e9}";

/// The commonest words of other languages for a payment that was declined.
const DECLINE: &str = "abgelehnt geweigerd rechazado refus\u{e9} rifiutato";

/// Whether a status cannot mean that it was declined, whatever a person says.
fn is_charge(status: &str) -> bool {
    let mut said = words(status).take_while(|word| !is_no(word));
    !is_no_charge(status) && said.any(|word| is_among(CHARGE, &word))
}

fn words(cell: &str) -> impl Iterator<Item = String> {
    let words = cell.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

/// Whether a column says what became of a payment, in words that only a person knows. The status of a customer or an address says
/// nothing about it, and what went wrong has a column of its own.
pub(super) fn is_status_column(heading: &str) -> bool {
    let letters = letters(heading);
    let names = ["decision", "disposition", "estado", "outcome", "response", "result", "status", "statut"];
    let is_misspelt_verdict = letters.len() <= 9 && letters.starts_with("ver") && letters.ends_with('t');
    let is_one = has_part(&letters, &names)
        || letters.ends_with("state")
        || letters.ends_with("stato")
        || is_misspelt_verdict;
    is_one
        && !has_part(&letters, &SOMETHING_ELSE)
        && !has_part(&letters, &CHECK)
        && !has_stem_of(&heading_words(heading), TROUBLE)
}

/// The word, or yes or no, by which a cell says that a payment was not made or not kept. A column of what went wrong, such as
/// `Failure Message`, says so unless the cell is empty, zero or a no; a column of a success, such as `Paid`, says so if it is.
/// Elsewhere one of the words says so, but in a remark, or about what may be done, only if it is the whole cell.
pub(super) fn against_in_column(heading: &str, cell: &str) -> Option<&'static str> {
    let (letters, heading) = (letters(heading), heading_words(heading));
    let has = |names: &[&str]| heading.iter().any(|word| names.contains(&&**word));
    if has_part(&letters, &CHECK) {
        return None;
    }
    let ends = |end: &str| heading.iter().any(|word| word.ends_with(end));
    let is_kind = has(&KIND) || ["sart", "typ", "type"].into_iter().any(ends);
    // A credit card is one kind of payment.
    let is_of_card =
        has_part(&letters, &["account", "card", "carte", "funding", "karte", "payment", "tarjeta", "tender"]);
    let kind = OTHER_KINDS.split(' ').find(|kind| *kind == self::letters(cell));
    if let Some(kind) = kind.filter(|_| is_kind && !is_of_card) {
        return Some(kind);
    }
    let word = against_a_charge(cell);
    // `Refund by` is a deadline, and `Refunded by` a person.
    let is_possibility = ends("able") || has(&POSSIBILITY) || (has(&["by"]) && !ends("ed"));
    let is_charged_back = has_part(&letters, &["chargeback", "chargedback"]);
    let is_trouble = (is_charged_back || has_stem_of(&heading, TROUBLE)) && !is_possibility;
    if has_part(&letters, &SOMETHING_ELSE) || is_possibility || (has_part(&letters, &REMARK) && !is_trouble) {
        return word.filter(|_| is_only_against(cell));
    }
    if is_trouble {
        return (!is_no_trouble(cell)).then_some(word.unwrap_or("yes"));
    }
    let is_success = has_stem_of(&heading, SUCCESS) && !has(&OF_A_SUCCESS);
    // A sentence such as `not yet` is one.
    word.or_else(|| (is_success && (is_nothing(cell) || begins_with_no(cell))).then_some("no"))
}

/// Whether the heading of a column that is not read says that it is no status: its cells are read by [`against_in_column`], or are
/// about something else.
fn is_of_something_else(heading: &str) -> bool {
    let (letters, heading) = (letters(heading), heading_words(heading));
    let has = |names: &[&str]| heading.iter().any(|word| names.contains(&&**word));
    [&CHECK[..], &SOMETHING_ELSE, &REMARK].into_iter().any(|parts| has_part(&letters, parts))
        || has_stem_of(&heading, TROUBLE)
        || has(&POSSIBILITY)
        || has(&["credit", "debit", "kind", "type"])
        || heading.iter().any(|word| word.ends_with("able") || is_among(NAMES, word))
        || heading.iter().any(|word| NAME_ENDS.iter().any(|end| word.ends_with(end)))
}

fn is_yes_or_no(cell: &str) -> bool {
    is_nothing(cell) || is_yes(cell)
}

fn is_yes(cell: &str) -> bool {
    ["1", "ja", "oui", "s\u{ed}", "t", "true", "y", "yes"].contains(&&*letters(cell))
}

/// As of a discount or a tip, where there is none.
fn is_number_or_none(cell: &str) -> bool {
    let letters = letters(cell);
    ["na", "none", "null"].contains(&&*letters) || letters.chars().all(|it| it.is_ascii_digit())
}

/// Whether a sentence begins with a no, such as `Not found`.
pub(super) fn begins_with_no(cell: &str) -> bool {
    words(cell).next().is_some_and(|word| is_no(&word))
}

/// Whether a word is in a list.
pub(super) fn is_among(words: &str, word: &str) -> bool {
    words.split(' ').any(|it| it == word)
}

fn is_no(word: &str) -> bool {
    ["kein", "keine", "nein", "never", "nicht", "no", "non", "not"].contains(&word)
}

/// Words of a heading about what kind of movement a row is. Which way money goes in a credit, only a person knows: they can name the
/// column as the status.
const KIND: [&str; 7] = ["art", "credit", "debit", "direction", "kind", "operation", "tipo"];

/// Kinds of movements that are no payment, or may be none.
const OTHER_KINDS: &str = "achreturn adjustment auth authonly authorisation authorization authorizationonly autorisierung c cr \
                           credit erstattung fee gutschrift payout preauth preauthorization reembolso remboursement return \
                           returned rimborso r\u{fc}ckerstattung r\u{fc}cklastschrift storno verification";

/// Words of a heading about what may be done, and not about what was done.
const POSSIBILITY: [&str; 4] = ["deadline", "policy", "until", "url"];

/// Words of a heading about when and by whom a success was, which may be empty. A pay-out is another payment.
const OF_A_SUCCESS: [&str; 7] = ["at", "by", "code", "date", "id", "out", "paidout"];

/// The words of a heading: they end at signs, at white space, and before a capital letter as in `FailureMessage` and `TXNRefunded`.
fn heading_words(heading: &str) -> Vec<String> {
    let (mut apart, mut last) = (String::new(), ' ');
    let mut letters = heading.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_first = last.is_lowercase() || letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && is_first {
            apart.push(' ');
        }
        apart.push(letter);
        last = letter;
    }
    words(&apart).collect()
}

fn has_stem_of(heading: &[String], stems: &str) -> bool {
    heading.iter().any(|word| stems.split(' ').any(|stem| word.starts_with(stem)))
}

/// How words of a heading begin whose cells say what went wrong.
const TROUBLE: &str = "cancel chargeback declin denied disput error fail refund refus reject revers void";

/// How words of a heading begin whose cells say that the payment was made. An authorization is made before it is captured and
/// settled.
const SUCCESS: &str = "accept approv authori complet paid succe";

/// How words of a heading begin whose cells say that an authorized payment was taken.
const CAPTURE: &str = "captur settl";

/// Parts of the heading of a check of a card, which can fail although the payment is made.
const CHECK: [&str; 5] = ["3d", "avs", "cvc", "cvv", "secure"];

/// Parts of a heading about something else than the payment.
const SOMETHING_ELSE: [&str; 7] =
    ["address", "billing", "country", "customer", "fulfil", "order", "shipping"];

/// Parts of the heading of a remark.
const REMARK: [&str; 5] = ["comment", "descri", "memo", "note", "remark"];

fn has_part(letters: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| letters.contains(part))
}

/// In lower case, without white space and signs.
pub(super) fn letters(heading: &str) -> String {
    heading.chars().filter(|it| it.is_alphanumeric()).collect::<String>().to_lowercase()
}

/// Whether a cell is empty, zero, or a no.
fn is_nothing(cell: &str) -> bool {
    let noes = ["", "f", "false", "n", "na", "nein", "never", "no", "non", "none", "null"];
    let letters = letters(cell);
    // `0.00 EUR` is zero, and a sentence with a zero is none.
    let is_zero =
        letters.contains('0') && letters.trim_matches(char::is_alphabetic).trim_matches('0').is_empty();
    noes.contains(&&*letters) || (is_zero && letters.chars().filter(|it| it.is_alphabetic()).count() <= 3)
}

/// The same, or words such as `Not refunded` and `Approved`. Other sentences say what went wrong: `No such card`.
fn is_no_trouble(cell: &str) -> bool {
    let cell_words: Vec<_> = words(cell).collect();
    let words: Vec<_> = cell_words.iter().map(String::as_str).collect();
    match *words {
        ["approved" | "ok" | "success" | "successful"] => true,
        ["no" | "not", what] => {
            ["applicable", "yet"].contains(&what) || TROUBLE.split(' ').any(|stem| what.starts_with(stem))
        }
        _ => is_nothing(cell),
    }
}

/// The words of `--charged-status` and `--declined-status`.
#[derive(Clone, Copy)]
pub(super) struct StatusWords<'a> {
    charged: &'a [String],
    declined: &'a [String],
}

impl<'a> StatusWords<'a> {
    /// Refuses a word that is in both lists, one of a payment that was not made or not kept among the charged ones, and one of a
    /// payment that was made among the declined ones.
    pub(super) fn of(asked: &'a ReconcileArguments) -> Result<Self, Failure> {
        let this = Self { charged: &asked.charged_statuses, declined: &asked.declined_statuses };
        let refused = |word: &str, why| Err(Failure::usage(format!("\"{}\" {why}", masked(word.trim()))));
        let is_declined = |word: &str| is_no_charge(word) || words(word).any(|word| is_among(DECLINE, &word));
        if let Some(word) = this.charged.iter().find(|word| is_declined(word)) {
            let why = "of --charged-status says that no money moved, or was given back; nothing was changed: leave it out";
            return refused(word, why);
        }
        if let Some(word) = this.declined.iter().find(|word| is_charge(word)) {
            let why = "of --declined-status says that the money moved, and a rejected key may be charged again; nothing was changed: \
                       leave it out";
            return refused(word, why);
        }
        if let Some(word) = this.declined.iter().find(|word| is_one_of(word.trim(), this.charged)) {
            return refused(
                word,
                "is a word of --charged-status and of --declined-status; nothing was changed",
            );
        }
        Ok(this)
    }

    /// The options that a report with a status needs.
    pub(super) fn wanted(&self) -> String {
        let declined = if self.declined.is_empty() { " --declined-status WORD,…" } else { "" };
        format!("--charged-status WORD,…{declined}")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.charged.is_empty() && self.declined.is_empty()
    }

    /// The meaning of a cell. Every row of a report without such a column was charged.
    pub(super) fn status_of(&self, cell: &ReportCell<String>) -> RowStatus {
        match cell {
            ReportCell::Absent => RowStatus::Charged,
            ReportCell::Unreadable => RowStatus::Unreadable,
            ReportCell::Read(word) if is_one_of(word, self.charged) => RowStatus::Charged,
            ReportCell::Read(word) if is_one_of(word, self.declined) => RowStatus::Declined,
            ReportCell::Empty | ReportCell::Read(_) => RowStatus::Other,
        }
    }

    /// Whether no option says what this word means, and it is not one that means that no money moved.
    pub(super) fn is_unclear(&self, word: &str) -> bool {
        let is_named = is_one_of(word, self.charged) || is_one_of(word, self.declined);
        !word.is_empty() && !is_named && !is_no_charge(word)
    }

    /// The named words that no row has; and whether no row has a word that means that the money moved.
    pub(super) fn missing_in(&self, seen: &BTreeMap<String, u64>) -> (Vec<String>, bool) {
        let is_seen = |word: &&String| seen.keys().any(|seen| is_one_of(seen, std::slice::from_ref(*word)));
        let named = self.charged.iter().chain(self.declined);
        let missing = named.filter(|word| !is_seen(word)).map(|word| masked(word.trim()));
        (missing.collect(), !self.charged.iter().any(|word| is_seen(&word)))
    }

    /// Whether a person has said which words mean that the money moved.
    pub(super) const fn has_charged(&self) -> bool {
        !self.charged.is_empty()
    }
}

/// The words of a status column, and how often each occurs.
pub(super) fn shown(seen: &BTreeMap<String, u64>) -> String {
    let shown = seen.iter().take(MOST_WORDS).map(|(word, count)| {
        let word = if word.is_empty() { "(empty)".to_owned() } else { masked(word) };
        format!("{word} ({count})")
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = seen.len().saturating_sub(MOST_WORDS);
    let more =
        if more > 0 { format!(" and {more} more: is it a column of statuses?") } else { String::new() };
    format!("a status with the words {shown}{more}")
}

/// Chosen by this command: no processor has more.
const MOST_WORDS: usize = 100;

/// A card number may be in the column by mistake.
fn masked(word: &str) -> String {
    for_terminal(&mask(word, &[]))
}

fn is_one_of(word: &str, words: &[String]) -> bool {
    !word.is_empty() && words.iter().any(|other| other.trim().to_lowercase() == word.to_lowercase())
}

/// A column that is not read, and whether it may be a status in words that this command does not know.
pub(super) struct UnreadColumn {
    pub(super) index: usize,
    heading: String,
    /// How often each word occurs; `None` if the column is no status.
    words: Option<BTreeMap<String, u64>>,
}

/// Chosen by this command: a processor has fewer statuses in one report, and more words are names or ids.
const MOST_STATUSES: usize = 12;

/// Chosen by this command: so few words may be statuses even if each row has another.
const FEW_WORDS: usize = 3;

impl UnreadColumn {
    pub(super) fn new(index: usize, heading: &str) -> Self {
        let words = (!is_of_something_else(heading)).then(BTreeMap::new);
        Self { index, heading: heading.to_owned(), words }
    }

    /// Adds the cell of a row.
    pub(super) fn add(&mut self, cell: &str) {
        if let Some(words) = &mut self.words {
            *words.entry(cell.trim().to_owned()).or_default() += 1;
            if words.len() > MOST_STATUSES + 1 {
                self.words = None;
            }
        }
    }

    /// Its words, if it may be a status: they are few and nothing else. In a filtered export all rows have the same.
    pub(super) fn status_words(&self) -> Option<&BTreeMap<String, u64>> {
        let words = self.words.as_ref()?;
        let rows = words.values().sum::<u64>();
        let filled: Vec<_> = words.keys().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let is_id = filled.len() as u64 == rows && filled.iter().all(|word| is_mixed(word));
        let is_few = filled.len() <= FEW_WORDS.max(usize::try_from(rows / 2).unwrap_or(usize::MAX));
        let heading = heading_words(&self.heading);
        let has_flags = filled.iter().all(|word| is_yes_or_no(word));
        // A no in all rows may mean that nothing was captured, and a yes that everything was cancelled.
        let is_capture = has_stem_of(&heading[heading.len().saturating_sub(1)..], CAPTURE);
        let says_nothing = if is_capture { is_yes } else { is_number_or_none };
        let is_same_for_all = words.len() == 1 && filled.iter().all(|word| says_nothing(word));
        let is_flag = has_flags && (has_stem_of(&heading, SUCCESS) || is_same_for_all);
        let is_else = filled.iter().all(|word| is_no_status(word));
        (is_few && filled.len() <= MOST_STATUSES && !is_id && !is_flag && !is_else).then_some(words)
    }
}

/// Words of headings about a person, a place, a currency, a card or a product.
const NAMES: &str = "account agent artikel bank brand bundesland channel ciudad city client cliente company contactless country currency \
                     device devise email employee filiale funding gateway international item kanal kunde kundin land language livemode \
                     location marke marque menge merchant method mode moneda moto name ort pa\u{ed}s pays person phone plan plz product producto produit \
                     produkt qty quantity recurring region sku source sprache stadt store telefon terminal town user ville \
                     w\u{e4}hrung zip zone";

/// How compounds of the same meaning end.
const NAME_ENDS: [&str; 6] = ["kunde", "land", "marke", "name", "stadt", "w\u{e4}hrung"];

const CARD_BRANDS: &str =
    "amex americanexpress diners dinersclub discover girocard jcb maestro mastercard unionpay visa";

const CURRENCIES: &str = "aed ars aud brl cad chf clp cny cop czk dkk eur gbp hkd huf idr ils inr jpy krw mxn myr nok nzd pen php \
                          pln ron sar sek sgd thb try twd uah usd vnd zar";

/// Whether a cell is a time, an amount, a currency, a card brand, a long number, an address or a sentence.
fn is_no_status(word: &str) -> bool {
    let letters = letters(word);
    let is_amount = word.contains(['.', ',']) && matches!(cells::amount(word), ReportCell::Read(_));
    let is_number = letters.len() > LONGEST_CODE && letters.chars().all(|it| it.is_ascii_digit());
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

/// Chosen by this command: no code of a status has more digits.
const LONGEST_CODE: usize = 4;

/// Of letters and digits, as ids are. Codes of statuses are shorter.
fn is_mixed(word: &str) -> bool {
    let letters = letters(word);
    letters.len() > LONGEST_CODE
        && letters.contains(|it: char| it.is_ascii_digit())
        && letters.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_only_whole() {
        for (against, no_charge, cells) in [
            (Some("declined"), true, "Declined | DECLINED (05) | Declined by issuer"),
            (Some("failed"), true, "payment_failed | Payment failed"),
            (Some("refund"), true, "Refund"),
            (Some("refunded"), true, "partially-refunded | Partially refunded"),
            (Some("unsuccessful"), true, "Unsuccessful"),
            (Some("pending"), true, "pending, failed"),
            (Some("pending"), false, "Pending"),
            (
                None,
                true,
                "Not approved | not approved | Nicht bezahlt | Keine Zahlung | Non pay\u{e9} | Never paid",
            ),
            (
                None,
                false,
                "Rechazado | Approved | avoided | errors: 0 | Nichtig | Paid, not yet settled | No-show | No hold | Non-qualified | ",
            ),
        ] {
            for cell in cells.split(" | ") {
                assert_eq!((against_a_charge(cell), is_no_charge(cell)), (against, no_charge), "{cell}");
            }
        }
    }

    #[test]
    fn words_of_a_charge_are_no_decline() {
        for (is_one, words) in [
            (
                true,
                "Settled | PAYMENT_CAPTURED | Partially paid | Paid, not yet settled | Bezahlt | Pay\u{e9}",
            ),
            (
                false,
                "Not settled | Payment not approved | Could not be captured | Unpaid | Payment approved, capture failed | \
                 Authorized | Abgelehnt | Nicht bezahlt | Non pay\u{e9}",
            ),
        ] {
            for word in words.split(" | ") {
                assert_eq!(is_charge(word), is_one, "{word}");
            }
        }
    }

    #[test]
    fn column_is_a_status_by_a_part_of_its_heading() {
        let statuses = "Status, State, Payment Status, Transaction status, Settlement_Status, Status Code, PaymentState, \
                        Result_Code, Result code, Response, Outcome, Decision, Processor Response, Estado, \
                        Statut du paiement, Stato, Verdict, Verdikt, Veredict";
        for heading in statuses.split(", ") {
            assert!(is_status_column(heading), "{heading}");
        }
        let others = "AVS Status, CVV result, Order status, Billing State, Statement, Refund Status, Decline response, \
                      Approved, Type, Version";
        for heading in others.split(", ") {
            assert!(!is_status_column(heading), "{heading}");
        }
    }

    #[test]
    fn column_says_what_went_wrong_or_right() {
        for (against, columns) in [
            (Some("credit"), "Type=Credit"),
            (Some("gutschrift"), "Buchungsart=Gutschrift"),
            (Some("c"), "Debit/Credit=C"),
            (Some("auth"), "Transaction Type=AUTH"),
            (Some("authonly"), "Type=Auth only"),
            (Some("return"), "Type=Return"),
            (Some("cancelation"), "Type=Cancelation"),
            (Some("refunded"), "Refund status=Partially refunded | Note=Refunded"),
            (
                Some("declined"),
                "Failure Message=Your card was declined. | Error=card_declined | Kind=Declined (05)",
            ),
            (Some("refund"), "Type=Refund of sale | Type=Refund"),
            (Some("pending"), "Note=pending"),
            (Some("voided"), "Note=Voided"),
            (
                Some("no"),
                "Approved=No | Approved=not yet | Approved= | IsApproved=FALSE | is_paid=FALSE | Is_Paid=0 | Paid= | \
                 Amount paid=0.00 EUR | Success=not yet | Success=false",
            ),
            (
                Some("yes"),
                "Refunded by=ada | TXNRefunded=9.00 | Charge Back=9.00 | Refund ID=re_1 | Disputed=yes | \
                 Error message=Not approved | FailureMessage=Insufficient funds | Error=insufficient funds | \
                 Error=No such card | Decline reason=Not sufficient funds | Refunded=9.00 | Refund note=on request",
            ),
            (
                None,
                "Returned=no | Type=Sale | Card Type=Credit | Payment Type=Credit | Approved=Yes | Captured=FALSE | \
                 Captured=No | Settlement Date= | Settled=No | Amount paid=10.50 EUR | Prepaid=No | Unpaid=0 | \
                 Paid out=No | Paid at= | Approval code=000000 | Authorized by= | AuthorizationCode= | Refundable=Yes | \
                 Refundable Amount=20.00 | Refundable until=2026-12-01 | RefundPolicy=14 days | \
                 Refund policy=No refunds after 14 days | Void deadline=2026-12-01 | \
                 Cancel URL=https://shop.example/cancelled | Refund status=Not refunded | Refund status=No refund | \
                 Refund by=2026-12-01 | Disputed=Not disputed | Amount refunded=n/a | Refund Status= | Error message=OK | \
                 Error message=Approved | 3D Secure=failed | Success=1 | Error=none | Error=n/a | Error code=00 | \
                 Refunded=0.00 | Refunded=- | Refunded=No | Note=asked for a refund | AVS result=failed twice | \
                 Billing State=NY | Statement descriptor=ACME | Description=Refund protection | Customer=Ada",
            ),
        ] {
            for column in columns.split(" | ") {
                let (heading, cell) = column.split_once('=').expect(column);
                assert_eq!(against_in_column(heading, cell), against, "{heading}: {cell}");
            }
        }
    }
}
