//! `payments demo`.

use crate::support::payments;

#[test]
fn demo_shows_text_only() {
    let error = payments(["demo", "--output", "json"]).end().failed(2);
    assert_eq!(error["message"], "this command shows text and takes no --output json; nothing was sent");
}

#[test]
fn demo_ignores_settings() {
    let run = payments(["demo"])
        .env("PAYMENTS_BASE_URL", "https://pay.invalid")
        .env("PAYMENTS_API_KEY", "not a key");
    assert_eq!(run.end().code, Some(0));
}
