//! One journal and two services: a key belongs to the service that it was first used for.

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_core::{ApiKey, Client, Endpoint, Outcome};
use payments_fake::{FakeGateway, ManualClock};
use payments_journal::{
    Cause, Error, IntentKey, Journal, JournaledClient, MemoryStore, Resolution, SentSince,
};

use super::world::World;
use crate::client::support::{TEN_FIFTY, key, payment_of, response_lost, unreached};
use crate::contract::transaction;

const OTHER: &str = "https://sandbox.example.com/api/v1/public";

/// A client of another service, with the same journal.
fn at_the_other(world: &World) -> (JournaledClient, FakeGateway) {
    let gateway = FakeGateway::new();
    let endpoint = Endpoint::new(OTHER, ApiKey::new(gateway.api_key()).unwrap()).unwrap();
    let client = Client::builder(endpoint, gateway.transport(), ManualClock::auto()).build();
    (JournaledClient::new(client, world.client.journal().clone()), gateway)
}

fn declined() -> TokenTransaction {
    TokenTransaction::builder("tok_declined", TEN_FIFTY, ConvenienceFee::Inactive).build().unwrap()
}

/// Checks that it says that the key belongs elsewhere, and nothing of what happened there.
#[track_caller]
fn is_of_another_service(error: &Error, moved_nothing: bool) {
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "other_service"));
    assert_eq!((error.transaction_id(), error.intent()), (None, None));
    let Cause::OtherService { recorded, .. } = error.cause() else { panic!("{error:?}") };
    assert_eq!(recorded.as_deref(), Some(FakeGateway::BASE_URL));
    let what = if moved_nothing {
        "it moved no money there: check base URL, merchant and journal; if that was a mistake, or the same service under another \
         name, a person renames it in the journal (Journal::rename_service), then call again"
    } else {
        "it may have been processed there: check base URL, merchant and journal, and do not pay it under another key before a person \
         has looked"
    };
    assert_eq!(
        error.to_string(),
        format!(
            "invoice-17 belongs to another service: it was first used for {}, and this call is for {OTHER}; nothing was sent \
             now, and {what}",
            FakeGateway::BASE_URL
        )
    );
    assert!(!format!("{error:?}").contains("txn_"), "{error:?}");
}

/// Rejected or paid, plain call or explicit one: `rules.rs` has every state.
#[tokio::test]
async fn key_is_unknown_at_another_service_d47() {
    for paid_with in [payment_of(TEN_FIFTY), declined()] {
        let world = World::new().await;
        let _ = world.client.process_token(&key(), &paid_with).await;
        let before = world.intent().await;
        assert_eq!(before.service.as_deref(), Some(FakeGateway::BASE_URL));
        let (other, gateway) = at_the_other(&world);
        for payment in [payment_of(TEN_FIFTY), declined(), payment_of(Amount::from_cents(1))] {
            let moved_nothing = before.moved_nothing();
            is_of_another_service(&other.process_token(&key(), &payment).await.unwrap_err(), moved_nothing);
            let explicit = other.after_rejection(&key()).process_token(&payment).await;
            is_of_another_service(&explicit.unwrap_err(), moved_nothing);
        }
        assert_eq!(gateway.requests().len(), 0);
        assert_eq!(world.intent().await, before);
    }
}

/// The first call went to a mistyped base URL, where nothing listens.
#[tokio::test]
async fn key_that_was_never_sent_is_freed_by_renaming_the_mistyped_service_d47() {
    let world = World::new().await;
    assert_eq!(world.fail(unreached()).await.outcome(), Outcome::NotProcessed);
    let (other, gateway) = at_the_other(&world);
    is_of_another_service(&other.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err(), true);
    let journal = world.client.journal();
    let mistyped = journal.intents_of_service(FakeGateway::BASE_URL).await.unwrap();
    journal.rename_service(&mistyped, OTHER, "ada").await.unwrap();
    other.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap();
    assert_eq!(gateway.requests().len(), 1);
}

#[tokio::test]
async fn purged_key_is_new_at_every_service_d47() {
    let store = MemoryStore::new();
    let aged = store.another_owner();
    let world = World::over(store).await;
    world.pay().await.unwrap();
    aged.make_older(2 * Journal::YOUNGEST_TO_PURGE);
    world.client.journal().purge_older_than(Journal::YOUNGEST_TO_PURGE).await.unwrap();
    let (other, gateway) = at_the_other(&world);
    other.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap();
    assert_eq!((gateway.requests().len(), world.intent().await.service.as_deref()), (1, Some(OTHER)));
    assert_eq!(world.pay().await.unwrap_err().kind(), "other_service");
}

