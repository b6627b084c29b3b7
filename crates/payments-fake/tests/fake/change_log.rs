//! What a gateway appends to its log, and that a gateway restored from the log is the same.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode};
use payments_core::OperationName;
use payments_core::model::{Amount, CustomerRecord, Field, TransactionType};
use payments_fake::test_values::{TEST_VALUES, TestField};
use payments_fake::{
    Change, ChangeLog, Choices, FakeGateway, FakeGatewayBuilder, Fault, Fixtures, Flushed, NotDurable, Reply,
    Tenant, VoidAnswer, block_on,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

const KEYS: [&str; 2] = ["key_one", "key_two"];

fn two_tenants() -> FakeGatewayBuilder {
    FakeGateway::builder().api_key(KEYS[0]).another_api_key(KEYS[1])
}

/// Keeps the appended groups; every change is durable at once.
#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Vec<Group>>>);

type Group = Vec<(usize, Change)>;

impl Recording {
    fn groups(&self) -> Vec<Group> {
        self.0.lock().unwrap().clone()
    }

    fn changes(&self) -> Vec<(usize, Change)> {
        self.groups().concat()
    }
}

impl ChangeLog for Recording {
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>) {
        self.0.lock().unwrap().push(group.collect());
    }

    fn flushed(&self) -> Flushed {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// One action on one tenant.
#[derive(Clone, Debug)]
struct Step {
    tenant: usize,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Card {
        number: &'static str,
        tokenize: bool,
        transaction_type: Option<&'static str>,
        name: String,
    },
    Ach,
    NamedToken {
        id: &'static str,
        reference: Option<String>,
    },
    /// A payment with the tenant's nth token.
    StoredToken(usize),
    /// A void of the tenant's nth transaction.
    Void {
        nth: usize,
        reason: Option<String>,
    },
    Customer {
        id: u8,
        name: String,
    },
    Token {
        id: u8,
        card: &'static str,
        declines: bool,
    },
    Clear,
}

fn values_of(field: TestField) -> impl Strategy<Value = &'static str> {
    let values: Vec<_> = TEST_VALUES.iter().filter(|row| row.field == field).map(|row| row.value).collect();
    proptest::sample::select(values)
}

/// Difficult texts: quotation marks, names of ledger fields, control characters, card numbers.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 \"\\\\,:{}\\[\\]\u{e4}\u{1f600}\n]{1,20}".prop_map(|text| format!("x{text}")),
        Just(r#"","Operation":"void"#.to_owned()),
        Just(r#"x","TokenId":"tok_then_declined","#.to_owned()),
        Just(r#"x,"TokenId":"tok_then_declined""#.to_owned()),
        Just("for card 4242 4242 4242 4242, please".to_owned()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        6 => (
            values_of(TestField::CardNumber),
            any::<bool>(),
            proptest::option::of(proptest::sample::select(vec!["1", "2"])),
            text(),
        )
            .prop_map(|(number, tokenize, transaction_type, name)| Action::Card {
                number,
                tokenize,
                transaction_type,
                name
            }),
        1 => Just(Action::Ach),
        4 => (values_of(TestField::TokenId), proptest::option::of(text()))
            .prop_map(|(id, reference)| Action::NamedToken { id, reference }),
        3 => proptest::option::of(text())
            .prop_map(|reference| Action::NamedToken { id: "tok_then_declined", reference }),
        2 => (0..4_usize).prop_map(Action::StoredToken),
        5 => (0..12_usize, proptest::option::of(text())).prop_map(|(nth, reason)| Action::Void { nth, reason }),
        1 => (0..3_u8, text()).prop_map(|(id, name)| Action::Customer { id, name }),
        1 => (0..3_u8, values_of(TestField::CardNumber), any::<bool>())
            .prop_map(|(id, card, declines)| Action::Token { id, card, declines }),
        1 => Just(Action::Clear),
    ];
    (0..2_usize, action).prop_map(|(tenant, action)| Step { tenant, action })
}

fn choices() -> impl Strategy<Value = (VoidAnswer, TransactionType, Option<Amount>)> {
    (
        proptest::sample::select(vec![VoidAnswer::SameTransactionId, VoidAnswer::NewTransactionId]),
        proptest::sample::select(vec![TransactionType::Sale, TransactionType::Auth]),
        proptest::option::of(Just(Amount::from_cents(1_95))),
    )
}

fn post_as(tenant: usize, path: &str, body: &Value) -> Request<Bytes> {
    let mut request = post(path, body.to_string());
    request.headers_mut().insert("authorization", HeaderValue::from_static(KEYS[tenant]));
    request
}

/// Does nothing if the nth token or transaction of a step does not exist.
fn run_step(gateway: &FakeGateway, Step { tenant, action }: &Step) -> Option<Reply> {
    let records = tenant_of(gateway, *tenant);
    let request = match action {
        Action::Card { number, tokenize, transaction_type, name } => {
            let cvv = if number.len() == 15 { "1234" } else { "123" };
            let mut body = json!({
                "Amount": 10.5, "CardNumber": number, "Cvv": cvv, "ExpiryDate": "1230", "SuggestedMode": "Card",
                "BillingCustomerName": name, "PaymentTokenization": tokenize, "ConvenienceFeeActive": true,
            });
            if let Some(transaction_type) = transaction_type {
                body["TransactionType"] = (*transaction_type).into();
            }
            post_as(*tenant, "/transaction", &with_payer(body))
        }
        Action::Ach => {
            let body = json!({
                "Amount": 7, "SuggestedMode": "ACH", "AccountNumber": "9876543210", "TransactionType": "2",
                "BillingCustomerName": "Ada Example", "ConvenienceFeeActive": false,
            });
            post_as(*tenant, "/transaction", &with_payer(body))
        }
        Action::NamedToken { id, reference } => {
            post_as(*tenant, "/token-transaction", &token_payment(id, reference.as_deref()))
        }
        Action::StoredToken(nth) => {
            let token = records.tokens().into_iter().nth(*nth)?;
            post_as(*tenant, "/token-transaction", &token_payment(token.token_id.as_str(), None))
        }
        Action::Void { nth, reason } => {
            let ledger = records.ledger();
            let mut body = json!({ "TransactionId": ledger.entries().get(*nth)?.transaction_id().as_str(), "TransactionFor": "Void" });
            if let Some(reason) = reason {
                body["Reason"] = reason.as_str().into();
            }
            post_as(*tenant, "/void", &body)
        }
        Action::Customer { id, name } => {
            let json = json!({ "CustomerId": format!("cus_{id}"), "CustomerName": name }).to_string();
            records.add_customer_json(&json).unwrap();
            return None;
        }
        Action::Token { id, card, declines } => {
            let json = json!({ "TokenId": format!("tok_{id}"), "CardNumber": card, "Declines": declines });
            records.add_token_json(&json.to_string()).unwrap();
            return None;
        }
        Action::Clear => {
            records.clear();
            return None;
        }
    };
    Some(gateway.handle(noon(), request))
}

fn with_payer(mut body: Value) -> Value {
    for (name, value) in [
        ("BillingEmail", "ada@example.com"),
        ("BillingCountryCode", "+44"),
        ("BillingPhoneNumber", "020 7946 0000"),
        ("BillingCountry", "GB"),
        ("BillingPostalCode", "SW1A 1AA"),
        ("IpAddress", "203.0.113.7"),
    ] {
        body[name] = value.into();
    }
    body
}

fn token_payment(id: &str, reference: Option<&str>) -> Value {
    let mut body = json!({ "TokenId": id, "Amount": 10.5, "ConvenienceFeeActive": false });
    if let Some(reference) = reference {
        body["ReferenceNo"] = reference.into();
        body["Description"] = reference.into();
    }
    body
}

fn tenant_of(gateway: &FakeGateway, tenant: usize) -> Tenant {
    gateway.tenant(KEYS[tenant]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn a_replayed_log_and_a_loaded_state_restore_the_same_gateway(
        steps in proptest::collection::vec(step(), 1..30),
        (void_answer, token_transaction_type, convenience_fee) in choices(),
    ) {
        let choose = |choices: &mut Choices| {
            choices.void_answer = void_answer;
            choices.token_transaction_type = token_transaction_type;
            choices.convenience_fee = convenience_fee;
        };
        let log = Recording::default();
        let original = two_tenants().choices(choose).change_log(log.clone()).build();
        for step in &steps {
            run_step(&original, step);
        }

        let second_log = Recording::default();
        let replayed = two_tenants().seed(9).choices(choose).change_log(second_log.clone()).build();
        for (tenant, change) in log.changes() {
            tenant_of(&replayed, tenant).replay(change).unwrap();
        }
        prop_assert!(second_log.changes().is_empty(), "a replayed change is not logged again");

        for tenant in 0..2 {
            let (expected, restored) = (tenant_of(&original, tenant), tenant_of(&replayed, tenant));
            let state = expected.state_json();
            prop_assert_eq!(&restored.state_json(), &state);
            prop_assert_eq!(restored.ledger(), expected.ledger());
            prop_assert_eq!(restored.tokens(), expected.tokens());
            prop_assert_eq!(restored.transaction_count(), expected.ledger().entries().len());

            let loaded = FakeGateway::builder().choices(choose).seed(10).build();
            loaded.load(&Fixtures::from_json(&state).unwrap());
            prop_assert_eq!(loaded.first_tenant().state_json(), state);
            prop_assert_eq!(loaded.ledger(), expected.ledger());
            prop_assert_eq!(loaded.tokens(), expected.tokens());
        }

        // Later requests get the same results, except for ids.
        for tenant in 0..2 {
            for row in TEST_VALUES.iter().filter(|row| row.field == TestField::TokenId) {
                let charge = |gateway: &FakeGateway| {
                    let reply = gateway.handle(noon(), post_as(tenant, "/token-transaction", &token_payment(row.value, None)));
                    let Reply::Answer(answer) = reply else { panic!("expected a response") };
                    let body: Value = serde_json::from_slice(answer.body()).unwrap();
                    (answer.status(), body["status"].clone(), body["message"].clone())
                };
                prop_assert_eq!(charge(&replayed), charge(&original), "{}", row.value);
            }
        }
    }
}

#[test]
fn changes_are_logged_in_order_with_their_documents() {
    let log = Recording::default();
    let gateway = two_tenants().change_log(log.clone()).build();
    let card = Action::Card {
        number: "4242424242424242",
        tokenize: true,
        transaction_type: Some("2"),
        name: "Ada Example".to_owned(),
    };
    run_step(&gateway, &Step { tenant: 1, action: card });
    run_step(
        &gateway,
        &Step { tenant: 0, action: Action::Customer { id: 7, name: "Grace Example".to_owned() } },
    );
    run_step(&gateway, &Step { tenant: 1, action: Action::Void { nth: 0, reason: None } });
    run_step(&gateway, &Step { tenant: 1, action: Action::Clear });

    let changes: Vec<_> = log.changes();
    let kinds: Vec<_> = changes.iter().map(|(tenant, change)| (*tenant, kind_of(change))).collect();
    assert_eq!(
        kinds,
        [(1, "transaction"), (1, "token"), (0, "customer"), (1, "transaction"), (1, "cleared")]
    );
    let (_, Change::Transaction { id, document }) = &changes[3] else { panic!("the void comes fourth") };
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["TransactionId"], id.as_str());
    assert_eq!((&document["Voided"], &document["Status"]), (&json!(true), &json!("3")));
    assert_eq!(format!("{:?}", changes[3].1), format!("Transaction({id})"), "personal data is not printed");
}

fn kind_of(change: &Change) -> &'static str {
    match change {
        Change::Transaction { .. } => "transaction",
        Change::Token { .. } => "token",
        Change::Customer { .. } => "customer",
        Change::Cleared => "cleared",
        _ => "another",
    }
}

/// The tenants and the kinds of each group's changes.
fn kinds_of(groups: &[Group]) -> Vec<Vec<(usize, &'static str)>> {
    let kinds = |group: &Group| group.iter().map(|(tenant, change)| (*tenant, kind_of(change))).collect();
    groups.iter().map(kinds).collect()
}

#[test]
fn changes_that_belong_together_are_one_group() {
    let log = Recording::default();
    let choose = |choices: &mut Choices| choices.void_answer = VoidAnswer::NewTransactionId;
    let gateway = two_tenants().choices(choose).change_log(log.clone()).ignore_unfired_faults().build();
    let logged = || kinds_of(&std::mem::take(&mut *log.0.lock().unwrap()));
    let (transaction, token, customer, cleared) = ("transaction", "token", "customer", "cleared");

    let card = Action::Card {
        number: "4242424242424242",
        tokenize: true,
        transaction_type: Some("2"),
        name: "Ada Example".to_owned(),
    };
    let pay = Step { tenant: 1, action: card };
    run_step(&gateway, &pay);
    assert_eq!(logged(), [[(1, transaction), (1, token)]]);
    run_step(&gateway, &Step { tenant: 1, action: Action::Void { nth: 0, reason: None } });
    assert_eq!(
        logged(),
        [[(1, transaction), (1, transaction)]],
        "the voided payment and the void's own entry"
    );

    gateway.arm(Fault::on(OperationName::Transaction).late().close());
    run_step(&gateway, &pay);
    assert!(logged().is_empty());
    gateway.deliver_late();
    assert_eq!(logged(), [[(1, transaction), (1, token)]], "a late payment too");

    let fixtures = Fixtures::from_json(
        r#"{"customers": [{"CustomerId": "cus_7"}], "tokens": [{"TokenId": "tok_7"}],
            "transactions": [{"TransactionId": "txn_7", "Amount": 1}],
            "faults": [{"operation": "void", "phase": "after_commit", "kind": "close"}]}"#,
    )
    .unwrap();
    let loaded = |tenant| [(tenant, customer), (tenant, token), (tenant, transaction)];
    gateway.load(&fixtures);
    assert_eq!(logged(), [[loaded(0), loaded(1)].concat()]);
    gateway.load(&fixtures);
    assert!(logged().is_empty(), "an empty group is not logged");

    gateway.reset();
    assert_eq!(logged(), [[(0, cleared), (1, cleared)]]);
    assert!(gateway.faults().is_empty());
    run_step(&gateway, &pay);
    logged();
    gateway.reset_to(&fixtures);
    let reset = |tenant| [vec![(tenant, cleared)], loaded(tenant).to_vec()].concat();
    assert_eq!(logged(), [[reset(0), reset(1)].concat()]);
    assert_eq!(gateway.faults().len(), 1);
    assert_eq!(tenant_of(&gateway, 1).ledger().entries().len(), 1);
}

#[test]
fn a_request_without_an_effect_is_not_logged() {
    let log = Recording::default();
    let gateway = two_tenants().change_log(log.clone()).build();
    gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().close());
    gateway.arm(Fault::on(OperationName::TokenTransaction).late().close().nth(2));
    let pay =
        || gateway.handle(noon(), post_as(0, "/token-transaction", &token_payment("tok_approved", None)));
    pay();
    pay();
    gateway.handle(noon(), post_as(0, "/void", &json!({ "TransactionId": "txn_unknown" })));
    gateway.handle(noon(), post_as(0, "/token-transaction", &token_payment("tok_removed", None)));
    assert!(log.changes().is_empty());
    gateway.deliver_late();
    assert_eq!(log.changes().len(), 1, "the late payment is logged when it takes effect");
}

