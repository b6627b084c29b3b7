//! `payments demo`.

use crate::support::payments;

#[test]
fn demo_shows_every_call_next_to_the_ledger() {
    let ended = payments(["demo"]).end();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{}", ended.stdout);
    let text = &ended.stdout;
    let lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "card sale 10.50 processed txn_",
        "card authorization 25.00 processed txn_",
        "void of it processed txn_",
        "ACH payment 80.00 processed txn_",
        "token payment 45.00 processed txn_",
        "lookup of the sale found txn_",
        "lookup of a customer found a customer",
        "sale, wrong API key 10.50 rejected 401 Unauthorized: Invalid API Key",
        "sale, bad postal code 10.50 rejected 400 invalid postal code",
        "payment, removed token 45.00 rejected 400 invalid token",
        "void, unknown id rejected 400 invalid transaction id",
        "lookup, unknown id rejected 404 Transaction not found",
        "customer, unknown id rejected 404 Customer not found",
        "sale, declined card 99.99 rejected 200 declined",
        "sale, response lost 77.00 UNKNOWN the connection was closed",
        "it may have been charged: do not send it again",
        "reconcile by amount, last four digits, payer's name and time",
        // The comparison with the ledger.
        "card sale 10.50 processed sale approved",
        "card authorization 25.00 processed authorization approved",
        "void of it processed authorization voided",
        "lookup of the sale found no change",
        "sale, wrong API key 10.50 rejected nothing charged",
        "sale, declined card 99.99 rejected sale declined",
        "sale, response lost 77.00 UNKNOWN sale approved",
        "The ledger has the sale of 77.00 as txn_",
        "sending it again would have charged twice.",
        "4 payments were charged, 212.50 in total.",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.is_ascii() && !text.contains('\u{1b}'), "not plain text in a pipe");
}

#[test]
fn demo_shows_text_only() {
    let error = payments(["demo", "--output", "json"]).end().failed(2, "invalid");
    assert_eq!(error["message"], "this command shows text and takes no --output json; nothing was sent");
}

#[test]
fn demo_ignores_settings() {
    let run = payments(["demo"])
        .env("PAYMENTS_BASE_URL", "https://pay.invalid")
        .env("PAYMENTS_API_KEY", "not a key");
    assert_eq!(run.end().code, Some(0));
}
