//! The journal's public types, for payments and voids that are full of secrets.

use std::time::SystemTime;

use payments_canary::Canaries;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_core::{ApiKey, OperationName};
use payments_fake::{FakeGateway, Fault};
use payments_journal::internals::{Begin, Change, Ending, IntentStore, NewAttempt, ServiceChange};
use payments_journal::unversioned::SummaryGauges;
use payments_journal::{
    AttemptId, Failure, FailureKind, IntentKey, IntentRequest, Journal, JournaledClient, MemoryStore,
    OwnerId, PostgresStore, ReconcileOptions, ReportCell, ReportRow, Resolution, RowStatus, RowTime,
    SentSince, SqliteReader, SqliteStore, StateName,
};

use super::requests::{ach_payment, card_payment};
use super::transcript::{Transcript, transcribe};
use crate::requests::token;

pub(super) fn transcribe_all(transcript: &Transcript, canaries: &Canaries) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        calls(transcript, canaries).await;
        changes(transcript, canaries).await;
        reconciling(transcript, canaries).await;
        stores(transcript, canaries).await;
    });
}

fn key(text: &str) -> IntentKey {
    IntentKey::new(text).unwrap()
}

/// A resolution in which a person wrote a card number.
fn resolution(canaries: &Canaries) -> Resolution {
    Resolution::not_processed(format!("ada {}", canaries.card())).note(format!("card {}", canaries.card()))
}

async fn calls(transcript: &Transcript, canaries: &Canaries) {
    let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
    let store = MemoryStore::new();
    transcribe!(transcript, store);
    let journal = Journal::open(store).await.unwrap();
    transcribe!(transcript, journal);
    let client = JournaledClient::new(gateway.client(), journal);
    transcribe!(transcript, client);
    let rejected = key("card");
    transcribe!(transcript, client.after_rejection(&rejected));
    transcribe!(transcript, key("card"));
    transcribe!(transcript, IntentKey::new(format!("{} x", canaries.card())).unwrap_err());

    let card = card_payment(canaries);
    for _ in 0..2 {
        transcribe!(transcript, client.process_card(&key("card"), &card).await.unwrap());
        transcribe!(transcript, client.process_ach(&key("ach"), &ach_payment(canaries)).await.unwrap());
        transcribe!(
            transcript,
            client.process_token(&key("token"), &token("tok_approved", 1_00)).await.unwrap()
        );
    }
    let id = client.process_card(&key("card"), &card).await.unwrap().transaction_id;
    transcribe!(
        transcript,
        client
            .void(&key("void"), &Void::new(id.clone()).with_reason(canaries.card()).unwrap())
            .await
            .unwrap()
    );

    gateway.arm(Fault::on(OperationName::Transaction).after_commit().html().times(2));
    for _ in 0..2 {
        transcribe!(transcript, client.process_card(&key("lost"), &card).await.unwrap_err());
        transcribe!(
            transcript,
            client.process_ach(&key("lost-too"), &ach_payment(canaries)).await.unwrap_err()
        );
    }
    let reused = client.process_ach(&key("card"), &ach_payment(canaries)).await.unwrap_err();
    transcribe!(transcript, *reused.cause());
    transcribe!(transcript, reused);
    let journal = client.journal();
    let [known, lost] = [key("card"), key("lost")];
    let read = async |key| journal.find(key).await.unwrap().unwrap();
    let found = Resolution::processed(id.clone(), canaries.card());
    transcribe!(transcript, client.look_up_and_resolve(&read(&known).await, found).await.unwrap_err());
    transcribe!(transcript, journal.resolve(&read(&known).await, resolution(canaries)).await.unwrap_err());
    transcribe!(transcript, journal.resolve(&read(&lost).await, resolution(canaries)).await.unwrap());
    // The second attempt.
    transcribe!(transcript, client.process_card(&lost, &card).await.unwrap());
    transcribe!(transcript, client.journal().pages(StateName::ALL));
    let rows = client.journal().pages(StateName::ALL).next().await.unwrap().unwrap();
    assert!(rows.len() > 5, "{rows:?}");
    transcribe!(transcript, client.journal().purge_older_than(Journal::YOUNGEST_TO_PURGE).await.unwrap());
    for intent in &rows {
        transcribe!(transcript, *intent);
        transcribe!(transcript, intent.request);
        transcribe!(transcript, intent.request.subject);
        for event in &*intent.history() {
            transcribe!(transcript, *event);
        }
        for recorded in intent.resolutions() {
            transcribe!(transcript, *recorded);
        }
        transcribe!(transcript, intent.state);
        transcribe!(transcript, serde_json::to_string(intent).unwrap());
    }
    // The journal is closed before the outcome is written.
    let gate = gateway.gate_after_commit(OperationName::Transaction);
    let late = key("late");
    let closed = async {
        gate.arrivals(1).await;
        client.journal().close().await;
        gate.release();
    };
    let (charged, ()) = tokio::join!(client.process_card(&late, &card), closed);
    transcribe!(transcript, charged.unwrap());
    let error = client.journal().flush().await.unwrap_err();
    transcribe!(transcript, error.late_ends()[0]);
    transcribe!(transcript, error);
}

