use payments_core::model::{Card, CardTransaction, ConvenienceFee, TransactionId, TransactionType};
use payments_core::{Client, OperationName, Outcome};
use payments_fake::{FakeGateway, Fault, ManualClock, ScriptedTransport};
use payments_journal::{IntentKey, IntentState, JournaledClient, Resolution, StateName, Verdict};

use super::world::World;
use crate::client::support::{TEN_FIFTY, answered, key, payment_of, request_lost, response_lost};
use crate::contract::{PAYER, transaction};

/// The payment was made and its response lost. Returns the id of the payment too.
async fn charged_and_unknown() -> (World, TransactionId) {
    let world = World::new().await;
    world.fail(response_lost()).await;
    let id = world.gateway.ledger().assert_charged_once(TEN_FIFTY).transaction_id().clone();
    (world, id)
}

#[tokio::test]
async fn resolving_as_processed_looks_the_transaction_up() {
    let (world, id) = charged_and_unknown().await;
    let said = Resolution::processed(id.clone(), "ada").note("on the statement");
    let resolved = world.client.look_up_and_resolve(&world.intent().await, said).await;
    let (intent, record) = resolved.unwrap();
    assert_eq!(record.transaction_id, id);
    let IntentState::Resolved { resolution, before } = intent.state else { panic!("{:?}", intent.state) };
    assert_eq!(resolution, Resolution::processed(id.clone(), "ada").note("on the statement"));
    assert_eq!(before.kind.as_str(), "closed");
    let charged = world.pay().await.unwrap();
    assert!(charged.is_from_the_journal());
    assert_eq!(charged.transaction_id, id);
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn transaction_that_was_looked_up_is_not_recorded_as_unverified() {
    let (world, id) = charged_and_unknown().await;
    let said = Resolution::processed(id, "ada").unverified();
    let (intent, _) = world.client.look_up_and_resolve(&world.intent().await, said).await.unwrap();
    let IntentState::Resolved { resolution, .. } = intent.state else { panic!("{:?}", intent.state) };
    assert!(!resolution.is_unverified);
}

/// That would be final.
#[tokio::test]
async fn nobody_but_the_service_speaks_for_the_service_d48() {
    let (world, id) = charged_and_unknown().await;
    world.resolve(Resolution::not_processed("ada")).await.unwrap();
    world.fail(request_lost()).await;
    let mut said = Resolution::processed(transaction("txn_mistaken"), "eve").of_attempt(1);
    said.is_reported = true;
    let found = world.resolve(said).await.unwrap();
    assert!(found.resolutions().all(|said| !said.resolution.is_reported));
    let corrected = world.resolve(Resolution::processed(id.clone(), "ada").of_attempt(1)).await.unwrap();
    assert!(corrected.second_charges().eq([&id]));
}

/// The payment was a sale of 10.50 with a card that ends in 4242.
#[tokio::test]
async fn transaction_that_contradicts_the_payment_is_refused() {
    let world = World::new().await;
    world.gateway.arm(Fault::response_lost(OperationName::Transaction));
    let card = Card { number: "4242424242424242", cvv: "123", expiry: "12/30" };
    let (kind, fee) = (TransactionType::Sale, ConvenienceFee::Inactive);
    let sale = CardTransaction::builder(TEN_FIFTY, kind, fee, card, PAYER).build().unwrap();
    world.client.process_card(&key(), &sale).await.unwrap_err();
    let id = world.gateway.ledger().assert_charged_once(TEN_FIFTY).transaction_id().clone();
    for (record, why) in [
        (r#""TransactionId":"txn_other","Amount":10.50"#.to_owned(), "its record is of another transaction"),
        (
            format!(r#""TransactionId":"{id}","Amount":0.99"#),
            "its amount is 0.99, and 10.50 was to be charged",
        ),
        (
            format!(r#""TransactionId":"{id}","CardNumber":"555555******4444""#),
            "its card ends in 4444, and one that ends in 4242 was to be charged",
        ),
    ] {
        let found = format!(r#"{{"status_code":200,"message":"found","data":{{{record}}}}}"#);
        let script = ScriptedTransport::new().respond_json(200, found);
        let client = Client::builder(world.gateway.endpoint(), script, ManualClock::auto()).build();
        let client = JournaledClient::new(client, world.client.journal().clone());
        let error = world.look_up(&client, &id).await.unwrap_err();
        assert!(error.is_contradicted(), "{error}");
        let text = format!("the transaction cannot be this intent's: {why}; nothing was changed");
        assert_eq!(error.to_string(), text);
        assert_eq!(world.intent().await.state.name(), StateName::Unknown);
    }
}

#[tokio::test]
async fn charge_with_the_transaction_of_another_intent_is_recorded_and_reported() {
    let world = World::new().await;
    let first = world.pay().await.unwrap();
    assert_eq!(first.same_transaction_as, None);
    let another_service = FakeGateway::new();
    let client = JournaledClient::new(another_service.client(), world.client.journal().clone());
    let other = IntentKey::new("invoice-18").unwrap();
    let second = client.process_token(&other, &payment_of(TEN_FIFTY)).await.unwrap();
    assert_eq!(second.transaction_id, first.transaction_id);
    assert_eq!(second.same_transaction_as, Some(key()));
    assert!(second.write_error.is_none());
    let kept = client.journal().find(&other).await.unwrap().unwrap();
    assert_eq!(kept.processed_as(), Some(&first.transaction_id));
}

#[tokio::test]
async fn transaction_that_cannot_be_looked_up_is_refused() {
    let (world, _) = charged_and_unknown().await;
    let nothing = transaction("txn_nothing");
    let error = world.look_up(&world.client, &nothing).await.unwrap_err();
    assert_eq!(
        error.look_up_error().map(payments_core::LookupError::kind),
        Some(payments_core::ErrorKind::NotFound)
    );
    assert_eq!(world.intent().await.state.name(), StateName::Unknown);
}

#[tokio::test]
async fn only_unknown_keys_can_be_resolved_and_a_resolution_can_be_corrected() {
    let world = World::new().await;
    world.pay().await.unwrap();
    let error = world.resolve(Resolution::not_processed("ada")).await.unwrap_err();
    assert!(error.is_not_unknown());
    assert_eq!(error.to_string(), "the outcome of invoice-17 is known: it is processed; nothing was changed");
    // The same key in a journal that does not have it.
    let error = World::new().await;
    let error = error.client.journal().resolve(&world.intent().await, Resolution::not_processed("ada")).await;
    assert!(error.unwrap_err().is_no_such_intent());

    let (world, id) = charged_and_unknown().await;
    world.resolve(Resolution::not_processed("ada")).await.unwrap();
    let corrected = world.resolve(Resolution::processed(id.clone(), "grace")).await.unwrap();
    let IntentState::Resolved { resolution, .. } = corrected.state else { panic!("{:?}", corrected.state) };
    assert_eq!(resolution.verdict, Verdict::Processed(id));
    assert!(world.pay().await.unwrap().is_from_the_journal());
}

/// Ada has the list of yesterday. Bob resolves the key meanwhile.
#[tokio::test]
async fn resolution_of_an_intent_resolved_meanwhile_names_who_did_it_d48() {
    let (world, id) = charged_and_unknown().await;
    let read = world.intent().await;
    world.resolve(Resolution::processed(id.clone(), "bob")).await.unwrap();
    let journal = world.client.journal();
    let error = journal.resolve(&read, Resolution::not_processed("ada")).await.unwrap_err();
    assert!(error.is_changed() && !error.is_not_unknown());
    assert_eq!(
        error.to_string(),
        format!(
            "invoice-17 has changed since it was read: bob resolved it as processed, transaction {id}; nothing was changed"
        )
    );
    assert!(world.pay().await.unwrap().is_from_the_journal());
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

/// Two people prove that attempt 1 did nothing. Between them attempt 2 is sent, and its response lost.
#[tokio::test]
async fn second_finding_about_one_attempt_is_not_written_to_the_next_d48() {
    let world = World::new().await;
    world.fail(request_lost()).await;
    let read = world.intent().await;
    world.resolve(Resolution::not_processed("ada")).await.unwrap();
    world.fail(response_lost()).await;
    let error = world.client.journal().resolve(&read, Resolution::not_processed("bob")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "invoice-17 has changed since it was read: it has begun attempt 2, and it is unknown; nothing was changed"
    );
    assert!(world.pay().await.unwrap_err().is_from_the_journal());
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn key_that_changes_during_the_lookup_is_not_resolved_d48() {
    for is_resent in [false, true] {
        let (world, id) = charged_and_unknown().await;
        let gate = world.gateway.gate(OperationName::GetTransaction);
        let (client, read) = (world.client.clone(), world.intent().await);
        let found = Resolution::processed(id.clone(), "ada");
        let looking_up = tokio::spawn(async move { client.look_up_and_resolve(&read, found).await });
        gate.arrived().await;
        world.resolve(Resolution::not_processed("bob").note("the portal shows none")).await.unwrap();
        if is_resent {
            world.fail(response_lost()).await;
        }
        let before = world.intent().await;
        gate.release();
        let error = looking_up.await.unwrap().unwrap_err();
        assert!(error.is_changed(), "{error}");
        assert_eq!(error.to_string().contains("bob resolved it as not processed"), !is_resent, "{error}");
        assert_eq!(world.intent().await, before);
    }
}

#[tokio::test]
async fn lookup_of_an_earlier_attempt_finds_a_possible_second_charge_d48() {
    let (world, id) = charged_and_unknown().await;
    world.resolve(Resolution::not_processed("bob")).await.unwrap();
    world.fail(request_lost()).await;
    let read = world.intent().await;
    let late = Resolution::processed(id.clone(), "ada").of_attempt(1);
    let (found, _) = world.client.look_up_and_resolve(&read, late).await.unwrap();
    assert!(found.second_charges().eq([&id]));
}

#[tokio::test]
async fn attempt_whose_request_was_dropped_is_not_resolved_by_a_lookup_d48() {
    let world = World::new().await;
    world.fail(answered(429).times(40)).await;
    for _ in 1..40 {
        world.client.after_rejection(&key()).process_token(&payment_of(TEN_FIFTY)).await.unwrap_err();
    }
    let read = world.intent().await;
    assert!(read.dropped_events > 0 && read.request_of(1).is_none());
    let other = payment_of(TEN_FIFTY);
    let id = world.gateway.client().process_token(&other).await.unwrap().transaction_id.clone();
    let early = Resolution::processed(id, "ada").of_attempt(1);
    let error = world.client.look_up_and_resolve(&read, early.clone()).await.unwrap_err();
    assert!(!error.is_contradicted(), "{error}");
    assert_eq!(
        error.to_string(),
        "the journal no longer has the request of attempt 1 of invoice-17, because it keeps the newest events only, so a lookup \
         proves nothing about it: compare the transaction yourself, and resolve it without a lookup; nothing was changed"
    );
    assert!(world.resolve(early).await.unwrap().processed_as().is_some());
}

#[tokio::test]
async fn rejected_by_a_person_is_never_sent_by_a_plain_call_d48() {
    let (world, _) = charged_and_unknown().await;
    let id = transaction("txn_declined");
    let resolution = Resolution::rejected(id.clone(), "ada").note("the portal says declined");
    world.resolve(resolution.clone()).await.unwrap();
    let sent = world.sent();
    let error = world.pay().await.unwrap_err();
    assert!(error.is_from_the_journal());
    assert_eq!((error.outcome(), error.transaction_id()), (Outcome::Rejected, Some(&id)));
    assert_eq!(
        error.to_string(),
        "invoice-17 was rejected earlier, as ada has found out; nothing was sent now: fix the cause, then make a new \
         attempt with the same key (after_rejection)"
    );
    assert_eq!(world.sent(), sent);
    assert_eq!(world.intent().await.resolutions().next().unwrap().resolution, resolution);
    // Statuses are of rejections by the service.
    let statuses: Vec<_> = (400..500).collect();
    let refused = world.client.journal().reopen(&key(), &statuses, "ada", None).await.unwrap_err();
    assert!(refused.is_not_rejected(), "{refused}");
    let again = world.client.after_rejection(&key()).process_token(&payment_of(TEN_FIFTY)).await.unwrap();
    assert!(!again.is_from_the_journal());
}

#[tokio::test]
async fn key_with_an_attempt_found_processed_is_never_sent_again_d48() {
    let (world, first) = charged_and_unknown().await;
    world.resolve(Resolution::not_processed("ada")).await.unwrap();
    world.fail(request_lost()).await;
    let found = world.resolve(Resolution::processed(first.clone(), "bob").of_attempt(1)).await.unwrap();
    assert_eq!(found.state.name(), StateName::Unknown);
    assert!(found.second_charges().eq([&first]));
    let error = world.pay().await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    let part = format!(
        "an earlier attempt was processed as transaction {first}, so this one may be a second charge"
    );
    assert!(error.to_string().contains(&part), "{error}");
    let settled = world.resolve(Resolution::not_processed("ada").of_attempt(2)).await.unwrap();
    assert_eq!(settled.processed_as(), Some(&first));
    let paid = world.pay().await.unwrap();
    assert!(paid.is_from_the_journal());
    let again = world.client.after_rejection(&key()).process_token(&payment_of(TEN_FIFTY)).await.unwrap();
    assert_eq!((again.is_from_the_journal(), paid.transaction_id), (true, first));
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}
