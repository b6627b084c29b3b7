use std::time::{Duration, SystemTime};

use payments_canary::{Canaries, assert_no_leak_in_runs};
use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, TokenTransaction, TransactionId,
    TransactionType, Void,
};
use payments_core::{OperationName, Outcome};
use payments_fake::{FakeGateway, Fault, test_values};
use payments_journal::internals::{Change, IntentStore as _};
use payments_journal::{
    Cause, FailureKind, IntentKey, Journal, JournaledClient, MemoryStore, Resolution, StateName, StoreError,
};

use super::world::World;
use crate::client::scripted_store::{ScriptedStore, Step};
use crate::client::support::{TEN_FIFTY, answered, begin_for, key, payment_of, response_lost, unreached};
use crate::contract::{PAYER, transaction};

fn card(number: &str, kind: TransactionType, fee: ConvenienceFee) -> CardTransaction {
    paid_with(Card { number, cvv: "123", expiry: "12/30" }, kind, fee)
}

fn paid_with(card: Card<'_>, kind: TransactionType, fee: ConvenienceFee) -> CardTransaction {
    CardTransaction::builder(TEN_FIFTY, kind, fee, card, PAYER).build().unwrap()
}

fn paid_from(account: &str) -> AchTransaction {
    AchTransaction::builder(TEN_FIFTY, TransactionType::Sale, ConvenienceFee::Inactive, PAYER)
        .account_field("AccountNumber", account)
        .build()
        .unwrap()
}

#[tokio::test]
async fn processed_key_returns_its_transaction_and_sends_nothing() {
    let world = World::new().await;
    let first = world.pay().await.unwrap();
    let second = world.pay().await.unwrap();
    assert!(!first.is_from_the_journal() && second.is_from_the_journal());
    assert_eq!(first.transaction_id, second.transaction_id);
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    assert_eq!(world.sent(), 1);
}

#[tokio::test]
async fn rejected_key_sends_nothing_until_a_person_reopens_it() {
    let world = World::new().await;
    let first = world.fail(answered(429)).await;
    assert_eq!(first.outcome(), Outcome::Rejected);
    let second = world.pay().await.unwrap_err();
    assert!(second.is_from_the_journal() && !first.is_from_the_journal());
    assert_eq!((second.outcome(), second.kind()), (Outcome::Rejected, first.kind()));
    assert_eq!(world.gateway.ledger().entries().len(), 0);

    let refused = world.client.journal().reopen(&key(), &[401, 403], "ada", None).await.unwrap_err();
    assert!(refused.is_not_rejected(), "it was 429");
    assert_eq!(
        refused.to_string(),
        "invoice-17 was not rejected with one of these statuses: it is rejected; nothing was changed"
    );
    assert_eq!(world.pay().await.unwrap_err().outcome(), Outcome::Rejected);
    let other = IntentKey::new("invoice-18").unwrap();
    assert!(
        world.client.journal().reopen(&other, &[429], "ada", None).await.unwrap_err().is_no_such_intent()
    );
    let reopened = world.client.journal().reopen(&key(), &[429], "ada", None).await.unwrap();
    let now = world.intent().await;
    assert_eq!(now.state.name(), StateName::NotProcessed);
    assert_eq!(reopened, now);
    world.pay().await.unwrap();
    assert_eq!(world.intent().await.attempts, 2);
}

#[tokio::test]
async fn unknown_key_stays_unknown_and_sends_nothing() {
    let world = World::new().await;
    assert_eq!(world.fail(response_lost()).await.outcome(), Outcome::Unknown);
    let again = world.pay().await.unwrap_err();
    assert!(again.is_from_the_journal());
    assert_eq!(again.outcome(), Outcome::Unknown);
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    let unresolved = world.client.journal().pages(StateName::UNRESOLVED).next().await.unwrap().unwrap();
    assert_eq!(unresolved.len(), 1);
}

#[tokio::test]
async fn key_that_was_not_processed_is_sent_again() {
    let world = World::new().await;
    assert_eq!(world.fail(unreached()).await.outcome(), Outcome::NotProcessed);
    world.pay().await.unwrap();
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
    assert_eq!(world.intent().await.attempts, 2);
}

