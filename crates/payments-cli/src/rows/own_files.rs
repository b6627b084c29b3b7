//! Which CSV files this command wrote: in those it escaped the formulas, and in a person's file an apostrophe is part of the cell.

use crate::intent;

/// The headings of the file of `reconcile --out`, which `resolve --from` reads. The last two show whose key it is, in case the file
/// is read with another journal.
pub(crate) const PROPOSALS: [&str; 8] =
    ["Key", "Attempt", "Revision", "TransactionId", "Verdict", "Note", "Service", "BegunAt"];

/// What the file of `reconcile --rest` has after [`PROPOSALS`]: what a person searches the processor's records by.
pub(crate) const SEARCHED_BY: [&str; 5] = ["Amount", "Reference", "CardEnding", "TokenId", "Voids"];

/// Whether a file with these headings is of `reconcile --out` or `--rest`, an export, or results of a billing run. A person may have removed
/// or added columns of the last two, whose `key` is in lower case.
pub(crate) fn is_own(headings: &[String]) -> bool {
    let has = |name: &str| headings.iter().any(|heading| heading == name);
    // In older ones the note is last.
    let is_of_reconcile = is_of_reconcile(headings) || headings == &PROPOSALS[..6];
    is_of_reconcile || (!has("Key") && (has("key") || headings.iter().any(|it| is_only_of_an_export(it))))
}

/// What the file of `reconcile --out` has after [`PROPOSALS`], and that of `--rest` at its end: the text of the report, for a person.
pub(crate) const COMPARED_BY: [&str; 1] = ["ReportRow"];

/// The headings of the file of `reconcile --rest`.
pub(crate) fn rest() -> Vec<&'static str> {
    [&PROPOSALS[..], &SEARCHED_BY, &COMPARED_BY].concat()
}

/// Whether a file with these headings is of `reconcile --out` or `--rest`, and nobody has changed its columns.
pub(crate) fn is_of_reconcile(headings: &[String]) -> bool {
    // Older ones of `--out` have no more, and those of `--rest` no text of the report.
    let rest = rest();
    [&[][..], &COMPARED_BY, &SEARCHED_BY].iter().any(|more| headings.iter().eq(PROPOSALS.iter().chain(*more)))
        || headings.iter().eq(&rest)
}

/// Whether a separator in the note of a row of `reconcile` has moved the cells behind it: the address of the service is not in its
/// column.
pub(crate) fn note_is_cut<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> bool {
    let mut cells = cells.skip(PROPOSALS.len() - 2).map(Option::unwrap_or_default);
    let is_address = |cell: &str| cell.contains("://");
    let service = cells.next().unwrap_or_default();
    let is_elsewhere = !service.is_empty() && !service.starts_with("http");
    cells.next().is_some_and(is_address) || (is_elsewhere && cells.any(is_address))
}

/// Whether only an export has this heading. A database client may have changed its case.
pub(crate) fn is_only_of_an_export(heading: &str) -> bool {
    let is_in = |names: &[&str]| names.iter().any(|name| plain(name) == plain(heading));
    heading.trim().contains('_') && is_in(&intent::names()) && !is_in(&PROPOSALS[..6])
}

/// The heading as it is compared: in any case, with and without underscores.
pub(crate) fn plain(heading: &str) -> String {
    heading.trim().replace('_', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_own_by_its_headings() {
        let is_own = |line: &str| is_own(&line.split(',').map(str::to_owned).collect::<Vec<_>>());
        for own in [
            &*PROPOSALS.join(","),
            &PROPOSALS[..6].join(","),
            &[&PROPOSALS[..], &SEARCHED_BY].concat().join(","),
            &[&PROPOSALS[..], &COMPARED_BY].concat().join(","),
            &rest().join(","),
            &intent::names().join(","),
            &intent::names().join(",").to_ascii_uppercase(),
            "line,key,outcome,amount,reference,transaction_id,http_status,kind,message",
            "key",
            "key,verdict,note",
        ] {
            assert!(is_own(own), "{own}");
        }
        for of_a_person in [
            "Key",
            "KEY,Note",
            "Key,TokenId,Amount,created_at",
            "Key,key",
            "Key,TransactionId,Verdict,Note",
            &PROPOSALS[..7].join(","),
            "ReferenceNo,TokenId",
        ] {
            assert!(!is_own(of_a_person), "{of_a_person}");
        }
    }
}
