//! Stored records are restored, for their own tenant and in their original order.

use bytes::Bytes;
use payments_core::model::{
    AchTransaction, Card, CardTransaction, ConvenienceFee, Payer, SecretBytes, TransactionType,
};
use payments_fake::test_values::{DECLINED, DECLINED_AS_TOKEN, MASTERCARD, VISA};
use payments_fake::{FakeGateway, block_on};
use payments_sandbox::DataFile;
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{KEYS, PRICE, Place, StoredGateway};

const CARDS: [&str; 4] = [VISA, MASTERCARD, DECLINED, DECLINED_AS_TOKEN];
const TOKENS: [&str; 3] = ["tok_approved", "tok_declined", "tok_then_declined"];

pub(crate) const PAYER: Payer<'static> = Payer {
    customer_name: "Ada \"Ω\" Example",
    email: "ada@example.com",
    country_code: "+44",
    phone_number: "020 7946 0000",
    country: "GB",
    postal_code: "SW1A 1AA",
    ip_address: "203.0.113.7",
};

#[derive(Clone, Debug)]
enum Step {
    Card { card: usize, auth: bool, tokenize: bool },
    Account,
    NamedToken(usize),
    NewToken(usize),
    Void(usize),
    Customer { number: u8, name: u8 },
    Token { number: u8, owner: u8 },
    Clear,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..CARDS.len(), any::<bool>(), any::<bool>())
            .prop_map(|(card, auth, tokenize)| Step::Card { card, auth, tokenize }),
        2 => Just(Step::Account),
        4 => (0..TOKENS.len()).prop_map(Step::NamedToken),
        3 => (0..8_usize).prop_map(Step::NewToken),
        4 => (0..8_usize).prop_map(Step::Void),
        2 => (0..4_u8, 0..9_u8).prop_map(|(number, name)| Step::Customer { number, name }),
        2 => (0..4_u8, 0..9_u8).prop_map(|(number, owner)| Step::Token { number, owner }),
        1 => Just(Step::Clear),
        1 => Just(Step::Restart),
    ]
}

pub(crate) fn card_payment(number: &str, auth: bool, tokenize: bool) -> SecretBytes {
    let kind = if auth { TransactionType::Auth } else { TransactionType::Sale };
    let card = Card { number, cvv: "987", expiry: "12/31" };
    let payment = CardTransaction::builder(PRICE, kind, ConvenienceFee::Inactive, card, PAYER);
    payment.payment_tokenization(tokenize).build().unwrap().to_json()
}

pub(crate) fn account_payment() -> SecretBytes {
    AchTransaction::builder(PRICE, TransactionType::Sale, ConvenienceFee::Inactive, PAYER)
        .account_field("RoutingNumber", "021000021")
        .account_field("AccountNumber", "9876543210")
        .build()
        .unwrap()
        .to_json()
}