#[tokio::test]
async fn key_names_one_request_d43() {
    let token = |token: &str, cents, fee| {
        TokenTransaction::builder(token, Amount::from_cents(cents), fee).build().unwrap()
    };
    let (off, on) = (ConvenienceFee::Inactive, ConvenienceFee::Active);
    for (other, difference) in [
        (token("tok_approved", 10_51, off), "amount"),
        (token("tok_declined", 10_50, off), "token"),
        (token("tok_approved", 10_50, on), "convenience fee"),
    ] {
        let world = World::new().await;
        let paid = world.pay().await.unwrap();
        let error = world.client.process_token(&key(), &other).await.unwrap_err();
        assert_eq!(error.kind(), "key_reused");
        assert_eq!(error.outcome(), Outcome::Unknown, "the intent is paid");
        assert_eq!(error.transaction_id(), Some(&paid.transaction_id));
        assert_eq!(
            error.to_string(),
            format!(
                "invoice-17 is already used for another request, with a different {difference}; nothing was sent now: \
                 that one is already paid as transaction {} (its amount is 10.50), do not pay it another way; \
                 use a new key only for a different payment",
                paid.transaction_id
            )
        );
        assert_eq!(error.intent().unwrap(), &world.intent().await);
        assert_eq!(world.sent(), 1);
    }

    let world = World::new().await;
    let sale = card(test_values::VISA, TransactionType::Sale, off);
    world.client.process_card(&key(), &sale).await.unwrap();
    for other in [
        card("5555555555554444", TransactionType::Sale, off),
        card(test_values::VISA, TransactionType::Auth, off),
        card(test_values::VISA, TransactionType::Sale, on),
    ] {
        assert_eq!(world.client.process_card(&key(), &other).await.unwrap_err().kind(), "key_reused");
    }
    assert_eq!(world.pay().await.unwrap_err().kind(), "key_reused", "another operation");
    let void = Void::new(transaction("txn_1"));
    assert_eq!(world.client.void(&key(), &void).await.unwrap_err().kind(), "key_reused");
    assert!(world.client.process_card(&key(), &sale).await.unwrap().is_from_the_journal());
    assert_eq!(world.sent(), 1);
}

#[tokio::test]
async fn reference_may_change_because_it_moves_no_money() {
    let world = World::new().await;
    world.pay().await.unwrap();
    let payment = TokenTransaction::builder("tok_approved", TEN_FIFTY, ConvenienceFee::Inactive);
    let payment = payment.reference_no("corrected").build().unwrap();
    assert!(world.client.process_token(&key(), &payment).await.unwrap().is_from_the_journal());
}

#[tokio::test]
async fn key_of_a_process_that_died_is_unknown_at_once() {
    let store = MemoryStore::new();
    let other = store.another_owner();
    let world = World::over(store).await;
    let begin = begin_for(&other);
    other.apply(begin).await.unwrap();
    assert_eq!(world.pay().await.unwrap_err().kind(), "in_progress");
    drop(other);
    let error = world.pay().await.unwrap_err();
    assert!(error.is_from_the_journal());
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, FailureKind::CRASH.as_str()));
    assert_eq!(world.sent(), 0);
}

#[tokio::test]
async fn every_operation_is_journaled() {
    let world = World::new().await;
    let key = |text: &str| IntentKey::new(text).unwrap();
    let auth = card(test_values::VISA, TransactionType::Auth, ConvenienceFee::Inactive);
    let authorized = world.client.process_card(&key("card"), &auth).await.unwrap();
    let ach = paid_from("000123456789");
    world.client.process_ach(&key("ach"), &ach).await.unwrap();
    world.client.process_token(&key("token"), &payment_of(TEN_FIFTY)).await.unwrap();
    let void = Void::new(authorized.transaction_id.clone());
    world.client.void(&key("void"), &void).await.unwrap();
    for _ in 0..2 {
        let (client, journal) = (&world.client, |key| world.client.journal().find(key));
        assert!(client.process_card(&key("card"), &auth).await.unwrap().is_from_the_journal());
        assert!(client.process_ach(&key("ach"), &ach).await.unwrap().is_from_the_journal());
        assert!(client.void(&key("void"), &void).await.unwrap().is_from_the_journal());
        assert_eq!(journal(&key("ach")).await.unwrap().unwrap().attempts, 1);
    }
    assert_eq!(world.sent(), 4);
    world.gateway.ledger().assert_voided(&authorized.transaction_id);
}