#[test]
fn a_voided_token_authorization_does_not_count_as_another_charge() {
    for void_answer in [VoidAnswer::SameTransactionId, VoidAnswer::NewTransactionId] {
        let gateway = two_tenants()
            .choices(|choices| {
                choices.token_transaction_type = TransactionType::Auth;
                choices.void_answer = void_answer;
            })
            .build();
        let action = Action::NamedToken { id: "tok_then_declined", reference: None };
        let charge = || {
            let Some(Reply::Answer(answer)) = run_step(&gateway, &Step { tenant: 0, action: action.clone() })
            else {
                panic!("expected a response")
            };
            serde_json::from_slice::<Value>(answer.body()).unwrap()["status"].clone()
        };
        assert_eq!(charge(), "success");
        run_step(&gateway, &Step { tenant: 0, action: Action::Void { nth: 0, reason: None } });
        assert_eq!([charge(), charge()], ["success", "failed"], "{void_answer:?}");
    }
}

#[test]
fn ids_stay_unique_when_a_gateway_is_restored_from_its_own_seed() {
    let log = Recording::default();
    let first = two_tenants().seed(3).change_log(log.clone()).build();
    let card = || Action::Card {
        number: "4242424242424242",
        tokenize: true,
        transaction_type: None,
        name: "Ada Example".to_owned(),
    };
    for _ in 0..10 {
        run_step(&first, &Step { tenant: 0, action: card() });
    }
    let second = two_tenants().seed(3).build();
    for (tenant, change) in log.changes() {
        tenant_of(&second, tenant).replay(change).unwrap();
    }
    for _ in 0..10 {
        run_step(&second, &Step { tenant: 0, action: card() });
    }
    assert_eq!(tenant_of(&second, 0).ledger().entries().len(), 20, "no payment replaced another");
    assert_eq!(tenant_of(&second, 0).tokens().len(), 20);
}

