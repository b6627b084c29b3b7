//! Rows that may be charged a second time under another key: one that the journal has, or that of an earlier row.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::rc::Rc;

use payments_journal::{IntentKey, IntentRequest, IntentState, StoreError};

use super::billing_file::BillingRow;
use super::hashes::Hashes;
use super::newcomers::RecentPages;
use crate::call::same_payment::{
    Charge, Compared, Consequence, EarlierCharges, Fate, Form, Likeness, Mark, Scope, charge_of, compare,
    consequence, links, marks,
};
use crate::failure::Problem;
use crate::rows::problems::MOST_KEPT;

/// By what rows are found that may be one charge with another row or with an earlier charge. Only then is the file read again.
#[derive(Default)]
pub(super) struct RowHashes {
    pub(super) keys: Hashes,
    /// What an earlier charge has in common with a row to send.
    pub(super) marks: Hashes,
    /// What a row to send charges.
    pub(super) charges: Hashes,
    /// The marks of a row that was charged.
    pub(super) charged: Hashes,
    /// What another row has in common with a valid row.
    pub(super) names: Hashes,
}

/// The problems of rows to send that may be the same payment as a charge of the journal, and those of which a person is warned; and
/// the rows that were charged beside such a charge. Of charges whose keys are in the file only open ones count here: rows are
/// compared with each other. The rows are read `again` only if there may be such a charge. Keys that would be one if they were sent
/// again are added to `watched`.
pub(super) async fn charged_before<I: Iterator<Item = (BillingRow, Fate)>>(
    pages: &mut RecentPages,
    service: &str,
    RowHashes { keys, marks, charges, charged: charged_marks, .. }: &mut RowHashes,
    watched: &mut EarlierCharges,
    again: impl FnOnce() -> I,
) -> Result<(Vec<Problem>, Repeats, Twins), StoreError> {
    let (mut problems, mut repeats, mut charged_twice) = (Vec::new(), Repeats::default(), Twins::default());
    if marks.is_empty() && charged_marks.is_empty() {
        return Ok((problems, repeats, charged_twice));
    }
    for hashes in [&mut *keys, &mut *marks, &mut *charges, &mut *charged_marks] {
        hashes.sort();
    }
    let [mut charged, mut twins] = [(); 2].map(|()| EarlierCharges::of_service(service));
    let (mut refusing, mut of_other_amounts) = (0, 0);
    let (mut warned, mut unknown) = (HashSet::new(), HashMap::new());
    while refusing < MOST_KEPT
        && let Some(intents) = pages.next().await?
    {
        for intent in intents.into_iter().filter(|intent| intent.is_of(service)) {
            let fate = Fate::from(&intent);
            let mut common = links((&intent.key, &intent.request));
            let may_be_twin = fate.is_made() && common.iter().any(|(_, mark)| charged_marks.have(mark));
            common.retain(|(_, mark)| marks.have(mark));
            if keys.have(&intent.key) {
                if fate == Fate::Open && common.iter().any(|(_, (form, ..))| *form == Form::Reference) {
                    charged.add(intent, Scope::File);
                }
                continue;
            }
            let charge = charge_of(&intent.request);
            if matches!(intent.state, IntentState::Unknown(_)) && charge.is_some() && charges.have(&charge) {
                unknown.entry(charge).or_insert_with(|| intent.key.clone());
            }
            if may_be_twin {
                twins.add(intent.clone(), Scope::Run);
            }
            if intent.moved_nothing() && !common.is_empty() {
                watched.add(intent.clone(), Scope::Run);
            }
            // Of another amount only a few spellings are refused, and many share such a link.
            let is_refused = |likeness| {
                likeness != Likeness::KeyOfOtherAmount
                    && consequence(likeness, fate, Scope::Run) == Consequence::Refuse
            };
            // Only what is nearly certainly a problem counts, or others would use up the limit.
            let is_counted = common.iter().any(|(likeness, _)| is_refused(*likeness));
            refusing += usize::from(is_counted);
            // Of charges that are alike, one is enough for a warning.
            let most = common.iter().map(|(likeness, _)| consequence(*likeness, fate, Scope::Run)).max();
            let is_charge = match most {
                Some(Consequence::Warn) if warned.len() < MOST_KEPT => warned.insert(common),
                Some(Consequence::Warn) => {
                    repeats.is_cut |= !warned.contains(&common);
                    false
                }
                Some(Consequence::Refuse) if !is_counted => {
                    of_other_amounts += 1;
                    of_other_amounts <= MOST_KEPT
                }
                most => most == Some(Consequence::Refuse),
            };
            if is_charge {
                charged.add(intent, Scope::Run);
            }
        }
    }
    if charged.is_empty() && twins.is_empty() && unknown.is_empty() {
        return Ok((problems, repeats, charged_twice));
    }
    for (row, fate) in again() {
        let request = IntentRequest::from(&row.payment);
        let payment = (&row.key, &request);
        if fate.is_made()
            && let Some(other) = twins.twin(payment)
        {
            charged_twice.add(row.line, &row.key, other);
        }
        if fate != Fate::ToSend {
            continue;
        }
        match charged.compare(payment) {
            Compared::Send => {
                if let Some(key) = unknown.get(&charge_of(&request)) {
                    repeats.of_unknown.add(beside(&row, key));
                }
            }
            Compared::Warn(key, likeness) => repeats.add(&row, &format!("{key} of an earlier run"), likeness),
            Compared::Refuse([what, advice]) => {
                problems.push(Problem::new(row.line, "Key", format!("would be sent, and {what}: {advice}")));
            }
        }
    }
    if refusing >= MOST_KEPT && problems.is_empty() {
        let rule = "has keys that are too much like those of too many earlier charges to be compared with each: use keys that \
                    are clearly others";
        problems.push(Problem::new(1, "file", rule));
    }
    charged_twice.is_cut = refusing >= MOST_KEPT;
    Ok((problems, repeats, charged_twice))
}