async fn changes(transcript: &Transcript, canaries: &Canaries) {
    let store = MemoryStore::new();
    let (attempt, now) = (AttemptId::new(), SystemTime::now());
    transcribe!(transcript, attempt);
    transcribe!(transcript, *store.owner());
    let request = IntentRequest::from(&card_payment(canaries));
    let owner: OwnerId = store.owner().clone();
    let ending = Ending::Unknown(Failure::of_kind("timeout"));
    transcribe!(transcript, ending);
    transcribe!(transcript, Failure::of_kind("timeout"));
    transcribe!(transcript, FailureKind::CRASH);
    let new = NewAttempt {
        begin: Begin::Plain,
        service: "https://pay.example.com".to_owned(),
        request,
        attempt_id: attempt.clone(),
        owner,
    };
    transcribe!(transcript, new);
    let first = Change::begin(key("one"), new, now);
    let begun = store.apply(first.clone()).await.unwrap();
    transcribe!(transcript, first);
    transcribe!(transcript, begun);
    let end = Change::end(key("one"), attempt, ending, now);
    let ended = store.apply(end.clone()).await.unwrap();
    transcribe!(transcript, end);
    transcribe!(transcript, ended);
    let change = Change::resolve(&ended.written().unwrap(), resolution(canaries), now);
    transcribe!(transcript, change);
    transcribe!(transcript, change.decide(None).unwrap_err());
    let applied = store.apply(change).await.unwrap();
    transcribe!(transcript, applied);
    let tallies = store.summarize(None).await.unwrap();
    transcribe!(transcript, tallies[0]);
    if let Some(payments_journal::IntentState::Resolved { resolution, .. }) =
        applied.written().map(|intent| intent.state)
    {
        transcribe!(transcript, resolution);
        transcribe!(transcript, resolution.verdict);
    }
}

