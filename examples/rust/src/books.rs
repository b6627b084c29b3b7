use payments_fake::Ledger;

/// Shows what the service knows and a program cannot ask it: everything that it did.
#[allow(clippy::print_stdout, reason = "an example shows what it does")]
pub fn show_books(ledger: &Ledger) {
    println!("-- the service's books:");
    for entry in ledger.entries() {
        println!("--   {entry}");
    }
}

/// Compares what a program has said last of each payment, in lines such as `invoice 7: paid`, with what the service did.
///
/// `may_be_charged` are the words by which it says so. Whoever says anything else of a payment that was charged would
/// charge it again; whoever says so of one that was refused would ship for nothing.
///
/// # Panics
///
/// If the program is wrong about a payment, or says nothing of it.
#[track_caller]
pub fn assert_nothing_wrong_was_said(said: &[String], may_be_charged: &[&str], ledger: &Ledger) {
    for entry in ledger.entries() {
        let reference = entry.reference_no.as_deref().expect("the examples give each payment a reference");
        let of_this = |line: &String| Some(line.strip_prefix(reference)?.strip_prefix(": ")?.to_owned());
        let last = said.iter().rev().find_map(of_this);
        let last = last.unwrap_or_else(|| panic!("nothing was said of {entry}"));
        let is_told = may_be_charged.iter().any(|word| last.starts_with(word));
        assert_eq!(is_told, entry.is_charged(), "the program says {last:?}, and the books say {entry}");
    }
}