/// The names of a row, under which another row may be the same payment, with what is charged: those of its key, then of its reference.
pub(super) fn names(marks: Vec<Mark>) -> Vec<(Form, Name)> {
    let mut names: Vec<(Form, Name)> = Vec::new();
    for (form, text, charge) in marks {
        let name = (text, charge);
        if form != Form::RoundedKey && name.1.is_some() && names.iter().all(|(_, other)| *other != name) {
            names.push((form, name));
        }
    }
    names
}

type Name = (String, Charge);

type SharedRow = Rc<(BillingRow, Fate)>;

/// The problems of rows that would be sent beside an earlier row for the same, or whose other row would be; rows of which a person is
/// warned; and those that were both charged under one key in two spellings. The rows are read `again` only if there may be such rows.
pub(super) fn compare_in_file<I: Iterator<Item = (BillingRow, Fate)>>(
    hashes: Hashes,
    again: impl FnOnce() -> I,
) -> (Vec<Problem>, Repeats, Repeats) {
    let (mut problems, mut repeats, mut charged_twice) = (Vec::new(), Repeats::default(), Repeats::default());
    let mut by_name: HashMap<Name, Vec<(Form, SharedRow)>> = HashMap::new();
    let again = || {
        again().map(|row| {
            let names = names(marks((&row.0.key, &IntentRequest::from(&row.0.payment))));
            (row, names)
        })
    };
    for (row_and_fate, names) in hashes.repeated(again, |(_, name)| name) {
        let row_and_fate = Rc::new(row_and_fate);
        let (row, fate) = &*row_and_fate;
        let request = IntentRequest::from(&row.payment);
        let [mut problem, mut repeated, mut charged] = [None; 3];
        for (_, other) in names.iter().filter_map(|(_, name)| by_name.get(name)).flatten() {
            let (other, other_fate) = &**other;
            let (other_fate, is_to_send) = match [*fate, *other_fate] {
                [Fate::ToSend, it] | [it, Fate::ToSend] => (it, true),
                [Fate::Charged, Fate::Charged] => (Fate::Charged, false),
                _ => continue,
            };
            let other_payment = (&other.key, &IntentRequest::from(&other.payment));
            let compared = compare((&row.key, &request), other_payment, other_fate, Scope::File);
            let Some((consequence, likeness)) = compared else { continue };
            let found = match (consequence, is_to_send) {
                (Consequence::Refuse, true) => &mut problem,
                (Consequence::Refuse, false) if likeness == Likeness::Key => &mut charged,
                (_, true) => &mut repeated,
                (_, false) => continue,
            };
            found.get_or_insert((other, likeness));
        }
        if let Some((other, likeness)) = problem {
            let line = other.line;
            let (what, same, otherwise) = match likeness {
                Likeness::KeyIsReference => (
                    format!("or that of line {line} is the ReferenceNo of both"),
                    "token, amount and ReferenceNo",
                    "give one of them another ReferenceNo",
                ),
                Likeness::KeyOfOtherAmount => (
                    format!("is that of line {line} in another spelling"),
                    "token, and different amounts",
                    "give them keys that are clearly different",
                ),
                _ => (
                    format!("is that of line {line} in another spelling"),
                    "token and amount",
                    "give them keys that are clearly different",
                ),
            };
            let rule = format!(
                "{what}, and the rows have the same {same}: if they are one payment, remove one row, because both would be charged; \
                 else {otherwise}"
            );
            problems.push(Problem::new(row.line, "Key", rule));
        } else {
            for (repeats, found) in [(&mut repeats, repeated), (&mut charged_twice, charged)] {
                if let Some((other, likeness)) = found {
                    repeats.add(row, &format!("{} of line {}", other.key, other.line), likeness);
                }
            }
        }
        for (form, name) in names {
            let others = by_name.entry(name).or_default();
            // Of those with the same reference, one is enough.
            if form == Form::Key || others.iter().all(|(of, other)| (*of, other.1) != (form, *fate)) {
                others.push((form, Rc::clone(&row_and_fate)));
            }
        }
    }
    (problems, repeats, charged_twice)
}

