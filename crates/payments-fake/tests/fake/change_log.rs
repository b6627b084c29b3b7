//! What a gateway tells its log, and that a gateway made from the log is the same.

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

/// Keeps the groups that it is told; durable at once.
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

/// One thing that is done to one tenant.
#[derive(Clone, Debug)]
struct Step {
    tenant: usize,
    deed: Deed,
}

#[derive(Clone, Debug)]
enum Deed {
    Card {
        number: &'static str,
        tokenise: bool,
        transaction_type: Option<&'static str>,
        name: String,
    },
    Ach,
    NamedToken {
        id: &'static str,
        reference: Option<String>,
    },
    /// The nth token that the tenant has.
    StoredToken(usize),
    /// The nth transaction that the tenant has.
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

/// Texts that have hurt others: quotation marks, the names of the bookkeeping, control characters, card numbers.
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
    let deed = prop_oneof![
        6 => (
            values_of(TestField::CardNumber),
            any::<bool>(),
            proptest::option::of(proptest::sample::select(vec!["1", "2"])),
            text(),
        )
            .prop_map(|(number, tokenise, transaction_type, name)| Deed::Card {
                number,
                tokenise,
                transaction_type,
                name
            }),
        1 => Just(Deed::Ach),
        4 => (values_of(TestField::TokenId), proptest::option::of(text()))
            .prop_map(|(id, reference)| Deed::NamedToken { id, reference }),
        3 => proptest::option::of(text())
            .prop_map(|reference| Deed::NamedToken { id: "tok_then_declined", reference }),
        2 => (0..4_usize).prop_map(Deed::StoredToken),
        5 => (0..12_usize, proptest::option::of(text())).prop_map(|(nth, reason)| Deed::Void { nth, reason }),
        1 => (0..3_u8, text()).prop_map(|(id, name)| Deed::Customer { id, name }),
        1 => (0..3_u8, values_of(TestField::CardNumber), any::<bool>())
            .prop_map(|(id, card, declines)| Deed::Token { id, card, declines }),
        1 => Just(Deed::Clear),
    ];
    (0..2_usize, deed).prop_map(|(tenant, deed)| Step { tenant, deed })
}

fn choices() -> impl Strategy<Value = (VoidAnswer, TransactionType, Option<Amount>)> {
    (
        proptest::sample::select(vec![VoidAnswer::SameTransactionId, VoidAnswer::NewTransactionId]),
        proptest::sample::select(vec![TransactionType::Sale, TransactionType::Auth]),
        proptest::option::of(Just(Amount::from_cents(1_95))),
    )
}

fn ask_as(tenant: usize, method: http::Method, path: &str, body: &Value) -> Request<Bytes> {
    let mut request = request(method, path, body.to_string());
    request.headers_mut().insert("authorization", HeaderValue::from_static(KEYS[tenant]));
    request
}

fn post_as(tenant: usize, path: &str, body: &Value) -> Request<Bytes> {
    ask_as(tenant, http::Method::POST, path, body)
}