#[tokio::test]
async fn key_with_the_card_or_account_of_the_request_is_refused_and_not_shown() {
    let world = World::new().await;
    let ach = paid_from("000123456789");
    let card = Card { number: "4242424242424242", cvv: "917", expiry: "1137" };
    let card = paid_with(card, TransactionType::Sale, ConvenienceFee::Inactive);
    for text in ["debit-000123456789", "000-123-456.789", "4242-4242-4242-4242", "card/4242.4242.4242.4242"] {
        let key = IntentKey::new(text).unwrap();
        let error = if text.contains("4242") {
            world.client.process_card(&key, &card).await.unwrap_err()
        } else {
            world.client.process_ach(&key, &ach).await.unwrap_err()
        };
        assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, "secret_in_key"), "{text}");
        for shown in [format!("{error}"), format!("{error:?}"), format!("{error:#}")] {
            assert!(!shown.contains(text), "{shown}");
        }
        assert_eq!(world.client.journal().find(&key).await.unwrap(), None);
    }
    assert_eq!(world.sent(), 0);
}

/// Otherwise its caller would take another key, and pay again.
#[tokio::test]
async fn key_with_a_secret_is_unknown_if_it_may_be_paid_d43() {
    let text = "debit-000123456789";
    let (key, store) = (IntentKey::new(text).unwrap(), ScriptedStore::new([]));
    let world = World::over(store.clone()).await;
    let ach = paid_from("000123456789");
    let seen = |error: payments_journal::Error| {
        let shown = format!("{error} {error:?} {error:#} {} {:?}", error.key(), error.intent());
        assert!(!shown.contains("000123456789"), "{shown}");
        (error.outcome(), error.kind().to_owned())
    };
    let kind = |outcome, kind: &str| (outcome, kind.to_owned());
    let refused = async || {
        let plain = seen(world.client.process_ach(&key, &ach).await.unwrap_err());
        let after_rejection = world.client.after_rejection(&key).process_ach(&ach).await;
        assert_eq!(seen(after_rejection.unwrap_err()), plain);
        plain
    };
    let payment = payment_of(TEN_FIFTY);
    let pay = || world.client.process_token(&key, &payment);

    assert_eq!(refused().await, kind(Outcome::NotProcessed, "secret_in_key"));
    world.gateway.arm(answered(403));
    assert_eq!(pay().await.unwrap_err().outcome(), Outcome::Rejected);
    assert_eq!(refused().await, kind(Outcome::NotProcessed, "secret_in_key"));

    world.client.journal().reopen(&key, &[403], "ada", None).await.unwrap();
    world.gateway.arm(response_lost());
    pay().await.unwrap_err();
    assert_eq!(refused().await, kind(Outcome::Unknown, "secret_in_key"));
    let unknown = world.client.journal().find(&key).await.unwrap().unwrap();
    let resolution = Resolution::not_processed("ada");
    world.client.journal().resolve(&unknown, resolution).await.unwrap();
    pay().await.unwrap();
    assert_eq!(refused().await, kind(Outcome::Unknown, "secret_in_key"));

    // The text of this error has the key.
    store.fail_reads(StoreError::damaged(format!("the row of {text} is damaged")));
    assert_eq!(refused().await, kind(Outcome::Unknown, "journal"));
    assert_eq!(world.sent(), 3);

    // A person was wrong about it, and its outcome is still to be written.
    let store = ScriptedStore::new([Step::Made, Step::Refused]);
    let world = World::over(store.clone()).await;
    assert!(world.client.process_token(&key, &payment).await.unwrap().write_error.is_some());
    let sending = store.below.find(&key).await.unwrap().unwrap();
    let orphan = Change::orphan(key.clone(), sending.attempt_id, SystemTime::now());
    let crashed = store.below.apply(orphan).await.unwrap().written().unwrap();
    let resolve = Change::resolve(&crashed, Resolution::not_processed("ada"), SystemTime::now());
    assert!(store.below.apply(resolve).await.unwrap().written().unwrap().moved_nothing());
    let error = world.client.process_ach(&key, &ach).await.unwrap_err();
    assert_eq!(seen(error), kind(Outcome::Unknown, "secret_in_key"));

    // An earlier call may have paid, of which this journal does not know.
    let store = ScriptedStore::new([]);
    store.lose_history();
    let world = World::over(store).await;
    let error = world.client.process_ach(&key, &ach).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Store(error) if error.is_history_lost()));
    assert_eq!(seen(error), kind(Outcome::Unknown, "journal"));
}

