//! The client for programs without a runtime. Its calls are those of the asynchronous one, whose tests are not repeated here.

#[cfg(unix)]
mod processes;
mod threads;

use std::time::Duration;

use payments_core::model::{AchTransaction, Card, CardTransaction, ConvenienceFee, TransactionType, Void};
use payments_core::{ApiKey, Outcome};
use payments_fake::{FakeGateway, test_values};
use payments_journal::blocking::{Journal, JournaledClient};
use payments_journal::{Intent, MemoryStore, Resolution, StateName};

use super::support::{TEN_FIFTY, answered, paid_with, payment_of, response_lost};
use crate::contract::{PAYER, key};

struct World {
    gateway: FakeGateway,
    client: JournaledClient,
}

impl World {
    fn new() -> Self {
        let gateway = FakeGateway::new();
        let journal = Journal::open(MemoryStore::new()).unwrap();
        Self { client: JournaledClient::new(gateway.blocking_client(), journal), gateway }
    }

    fn journal(&self) -> &Journal {
        self.client.journal()
    }

    fn row(&self, name: &str) -> Intent {
        self.journal().find(&key(name)).unwrap().unwrap()
    }

    /// Makes a payment whose response is lost.
    fn lose(&self, name: &str) {
        self.gateway.arm(response_lost());
        let error = self.client.process_token(&key(name), &payment_of(TEN_FIFTY)).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
    }

    /// Makes a payment that is refused, which is not about the payment.
    fn refuse(&self, name: &str) {
        self.gateway.arm(answered(429));
        self.client.process_token(&key(name), &payment_of(TEN_FIFTY)).unwrap_err();
    }
}

#[test]
fn every_operation_is_sent_once_d43() {
    let World { gateway, client } = World::new();
    let card = Card { number: test_values::VISA, cvv: "123", expiry: "12/30" };
    let (fee, auth) = (ConvenienceFee::Inactive, TransactionType::Auth);
    let auth = CardTransaction::builder(TEN_FIFTY, auth, fee, card, PAYER).build().unwrap();
    let ach = AchTransaction::builder(TEN_FIFTY, TransactionType::Sale, fee, PAYER);
    let ach = ach.account_field("AccountNumber", "000123456789").build().unwrap();
    for is_repeated in [false, true] {
        let card = client.process_card(&key("card"), &auth).unwrap();
        let voided = card.transaction_id.clone();
        let ach = client.process_ach(&key("ach"), &ach).unwrap().is_from_the_journal();
        let token =
            client.process_token(&key("token"), &payment_of(TEN_FIFTY)).unwrap().is_from_the_journal();
        let void = client.void(&key("void"), &Void::new(voided.clone())).unwrap().is_from_the_journal();
        assert_eq!([card.is_from_the_journal(), ach, token, void], [is_repeated; 4]);
        assert_eq!(gateway.requests().len(), 4);
        gateway.ledger().assert_voided(&voided);
    }
}

#[test]
fn rejection_is_followed_by_the_explicit_call_only_d44() {
    let World { gateway, client } = World::new();
    for _ in 0..2 {
        let error = client.process_token(&key("k"), &paid_with(test_values::TOK_DECLINED)).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Rejected);
    }
    assert_eq!(gateway.requests().len(), 1);
    client.after_rejection(&key("k")).process_token(&payment_of(TEN_FIFTY)).unwrap();
    assert_eq!(gateway.requests().len(), 2);
}

/// A program finds the call's log by it.
#[test]
fn call_has_the_id_of_the_clients_call_through_both_clients() {
    let world = World::new();
    let asynchronous = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let journal = payments_journal::Journal::open(MemoryStore::new()).await.unwrap();
        let client = payments_journal::JournaledClient::new(FakeGateway::new().client(), journal);
        let payment = payment_of(TEN_FIFTY);
        let sent = client.process_token(&key("k"), &payment).await;
        [sent.unwrap(), client.process_token(&key("k"), &payment).await.unwrap()]
    });
    let pay = || world.client.process_token(&key("k"), &payment_of(TEN_FIFTY)).unwrap();
    for [sent, repeated] in [asynchronous, [pay(), pay()]] {
        assert!(sent.call_id().is_some());
        assert_eq!(sent.call_id(), sent.response.unwrap().call_id());
        assert_eq!(repeated.call_id(), None);
    }
}

#[test]
fn what_a_person_says_is_written_d48() {
    let world = World::new();
    world.lose("found");
    let id = world.gateway.ledger().entries()[0].transaction_id().clone();
    let found = Resolution::processed(id.clone(), "ada");
    let (found, record) = world.client.look_up_and_resolve(&world.row("found"), found).unwrap();
    assert_eq!((found.processed_as(), &record.transaction_id), (Some(&id), &id));
    world.lose("written-off");
    let read = world.row("written-off");
    let resolved = world.journal().resolve(&read, Resolution::not_processed("ada")).unwrap();
    assert_eq!((world.row("written-off"), resolved.state.name()), (resolved, StateName::Resolved));

    for name in ["by-status", "by-name"] {
        world.refuse(name);
    }
    let by_status = world.journal().reopen(&key("by-status"), &[429], "ada", None).unwrap();
    let by_name = world.journal().reopen_by_name(&key("by-name"), "ada", None).unwrap();
    for reopened in [by_status, by_name] {
        assert_eq!(reopened.state.name(), StateName::NotProcessed, "{reopened:?}");
    }
}

#[test]
fn service_and_age_are_passed_on_d45_d47() {
    let world = World::new();
    let toys = world.client.for_merchant("toys", ApiKey::new(FakeGateway::API_KEY).unwrap()).unwrap();
    toys.process_token(&key("k"), &payment_of(TEN_FIFTY)).unwrap();
    let service = format!("{}#toys", FakeGateway::BASE_URL);
    assert_eq!(world.row("k").service.as_deref(), Some(&*service));
    let journal = world.journal();
    journal
        .rename_service(&journal.intents_of_service(&service).unwrap(), "https://new.example", "ada")
        .unwrap();
    let renamed = journal.intents_of_service("https://new.example").unwrap();
    assert_eq!(renamed.intents.count(), 1);
    journal.forget_service(&renamed, "ada").unwrap();
    assert_eq!((journal.find(&key("k")).unwrap(), journal.summary().unwrap().count()), (None, 0));
    assert!(journal.purge_older_than(Duration::from_secs(1)).is_err(), "it is too young");
}
