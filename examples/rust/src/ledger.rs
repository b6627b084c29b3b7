use payments_fake::Ledger;

/// Prints the service's ledger, which a client cannot see.
#[allow(clippy::print_stdout, reason = "an example prints what it does")]
pub fn show_ledger(ledger: &Ledger) {
    println!("-- the service's ledger:");
    for entry in ledger.entries() {
        println!("--   {entry}");
    }
}

/// Compares a program's last line about each payment, such as `invoice 7: paid`, with the ledger.
///
/// Only a line that starts with one of the words in `may_be_charged` reports a possible charge. A program that reports
/// anything else for a charged payment would charge it again. One that reports a charge for a refused payment would ship
/// without being paid.
///
/// # Panics
///
/// If the program is wrong about a payment, or does not report it.
#[track_caller]
pub fn assert_reports_match(output: &[String], may_be_charged: &[&str], ledger: &Ledger) {
    for entry in ledger.entries() {
        let reference = entry.reference_no.as_deref().expect("every payment of the examples has a reference");
        let of_this = |line: &String| Some(line.strip_prefix(reference)?.strip_prefix(": ")?.to_owned());
        let last = output.iter().rev().find_map(of_this);
        let last = last.unwrap_or_else(|| panic!("no line about {entry}"));
        let is_reported = may_be_charged.iter().any(|word| last.starts_with(word));
        assert_eq!(
            is_reported,
            entry.is_charged(),
            "the program reports {last:?}, but the ledger has {entry}"
        );
    }
}