/// A report about a payment whose response was lost.
async fn reconciling(transcript: &Transcript, canaries: &Canaries) {
    let gateway = FakeGateway::builder().api_key(canaries.key()).ignore_unfired_faults().build();
    let client = JournaledClient::new(gateway.client(), Journal::open(MemoryStore::new()).await.unwrap());
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let amount = Amount::from_cents(1_00);
    let payment = TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive)
        .reference_no("order-7")
        .description(canaries.card())
        .build()
        .unwrap();
    client.process_token(&key("lost"), &payment).await.unwrap_err();
    let intent = client.journal().find(&key("lost")).await.unwrap().unwrap();
    let time = RowTime { earliest: intent.begun_at, latest: intent.begun_at };
    transcribe!(transcript, time);
    let row = |line, id: &str, status| {
        let mut row = ReportRow::new(line, status);
        row.id = ReportCell::Read(id.parse().unwrap());
        row.amount = ReportCell::Read(amount);
        row.reference = ReportCell::Read("order-7".to_owned());
        row.time = ReportCell::Read(time);
        row
    };
    let options = ReconcileOptions::default();
    transcribe!(transcript, options);
    let charged = row(2, "txn_1", RowStatus::Charged);
    transcribe!(transcript, charged);
    transcribe!(transcript, charged.reference);
    for rows in [
        vec![charged.clone()],
        vec![charged.clone(), row(3, "txn_2", RowStatus::Charged)],
        vec![row(2, "txn_1", RowStatus::Other)],
    ] {
        let found = client.journal().reconcile(&rows, &options).await.unwrap();
        transcribe!(transcript, found);
        for proposal in &found.proposals {
            transcribe!(transcript, *proposal);
            transcribe!(transcript, proposal.attempt);
        }
        for undecided in &found.undecided {
            transcribe!(transcript, *undecided);
            transcribe!(transcript, undecided.why);
            undecided.candidates.iter().for_each(|candidate| transcribe!(transcript, *candidate));
        }
        found.unexplained.iter().for_each(|unexplained| transcribe!(transcript, *unexplained));
    }
    transcribe!(transcript, SentSince::Keys(&[key("lost")]));
    let journal = client.journal();
    let service = journal.pages(StateName::ALL).next().await.unwrap().unwrap()[0].service.clone().unwrap();
    let toys = client.for_merchant("toys", ApiKey::new(canaries.key()).unwrap()).unwrap();
    let paid = toys.process_token(&key("toys"), &payment).await.unwrap();
    let mut of_one = options;
    of_one.service = Some(service.clone());
    let rows = [row(2, paid.transaction_id.as_str(), RowStatus::Charged)];
    let found = journal.reconcile(&rows, &of_one).await.unwrap();
    transcribe!(transcript, found.other_merchants[0]);
    let read = journal.intents_of_service(&service).await.unwrap();
    transcribe!(transcript, read);
    transcribe!(transcript, read.intents);
    read.intents.states.iter().for_each(|state| transcribe!(transcript, *state));
    transcribe!(transcript, ServiceChange::new(&read, None, "ada", SystemTime::now()));
    transcribe!(transcript, journal.forget_service(&read, "ada").await.unwrap_err());
    journal.rename_service(&read, "https://new.example.com", "ada").await.unwrap();
    let renamed = journal.pages(StateName::ALL).next().await.unwrap().unwrap();
    transcribe!(transcript, renamed[0].history()[2]);
}

/// A password is a secret too.
async fn stores(transcript: &Transcript, canaries: &Canaries) {
    let folder = std::env::temp_dir().join(format!("payments-secrets-journal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    transcribe!(transcript, SqliteStore::open(folder.join("journal.db")).unwrap());
    transcribe!(transcript, SummaryGauges::new(&opentelemetry::global::meter("canary")));
    transcribe!(transcript, SqliteStore::options().witness(&folder));
    transcribe!(transcript, PostgresStore::options().fails_over_without_loss());
    transcribe!(transcript, SqliteStore::open(&folder).unwrap_err());
    transcribe!(transcript, SqliteReader::open(folder.join("journal.db")).unwrap().unwrap());
    // An address that was taken for a path.
    for place in
        ["postgres://ada:{}@db/books", "host=db password={} dbname=books", "postgres:ada:{}@db/books"]
    {
        let place = place.replace("{}", canaries.key());
        transcribe!(transcript, SqliteStore::open(&place).unwrap_err());
        transcribe!(transcript, SqliteReader::open(&place).unwrap_err());
    }
    std::fs::remove_dir_all(&folder).unwrap();
    for url in ["postgres://ada:{}@127.0.0.1:1/books", "postgres://ada:{}@books:x", "{}"] {
        transcribe!(
            transcript,
            PostgresStore::connect(&url.replace("{}", canaries.key())).await.unwrap_err()
        );
    }
    // Without PostgreSQL, `PostgresStore` has no value here; `WITHOUT_VALUES` allows that.
    if let Some(server) = payments_postgres_for_tests::Server::start() {
        let url = server.url().replace("postgres@", &format!("postgres:{}@", canaries.key()));
        transcribe!(transcript, PostgresStore::connect(&url).await.unwrap());
    }
}