/// A payment by the tenant's nth token, or the void of its nth transaction, if it has so many.
fn carry_out(gateway: &FakeGateway, Step { tenant, deed }: &Step) -> Option<Reply> {
    let books = tenant_of(gateway, *tenant);
    let request = match deed {
        Deed::Card { number, tokenise, transaction_type, name } => {
            let cvv = if number.len() == 15 { "1234" } else { "123" };
            let mut body = json!({
                "Amount": 10.5, "CardNumber": number, "Cvv": cvv, "ExpiryDate": "1230", "SuggestedMode": "Card",
                "BillingCustomerName": name, "PaymentTokenization": tokenise, "ConvenienceFeeActive": true,
            });
            if let Some(transaction_type) = transaction_type {
                body["TransactionType"] = (*transaction_type).into();
            }
            post_as(*tenant, "/transaction", &with_payer(body))
        }
        Deed::Ach => {
            let body = json!({
                "Amount": 7, "SuggestedMode": "ACH", "AccountNumber": "9876543210", "TransactionType": "2",
                "BillingCustomerName": "Ada Example", "ConvenienceFeeActive": false,
            });
            post_as(*tenant, "/transaction", &with_payer(body))
        }
        Deed::NamedToken { id, reference } => {
            post_as(*tenant, "/token-transaction", &token_payment(id, reference.as_deref()))
        }
        Deed::StoredToken(nth) => {
            let token = books.tokens().into_iter().nth(*nth)?;
            post_as(*tenant, "/token-transaction", &token_payment(token.token_id.as_str(), None))
        }
        Deed::Void { nth, reason } => {
            let ledger = books.ledger();
            let mut body = json!({ "TransactionId": ledger.entries().get(*nth)?.transaction_id().as_str(), "TransactionFor": "Void" });
            if let Some(reason) = reason {
                body["Reason"] = reason.as_str().into();
            }
            post_as(*tenant, "/void", &body)
        }
        Deed::Customer { id, name } => {
            let json = json!({ "CustomerId": format!("cus_{id}"), "CustomerName": name }).to_string();
            books.add_customer_json(&json).unwrap();
            return None;
        }
        Deed::Token { id, card, declines } => {
            let json = json!({ "TokenId": format!("tok_{id}"), "CardNumber": card, "Declines": declines });
            books.add_token_json(&json.to_string()).unwrap();
            return None;
        }
        Deed::Clear => {
            books.clear();
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
    fn a_replayed_log_and_a_loaded_state_are_the_same_gateway(
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
            carry_out(&original, step);
        }

        let second_log = Recording::default();
        let replayed = two_tenants().seed(9).choices(choose).change_log(second_log.clone()).build();
        for (tenant, change) in log.changes() {
            tenant_of(&replayed, tenant).replay(change).unwrap();
        }
        prop_assert!(second_log.changes().is_empty(), "a replayed change is not told again");

        for tenant in 0..2 {
            let (books, again) = (tenant_of(&original, tenant), tenant_of(&replayed, tenant));
            let state = books.state_json();
            prop_assert_eq!(&again.state_json(), &state);
            prop_assert_eq!(again.ledger(), books.ledger());
            prop_assert_eq!(again.tokens(), books.tokens());
            prop_assert_eq!(again.transaction_count(), books.ledger().entries().len());

            let loaded = FakeGateway::builder().choices(choose).seed(10).build();
            loaded.load(&Fixtures::from_json(&state).unwrap());
            prop_assert_eq!(loaded.first_tenant().state_json(), state);
            prop_assert_eq!(loaded.ledger(), books.ledger());
            prop_assert_eq!(loaded.tokens(), books.tokens());
        }

        // And they go on in the same way, ids aside.
        for tenant in 0..2 {
            for row in TEST_VALUES.iter().filter(|row| row.field == TestField::TokenId) {
                let charge = |gateway: &FakeGateway| {
                    let reply = gateway.handle(noon(), post_as(tenant, "/token-transaction", &token_payment(row.value, None)));
                    let Reply::Answer(answer) = reply else { panic!("an answer must come") };
                    let body: Value = serde_json::from_slice(answer.body()).unwrap();
                    (answer.status(), body["status"].clone(), body["message"].clone())
                };
                prop_assert_eq!(charge(&replayed), charge(&original), "{}", row.value);
            }
        }
    }
}

#[test]
fn changes_are_told_in_the_order_in_which_they_took_effect_and_with_what_a_look_up_shows() {
    let log = Recording::default();
    let gateway = two_tenants().change_log(log.clone()).build();
    let card = Deed::Card {
        number: "4242424242424242",
        tokenise: true,
        transaction_type: Some("2"),
        name: "Ada Example".to_owned(),
    };
    carry_out(&gateway, &Step { tenant: 1, deed: card });
    carry_out(
        &gateway,
        &Step { tenant: 0, deed: Deed::Customer { id: 7, name: "Grace Example".to_owned() } },
    );
    carry_out(&gateway, &Step { tenant: 1, deed: Deed::Void { nth: 0, reason: None } });
    carry_out(&gateway, &Step { tenant: 1, deed: Deed::Clear });

    let told: Vec<_> = log.changes();
    let kinds: Vec<_> = told.iter().map(|(tenant, change)| (*tenant, kind_of(change))).collect();
    assert_eq!(
        kinds,
        [(1, "transaction"), (1, "token"), (0, "customer"), (1, "transaction"), (1, "cleared")]
    );
    let (_, Change::Transaction { id, document }) = &told[3] else { panic!("the void comes fourth") };
    let document: Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["TransactionId"], id.as_str());
    assert_eq!((&document["Voided"], &document["Status"]), (&json!(true), &json!("3")));
    assert_eq!(format!("{:?}", told[3].1), format!("Transaction({id})"), "personal data is not printed");
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
fn one_deed_is_one_group_whatever_it_changes() {
    let log = Recording::default();
    let choose = |choices: &mut Choices| choices.void_answer = VoidAnswer::NewTransactionId;
    let gateway = two_tenants().choices(choose).change_log(log.clone()).ignore_unfired_faults().build();
    let told = || kinds_of(&std::mem::take(&mut *log.0.lock().unwrap()));
    let (transaction, token, customer, cleared) = ("transaction", "token", "customer", "cleared");

    let card = Deed::Card {
        number: "4242424242424242",
        tokenise: true,
        transaction_type: Some("2"),
        name: "Ada Example".to_owned(),
    };
    let pay = Step { tenant: 1, deed: card };
    carry_out(&gateway, &pay);
    assert_eq!(told(), [[(1, transaction), (1, token)]]);
    carry_out(&gateway, &Step { tenant: 1, deed: Deed::Void { nth: 0, reason: None } });
    assert_eq!(told(), [[(1, transaction), (1, transaction)]], "the voided payment and the void's own entry");

    gateway.arm(Fault::on(OperationName::Transaction).late().close());
    carry_out(&gateway, &pay);
    assert!(told().is_empty());
    gateway.deliver_late();
    assert_eq!(told(), [[(1, transaction), (1, token)]], "a late one too");

    let fixtures = Fixtures::from_json(
        r#"{"customers": [{"CustomerId": "cus_7"}], "tokens": [{"TokenId": "tok_7"}],
            "transactions": [{"TransactionId": "txn_7", "Amount": 1}],
            "faults": [{"operation": "void", "phase": "after_commit", "kind": "close"}]}"#,
    )
    .unwrap();
    let loaded = |tenant| [(tenant, customer), (tenant, token), (tenant, transaction)];
    gateway.load(&fixtures);
    assert_eq!(told(), [[loaded(0), loaded(1)].concat()]);
    gateway.load(&fixtures);
    assert!(told().is_empty(), "a group without a change is none");

    gateway.reset();
    assert_eq!(told(), [[(0, cleared), (1, cleared)]]);
    assert!(gateway.faults().is_empty());
    carry_out(&gateway, &pay);
    told();
    gateway.reset_to(&fixtures);
    let begun = |tenant| [vec![(tenant, cleared)], loaded(tenant).to_vec()].concat();
    assert_eq!(told(), [[begun(0), begun(1)].concat()]);
    assert_eq!(gateway.faults().len(), 1);
    assert_eq!(tenant_of(&gateway, 1).ledger().entries().len(), 1);
}

