//! Every public type, with secrets in it and about it: what do `Debug`, `Display`, causes and JSON tell?
//!
//! Which types there are is read from the sources and the snapshots of the public API of every product crate that is a
//! library, so that a new one fails here until somebody gives it a value below, in `journal_types.rs` or in `kit_types.rs`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use payments_canary::{Canaries, assert_leaks_in_no_run};
use payments_core::model::unversioned::{Body, ErrorEnvelope, RequestMembers};
use payments_core::model::{
    Amount, CardNumber, CardTransaction, ConvenienceFee, CustomerRecord, Cvv, DialPrefix, Email, Expiry,
    Field, GatewayCustomerId, MaskedCard, OtherFields, RawJson, Shipping, SuggestedMode, TokenTransaction,
    TransactionReceipt, TransactionRecord, TransactionRequest, TransactionType, TransactionTypeCode,
    UnknownFields, Void,
};
use payments_core::{
    ApiKey, CallerHeaders, Client, Deadlines, Delivery, Endpoint, Error, GetCustomer, GetTransaction, Jitter,
    MeterObserver, Operation, OperationName, RetryAfter, TracingObserver, TransportError, TransportErrorKind,
    TransportRequest, TransportResponse,
};
use payments_fake::{
    Change, Choices, FakeGateway, Fault, Fixtures, ManualClock, NotDurable, Phase, Reply, RequestedFault,
    ScriptedTransport, UnlistedCards, VoidAnswer, block_on, test_values,
};
use payments_hyper::{HyperTransport, TlsProvider, TokioTimer, TrustedRoots};
use payments_reqwest::ReqwestTransport;
use payments_sandbox::{BlockingSandbox, DataFile, Sandbox, SandboxBuilder, Shown};
use payments_ureq::UreqTransport;

use super::page::{Page, tell};
use super::requests::{ach_builder, ach_payment, card, card_builder, card_payment, endpoint, key};
use super::sources::public_types;
use super::{journal_types, kit_types};
use crate::requests::{payer, token};

#[test]
fn no_public_type_tells_a_secret_d62() {
    Page::assert_clean("what the public types tell", told);
    let canaries = Canaries::set(0);
    let of_servers = told_of_servers(&canaries);
    of_servers.assert_without("what the types of the sandbox tell", &canaries);
    // Random ids and times are among what these tell.
    let others: Vec<_> = [0, 1, 2]
        .map(Canaries::set)
        .map(|canaries| {
            let page = Page::default();
            journal_types::tell_all(&page, &canaries);
            kit_types::tell_all(&page, &canaries);
            (canaries, page)
        })
        .into();
    let mut told: BTreeSet<_> = told(&canaries).types().union(&of_servers.types()).cloned().collect();
    told.extend(others[0].1.types());
    let others: Vec<_> =
        others.into_iter().map(|(canaries, page)| (canaries, page.text().into_bytes())).collect();
    assert_leaks_in_no_run("what the types of the journal and the kit tell", &others);
    let public = public_types();
    assert!(public.len() > 100, "{public:?}");
    let untold: Vec<_> =
        public.difference(&told).filter(|name| !WITHOUT_VALUES.contains(&name.as_str())).collect();
    assert!(
        untold.is_empty(),
        "give each a value in tests/secrets/public_types.rs, full of secrets: {untold:?}"
    );
}

/// The first has functions and no value that anybody could have, the second needs a server and has a value where there is one.
const WITHOUT_VALUES: [&str; 2] = ["payments_model::SuccessEnvelope", "payments_journal::PostgresStore"];

fn told(canaries: &Canaries) -> Page {
    let page = Page::default();
    model(&page, canaries);
    answers(&page, canaries);
    core(&page, canaries);
    hyper(&page);
    reqwest(&page, canaries);
    ureq(&page);
    fake(&page, canaries);
    page
}

/// An answer that repeats all that a card payment sent, in every place.
fn echo_of_a_card(canaries: &Canaries) -> String {
    let (card, cvv, expiry) = (canaries.card(), canaries.cvv(), canaries.expiry());
    let secrets = format!(
        r#""CardNumber":"{card}","Cvv":"{cvv}","ExpiryDate":"{expiry}","Whatever":"{card}",
            "Note":{{"card_number":"{card}","list":["{card}"],"cvc":{cvv}}}"#
    );
    echo(&secrets, &format!("card {card} for key {}", canaries.key()))
}

