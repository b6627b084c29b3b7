//! Rows that would be charged a second time under another key: one that the journal has, or that of an earlier row.

use std::collections::HashMap;

use payments_journal::{Intent, IntentRequest, StoreError};

use super::billing_file::{BillingRow, Standing};
use super::hashes::Hashes;
use super::recent_pages::RecentPages;
use super::repeats::{Repeats, payment_of_intent, payment_of_row};
use crate::call::same_payment::{
    EarlierCharges, Mark, MarkOf, charge_of, is_same_reference, is_sent_again, marks, marks_of_intent,
    marks_of_spelling,
};
use crate::failure::Problem;
use crate::rows::problems::MOST_KEPT;
use crate::rows::spreadsheet::{Forms, is_exact_variant};

/// By what rows are found that may be one charge with another row or with an earlier charge. Only then is the file read again.
#[derive(Default)]
pub(super) struct RowHashes {
    pub(super) keys: Hashes,
    /// What an earlier charge has in common with a row to send.
    pub(super) marks: Hashes,
    /// What a second charge of the file has in common with a valid row.
    pub(super) marks_in_file: Hashes,
    /// The payment of each valid row that has a reference.
    pub(super) payments: Hashes,
}

/// The problems of rows to send of which the journal has the same charge under a variant of the key, or, where the reference is or was
/// the key, under that, or of which the same payment is open under any key. Keys of the file itself count only if they are open. And the
/// rows of which the same payment is processed. The rows are read `again` only if there may be such a charge. Keys that would be one if they
/// were sent again are added to `watched`.
pub(super) async fn charged_before<I: Iterator<Item = BillingRow>>(
    pages: &mut RecentPages,
    service: &str,
    RowHashes { keys, marks, payments, .. }: &mut RowHashes,
    watched: &mut EarlierCharges,
    again: impl FnOnce() -> I,
) -> Result<(Vec<Problem>, Repeats), StoreError> {
    let (mut problems, mut repeats) = (Vec::new(), Repeats::default());
    if marks.is_empty() {
        return Ok((problems, repeats));
    }
    for hashes in [&mut *keys, &mut *marks, &mut *payments] {
        hashes.sort();
    }
    let mut processed = HashMap::new();
    let mut open_in_file = EarlierCharges::of_service(service);
    // Only what is nearly certainly a problem counts, or others would use up the limit.
    let mut is_charge = |intent: &Intent| {
        let is_in_file = keys.have(&intent.key);
        if !intent.is_of(service) || is_in_file && !intent.is_unresolved() {
            return false;
        }
        let payment = payment_of_intent(intent).filter(|payment| payments.have(payment));
        let mut common = marks_of_intent(intent);
        common.retain(|mark| marks.have(mark));
        if is_in_file {
            if common.iter().any(|(of, ..)| *of == MarkOf::Reference) {
                open_in_file.add(intent.clone());
            }
            return false;
        }
        if intent.moved_nothing() {
            if payment.is_some() || !common.is_empty() {
                watched.add(intent.clone());
            }
            // Another key may be a new try, but one in another spelling is not.
            return !is_sent_again(intent) && marks_of_spelling(intent).iter().any(|mark| marks.have(mark));
        }
        let is_open = payment.is_some() && intent.is_unresolved();
        if let Some(payment) = payment.filter(|_| !is_open && processed.len() < MOST_KEPT) {
            processed.entry(payment).or_insert_with(|| intent.key.clone());
        }
        is_open || !common.is_empty()
    };
    let mut found = Vec::new();
    while found.len() < MOST_KEPT
        && let Some(intents) = pages.next().await?
    {
        found.extend(intents.into_iter().filter(&mut is_charge));
    }
    let is_cut = found.len() >= MOST_KEPT;
    if found.is_empty() && processed.is_empty() && open_in_file.is_empty() {
        return Ok((problems, repeats));
    }
    let mut charged = EarlierCharges::of_service(service);
    for intent in found {
        charged.add(intent);
    }
    for row in again() {
        let request = IntentRequest::from(&row.payment);
        let same = charged.same_as(&row.key, &request);
        if let Some([what, advice]) = same.or_else(|| open_in_file.open_as(&row.key, &request)) {
            problems.push(Problem::new(row.line, "Key", format!("would be sent, and {what}: {advice}")));
        } else if let Some(key) = payment_of_row(&row).and_then(|payment| processed.get(&payment)) {
            repeats.add_processed(&row, key);
        }
    }
    if is_cut && problems.is_empty() {
        let rule = "has keys that are too much like those of too many earlier charges to be compared with each: use keys that \
                    are clearly others";
        problems.push(Problem::new(1, "file", rule));
    }
    Ok((problems, repeats))
}

/// What a second charge of the file for the same has in common with this row, of whose key the forms are.
pub(super) fn marks_in_file(row: &BillingRow, forms: &Forms) -> Vec<Mark> {
    marks(MarkOf::Key, &forms.exact, &charge_of(&IntentRequest::from(&row.payment))).collect()
}

/// The problems of rows whose charge an earlier row has, under a key that is another only in its spelling, if one of the two would be
/// sent; and those of which both may have been charged. The rows are read `again` only if there may be such rows.
pub(super) fn charged_twice<I: Iterator<Item = (BillingRow, Standing)>>(
    marks: Hashes,
    again: impl FnOnce() -> I,
) -> (Vec<Problem>, Repeats) {
    let (mut problems, mut repeats) = (Vec::new(), Repeats::default());
    let mut earlier: HashMap<Mark, Vec<(BillingRow, Standing)>> = HashMap::new();
    let forms = |(row, standing): (BillingRow, Standing)| {
        let marks = marks_in_file(&row, &Forms::of(row.key.as_str()));
        marks.into_iter().map(move |mark| (mark, (row.clone(), standing)))
    };
    // A row has several marks, and is reported once.
    let (mut last_problem, mut last_warning) = (0, 0);
    for (mark, (row, standing)) in marks.repeated(|| again().flat_map(forms)) {
        let rows = earlier.entry(mark).or_default();
        let is_same = |(other, _): &&(BillingRow, Standing)| {
            other.key != row.key
                && is_exact_variant(other.key.as_str(), row.key.as_str())
                && is_same_reference(other.payment.reference_no(), row.payment.reference_no())
        };
        let would_charge =
            |(_, other): &&(BillingRow, Standing)| [standing, *other].contains(&Standing::ToSend);
        let have_charged =
            |(_, other): &&(BillingRow, Standing)| [standing, *other] == [Standing::Charged; 2];
        let mut others = rows.iter().filter(is_same).filter(|_| row.number != last_problem);
        if let Some((first, _)) = others.clone().find(would_charge) {
            let rule = format!(
                "is that of line {} in another spelling, and the rows have the same token, amount and ReferenceNo: if they are \
                 one payment, remove one row, because both would be charged; else give them keys that are clearly different",
                first.line
            );
            problems.push(Problem::new(row.line, "Key", rule));
            last_problem = row.number;
        } else if row.number != last_warning
            && let Some((first, _)) = others.find(have_charged)
        {
            repeats.add_row(&row, first.line, &first.key);
            last_warning = row.number;
        }
        rows.push((row, standing));
    }
    (problems, repeats)
}