#[test]
fn what_a_request_did_not_do_is_not_told() {
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
    assert_eq!(log.changes().len(), 1, "the late one is told when it takes effect");
}

#[test]
fn the_void_of_a_token_authorisation_is_no_further_charge_of_the_token() {
    for void_answer in [VoidAnswer::SameTransactionId, VoidAnswer::NewTransactionId] {
        let gateway = two_tenants()
            .choices(|choices| {
                choices.token_transaction_type = TransactionType::Auth;
                choices.void_answer = void_answer;
            })
            .build();
        let deed = Deed::NamedToken { id: "tok_then_declined", reference: None };
        let charge = || {
            let Some(Reply::Answer(answer)) = carry_out(&gateway, &Step { tenant: 0, deed: deed.clone() })
            else {
                panic!("an answer must come")
            };
            serde_json::from_slice::<Value>(answer.body()).unwrap()["status"].clone()
        };
        assert_eq!(charge(), "success");
        carry_out(&gateway, &Step { tenant: 0, deed: Deed::Void { nth: 0, reason: None } });
        assert_eq!([charge(), charge()], ["success", "failed"], "{void_answer:?}");
    }
}

#[test]
fn ids_stay_unique_when_a_gateway_is_restored_from_its_own_seed() {
    let log = Recording::default();
    let first = two_tenants().seed(3).change_log(log.clone()).build();
    let card = || Deed::Card {
        number: "4242424242424242",
        tokenise: true,
        transaction_type: None,
        name: "Ada Example".to_owned(),
    };
    for _ in 0..10 {
        carry_out(&first, &Step { tenant: 0, deed: card() });
    }
    let second = two_tenants().seed(3).build();
    for (tenant, change) in log.changes() {
        tenant_of(&second, tenant).replay(change).unwrap();
    }
    for _ in 0..10 {
        carry_out(&second, &Step { tenant: 0, deed: card() });
    }
    assert_eq!(tenant_of(&second, 0).ledger().entries().len(), 20, "no payment took the place of another");
    assert_eq!(tenant_of(&second, 0).tokens().len(), 20);
}