#[tokio::test]
async fn transaction_is_not_looked_up_at_another_service_d47() {
    let world = World::new().await;
    world.fail(response_lost()).await;
    let (other, gateway) = at_the_other(&world);
    // The other service has a transaction of this amount.
    let found = gateway.client().process_token(&payment_of(TEN_FIFTY)).await.unwrap().transaction_id.clone();
    let sent = gateway.requests().len();
    let error = world.look_up(&other, &found).await.unwrap_err();
    assert!(error.is_other_service() && !error.is_contradicted());
    assert_eq!(
        error.to_string(),
        format!(
            "invoice-17 belongs to another service: it was first used for {}, and a lookup at {OTHER} proves nothing about it: \
             check the base URL, the merchant and the API key; nothing was changed",
            FakeGateway::BASE_URL
        )
    );
    assert_eq!(gateway.requests().len(), sent);
    assert!(world.intent().await.is_unresolved());
}

#[tokio::test]
async fn lost_key_belongs_to_the_service_at_which_it_is_found_d47_d49() {
    let world = World::new().await;
    world.client.journal().accept_history(SentSince::Keys(&[key()]), "ada").await.unwrap();
    assert_eq!(world.intent().await.service, None);
    let (other, gateway) = at_the_other(&world);
    let found = gateway.client().process_token(&payment_of(TEN_FIFTY)).await.unwrap().transaction_id.clone();
    world.look_up(&other, &found).await.unwrap();
    assert_eq!(world.intent().await.service.as_deref(), Some(OTHER));
    assert_eq!(other.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap().transaction_id, found);
    assert_eq!(world.pay().await.unwrap_err().kind(), "other_service");
    assert_eq!(world.sent(), 0);
}

