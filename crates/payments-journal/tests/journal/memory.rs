use std::time::Duration;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_fake::FakeGateway;
use payments_journal::{Cause, Journal, JournaledClient, MemoryStore, Resolution, SentSince};

use crate::contract::{self, OTHER, Place, as_processed, at_service};

struct InMemory(MemoryStore);

impl Place for InMemory {
    type Store = MemoryStore;

    async fn open(&self) -> MemoryStore {
        self.0.another_owner()
    }

    async fn make_older(&self, by: Duration) {
        self.0.make_older(by);
    }
}

contract::tests!(Some(InMemory(MemoryStore::new())));

/// The same limit, whatever the person does.
#[tokio::test]
async fn every_text_of_a_person_is_bounded_d48() {
    let store = MemoryStore::new();
    at_service(&store, OTHER, "a", 10_50, Some(as_processed("txn_a"))).await;
    let journal = Journal::open(store).await.unwrap();
    let intent = journal.find(&contract::key("a")).await.unwrap().unwrap();
    let service = journal.intents_of_service(OTHER).await.unwrap();
    let (key, new, not_processed) = (&intent.key, "https://new.example.com", Resolution::not_processed);
    let (limit, long) = (Resolution::MAX_TEXT_BYTES, "n".repeat(Resolution::MAX_TEXT_BYTES + 1));
    let note = Some(&*long);
    for (what, refusal) in [
        ("resolve", refusal(journal.resolve(&intent, not_processed(long.as_str())).await)),
        ("resolve: note", refusal(journal.resolve(&intent, not_processed("ada").note(&*long)).await)),
        ("reopen", refusal(journal.reopen(key, &[200], &long, None).await)),
        ("reopen: note", refusal(journal.reopen(key, &[200], "ada", note).await)),
        ("by name", refusal(journal.reopen_by_name(key, &long, None).await)),
        ("by name: note", refusal(journal.reopen_by_name(key, "ada", note).await)),
        ("accept", refusal(journal.accept_history(SentSince::Nothing, &long).await)),
        ("rename", refusal(journal.rename_service(&service, new, &long).await)),
        ("forget", refusal(journal.forget_service(&service, &long).await)),
    ] {
        let refusal = refusal.unwrap_or_else(|| panic!("{what}"));
        assert!(
            refusal.starts_with(&format!("a note and a person's name have at most {limit} bytes each; ")),
            "{what}: {refusal}"
        );
        assert!(refusal.ends_with("nothing was changed"), "{what}: {refusal}");
    }
    assert_eq!(journal.find(key).await.unwrap(), Some(intent.clone()));
    journal.rename_service(&service, new, &long[1..]).await.unwrap();
}

#[tokio::test]
async fn a_client_over_a_journal_that_is_only_read_sends_nothing_d43() {
    let gateway = FakeGateway::new();
    let client = JournaledClient::new(gateway.client(), Journal::read_only(MemoryStore::new()));
    let payment =
        TokenTransaction::builder("tok_approved", Amount::from_cents(10_50), ConvenienceFee::Inactive);
    let error = client.process_token(&contract::key("a"), &payment.build().unwrap()).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Store(error) if error.is_refused()), "{error}");
    assert_eq!(gateway.requests().len(), 0);
}

fn refusal<T, E: ToString>(result: Result<T, E>) -> Option<String> {
    result.err().map(|error| error.to_string())
}