/// The same of an account.
fn echo_of_an_account(canaries: &Canaries) -> String {
    let account = canaries.account();
    let secrets =
        format!(r#""AccountNumber":"{account}","Whatever":"{account}","Note":{{"iban":["{account}"]}}"#);
    echo(&secrets, &format!("account {account} for key {}", canaries.key()))
}

fn echo(secrets: &str, message: &str) -> String {
    format!(
        r#"{{"status":"success","status_code":100,"message":"{message}","data":{{"TransactionId":"txn_1",
            "CustomerId":"cus_1","Amount":1.00,"TransactionType":"2","Status":"1",{secrets}}}}}"#
    )
}

fn model(page: &Page, canaries: &Canaries) {
    let payment = card_payment(canaries);
    tell!(page, payment);
    tell!(page, card_builder(canaries));
    tell!(page, card(canaries));
    tell!(page, payer());
    tell!(page, *payment.card_number());
    tell!(page, payment.card_number().brand());
    tell!(page, payment.card_number().masked());
    tell!(page, *payment.cvv());
    tell!(page, *payment.expiry());
    tell!(page, *payment.billing());
    tell!(page, *payment.shipping());
    tell!(page, Shipping::default());
    tell!(page, payment.encode());
    let ach = ach_payment(canaries);
    tell!(page, ach);
    tell!(page, ach_builder(canaries));
    tell!(page, ach.encode());
    let card_json = payment.encode();
    tell!(page, TransactionRequest::from_json(card_json.as_ref()).unwrap());
    tell!(page, TransactionRequest::Ach(ach));
    tell!(page, RequestMembers::read(card_json.as_ref()).unwrap());
    let stored = TokenTransaction::builder("tok_1", Amount::from_cents(1_00), ConvenienceFee::Active)
        .description(canaries.card())
        .reference_no(canaries.account());
    tell!(page, stored);
    let stored = stored.build().unwrap();
    tell!(page, stored);
    tell!(page, *stored.token_id());
    tell!(page, Void::new("txn_1".parse().unwrap()).reason(canaries.card()));
    tell!(page, "cus_1".parse::<payments_core::model::CustomerId>().unwrap());
    tell!(page, "gc_1".parse::<GatewayCustomerId>().unwrap());
    tell!(page, "txn_1".parse::<payments_core::model::TransactionId>().unwrap());
    tell!(page, Email::new("ada@example.com").unwrap());
    tell!(page, "+1".parse::<DialPrefix>().unwrap());
    tell!(page, SuggestedMode::card());
    tell!(page, TransactionType::Sale);
    tell!(page, ConvenienceFee::Active);
    tell!(page, UnknownFields::Refused);
    tell!(page, Amount::from_cents(1_00));
    // What is read from elsewhere, and is a card number all the same.
    tell!(page, MaskedCard::new(canaries.card()));
    tell!(page, RawJson::parse(&format!("\"{}\"", canaries.card())).unwrap());
    let mut other = OtherFields::default();
    for (name, value) in [("Cvv", canaries.cvv()), ("pan", canaries.card()), ("IBAN", canaries.account())] {
        other.insert(name, RawJson::parse(&format!("\"{value}\"")).unwrap());
    }
    tell!(page, other);
    // What was refused.
    let wrong = format!("{}x", canaries.card());
    tell!(page, CardNumber::new(&wrong).unwrap_err());
    tell!(page, Cvv::new(canaries.key()).unwrap_err());
    tell!(page, canaries.account().parse::<Expiry>().unwrap_err());
    tell!(page, wrong.parse::<Amount>().unwrap_err());
    let document = format!(
        r#"{{"CardNumber":"{wrong}","Cvv":"{}0{}","ExpiryDate":["{}"],"{}":1,"SuggestedMode":"Card"}}"#,
        canaries.cvv(),
        canaries.account(),
        canaries.expiry(),
        canaries.card(),
    );
    for read in [
        CardTransaction::from_json(document.as_bytes()).map(drop),
        Void::from_json(document.as_bytes()).map(drop),
    ] {
        let error = read.unwrap_err();
        tell!(page, error.violations()[0]);
        tell!(page, error);
    }
}

