//! Searches `Debug`, `Display`, causes and JSON of a value of every public type. The values are full of secrets.
//!
//! The list of types is read from the sources and the public API snapshots of every library. A new type with fields fails here
//! until it has a value below, in `journal_types.rs` or in `kit_types.rs`.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use payments_canary::{Canaries, assert_no_leak_in_runs};
use payments_core::model::unversioned::{Envelope, RequestMembers};
use payments_core::model::{
    Amount, CardNumber, CardTransaction, ConvenienceFee, CustomerRecord, Cvv, Expiry, Field,
    GatewayCustomerId, MaskedCard, OtherFields, RawJson, Shipping, TokenTransaction, TransactionReceipt,
    TransactionRecord, TransactionRequest, TransactionTypeCode, Void,
};
use payments_core::transport::{BuildError, BuildErrorKind, ProcessId, ServerAddress};
use payments_core::unversioned::MeterObserver;
use payments_core::{
    ApiKey, CallerHeaders, Client, Deadlines, Delivery, Endpoint, Error, GetCustomer, GetTransaction,
    Operation, OperationName, RandomSource, TransportError, TransportErrorKind, TransportRequest,
    TransportResponse,
};
use payments_fake::unversioned::ErrorEnvelope;
use payments_fake::{
    Choices, FakeGateway, FakeTransport, Fault, Fixtures, ManualClock, Phase, Reply, ScriptedTransport,
    block_on, test_values,
};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_reqwest::ReqwestTransport;
use payments_sandbox::{BlockingSandbox, Sandbox, SandboxBuilder};
use payments_ureq::UreqTransport;

use super::requests::{ach_builder, ach_payment, card, card_builder, card_payment, endpoint, key};
use super::sources::public_types;
use super::transcript::{Transcript, transcribe};
use super::{journal_types, kit_types};
use crate::requests::{payer, token};

#[test]
fn public_types_show_no_secret_d62() {
    Transcript::assert_clean("the output of the public types", public_values);
    let canaries = Canaries::set(0);
    let servers = servers(&canaries);
    servers.assert_without("the output of the sandbox types", &canaries);
    // The output of these contains random ids and times.
    let others: Vec<_> = [0, 1, 2]
        .map(Canaries::set)
        .map(|canaries| {
            let transcript = Transcript::default();
            journal_types::transcribe_all(&transcript, &canaries);
            kit_types::transcribe_all(&transcript, &canaries);
            (canaries, transcript)
        })
        .into();
    let mut covered: BTreeSet<_> =
        public_values(&canaries).types().union(&servers.types()).cloned().collect();
    covered.extend(others[0].1.types());
    let others: Vec<_> =
        others.into_iter().map(|(canaries, transcript)| (canaries, transcript.text().into_bytes())).collect();
    assert_no_leak_in_runs("the output of the types of the journal and the kit", &others);
    let public = public_types();
    assert!(public.len() > 100, "{public:?}");
    let missing: Vec<_> =
        public.difference(&covered).filter(|name| !WITHOUT_VALUES.contains(&name.as_str())).collect();
    assert!(
        missing.is_empty(),
        "add a value with secrets for each of these to tests/secrets/public_types.rs: {missing:?}"
    );
}

/// The first has a value only if there is a PostgreSQL server, the other only after a minute. It has an address and times.
const WITHOUT_VALUES: [&str; 2] = ["payments_journal::PostgresStore", "payments_sandbox::IdleClose"];

fn public_values(canaries: &Canaries) -> Transcript {
    let transcript = Transcript::default();
    model(&transcript, canaries);
    responses(&transcript, canaries);
    core(&transcript, canaries);
    hyper(&transcript);
    reqwest(&transcript, canaries);
    ureq(&transcript);
    fake(&transcript, canaries);
    transcript
}

