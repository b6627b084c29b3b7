use payments_fake::Ledger;

/// Shows what the service knows and a program cannot ask it: everything that it did.
#[allow(clippy::print_stdout, reason = "an example shows what it does")]
pub fn show_books(ledger: &Ledger) {
    println!("-- the service's books:");
    for entry in ledger.entries() {
        println!("--   {entry}");
    }
}
