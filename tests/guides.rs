//! Does the code accept the JSON examples of the guides? (Their Rust code is compiled as documentation tests.)

use payments_core::model::TokenTransaction;
use payments_fake::{FakeGateway, Fixtures, test_values as known};

const COMMAND: &str = include_str!("../docs/command.md");
const SANDBOX: &str = include_str!("../docs/sandbox.md");

/// The first JSON block of a guide.
fn json_of(guide: &'static str) -> &'static str {
    let (_, block) = guide.split_once("```json\n").unwrap();
    block.split("```").next().unwrap()
}

#[test]
fn request_in_command_guide_is_valid() {
    TokenTransaction::from_json(json_of(COMMAND).as_bytes()).unwrap();
}

#[test]
fn fixtures_in_sandbox_guide_can_be_loaded() {
    Fixtures::from_json(json_of(SANDBOX)).unwrap();
}

#[test]
fn sandbox_guide_names_the_fakes_test_values() {
    assert!(SANDBOX.contains(FakeGateway::API_KEY));
    let cards = [known::VISA, known::DECLINED, known::INSUFFICIENT_FUNDS];
    let tokens = [known::TOK_APPROVED, known::TOK_DECLINED, known::TOK_THEN_DECLINED];
    for value in cards.into_iter().chain(tokens).chain([known::CUSTOMER, known::INVALID_POSTAL_CODE]) {
        assert!(SANDBOX.contains(value), "{value}");
    }
}
