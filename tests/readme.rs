//! Is what the README shows what the code takes? (Its Rust is compiled as documentation tests.)

use payments_core::model::TokenTransaction;
use payments_fake::{FakeGateway, Fixtures, test_values as known};

const README: &str = include_str!("../README.md");

/// The chapter with this beginning.
fn chapter(title: &str) -> &'static str {
    let (_, chapter) = README.split_once(&format!("\n## {title}")).unwrap();
    chapter.split("\n## ").next().unwrap()
}

/// The first JSON of a chapter.
fn json_of(title: &str) -> &'static str {
    let (_, block) = chapter(title).split_once("```json\n").unwrap();
    block.split("```").next().unwrap()
}

#[test]
fn the_request_of_the_readme_is_valid() {
    TokenTransaction::from_json(json_of("The command").as_bytes()).unwrap();
}

#[test]
fn the_fixtures_of_the_readme_can_be_loaded() {
    Fixtures::from_json(json_of("The sandbox")).unwrap();
}

#[test]
fn the_test_values_of_the_readme_are_the_fakes() {
    let chapter = chapter("The sandbox");
    assert!(chapter.contains(FakeGateway::API_KEY));
    let cards = [known::VISA, known::DECLINED, known::INSUFFICIENT_FUNDS];
    let tokens = [known::TOK_APPROVED, known::TOK_DECLINED, known::TOK_THEN_DECLINED];
    for value in cards.into_iter().chain(tokens).chain([known::CUSTOMER, known::INVALID_POSTAL_CODE]) {
        assert!(chapter.contains(value), "{value}");
    }
}