fn run(stored: &StoredGateway, key: &str, step: &Step) {
    let tenant = stored.gateway.tenant(key).unwrap();
    match *step {
        Step::Card { card, auth, tokenize } => {
            let body = card_payment(CARDS[card], auth, tokenize);
            stored.post(key, "/transaction", Bytes::from_owner(body));
        }
        Step::Account => {
            stored.post(key, "/transaction", Bytes::from_owner(account_payment()));
        }
        Step::NamedToken(token) => {
            stored.charge(key, TOKENS[token]);
        }
        Step::NewToken(number) => {
            if let Some(token) = tenant.tokens().get(number) {
                stored.charge(key, token.token_id.as_str());
            }
        }
        Step::Void(number) => {
            let state: Value = serde_json::from_str(&tenant.state_json()).unwrap();
            if let Some(id) = state["transactions"][number]["TransactionId"].as_str() {
                stored.void(key, id);
            }
        }
        Step::Customer { number, name } => {
            let json = format!(r#"{{"CustomerId":"cus_{number}","CustomerName":"Ada {name}"}}"#);
            tenant.add_customer_json(&json).unwrap();
        }
        Step::Token { number, owner } => {
            let json = format!(r#"{{"TokenId":"tok_own_{number}","GatewayCustomerId":"gc_{owner}"}}"#);
            tenant.add_token_json(&json).unwrap();
        }
        Step::Clear => tenant.clear(),
        Step::Restart => unreachable!("the caller restarts, because it has the place"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn the_records_of_two_tenants_survive_a_restart(
        steps in prop::collection::vec((0..KEYS.len(), step()), 1..40),
    ) {
        let place = Place::new();
        let mut stored = place.open(&KEYS);
        for (tenant, step) in steps.iter().chain([&(0, Step::Restart)]) {
            if let Step::Restart = step {
                let states = stored.states();
                stored.close();
                stored = place.open(&KEYS);
                prop_assert_eq!(stored.states(), states);
            } else {
                run(&stored, KEYS[*tenant], step);
            }
        }
    }
}

#[test]
fn charges_of_a_test_token_are_counted_across_a_restart() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    for _ in 0..2 {
        assert_eq!(stored.charge(KEYS[0], "tok_then_declined")["status_code"], 100);
    }
    stored.close();
    let stored = place.open(&KEYS);
    assert_eq!(stored.charge(KEYS[0], "tok_then_declined")["status_code"], 200);
    assert_eq!(stored.charge(KEYS[1], "tok_then_declined")["status_code"], 100);
}

#[test]
fn a_voided_payment_keeps_its_position() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let ids: Vec<_> = (0..5)
        .map(|_| {
            let body = Bytes::from_owner(card_payment(VISA, true, false));
            let response = stored.post(KEYS[0], "/transaction", body);
            response["data"]["TransactionId"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(stored.void(KEYS[0], &ids[1])["status_code"], 100);
    stored.close();
    let stored = place.open(&KEYS);
    let ledger = stored.gateway.first_tenant().ledger();
    let stored_ids: Vec<_> =
        ledger.entries().iter().map(|entry| entry.transaction_id().to_string()).collect();
    assert_eq!(stored_ids[..5], ids);
}

#[test]
fn a_changed_customer_keeps_its_position() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    let tenant = stored.gateway.first_tenant();
    for json in [
        r#"{"CustomerId":"cus_7","CustomerName":"Ada"}"#,
        r#"{"CustomerId":"cus_8"}"#,
        r#"{"CustomerId":"cus_7","CustomerName":"Grace"}"#,
    ] {
        tenant.add_customer_json(json).unwrap();
    }
    let states = stored.states();
    stored.close();
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn the_file_grows_with_the_records_and_not_with_every_change() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    for _ in 0..20 {
        stored.add_customer(KEYS[0], "cus_7");
        stored.gateway.first_tenant().add_token_json(r#"{"TokenId":"tok_7"}"#).unwrap();
    }
    stored.close();
    let records = || place.sql().query_row("SELECT count(*) FROM record", [], |row| row.get::<_, i64>(0));
    assert_eq!(records().unwrap(), 2);
    let stored = place.open(&KEYS);
    stored.gateway.first_tenant().clear();
    stored.close();
    assert_eq!(records().unwrap(), 0);
}

#[test]
fn each_key_gets_its_own_records_in_any_order_of_keys() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    stored.pay(KEYS[0]);
    stored.add_customer(KEYS[1], "cus_7");
    let [first, second] = <[String; 2]>::try_from(stored.states()).unwrap();
    stored.close();

    let stored = place.open(&[KEYS[1], KEYS[0]]);
    assert_eq!(stored.states(), [second.clone(), first]);
    stored.close();
    // A key that is not passed keeps its records, whatever the others do.
    let stored = place.open(&["third_key_of_the_tests", KEYS[0]]);
    assert_eq!(stored.gateway.first_tenant().transaction_count(), 0);
    stored.gateway.reset();
    stored.close();
    let stored = place.open(&KEYS);
    assert_eq!(stored.gateway.first_tenant().transaction_count(), 0);
    assert_eq!(stored.states()[1], second);
}

#[test]
fn a_repeated_key_is_one_tenant() {
    let place = Place::new();
    let stored = place.open(&[KEYS[0], KEYS[0], KEYS[1]]);
    stored.pay(KEYS[1]);
    let states = stored.states();
    assert_eq!(states.len(), 2);
    stored.close();
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
fn every_start_is_counted_even_without_serving() {
    let place = Place::new();
    for start in 1..4 {
        assert_eq!(DataFile::open(place.file(), &KEYS).unwrap().starts(), start);
    }
    let stored = place.open(&KEYS);
    drop(stored);
    assert_eq!(DataFile::open(place.file(), &KEYS).unwrap().starts(), 5);
}

#[test]
fn resets_and_fixtures_are_stored_too() {
    let place = Place::new();
    let stored = place.open(&KEYS);
    stored.pay(KEYS[0]);
    stored.add_customer(KEYS[0], "cus_7");
    let state = stored.gateway.first_tenant().state_json();
    stored.gateway.reset();
    let fixtures = payments_fake::Fixtures::from_json(&state).unwrap();
    stored.gateway.load(&fixtures);
    let states = stored.states();
    stored.close();
    assert_eq!(place.open(&KEYS).states(), states);
}

#[test]
#[should_panic(expected = "the gateway's keys are those of the data file")]
fn a_builder_with_another_key_panics() {
    let place = Place::new();
    let file = DataFile::open(place.file(), &KEYS).unwrap();
    let builder = FakeGateway::builder().another_api_key("a_key_that_was_not_passed_to_the_file");
    let _ = file.gateway(builder);
}

#[test]
fn a_sandbox_serves_a_stored_gateway() {
    use payments_sandbox::Sandbox;

    let place = Place::new();
    let StoredGateway { gateway, store } = place.open(&KEYS);
    let sandbox = Sandbox::builder().gateway(gateway).start_blocking().unwrap();
    sandbox.gateway().first_tenant().add_customer_json(r#"{"CustomerId":"cus_7"}"#).unwrap();
    let state = sandbox.gateway().first_tenant().state_json();
    drop(sandbox);
    block_on(store.close()).unwrap();
    assert_eq!(place.open(&KEYS).states()[0], state);
}