#[test]
fn an_unusual_customer_survives_the_log_unchanged() {
    let log = Recording::default();
    let gateway = two_tenants().change_log(log.clone()).build();
    let odd = CustomerRecord::from_json(
        br#"{"CustomerId":"cus_odd","Email":null,"City":["no text"],"Loyalty":"gold"}"#,
    )
    .unwrap();
    gateway.add_customer(odd);
    let restored = two_tenants().build();
    for (tenant, change) in log.changes() {
        tenant_of(&restored, tenant).replay(change).unwrap();
    }
    assert_eq!(restored.first_tenant().state_json(), gateway.first_tenant().state_json());
    assert!(restored.first_tenant().state_json().contains(r#""Loyalty":"gold""#));
}

#[test]
fn replay_refuses_a_document_that_no_version_wrote() {
    let gateway = two_tenants().build();
    let id = || "txn_1".parse().unwrap();
    for document in ["", "{}", "null", r#"x,"Operation":"void""#] {
        let change = Change::Transaction { id: id(), document: document.into() };
        assert!(gateway.first_tenant().replay(change).is_err(), "{document}");
        let change = Change::Token { id: "tok_1".parse().unwrap(), document: document.into() };
        assert!(gateway.first_tenant().replay(change).is_err(), "{document}");
    }
    let change = Change::Customer { id: "cus_1".parse().unwrap(), document: "[]".into() };
    assert!(gateway.first_tenant().replay(change).is_err());
    gateway.ledger().assert_nothing_charged();
}

#[test]
fn a_logged_transaction_is_small() {
    let log = Recording::default();
    let gateway = FakeGateway::builder().change_log(log.clone()).build();
    let body = json!({
        "Amount": 123_456.78, "BillingAddress": "221B Baker Street, Marylebone", "BillingCity": "London",
        "BillingCountry": "United Kingdom", "BillingCountryCode": "+44", "BillingCustomerName": "Ada Example of Exampleton",
        "BillingEmail": "ada.of.exampleton@payments.example.com", "BillingPhoneNumber": "020 7946 0000",
        "BillingPostalCode": "SW1A 1AA", "BillingState": "Greater London", "ShippingSameAsBilling": false,
        "ShippingCustomerName": "Grace Example", "ShippingEmail": "grace@example.com", "ShippingPhoneNumber": "555-0100",
        "ShippingAddress": "1 Example Street", "ShippingCountry": "United States", "ShippingCity": "Exampleton",
        "ShippingState": "CA", "ShippingPostalCode": "94105", "CardNumber": "4242424242424242", "Cvv": "123",
        "ExpiryDate": "1230", "SuggestedMode": "Card", "ConvenienceFeeActive": false, "TransactionType": "1",
        "PaymentTokenization": false, "IpAddress": "203.0.113.7",
    });
    assert_eq!(body.as_object().unwrap().len(), 27);
    assert_eq!(response(&gateway, post("/transaction", body.to_string())).status(), StatusCode::OK);
    let changes = log.changes();
    let (0, Change::Transaction { document, .. }) = &changes[0] else { panic!("a transaction is logged") };
    assert!(document.len() <= 900, "{} bytes: {document}", document.len());
}

/// Durable when the test says so.
#[derive(Clone, Default)]
struct Withheld(Arc<Mutex<WithheldState>>);

#[derive(Default)]
struct WithheldState {
    appended: usize,
    outcome: Option<Result<(), NotDurable>>,
}

impl ChangeLog for Withheld {
    fn append(&self, group: &mut dyn Iterator<Item = (usize, Change)>) {
        self.0.lock().unwrap().appended += group.count();
    }

    fn flushed(&self) -> Flushed {
        let state = Arc::clone(&self.0);
        Box::pin(std::future::poll_fn(move |_| {
            state.lock().unwrap().outcome.map_or(Poll::Pending, Poll::Ready)
        }))
    }
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn requests() -> HashMap<&'static str, Request<Bytes>> {
    HashMap::from([
        ("payment", post("/token-transaction", token_payment("tok_approved", None).to_string())),
        ("declined payment", post("/token-transaction", token_payment("tok_declined", None).to_string())),
        // A lookup may report a payment of another connection that is not durable yet.
        ("lookup", get("/customer/cus_1")),
    ])
}

#[test]
fn a_reply_waits_until_every_change_is_durable() {
    for (name, request) in requests() {
        let log = Withheld::default();
        let gateway = FakeGateway::builder().change_log(log.clone()).build();
        let responder = gateway.responder();
        let mut reply = pin!(responder.respond(request, gateway.clock()));
        assert!(poll_once(reply.as_mut()).is_pending(), "{name}");
        assert_eq!(log.0.lock().unwrap().appended, gateway.ledger().entries().len());
        log.0.lock().unwrap().outcome = Some(Ok(()));
        assert!(matches!(poll_once(reply.as_mut()), Poll::Ready(Reply::Answer(_))), "{name}");
    }
}

#[test]
fn a_reply_is_closed_if_its_changes_cannot_be_made_durable() {
    for (name, request) in requests() {
        let log = Withheld::default();
        log.0.lock().unwrap().outcome = Some(Err(NotDurable::new()));
        let gateway = FakeGateway::builder().change_log(log).build();
        let reply = block_on(gateway.responder().respond(request, gateway.clock()));
        assert!(matches!(reply, Reply::Closed), "{name}: {reply:?}");
        let recorded = gateway.requests().pop().unwrap();
        assert_eq!((recorded.status(), recorded.symptom()), (None, Some("close")), "{name}");
    }
}

#[test]
fn a_fault_after_the_commit_waits_for_durability_too() {
    let log = Withheld::default();
    let gateway = FakeGateway::builder().change_log(log.clone()).build();
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let responder = gateway.responder();
    let payment = post("/token-transaction", token_payment("tok_approved", None).to_string());
    let mut reply = pin!(responder.respond(payment, gateway.clock()));
    assert!(poll_once(reply.as_mut()).is_pending());
    log.0.lock().unwrap().outcome = Some(Ok(()));
    assert!(matches!(poll_once(reply.as_mut()), Poll::Ready(Reply::Closed)));
}

#[test]
fn flushed_is_ready_at_once_without_a_log() {
    let gateway = FakeGateway::new();
    assert_eq!(block_on(gateway.responder().flushed()), Ok(()));
}

#[test]
fn no_stored_or_logged_document_holds_a_full_card_number_d62() {
    const NUMBER: &str = "4242424242424242";
    let log = Recording::default();
    let gateway = FakeGateway::builder().change_log(log.clone()).choices(|choices| {
        choices.void_answer = VoidAnswer::NewTransactionId;
    });
    let gateway = gateway.build();
    let fields = [
        "BillingAddress",
        "BillingCity",
        "BillingCountry",
        "BillingCustomerName",
        "BillingEmail",
        "BillingPhoneNumber",
        "BillingPostalCode",
        "BillingState",
    ];
    for field in fields {
        let mut body = with_payer(json!({
            "Amount": 10.5, "CardNumber": NUMBER, "Cvv": "123", "ExpiryDate": "1230", "SuggestedMode": "Card",
            "BillingCustomerName": "Ada Example", "ConvenienceFeeActive": false, "TransactionType": "2",
            "PaymentTokenization": true,
        }));
        body[field] =
            if field == "BillingEmail" { format!("{NUMBER}@example.com") } else { NUMBER.to_owned() }.into();
        assert_eq!(json(&gateway, post("/transaction", body.to_string())).0, 200, "{field}");
    }
    let mut charge = token_payment("tok_approved", Some(NUMBER));
    assert_eq!(json(&gateway, post("/token-transaction", charge.to_string())).0, 200);
    charge["Description"] = "4242-4242-4242-4242".into();
    assert_eq!(json(&gateway, post("/token-transaction", charge.to_string())).0, 200);
    let authorized = gateway.ledger().entries()[0].transaction_id().to_string();
    let void = json!({ "TransactionId": authorized, "Reason": format!("card {NUMBER}") });
    assert_eq!(json(&gateway, post("/void", void.to_string())).0, 200);

    let tenant = gateway.first_tenant();
    for field in ["CustomerName", "Email", "PhoneNumber", "CountryCode", "Address", "City", "PostalCode"] {
        tenant
            .add_customer_json(&json!({ "CustomerId": format!("cus_{field}"), field: NUMBER }).to_string())
            .unwrap();
        let mut customer = CustomerRecord::new();
        customer.customer_id = Field::Value(format!("cus_of_a_test_{field}").parse().unwrap());
        customer.address = Field::Value(NUMBER.to_owned());
        customer.email = Field::Value(NUMBER.to_owned());
        gateway.add_customer(customer);
    }
    tenant.add_token_json(&json!({ "TokenId": "tok_7", "CardNumber": NUMBER }).to_string()).unwrap();
    let transactions: Vec<_> = fields
        .into_iter()
        .filter(|field| *field != "BillingCountry")
        .chain(["CardNumber", "BillingCountryCode", "ReferenceNo", "Description", "VoidReason", "Status"])
        .map(|field| json!({ "TransactionId": format!("txn_{field}"), "Amount": 1, field: NUMBER }))
        .collect();
    gateway.load(&Fixtures::from_json(&json!({ "transactions": transactions }).to_string()).unwrap());

    let changes: Vec<_> = log.changes();
    let documents = changes.iter().map(|(_, change)| match change {
        Change::Transaction { document, .. }
        | Change::Token { document, .. }
        | Change::Customer { document, .. } => document.to_string(),
        _ => String::new(),
    });
    for text in documents.chain([tenant.state_json()]) {
        let digits: String = text.chars().filter(|character| !" -".contains(*character)).collect();
        assert!(!digits.contains(NUMBER) && !digits.contains("424242424242"), "{text}");
    }
    assert!(tenant.state_json().contains("************4242"));
}