/// A response that repeats the secrets of a card payment in every place.
fn repeated_card(canaries: &Canaries) -> String {
    let (card, cvv, expiry) = (canaries.card(), canaries.cvv(), canaries.expiry());
    let secrets = format!(
        r#""CardNumber":"{card}","Cvv":"{cvv}","ExpiryDate":"{expiry}","Whatever":"{card}",
            "Note":{{"card_number":"{card}","list":["{card}"],"cvc":{cvv}}}"#
    );
    success_body(&secrets, &format!("card {card} for key {}", canaries.key()))
}

/// The same for an account.
fn repeated_account(canaries: &Canaries) -> String {
    let account = canaries.account();
    let secrets =
        format!(r#""AccountNumber":"{account}","Whatever":"{account}","Note":{{"iban":["{account}"]}}"#);
    success_body(&secrets, &format!("account {account} for key {}", canaries.key()))
}

fn success_body(secrets: &str, message: &str) -> String {
    format!(
        r#"{{"status":"success","status_code":100,"message":"{message}","data":{{"TransactionId":"txn_1",
            "CustomerId":"cus_1","Amount":1.00,"TransactionType":"2","Status":"1",{secrets}}}}}"#
    )
}

fn model(transcript: &Transcript, canaries: &Canaries) {
    let payment = card_payment(canaries);
    transcribe!(transcript, payment);
    transcribe!(transcript, card_builder(canaries));
    transcribe!(transcript, card(canaries));
    transcribe!(transcript, payer());
    transcribe!(transcript, *payment.card_number());
    transcribe!(transcript, payment.card_number().masked());
    transcribe!(transcript, *payment.cvv());
    transcribe!(transcript, *payment.expiry());
    transcribe!(transcript, *payment.billing());
    transcribe!(transcript, payment.billing().email);
    transcribe!(transcript, payment.billing().country_code);
    transcribe!(transcript, *payment.suggested_mode());
    transcribe!(transcript, *payment.shipping());
    transcribe!(transcript, Shipping::default());
    transcribe!(transcript, payment.to_json());
    let ach = ach_payment(canaries);
    transcribe!(transcript, ach);
    transcribe!(transcript, ach_builder(canaries));
    transcribe!(transcript, ach.to_json());
    let card_json = payment.to_json();
    transcribe!(transcript, TransactionRequest::from_json(card_json.as_ref()).unwrap());
    transcribe!(transcript, TransactionRequest::Ach(ach));
    transcribe!(transcript, RequestMembers::read(card_json.as_ref()).unwrap());
    let stored = TokenTransaction::builder("tok_1", Amount::from_cents(1_00), ConvenienceFee::Active)
        .description(canaries.card())
        .reference_no(canaries.account());
    transcribe!(transcript, stored);
    let stored = stored.build().unwrap();
    transcribe!(transcript, stored);
    transcribe!(transcript, *stored.token_id());
    transcribe!(transcript, Void::new("txn_1".parse().unwrap()).with_reason(canaries.card()).unwrap());
    transcribe!(transcript, "cus_1".parse::<payments_core::model::CustomerId>().unwrap());
    transcribe!(transcript, "gc_1".parse::<GatewayCustomerId>().unwrap());
    transcribe!(transcript, "txn_1".parse::<payments_core::model::TransactionId>().unwrap());
    transcribe!(transcript, Amount::from_cents(1_00));
    // Values read from other sources that are card numbers.
    transcribe!(transcript, MaskedCard::new(canaries.card()));
    transcribe!(transcript, RawJson::parse(&format!("\"{}\"", canaries.card())).unwrap());
    let mut other = OtherFields::default();
    for (name, value) in [("Cvv", canaries.cvv()), ("pan", canaries.card()), ("IBAN", canaries.account())] {
        other.insert(name, RawJson::parse(&format!("\"{value}\"")).unwrap());
    }
    transcribe!(transcript, other);
    // Rejected values.
    let wrong = format!("{}x", canaries.card());
    transcribe!(transcript, CardNumber::new(&wrong).unwrap_err());
    transcribe!(transcript, Cvv::new(canaries.key()).unwrap_err());
    transcribe!(transcript, canaries.account().parse::<Expiry>().unwrap_err());
    transcribe!(transcript, wrong.parse::<Amount>().unwrap_err());
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
        transcribe!(transcript, error.violations()[0]);
        transcribe!(transcript, error);
    }
}