/// Otherwise its caller would pay another way.
#[tokio::test]
async fn token_with_a_secret_is_unknown_if_its_key_may_be_paid_d43() {
    let world = World::new().await;
    let mistaken = TokenTransaction::builder(world.gateway.api_key(), TEN_FIFTY, ConvenienceFee::Inactive);
    let mistaken = mistaken.build().unwrap();
    let refused = |error: payments_journal::Error| {
        assert!(!format!("{error} {error:?}").contains(world.gateway.api_key()), "{error:?}");
        (error.outcome(), error.kind().to_owned())
    };
    let kind = |outcome, kind: &str| (outcome, kind.to_owned());

    assert_eq!(world.fail(answered(403)).await.outcome(), Outcome::Rejected);
    let error = world.client.process_token(&key(), &mistaken).await.unwrap_err();
    assert_eq!(refused(error), kind(Outcome::NotProcessed, "secret_in_key"));

    world.client.journal().reopen(&key(), &[403], "ada", None).await.unwrap();
    world.pay().await.unwrap();
    let error = world.client.process_token(&key(), &mistaken).await.unwrap_err();
    assert_eq!(refused(error), kind(Outcome::Unknown, "key_reused"));

    let void = Void::new(TransactionId::new(world.gateway.api_key()).unwrap());
    let error = world.client.void(&key(), &void).await.unwrap_err();
    assert_eq!(refused(error), kind(Outcome::Unknown, "key_reused"));
    world.gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test]
async fn api_key_is_refused_as_a_key_and_not_stored_as_a_reference_d01() {
    let world = World::new().await;
    let api_key = world.gateway.api_key();
    let mistaken = IntentKey::new(api_key).unwrap();
    let error = world.client.process_token(&mistaken, &payment_of(TEN_FIFTY)).await.unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::NotProcessed, "secret_in_key"));
    assert!(!format!("{error} {error:?}").contains(api_key));
    assert_eq!(world.client.journal().find(&mistaken).await.unwrap(), None);

    let payment = TokenTransaction::builder(api_key, TEN_FIFTY, ConvenienceFee::Inactive).build().unwrap();
    let error = world.client.process_token(&key(), &payment).await.unwrap_err();
    assert_eq!(error.kind(), "secret_in_key");
    assert_eq!(world.client.journal().find(&key()).await.unwrap(), None);

    let payment = TokenTransaction::builder("tok_approved", TEN_FIFTY, ConvenienceFee::Inactive);
    let payment = payment.reference_no(format!("for {api_key}")).build().unwrap();
    world.client.process_token(&key(), &payment).await.unwrap();
    assert_eq!(world.intent().await.request.reference, None);
}

/// In several runs, because the times and ids in a row can contain a security code by chance.
#[tokio::test]
async fn rows_and_errors_show_no_secret() {
    let mut pages = Vec::new();
    for canaries in [0, 1, 2].map(Canaries::set) {
        let gateway = FakeGateway::builder().api_key(canaries.key()).build();
        let journal = Journal::open(MemoryStore::new()).await.unwrap();
        let client = JournaledClient::new(gateway.client(), journal);
        gateway.arm(Fault::response_lost(OperationName::Transaction));
        let card = Card { number: canaries.card(), cvv: canaries.cvv(), expiry: canaries.expiry() };
        let payment = paid_with(card, TransactionType::Sale, ConvenienceFee::Inactive);
        let lost = client.process_card(&key(), &payment).await.unwrap_err();
        let recorded = client.process_card(&key(), &payment).await.unwrap_err();
        let intent = client.journal().find(&key()).await.unwrap();
        let page = format!("{lost:?} {lost:#} {recorded:?} {recorded:#} {intent:?} {client:?}");
        pages.push((canaries, page.into_bytes()));
    }
    assert_no_leak_in_runs("the text of an intent", &pages);
}

#[tokio::test]
async fn client_with_other_settings_has_the_same_journal() {
    let world = World::new().await;
    world.client.journal().check_history().await.unwrap();
    world.gateway.arm(Fault::on(OperationName::TokenTransaction).before_commit().stall());
    let client = world.client.with_total_timeout(Duration::from_secs(4)).with_lookup_retries(0);
    let error = client.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err();
    assert_eq!((error.kind(), world.gateway.clock().elapsed()), ("timeout", Duration::from_secs(4)));
    assert!(world.pay().await.unwrap_err().is_from_the_journal());

    let sent = world.gateway.requests().len();
    world.gateway.arm(Fault::on(OperationName::GetTransaction).before_commit().close());
    world.look_up(&client, &transaction("txn_1")).await.unwrap_err();
    assert_eq!((sent, world.gateway.requests().len()), (1, 2));
}