#[test]
fn a_customer_that_a_test_made_survives_the_log_with_all_its_oddities() {
    let log = Recording::default();
    let gateway = two_tenants().change_log(log.clone()).build();
    let odd: CustomerRecord =
        serde_json::from_str(r#"{"CustomerId":"cus_odd","Email":null,"City":["no text"],"Loyalty":"gold"}"#)
            .unwrap();
    gateway.add_customer(odd);
    let again = two_tenants().build();
    for (tenant, change) in log.changes() {
        tenant_of(&again, tenant).replay(change).unwrap();
    }
    assert_eq!(again.first_tenant().state_json(), gateway.first_tenant().state_json());
    assert!(again.first_tenant().state_json().contains(r#""Loyalty":"gold""#));
}

#[test]
fn a_document_that_no_version_wrote_is_refused_when_it_is_replayed() {
    let gateway = two_tenants().build();
    let id = || "txn_1".parse().unwrap();
    for document in ["", "{}", "null", r#"{"TransactionId":"txn_1","Amount":1}"#, r#"x,"Operation":"void""#] {
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
fn a_kept_transaction_is_small() {
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
    assert_eq!(answer(&gateway, post("/transaction", body.to_string())).status(), StatusCode::OK);
    let changes = log.changes();
    let (0, Change::Transaction { document, .. }) = &changes[0] else { panic!("a transaction is told") };
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

fn look<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn requests() -> HashMap<&'static str, Request<Bytes>> {
    HashMap::from([
        ("payment", post("/token-transaction", token_payment("tok_approved", None).to_string())),
        ("declined payment", post("/token-transaction", token_payment("tok_declined", None).to_string())),
        // A look-up may tell of a payment that another connection made and that is not durable yet.
        ("look-up", get("/customer/cus_1")),
    ])
}

#[test]
fn no_reply_is_handed_out_before_what_it_can_speak_of_is_durable() {
    for (name, request) in requests() {
        let log = Withheld::default();
        let gateway = FakeGateway::builder().change_log(log.clone()).build();
        let responder = gateway.responder();
        let mut reply = pin!(responder.respond(request, gateway.clock()));
        assert!(look(reply.as_mut()).is_pending(), "{name}");
        assert_eq!(log.0.lock().unwrap().appended, gateway.ledger().entries().len());
        log.0.lock().unwrap().outcome = Some(Ok(()));
        assert!(matches!(look(reply.as_mut()), Poll::Ready(Reply::Answer(_))), "{name}");
    }
}

#[test]
fn what_cannot_be_made_durable_is_not_told_of() {
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
fn a_fault_after_the_commit_waits_for_it_too() {
    let log = Withheld::default();
    let gateway = FakeGateway::builder().change_log(log.clone()).build();
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let responder = gateway.responder();
    let payment = post("/token-transaction", token_payment("tok_approved", None).to_string());
    let mut reply = pin!(responder.respond(payment, gateway.clock()));
    assert!(look(reply.as_mut()).is_pending());
    log.0.lock().unwrap().outcome = Some(Ok(()));
    assert!(matches!(look(reply.as_mut()), Poll::Ready(Reply::Closed)));
}

#[test]
fn without_a_log_nothing_is_waited_for() {
    let gateway = FakeGateway::new();
    assert_eq!(block_on(gateway.responder().flushed()), Ok(()));
}

#[test]
fn nothing_that_is_kept_or_told_holds_a_full_card_number_wherever_it_was_written_d62() {
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
    let authorised = gateway.ledger().entries()[0].transaction_id().to_string();
    let void = json!({ "TransactionId": authorised, "Reason": format!("card {NUMBER}") });
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

    let told: Vec<_> = log.changes();
    let documents = told.iter().map(|(_, change)| match change {
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