/// The types read from responses, without and with a client.
fn responses(transcript: &Transcript, canaries: &Canaries) {
    let body = repeated_card(canaries);
    let envelope = Envelope::read(body.as_bytes()).unwrap();
    transcribe!(transcript, envelope);
    transcribe!(transcript, envelope.status_code());
    let with_message = format!(r#"{{"msg":"card {}"}}"#, canaries.card());
    transcribe!(transcript, Envelope::read(with_message.as_bytes()).unwrap().message().unwrap());
    let record = envelope.transaction_record().unwrap();
    transcribe!(transcript, record.amount);
    let code: &Field<TransactionTypeCode> = &record.transaction_type;
    transcribe!(transcript, *code);
    transcribe!(transcript, *code.value().unwrap());
    transcribe!(transcript, TransactionReceipt::new("txn_1".parse().unwrap()));
    let customer = CustomerRecord::from_json(br#"{"CustomerId":"cus_1","CustomerName":"Ada"}"#).unwrap();
    transcribe!(transcript, customer);
    transcribe!(transcript, TransactionReceipt::from_json(canaries.card().as_bytes()).unwrap_err());
    transcribe!(transcript, ErrorEnvelope::bad_request("invalid postal code"));
    let endpoint = endpoint(canaries);
    let card = card_payment(canaries);
    let ach = ach_payment(canaries);
    let response =
        |status: u16, body: String| http::Response::builder().status(status).body(Bytes::from(body)).unwrap();
    for status in [200, 400, 502] {
        for read in [
            card.read(&endpoint, response(status, repeated_card(canaries))),
            ach.read(&endpoint, response(status, repeated_account(canaries))),
        ] {
            match read {
                Ok(success) => {
                    transcript.debug(&success);
                    transcript.debug(success.data());
                    transcript.write(&success.body_snippet());
                    // A value whose field is not named like a secret is returned unchanged (decision 62).
                    let account = format!(r#""Whatever":"{}""#, canaries.account());
                    for json in [success.to_json(), json(&success), json(success.data())] {
                        transcript.write(&json.replace(&account, ""));
                    }
                }
                Err(error) => {
                    transcript.write(&error.failed_call().body_snippet().unwrap());
                    transcribe!(transcript, error);
                }
            }
        }
    }
    let void = Void::new("txn_1".parse().unwrap());
    let receipt = void.read(&endpoint, response(200, repeated_card(canaries))).unwrap();
    // A void does not know the payment's secrets, so its JSON may hold some in fields that are not named like a secret.
    transcript.debug(receipt.data());
    let record: TransactionRecord = record_without_request(canaries);
    transcribe!(transcript, record);
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// A record read without its request. Secrets can be recognized only by their field names and by their form.
fn record_without_request(canaries: &Canaries) -> TransactionRecord {
    let (card, cvv, expiry) = (canaries.card(), canaries.cvv(), canaries.expiry());
    let json = format!(
        r#"{{"TransactionId":"txn_1","CardNumber":"{card}","Cvv":{cvv},"ExpiryDate":"{expiry}","account_no":"{}"}}"#,
        canaries.account()
    );
    TransactionRecord::from_json(json.as_bytes()).unwrap()
}

fn core(transcript: &Transcript, canaries: &Canaries) {
    transcribe!(transcript, key(canaries));
    let endpoint = endpoint(canaries);
    transcribe!(transcript, endpoint);
    // It ignores its deadline, because its own clock stands still.
    let silent = || FakeTransport::over(|_| Reply::Stalled, ManualClock::new());
    let client = |clock| {
        Client::builder(endpoint.clone(), silent(), clock)
            .random_source(ConstantSource)
            .observer(transcript.clone())
    };
    transcribe!(transcript, client(ManualClock::auto()));
    let client_without_time = client(ManualClock::new()).build();
    let client = client(ManualClock::auto()).lookup_retries(0).build();
    transcribe!(transcript, client);
    let error = block_on(client.process_card(&card_payment(canaries))).unwrap_err();
    transcribe!(transcript, *error.failed_call());
    transcript.write(&format!("{0} {0:#}", error.failed_call()));
    transcribe!(transcript, error);
    // Observers receive the reference, in which some programs write a card number.
    let reference = format!("invoice 17, card {}", canaries.card());
    let stored = TokenTransaction::builder("tok_1", Amount::from_cents(1_00), ConvenienceFee::Active)
        .reference_no(reference)
        .build()
        .unwrap();
    transcribe!(transcript, block_on(client.process_token(&stored)).unwrap_err());
    transcribe!(transcript, stored.facts());
    let payment = card_payment(canaries);
    transcribe!(transcript, payment.facts());
    assert!(transcript.text().contains("invoice 17, card ************8794"));
    // An abandoned call, with a clock that does not advance.
    {
        let payment = card_payment(canaries);
        let mut call = std::pin::pin!(client_without_time.process_card(&payment));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    transcribe!(transcript, Deadlines::default());
    transcribe!(transcript, ProcessId::from_bits(7));
    transcribe!(transcript, Delivery::Unknown);
    transcribe!(transcript, MeterObserver::new(&opentelemetry::global::meter("canary"), &endpoint));
    let mut headers = CallerHeaders::new();
    headers.insert("x-request-id", canaries.key()).expect("a header");
    transcribe!(transcript, headers);
    transcribe!(transcript, GetTransaction::new("txn_1".parse().unwrap()));
    transcribe!(transcript, GetCustomer::new("cus_1".parse().unwrap()));
    let response = http::Response::new(Bytes::from(repeated_card(canaries)));
    transcribe!(
        transcript,
        GetTransaction::new("txn_1".parse().unwrap()).read(&endpoint, response).unwrap_err()
    );
    for id in [canaries.card(), canaries.key()] {
        let body = format!(r#"{{"status_code":101,"data":{{"TransactionId":"{id}"}}}}"#);
        let response = http::Response::new(Bytes::from(body));
        let error = card_payment(canaries).read(&endpoint, response).unwrap_err();
        transcribe!(transcript, *error.next_step().expect("its outcome is unknown"));
    }
    let request = card_payment(canaries).request(&endpoint).unwrap();
    transcript.debug(request.headers());
    let deadlines = Deadlines::default();
    transcribe!(transcript, TransportRequest::new(request, OperationName::Transaction, deadlines, 1024));
    let response = http::Response::new(Bytes::from(repeated_card(canaries)));
    transcribe!(transcript, TransportError::answered(TransportErrorKind::BodyTruncated, response.clone()));
    transcribe!(transcript, TransportResponse::new(response));
    transcribe!(transcript, BuildError::root_certificate("the text is not PEM"));
    transcribe!(transcript, BuildErrorKind::Proxy);
    // Addresses with a misplaced key.
    let misplaced =
        ["https://u:{}@pay.example.com", "https://pay.example.com/?key={}", "http://{}.example.com", "{}"];
    for address in misplaced {
        let error = Endpoint::new(&address.replace("{}", canaries.key()), key(canaries)).unwrap_err();
        transcribe!(transcript, error);
    }
    let server = |text: String| ServerAddress::of(&text.parse().unwrap());
    transcribe!(transcript, server("https://pay.example.com".to_owned()).unwrap());
    transcribe!(transcript, server(format!("https://u:{}@pay.example.com", canaries.key())).unwrap_err());
    let error: Error = ApiKey::new(&format!("{}\n", canaries.key())).unwrap_err();
    transcribe!(transcript, error);
}

/// Constant, because two runs must have the same output.
struct ConstantSource;

impl RandomSource for ConstantSource {
    fn next(&self) -> u64 {
        7
    }
}

fn hyper(transcript: &Transcript) {
    let builder = HyperTransport::builder();
    transcribe!(transcript, builder);
    transcribe!(transcript, builder.build().unwrap());
}

fn reqwest(transcript: &Transcript, canaries: &Canaries) {
    let builder = ReqwestTransport::builder();
    transcribe!(transcript, builder);
    transcribe!(transcript, builder.build().unwrap());
    transcribe!(
        transcript,
        ReqwestTransport::builder().root_certificates_pem(canaries.key()).build().unwrap_err()
    );
}

fn ureq(transcript: &Transcript) {
    let builder = UreqTransport::builder();
    transcribe!(transcript, builder);
    transcribe!(transcript, builder.build().unwrap());
}

fn fake(transcript: &Transcript, canaries: &Canaries) {
    let builder = || FakeGateway::builder().api_key(canaries.key()).seed(7).ignore_unfired_faults();
    transcribe!(transcript, builder());
    let gateway = builder().build();
    let client = gateway.client_builder().observer(transcript.clone()).build();
    let paid = block_on(client.process_card(&card_payment(canaries))).unwrap();
    block_on(client.process_ach(&ach_payment(canaries))).unwrap();
    block_on(client.process_token(&token("tok_approved", 1_00))).unwrap();
    transcribe!(transcript, block_on(client.process_token(&token("tok_declined", 1_00))).unwrap_err());
    let id = gateway.arm(Fault::on(OperationName::Void).after_commit().close());
    transcribe!(transcript, id);
    transcribe!(transcript, gateway.faults()[0]);
    drop(block_on(client.void(&Void::new(paid.transaction_id.clone()))));
    let core = gateway.core();
    transcribe!(transcript, *core);
    transcribe!(transcript, gateway);
    transcribe!(transcript, gateway.transport());
    transcribe!(transcript, gateway.clock().clone());
    let tenant = gateway.first_tenant();
    transcribe!(transcript, tenant);
    transcript.write(&tenant.state_json());
    transcribe!(transcript, gateway.ledger());
    for entry in gateway.ledger().entries() {
        transcribe!(transcript, *entry);
        transcribe!(transcript, entry.kind);
        transcribe!(transcript, entry.state);
        transcribe!(transcript, entry.source);
    }
    for stored in gateway.tokens() {
        transcribe!(transcript, stored);
    }
    for request in gateway.requests() {
        transcript.write(&request.to_json());
        transcript.debug(&request.headers);
        transcribe!(transcript, request.effect);
        transcribe!(transcript, request);
    }
    transcribe!(transcript, gateway.gate(OperationName::Void));
    let script = ScriptedTransport::new().respond_json(200, repeated_account(canaries));
    let scripted = Client::builder(gateway.endpoint(), script.clone(), ManualClock::auto()).build();
    drop(block_on(scripted.process_card(&card_payment(canaries))).unwrap());
    transcribe!(transcript, script);
    let fault = || Fault::on_any().before_commit().delay(Duration::from_secs(1));
    transcribe!(transcript, fault());
    transcribe!(transcript, fault().kind());
    transcribe!(transcript, Phase::Late);
    transcribe!(transcript, Fault::on_any());
    transcribe!(transcript, Fault::on_any().before_commit());
    gateway.arm(fault());
    let request = card_payment(canaries).request(&gateway.endpoint()).unwrap();
    let delayed = gateway.handle(SystemTime::UNIX_EPOCH, request);
    assert!(matches!(delayed, Reply::Delayed { .. }), "{delayed:?}");
    transcribe!(transcript, delayed);
    let request = card_payment(canaries).request(&gateway.endpoint()).unwrap();
    let core = gateway.core();
    let (_, record) = block_on(core.respond(request, gateway.clock(), std::future::pending()));
    transcribe!(transcript, record.unwrap());
    let document = format!(r#"{{"tokens":[{{"TokenId":"tok_own","CardNumber":"{}"}}]}}"#, canaries.card());
    transcribe!(transcript, Fixtures::from_json(&document).unwrap());
    let document = format!(
        r#"{{"{card}":1,"tokens":[{{"TokenId":{card},"{card}":"{card}"}}],"customers":[{{"CustomerId":["{card}"]}}],
            "transactions":[{{"TransactionId":"t","Amount":"{card}x","Operation":"{card}"}}],"faults":[{{"kind":"{card}"}}]}}"#,
        card = canaries.card(),
    );
    transcribe!(transcript, Fixtures::from_json(&document).unwrap_err());
    transcribe!(transcript, Choices::default());
    transcribe!(transcript, Choices::default().status_codes);
    transcribe!(transcript, payments_fake::DeclineShape::OkFailed);
    transcribe!(transcript, canaries.card().parse::<payments_fake::DeclineShape>().unwrap_err());
    // Test values are public on purpose and contain no canary.
    let value = &test_values::TEST_VALUES[0];
    transcribe!(transcript, *value);
    transcribe!(transcript, value.field);
    transcribe!(transcript, value.effect);
}

/// The types with a port or a path in their output, which differs between runs.
fn servers(canaries: &Canaries) -> Transcript {
    let transcript = Transcript::default();
    let folder = std::env::temp_dir().join(format!("payments-secrets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let builder = |transcript: &Transcript| -> SandboxBuilder {
        let exchanges = transcript.clone();
        Sandbox::builder()
            .fresh_gateway(FakeGateway::builder().api_key(canaries.key()).seed(7))
            .on_exchange(move |exchange| transcribe!(&exchanges, *exchange))
    };
    transcribe!(&transcript, builder(&transcript));
    let sandbox = builder(&transcript).start_blocking().unwrap();
    transcribe!(&transcript, sandbox);
    pay_sandbox(&sandbox, canaries);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    transcribe!(&transcript, runtime.block_on(builder(&transcript).start()).unwrap());
    let with_file = || builder(&transcript).data_file(folder.join("state.json")).start_blocking();
    let sandbox = with_file().unwrap();
    transcribe!(&transcript, with_file().unwrap_err());
    transcribe!(&transcript, sandbox);
    sandbox.shutdown().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    // A private key is a secret too.
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, private) = (cert.pem(), signing_key.serialize_pem());
    transcribe!(&transcript, Sandbox::builder().tls_pem(certificate.clone(), private.clone()));
    transcribe!(
        &transcript,
        HyperTransport::builder().client_certificate_pem(certificate.clone(), private.clone())
    );
    let broken = private.replace("-----END", canaries.key());
    transcribe!(
        &transcript,
        HyperTransport::builder().client_certificate_pem(&certificate, &broken).build().unwrap_err()
    );
    transcribe!(&transcript, HyperTransport::builder().root_certificates_pem(&broken).build().unwrap_err());
    transcribe!(&transcript, UreqTransport::builder().root_certificates_pem(&broken).build().unwrap_err());
    transcribe!(&transcript, Sandbox::builder().tls_pem(&certificate, &broken).start_blocking().unwrap_err());
    let text = transcript.text();
    for line in private.lines().filter(|line| !line.starts_with("-----")) {
        assert!(!text.contains(line), "a line of a private key is shown: {text}");
    }
    transcript
}

fn pay_sandbox(sandbox: &BlockingSandbox, canaries: &Canaries) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transport = HyperTransport::builder().build().unwrap();
    let client = Client::builder(sandbox.endpoint(), transport, TokioTimer::new()).build();
    runtime.block_on(client.process_card(&card_payment(canaries))).unwrap();
}