#[tokio::test]
async fn a_merchants_key_is_not_sent_for_another_merchant_and_outlives_a_new_api_key_d47() {
    let gateway = FakeGateway::builder().api_key("key_of_books").api_key("key_of_toys").build();
    let world = World::new().await;
    let client = JournaledClient::new(gateway.client(), world.client.journal().clone());
    let api_key = |text| ApiKey::new(text).unwrap();
    let books = client.for_merchant("books", api_key("key_of_books")).unwrap();
    let toys = client.for_merchant("toys", api_key("key_of_toys")).unwrap();
    let payment = payment_of(TEN_FIFTY);
    let paid = books.process_token(&key(), &payment).await.unwrap();

    for other in [&toys, &client] {
        let error = other.process_token(&key(), &payment).await.unwrap_err();
        assert!(error.kind() == "other_service" && error.outcome() == Outcome::Unknown, "{error}");
        let service = format!("{}#books", FakeGateway::BASE_URL);
        let Cause::OtherService { recorded, .. } = error.cause() else { panic!("{error:?}") };
        assert_eq!((recorded.as_deref(), error.transaction_id()), (Some(&*service), None));
        assert_eq!(
            other.after_rejection(&key()).process_token(&payment).await.unwrap_err().kind(),
            "other_service"
        );
    }
    let rotated = books.with_api_key(api_key("key_of_toys"));
    let again = rotated.process_token(&key(), &payment).await.unwrap();
    assert!(again.is_from_the_journal() && again.transaction_id == paid.transaction_id);
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

/// Until a person names the service of a key whose entry was lost, what they found out may be true of any.
#[tokio::test]
async fn lost_key_answers_nobody_once_it_is_resolved_without_its_service_d47_d49() {
    let id = || transaction("txn_1");
    for (found, outcome) in [
        (Resolution::processed(id(), "ada").unverified(), None),
        (Resolution::rejected(Some(id()), "ada").note("declined"), Some(Outcome::Rejected)),
    ] {
        let world = World::new().await;
        let (other, gateway) = at_the_other(&world);
        let journal = world.client.journal();
        journal.accept_history(SentSince::Keys(&[key()]), "ada").await.unwrap();
        let lost = journal.find(&key()).await.unwrap().unwrap();
        let resolved = journal.resolve(&lost, found.clone()).await.unwrap();
        for client in [&other, &world.client] {
            for error in [
                client.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err(),
                client.after_rejection(&key()).process_token(&payment_of(TEN_FIFTY)).await.unwrap_err(),
            ] {
                assert_eq!(error.kind(), "other_service", "{error}");
                assert_eq!((error.outcome(), error.transaction_id()), (Outcome::Unknown, None));
                assert!(!format!("{error} {error:?}").contains("txn_1"), "{error:?}");
            }
        }
        let service = FakeGateway::BASE_URL;
        let found = found.note("the same, at its service");
        journal.resolve_of_service(&resolved, found, service).await.unwrap();
        let answer = world.client.process_token(&key(), &payment_of(TEN_FIFTY)).await;
        assert_eq!(answer.as_ref().err().map(Error::outcome), outcome, "{answer:?}");
        let error = other.process_token(&key(), &payment_of(TEN_FIFTY)).await.unwrap_err();
        let Cause::OtherService { recorded, .. } = error.cause() else { panic!("{error:?}") };
        assert_eq!(recorded.as_deref(), Some(service));
        assert!(gateway.ledger().entries().is_empty() && world.gateway.ledger().entries().is_empty());
    }
}

/// What a person found out at one service proves nothing about another.
#[tokio::test]
async fn finding_at_another_service_is_refused_d47() {
    let world = World::new().await;
    world.fail(response_lost()).await;
    let (journal, before) = (world.client.journal(), world.intent().await);
    for said in [Resolution::not_processed("ada"), Resolution::rejected(None, "ada")] {
        let error = journal.resolve_of_service(&before, said, OTHER).await.unwrap_err();
        assert!(error.is_other_service(), "{error}");
        assert!(error.to_string().contains(OTHER), "{error}");
    }
    assert_eq!(world.intent().await, before);
    let said = Resolution::not_processed("ada");
    journal.resolve_of_service(&before, said, FakeGateway::BASE_URL).await.unwrap();
}

/// The payment's transaction is that of its void too.
#[tokio::test]
async fn lost_void_is_looked_up_and_no_payment_uses_its_key_d49() {
    let world = World::new().await;
    let paid = world.pay().await.unwrap().transaction_id;
    let (journal, lost) = (world.client.journal(), IntentKey::new("void-17").unwrap());
    journal.accept_history(SentSince::Keys(std::slice::from_ref(&lost)), "ada").await.unwrap();
    let read = journal.find(&lost).await.unwrap().unwrap();
    let said = || Resolution::processed(paid.clone(), "ada");
    let error = world.client.look_up_and_resolve(&read, said()).await.unwrap_err();
    assert!(error.is_contradicted(), "{error}");
    world.client.look_up_and_resolve(&read, said().of_a_void()).await.unwrap();
    let voided = world.client.void(&lost, &Void::new(paid.clone())).await.unwrap();
    assert!(voided.is_from_the_journal() && voided.transaction_id == paid);
    let error = world.client.process_token(&lost, &payment_of(TEN_FIFTY)).await.unwrap_err();
    assert!(
        error.kind() == "key_reused" && error.to_string().contains("with a different operation"),
        "{error}"
    );
    assert!(error.to_string().contains("already voided as transaction"), "{error}");
    assert_eq!(world.sent(), 1);
}

/// No call would ever be told what became of the key.
#[tokio::test]
async fn lost_key_gets_no_service_that_no_client_calls_d47_d49() {
    let world = World::new().await;
    let journal = world.client.journal();
    journal.accept_history(SentSince::Keys(&[key()]), "ada").await.unwrap();
    let lost = world.intent().await;
    let said = || Resolution::processed(transaction("txn_1"), "ada");
    for (service, why) in [
        (
            "not a url",
            "the service must be a base URL such as https://pay.example.com/api/v1/public, with #label for a merchant",
        ),
        ("", "the service must be a base URL"),
        (
            "HTTPS://Sandbox.example.com:443/api/v1/public/",
            "no client would call the service: write it as https://sandbox.example.com/api/v1/public; nothing was changed",
        ),
        (
            "https://sandbox.example.com/api/v1/public#two words",
            "the service has a merchant's label that is not 1 to 64 ASCII letters",
        ),
    ] {
        let error = journal.resolve_of_service(&lost, said(), service).await.unwrap_err();
        assert!(error.to_string().starts_with(why) && !error.is_other_service(), "{error}");
    }
    assert_eq!(world.intent().await, lost);
}
