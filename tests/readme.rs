//! Is what the README shows what the code takes? (Its Rust is compiled as documentation tests.)

use payments_core::model::TokenTransaction;
use payments_fake::{FakeGateway, test_values as known};

const README: &str = include_str!("../README.md");

#[test]
fn the_json_of_the_readme_is_a_valid_request() {
    let json = README.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    TokenTransaction::from_json(json.as_bytes()).unwrap();
}

#[test]
fn the_test_values_of_the_readme_are_the_fakes() {
    let chapter = README
        .split("Programs in other languages")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap();
    assert!(chapter.contains(FakeGateway::API_KEY));
    let cards = [known::VISA, known::DECLINED, known::INSUFFICIENT_FUNDS];
    let tokens = [known::TOK_APPROVED, known::TOK_DECLINED, known::TOK_THEN_DECLINED];
    for value in cards.into_iter().chain(tokens).chain([known::CUSTOMER, known::INVALID_POSTAL_CODE]) {
        assert!(chapter.contains(value), "{value}");
    }
}