/// Rows, each with the other charge.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Those that have the other's reference.
    of_reference: Examples,
    /// Those that have the other's key, in another spelling.
    of_key: Examples,
    /// Those with the token and amount of a charge whose outcome is unknown, and with nothing else of it.
    of_unknown: Examples,
    /// Whether there may be more, because not all charges were compared.
    is_cut: bool,
}

impl Repeats {
    /// Adds a row, of which the other charge is described.
    pub(super) fn add(&mut self, row: &BillingRow, other: &str, likeness: Likeness) {
        let examples = match likeness {
            Likeness::Reference | Likeness::KeyIsReference => &mut self.of_reference,
            Likeness::Key | Likeness::KeyAlone | Likeness::KeyOfOtherAmount | Likeness::RoundedKey => {
                &mut self.of_key
            }
        };
        examples.add(beside(row, other));
    }

    /// The warnings about rows to send, if there are any.
    pub(super) fn warnings(&self, what: &str) -> impl Iterator<Item = String> {
        let advice = "unless they are payments of their own, such as instalments, somebody is charged twice: remove them";
        let of_reference =
            format!("rows with the token, amount and ReferenceNo of {what}, under another key");
        let of_key =
            format!("rows with the token and amount of {what}, whose key is its key in another spelling");
        let of_unknown =
            "rows with the token and amount of a charge whose outcome is unknown, under another key";
        let resolve = "unless they are payments of their own, somebody may be charged twice: remove them, or resolve the unknown keys first";
        [
            self.of_reference.warning(&of_reference, advice, self.is_cut),
            self.of_key.warning(&of_key, advice, false),
            self.of_unknown.warning(of_unknown, resolve, false),
        ]
        .into_iter()
        .flatten()
    }

    /// The warning about rows that were charged, as an earlier row was.
    pub(super) fn warning_of_charged(&self) -> Option<String> {
        self.of_key.warning(
            "rows whose keys are one key in two spellings, and which were both charged, or may have been, with the same token and amount",
            "unless they are payments of their own, somebody was charged twice: undo one of the two",
            false,
        )
    }
}

fn beside(row: &BillingRow, other: impl Display) -> String {
    format!("line {}: {} and {other}", row.line, row.key)
}

/// Rows that were charged, each with another key under which the payment was charged too.
#[derive(Debug, Default)]
pub(super) struct Twins {
    rows: Examples,
    /// Whether there may be more, because not all charges were compared.
    is_cut: bool,
}

impl Twins {
    /// Adds a row of which the other key is known.
    pub(super) fn add(&mut self, line: u64, key: &IntentKey, other: &IntentKey) {
        self.rows.add(format!("line {line}: {key} and {other}"));
    }

    pub(super) fn warning(&self) -> Option<String> {
        self.rows.warning(
            "rows that may be charged twice: the journal has a charge with the same token and amount, under their key in another \
             spelling",
            "unless they are payments of their own, undo one of the two",
            self.is_cut,
        )
    }
}

/// How many there are, and the first of them for people.
#[derive(Debug, Default)]
struct Examples {
    count: u64,
    first: Vec<String>,
}

impl Examples {
    /// Chosen by this command: enough to see what they are.
    const MOST_SHOWN: usize = 3;

    fn add(&mut self, example: String) {
        self.count += 1;
        if self.first.len() < Self::MOST_SHOWN {
            self.first.push(example);
        }
    }

    fn warning(&self, rows: &str, advice: &str, is_cut: bool) -> Option<String> {
        let Self { count, first } = self;
        let more = if *count > first.len() as u64 { "; …" } else { "" };
        let or_more = if is_cut { " or more" } else { "" };
        (*count > 0).then(|| format!("{rows}: {count}{or_more}; {advice} ({}{more})", first.join("; ")))
    }
}
