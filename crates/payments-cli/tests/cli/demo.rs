//! `payments demo`.

use serde_json::Value;

use crate::support::payments;

#[test]
fn demo_shows_every_call_and_that_both_sides_agree() {
    let ended = payments(["demo"]).end();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{}", ended.stdout);
    let text = &ended.stdout;
    let lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "card sale 10.50 processed txn_",
        "card authorization 25.00 processed txn_",
        "void of that authorization processed txn_",
        "ACH payment 80.00 processed txn_",
        "token payment 45.00 processed txn_",
        "lookup of that card sale found 10.50 on card ************4242",
        "lookup of a customer found cus_1",
        "card sale, wrong API key 10.50 rejected HTTP 401: Unauthorized: Invalid API Key",
        "card sale, bad postal code 10.50 rejected HTTP 400: invalid postal code",
        "token payment, removed token 45.00 rejected HTTP 400: invalid token",
        "void, unknown transaction rejected HTTP 400: invalid transaction id",
        "lookup, unknown transaction rejected HTTP 404: Transaction not found",
        "lookup, unknown customer rejected HTTP 404: Customer not found",
        "card sale, declined card 99.99 rejected HTTP 200: declined (txn_",
        "card sale, response lost 77.00 UNKNOWN the connection was closed",
        "it may have been charged: do not send it again",
        "reconcile by amount, last four digits, payer's name and time",
        // The comparison with the ledger.
        "card sale 10.50 processed sale approved yes",
        "card authorization 25.00 processed authorization, voided later yes",
        "card sale, wrong API key 10.50 rejected nothing charged yes",
        "card sale, declined card 99.99 rejected sale declined yes",
        "card sale, response lost 77.00 UNKNOWN sale approved yes: cannot know",
        "They agree on all 15 calls.",
        "Each reached the sandbox exactly once. 4 payments were charged, 212.50 in total.",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.is_ascii() && !text.contains('\u{1b}'), "not plain text in a pipe");
}

#[test]
fn demo_in_json_is_one_document() {
    let ended = payments(["demo", "--output", "json"]).end();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let document = ended.json();
    assert_eq!((&document["agree"], &document["charged"]), (&Value::Bool(true), &Value::from("212.50")));
    assert_eq!(document["calls"].as_array().map(Vec::len), Some(15));
}

#[test]
fn demo_ignores_settings() {
    let run = payments(["demo"])
        .env("PAYMENTS_BASE_URL", "https://pay.invalid")
        .env("PAYMENTS_API_KEY", "not a key");
    assert_eq!(run.end().code, Some(0));
}