/// What is read of answers, before and after the client has looked at them.
fn answers(page: &Page, canaries: &Canaries) {
    let echo = echo_of_a_card(canaries);
    let body = Body::read(echo.as_bytes());
    tell!(page, body);
    let Body::Object(answer) = body else { panic!("an object") };
    tell!(page, answer);
    tell!(page, answer.status());
    tell!(page, answer.status_code());
    tell!(page, answer.data());
    let record = answer.transaction_record().unwrap();
    tell!(page, record.amount);
    let code: &Field<TransactionTypeCode> = &record.transaction_type;
    tell!(page, *code);
    tell!(page, *code.value().unwrap());
    tell!(page, TransactionReceipt::new("txn_1".parse().unwrap()));
    let customer: CustomerRecord =
        serde_json::from_str(r#"{"CustomerId":"cus_1","CustomerName":"Ada"}"#).unwrap();
    tell!(page, customer);
    tell!(page, ErrorEnvelope::bad_request("invalid postal code"));
    let endpoint = endpoint(canaries);
    let card = card_payment(canaries);
    let ach = ach_payment(canaries);
    let answer =
        |status: u16, body: String| http::Response::builder().status(status).body(Bytes::from(body)).unwrap();
    for status in [200, 400, 502] {
        for read in [
            card.read(&endpoint, answer(status, echo_of_a_card(canaries))),
            ach.read(&endpoint, answer(status, echo_of_an_account(canaries))),
        ] {
            match read {
                Ok(success) => {
                    page.debug(&success);
                    page.debug(success.data());
                    page.write(&success.body_snippet());
                    // What the service sent under a name that says nothing is returned as it is (decision 62).
                    let account = format!(r#""Whatever":"{}""#, canaries.account());
                    for json in [success.to_json(), json(&success), json(success.data())] {
                        page.write(&json.replace(&account, ""));
                    }
                }
                Err(error) => {
                    page.write(&error.body_snippet().unwrap());
                    tell!(page, error);
                }
            }
        }
    }
    let void = Void::new("txn_1".parse().unwrap());
    let receipt = void.read(&endpoint, answer(200, echo_of_a_card(canaries))).unwrap();
    // Of a payment's secrets a void knows none, so that its JSON may hold some under names that say nothing.
    page.debug(receipt.data());
    let bare: TransactionRecord = answer_record(canaries);
    tell!(page, bare);
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// A record that was read without a request at hand: it knows no secrets but by their names and their look.
fn answer_record(canaries: &Canaries) -> TransactionRecord {
    let (card, cvv, expiry) = (canaries.card(), canaries.cvv(), canaries.expiry());
    let json = format!(
        r#"{{"TransactionId":"txn_1","CardNumber":"{card}","Cvv":{cvv},"ExpiryDate":"{expiry}","account_no":"{}"}}"#,
        canaries.account()
    );
    serde_json::from_str(&json).unwrap()
}

fn core(page: &Page, canaries: &Canaries) {
    tell!(page, key(canaries));
    let endpoint = endpoint(canaries);
    tell!(page, endpoint);
    let script = || ScriptedTransport::new().hang().hang().hang();
    let client =
        |clock| Client::builder(endpoint.clone(), script(), clock).jitter(NoChance).observer(page.clone());
    tell!(page, client(ManualClock::auto()));
    let still = client(ManualClock::new()).build();
    let client = client(ManualClock::auto()).lookup_retries(0).build();
    tell!(page, client);
    let error = block_on(client.process_card(&card_payment(canaries))).unwrap_err();
    tell!(page, error.outcome());
    tell!(page, error.kind());
    tell!(page, error);
    // Observers are told the reference, in which some programs write a card number.
    let reference = format!("invoice 17, card {}", canaries.card());
    let stored = TokenTransaction::builder("tok_1", Amount::from_cents(1_00), ConvenienceFee::Active)
        .reference_no(reference)
        .build()
        .unwrap();
    tell!(page, block_on(client.process_token(&stored)).unwrap_err());
    assert!(page.text().contains("invoice 17, card ************8794"));
    // A call that is given up, by a clock that stands still.
    {
        let payment = card_payment(canaries);
        let mut call = std::pin::pin!(still.process_card(&payment));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    tell!(page, OperationName::Transaction);
    tell!(page, Deadlines::default());
    tell!(page, Delivery::Unknown);
    tell!(page, TransportErrorKind::Closed);
    tell!(page, TracingObserver::new());
    tell!(page, MeterObserver::new(&opentelemetry::global::meter("canary"), &endpoint));
    let mut headers = CallerHeaders::new();
    headers.insert("x-request-id", canaries.key()).expect("a header");
    tell!(page, headers);
    tell!(page, RetryAfter::Delay(Duration::from_secs(1)));
    tell!(page, GetTransaction::new("txn_1".parse().unwrap()));
    tell!(page, GetCustomer::new("cus_1".parse().unwrap()));
    let echo = http::Response::new(Bytes::from(echo_of_a_card(canaries)));
    tell!(page, GetTransaction::new("txn_1".parse().unwrap()).read(&endpoint, echo).unwrap_err());
    let request = card_payment(canaries).request(&endpoint).unwrap();
    page.debug(request.headers());
    let deadlines = Deadlines::default();
    tell!(page, TransportRequest::new(request, OperationName::Transaction, deadlines, 1024));
    let echo = http::Response::new(Bytes::from(echo_of_a_card(canaries)));
    tell!(page, TransportError::answered(TransportErrorKind::BodyTruncated, echo.clone()));
    tell!(page, TransportResponse::new(echo));
    // Where a key gets by mistake.
    let misplaced =
        ["https://u:{}@pay.example.com", "https://pay.example.com/?key={}", "http://{}.example.com", "{}"];
    for address in misplaced {
        let error = Endpoint::new(&address.replace("{}", canaries.key()), key(canaries)).unwrap_err();
        tell!(page, error);
    }
    let error: Error = ApiKey::new(&format!("{}\n", canaries.key())).unwrap_err();
    tell!(page, error);
}

/// Two runs must tell the same.
struct NoChance;

impl Jitter for NoChance {
    fn next(&self) -> u64 {
        7
    }
}

fn hyper(page: &Page) {
    let builder = HyperTransport::builder();
    tell!(page, builder);
    tell!(page, builder.build().unwrap());
    tell!(page, TlsProvider::Ring);
    tell!(page, TrustedRoots::Mozilla);
    tell!(page, TokioTimer::new());
}

fn reqwest(page: &Page, canaries: &Canaries) {
    let builder = ReqwestTransport::builder();
    tell!(page, builder);
    tell!(page, builder.build().unwrap());
    tell!(page, payments_reqwest::TokioTimer::new());
    tell!(page, ReqwestTransport::builder().root_certificates_pem(canaries.key()).build().unwrap_err());
}

fn ureq(page: &Page) {
    let builder = UreqTransport::builder();
    tell!(page, builder);
    tell!(page, builder.build().unwrap());
}

fn fake(page: &Page, canaries: &Canaries) {
    let builder = || FakeGateway::builder().api_key(canaries.key()).seed(7).ignore_unfired_faults();
    tell!(page, builder());
    let gateway = builder().build();
    let client = gateway.client_builder().observer(page.clone()).build();
    let paid = block_on(client.process_card(&card_payment(canaries))).unwrap();
    block_on(client.process_ach(&ach_payment(canaries))).unwrap();
    block_on(client.process_token(&token("tok_approved", 1_00))).unwrap();
    let id = gateway.arm(Fault::on(OperationName::Void).after_commit().close());
    tell!(page, id);
    tell!(page, gateway.faults()[0]);
    drop(block_on(client.void(&Void::new(paid.transaction_id.clone()))));
    tell!(page, gateway);
    tell!(page, gateway.transport());
    tell!(page, gateway.responder());
    tell!(page, gateway.clock().clone());
    let tenant = gateway.first_tenant();
    tell!(page, tenant);
    page.write(&tenant.state_json());
    tell!(page, gateway.ledger());
    for entry in gateway.ledger().entries() {
        tell!(page, *entry);
        tell!(page, entry.kind);
        tell!(page, entry.state);
        tell!(page, entry.source);
    }
    for stored in gateway.tokens() {
        tell!(page, stored);
    }
    for request in gateway.requests() {
        page.write(&request.to_json());
        page.debug(request.headers());
        tell!(page, request.effect());
        tell!(page, request);
    }
    tell!(page, gateway.gate(OperationName::Void));
    let script = ScriptedTransport::new().answer(200, echo_of_an_account(canaries));
    tell!(page, script);
    let fault = || Fault::on_any().before_commit().delay(Duration::from_secs(1));
    tell!(page, fault());
    tell!(page, fault().kind());
    tell!(page, Phase::Late);
    tell!(page, Fault::on_any());
    tell!(page, Fault::on_any().before_commit());
    tell!(page, RequestedFault(fault()));
    gateway.arm(fault());
    let request = card_payment(canaries).request(&gateway.endpoint()).unwrap();
    let mut held = gateway.handle(SystemTime::UNIX_EPOCH, request);
    tell!(page, held);
    assert!(held.answer_mut().is_none());
    let Reply::Held { request, .. } = held else { panic!("it waits for the fault's delay") };
    tell!(page, request);
    let document = format!(r#"{{"tokens":[{{"TokenId":"tok_own","CardNumber":"{}"}}]}}"#, canaries.card());
    tell!(page, Fixtures::from_json(&document).unwrap());
    let document = format!(
        r#"{{"{card}":1,"tokens":[{{"TokenId":{card},"{card}":"{card}"}}],"customers":[{{"CustomerId":["{card}"]}}],
            "transactions":[{{"TransactionId":"t","Amount":"{card}x","Operation":"{card}"}}],"faults":[{{"kind":"{card}"}}]}}"#,
        card = canaries.card(),
    );
    tell!(page, Fixtures::from_json(&document).unwrap_err());
    let document = format!(r#"{{"CardNumber":"{}"}}"#, canaries.card());
    tell!(page, Change::Token { id: "tok_1".parse().unwrap(), document: document.into() });
    tell!(page, NotDurable::new());
    tell!(page, Choices::default());
    tell!(page, Choices::default().status_codes);
    tell!(page, UnlistedCards::Refused);
    tell!(page, VoidAnswer::NewTransactionId);
    tell!(page, payments_fake::DeclineShape::OkFailed);
    tell!(page, canaries.card().parse::<payments_fake::DeclineShape>().unwrap_err());
    // These are public on purpose, and no canary is among them.
    let value = &test_values::TEST_VALUES[0];
    tell!(page, *value);
    tell!(page, value.field);
    tell!(page, value.effect);
}

/// The types with a port or a path in them, which no two runs have in common.
fn told_of_servers(canaries: &Canaries) -> Page {
    let page = Page::default();
    let folder = std::env::temp_dir().join(format!("payments-secrets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let builder = |page: &Page| -> SandboxBuilder {
        let exchanges = page.clone();
        Sandbox::builder()
            .api_key(canaries.key())
            .seed(7)
            .on_exchange(move |exchange| tell!(&exchanges, *exchange))
    };
    tell!(&page, builder(&page));
    let sandbox = builder(&page).start_blocking().unwrap();
    tell!(&page, sandbox);
    sandbox_serves(&sandbox, canaries);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    tell!(&page, runtime.block_on(builder(&page).start()).unwrap());
    tell!(&page, Shown::Answer(200));
    let keys = [canaries.key()];
    let file = folder.join("sandbox.db");
    let data = DataFile::open(&file, &keys).unwrap();
    tell!(&page, data);
    tell!(&page, DataFile::open(&file, &keys).unwrap_err());
    let (gateway, store) = data.gateway(FakeGateway::builder().api_key(canaries.key())).unwrap();
    tell!(&page, store);
    tell!(&page, gateway);
    drop((gateway, store));
    std::fs::remove_dir_all(&folder).unwrap();
    // A private key is a secret too.
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, private) = (cert.pem(), signing_key.serialize_pem());
    tell!(&page, Sandbox::builder().tls_pem(certificate.clone(), private.clone()));
    tell!(&page, HyperTransport::builder().client_certificate_pem(certificate.clone(), private.clone()));
    let broken = private.replace("-----END", canaries.key());
    tell!(
        &page,
        HyperTransport::builder().client_certificate_pem(&certificate, &broken).build().unwrap_err()
    );
    tell!(&page, HyperTransport::builder().root_certificates_pem(&broken).build().unwrap_err());
    tell!(&page, UreqTransport::builder().root_certificates_pem(&broken).build().unwrap_err());
    tell!(&page, Sandbox::builder().tls_pem(&certificate, &broken).start_blocking().unwrap_err());
    let text = page.text();
    for line in private.lines().filter(|line| !line.starts_with("-----")) {
        assert!(!text.contains(line), "a line of a private key is shown: {text}");
    }
    page
}

fn sandbox_serves(sandbox: &BlockingSandbox, canaries: &Canaries) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transport = HyperTransport::builder().build().unwrap();
    let client = Client::builder(sandbox.endpoint(), transport, TokioTimer::new()).build();
    runtime.block_on(client.process_card(&card_payment(canaries))).unwrap();
}
