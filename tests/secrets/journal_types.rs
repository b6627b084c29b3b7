//! The journal's public types, of payments and voids that are full of secrets.

use std::time::SystemTime;

use payments_canary::Canaries;
use payments_core::OperationName;
use payments_core::model::Void;
use payments_fake::{FakeGateway, Fault};
use payments_journal::{
    AttemptId, Change, Ending, Failure, IntentKey, IntentRequest, IntentStore, Journal, JournaledClient,
    MemoryStore, OwnerId, PostgresStore, Resolution, SqliteStore, StateName,
};

use super::page::{Page, tell};
use super::requests::{ach_payment, card_payment};
use crate::requests::token;

pub(super) fn tell_all(page: &Page, canaries: &Canaries) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        calls(page, canaries).await;
        changes(page, canaries).await;
        stores(page, canaries).await;
    });
}

fn key(text: &str) -> IntentKey {
    IntentKey::new(text).unwrap()
}

/// What a person writes down, with a card number in it.
fn resolution(canaries: &Canaries) -> Resolution {
    Resolution::not_processed(format!("ada {}", canaries.card())).note(format!("card {}", canaries.card()))
}

async fn calls(page: &Page, canaries: &Canaries) {
    let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
    let store = MemoryStore::new();
    tell!(page, store);
    let journal = Journal::open(store).await.unwrap();
    tell!(page, journal);
    let client = JournaledClient::new(gateway.client(), journal);
    tell!(page, client);
    let refused = key("card");
    tell!(page, client.after_rejection(&refused));
    tell!(page, key("card"));
    tell!(page, IntentKey::new(canaries.card()).unwrap_err());

    let card = card_payment(canaries);
    for _ in 0..2 {
        tell!(page, client.process_card(&key("card"), &card).await.unwrap());
        tell!(page, client.process_ach(&key("ach"), &ach_payment(canaries)).await.unwrap());
        tell!(page, client.process_token(&key("token"), &token("tok_approved", 1_00)).await.unwrap());
    }
    let id = client.process_card(&key("card"), &card).await.unwrap().transaction_id;
    tell!(page, client.void(&key("void"), &Void::new(id.clone()).reason(canaries.card())).await.unwrap());

    gateway.arm(Fault::on(OperationName::Transaction).after_commit().html().times(2));
    for _ in 0..2 {
        tell!(page, client.process_card(&key("lost"), &card).await.unwrap_err());
        tell!(page, client.process_ach(&key("lost-too"), &ach_payment(canaries)).await.unwrap_err());
    }
    tell!(page, client.process_ach(&key("card"), &ach_payment(canaries)).await.unwrap_err());
    tell!(page, client.resolve_processed(&key("card"), &id, canaries.card(), None).await.unwrap_err());
    tell!(page, client.journal().resolve(&key("card"), resolution(canaries)).await.unwrap_err());
    tell!(page, client.journal().resolve(&key("lost"), resolution(canaries)).await.unwrap());
    let rows = client.journal().list(StateName::ALL, None, 100).await.unwrap();
    assert!(rows.intents.len() > 5, "{rows:?}");
    tell!(page, rows);
    tell!(page, client.journal().purge_older_than(Journal::YOUNGEST_TO_PURGE).await.unwrap());
    for intent in &rows.intents {
        tell!(page, *intent);
        tell!(page, intent.request);
        tell!(page, intent.request.subject);
        tell!(page, intent.state);
        tell!(page, intent.state.name());
        tell!(page, serde_json::to_string(intent).unwrap());
    }
}

async fn changes(page: &Page, canaries: &Canaries) {
    let store = MemoryStore::new();
    let (attempt, now) = (AttemptId::new(), SystemTime::now());
    tell!(page, attempt);
    tell!(page, *store.owner());
    tell!(page, payments_journal::Cursor::new(1));
    let request = IntentRequest::from(&card_payment(canaries));
    let owner: OwnerId = store.owner().clone();
    let ending = Ending::Unknown(Failure::of_kind("timeout"));
    tell!(page, ending);
    tell!(page, Failure::of_kind("timeout"));
    for change in [
        Change::begin(key("one"), request, attempt.clone(), owner, now),
        Change::end(key("one"), attempt, ending, now),
        Change::resolve(key("one"), resolution(canaries), now),
    ] {
        tell!(page, change);
        let applied = store.apply(change).await.unwrap();
        tell!(page, applied);
        if let Some(payments_journal::IntentState::Resolved { resolution, .. }) =
            applied.written.map(|intent| intent.state)
        {
            tell!(page, resolution);
            tell!(page, resolution.verdict);
        }
    }
}

/// A password is a secret too.
async fn stores(page: &Page, canaries: &Canaries) {
    let folder = std::env::temp_dir().join(format!("payments-secrets-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    tell!(page, SqliteStore::open(folder.join("journal.db")).unwrap());
    tell!(page, SqliteStore::open(&folder).unwrap_err());
    std::fs::remove_dir_all(&folder).unwrap();
    for url in ["postgres://ada:{}@127.0.0.1:1/books", "postgres://ada:{}@books:x", "{}"] {
        tell!(page, PostgresStore::connect(&url.replace("{}", canaries.key())).await.unwrap_err());
    }
    // A machine without PostgreSQL tells what it is to tell with the type's name alone.
    if let Some(server) = payments_postgres_for_tests::Server::start() {
        let url = server.url().replace("postgres@", &format!("postgres:{}@", canaries.key()));
        tell!(page, PostgresStore::connect(&url).await.unwrap());
    }
}
