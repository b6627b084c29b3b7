//! The journals of every released version in `tests/fixtures`: this version opens each, brings it forward and reads all of it.
//!
//! Before a new version of the format is released, `cargo test -p payments-journal --test journal write_fixtures -- --ignored`
//! writes its files: a SQLite file, a dump by `pg_dump`, and the intents in both. Files of released versions never change. What
//! this version reads out of them, `version-N.json`, does, if a member has a new name.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use payments_core::OperationName;
use payments_core::model::{
    AchTransaction, Card, CardTransaction, ConvenienceFee, TokenTransaction, TransactionType, Void,
};
use payments_fake::FakeGateway;
use payments_journal::internals::{Applied, Begin, Change, Ending, IntentStore, NewAttempt, ServiceChange};
use payments_journal::{
    AttemptId, Failure, HistoryEvent, Intent, IntentRequest, Journal, JournaledClient, OwnerId, Resolution,
    SentSince, SqliteReader, StateName,
};
use rusqlite::Connection;
use serde_json::Value;

use crate::contract::{self, PAYER, Place as _, Tables, at, key, token_request, transaction};
use crate::postgres::history::dump;
use crate::postgres::{self, administrator};
use crate::sqlite::InAFile;

fn fixture(version: i32, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/version-{version}.{extension}"))
}

/// The version of the tables that this crate creates.
fn current_version() -> i32 {
    version_of(&InAFile::closed().path())
}

fn version_of(path: &Path) -> i32 {
    let connection = Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// Every intent of the store, as JSON. One id is random.
async fn intents(store: &impl IntentStore) -> String {
    let intents = contract::intents(store).await;
    let random = intents.iter().find(|intent| intent.key == key("lost")).unwrap().attempt_id.to_string();
    let text = serde_json::to_string_pretty(&intents).unwrap();
    format!("{}\n", text.replace(&random, "random"))
}

/// The row has a member that only a later version knows: its key sends nothing, and every other one goes on.
async fn assert_later_document_is_left_alone(store: &impl IntentStore, name: &str) {
    let again = begin(name, 2, token_request(10_00), SERVICE);
    for result in [
        store.find(&key(name)).await.map(drop),
        store.apply(again).await.map(drop),
        store.apply(end(name, 1, Ending::Processed(transaction("txn_9")))).await.map(drop),
        // It still has the member.
        store.find(&key(name)).await.map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(error.is_damaged() && error.to_string().contains(name), "{error}");
    }
    assert!(store.find(&key("processed")).await.unwrap().is_some());
}

/// A journal that was copied or restored has lost its newest entries. Then it charges.
async fn assert_usable(store: impl payments_journal::Store) {
    let gateway = FakeGateway::new();
    let client = JournaledClient::new(gateway.client(), Journal::open(store).await.unwrap());
    let payment = TokenTransaction::builder("tok_approved", TEN, ConvenienceFee::Inactive).build().unwrap();
    assert!(client.process_token(&key("new"), &payment).await.is_err(), "it may lack entries");
    client.journal().accept_history(SentSince::Nothing, "ada").await.unwrap();
    client.process_token(&key("new"), &payment).await.unwrap();
    // The process that was sending is not alive.
    let sending = client.journal().find(&key("sending")).await.unwrap().unwrap();
    assert_eq!(sending.state.name(), StateName::Unknown);
    client.journal().close().await;
}

/// A journal of this version is read, brought forward and used, and what a later version has written in it is left alone.
async fn assert_brought_forward<P: Tables>(place: &P, version: i32) {
    let expected = fs::read_to_string(fixture(version, "json")).unwrap();
    let store = place.open().await;
    assert_eq!(intents(&store).await, expected, "version {version}");
    assert_usable(store).await;
    let member = r#"replace(document, '{"key"', '{"later":null,"key"')"#;
    place.sql(&format!("UPDATE intent SET document = {member} WHERE key = 'not_processed'")).await;
    let store = place.open().await;
    assert_later_document_is_left_alone(&store, "not_processed").await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_of_every_version_is_brought_forward_and_read() {
    let current = current_version();
    for version in 1..=current {
        let place = InAFile::new();
        let path = place.path();
        fs::copy(fixture(version, "db"), &path).expect("write_fixtures writes it, once for each version");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(version_of(&path), version);
        assert_brought_forward(&place, version).await;
        assert_eq!(version_of(&path), current);
        assert!(SqliteReader::open(&path).unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dump_of_every_version_is_brought_forward_and_read() {
    let current = current_version();
    for version in 1..=current {
        let Some(place) = postgres::place() else { return };
        let administrator = administrator(&place.0.url()).await;
        let dump = fs::read_to_string(fixture(version, "sql")).expect("write_fixtures writes it");
        administrator.batch_execute(&dump).await.unwrap();
        assert_brought_forward(&place, version).await;
        let version =
            administrator.query_one("SELECT version FROM payments_journal.meta", &[]).await.unwrap();
        assert_eq!(version.get::<_, i32>(0), current);
    }
}

/// A copy of each document for each of its objects, in which that object has a member that only a later version knows.
fn of_a_later_version(document: &Value) -> Vec<Value> {
    let mut objects = vec![String::new()];
    let mut next = 0;
    while let Some(pointer) = objects.get(next).cloned() {
        let inner: Vec<_> = match document.pointer(&pointer).unwrap() {
            Value::Object(members) => members.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
            _ => Vec::new(),
        };
        objects.extend(inner.iter().map(|name| format!("{pointer}/{name}")));
        next += 1;
    }
    objects.retain(|pointer| document.pointer(pointer).is_some_and(Value::is_object));
    let with_a_member = |pointer: &String| {
        let mut later = document.clone();
        later.pointer_mut(pointer).unwrap()["later"] = Value::Null;
        later
    };
    objects.iter().map(with_a_member).collect()
}

/// A change that copied or dropped the member could be wrong about the money.
#[test]
fn document_with_a_member_of_a_later_version_is_never_read() {
    for version in 1..=current_version() {
        let documents: Vec<Value> =
            serde_json::from_slice(&fs::read(fixture(version, "json")).unwrap()).unwrap();
        for document in documents {
            serde_json::from_value::<Intent>(document.clone()).unwrap();
            for later in of_a_later_version(&document) {
                assert!(serde_json::from_value::<Intent>(later.clone()).is_err(), "{later}");
            }
        }
    }
}

/// Otherwise a later version would not know that it cannot read one of them.
#[test]
fn fixtures_have_every_state_subject_and_kind_of_event() {
    for version in 1..=current_version() {
        let intents: Vec<Intent> =
            serde_json::from_slice(&fs::read(fixture(version, "json")).unwrap()).unwrap();
        for state in StateName::ALL {
            assert!(intents.iter().any(|intent| intent.state.name() == *state), "{state:?}");
        }
        let text = serde_json::to_string(&intents).unwrap();
        let members = ["card", "account", "token", "transaction", "lost"]
            .map(|subject| format!(r#""subject":{{"{subject}""#));
        let unit = |text: &String| text.replace('{', "");
        assert!(members.iter().all(|member| text.contains(member) || text.contains(&unit(member))), "{text}");
        for operation in OperationName::ALL.iter().filter(|operation| operation.moves_money()) {
            assert!(text.contains(&format!(r#""operation":"{operation}""#)), "{operation}");
        }
        assert!(intents.iter().any(|intent| intent.lost_since.is_some()));
        let story = intents.iter().find(|intent| intent.key == key("story")).unwrap();
        let history = story.history();
        let is_any = |is: fn(&HistoryEvent) -> bool| assert!(history.iter().any(is), "{history:?}");
        is_any(|it| matches!(it, HistoryEvent::Begun { .. }));
        is_any(|it| matches!(it, HistoryEvent::Ended { ending: Ending::Rejected(_), .. }));
        is_any(|it| matches!(it, HistoryEvent::Resolved(said) if said.resolution.note.is_some()));
        is_any(|it| matches!(it, HistoryEvent::Resolved(said) if said.resolution.is_reported));
        is_any(|it| matches!(it, HistoryEvent::Reopened { note: Some(_), .. }));
        is_any(|it| matches!(it, HistoryEvent::Renamed { .. }));
        is_any(|it| matches!(it, HistoryEvent::Lost { .. }));
        assert!(story.dropped_events > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes the files of this version, once, before its release"]
async fn write_fixtures() {
    let version = current_version();
    let (place, store) = InAFile::opened();
    fill(&store, place.open().await).await;
    fs::write(fixture(version, "json"), intents(&store).await).unwrap();
    store.close().await;
    drop(store);
    fs::copy(place.path(), fixture(version, "db")).unwrap();

    let place = postgres::place().expect("PostgreSQL is installed");
    fill(&place.open().await, place.open().await).await;
    fs::write(fixture(version, "sql"), dump(&place.0, &["--no-owner", "--no-privileges"])).unwrap();
}

const TEN: payments_core::model::Amount = payments_core::model::Amount::from_cents(10_00);
const SERVICE: &str = "https://pay.example.com/api/v1/public";
const OTHER: &str = "https://old.example.com/api/v1/public";

/// Applies a change, which must change something.
async fn apply(store: &impl IntentStore, change: Change) -> Intent {
    match store.apply(change.clone()).await.unwrap() {
        Applied::Written { row, .. } => row,
        applied @ Applied::Refused(..) => panic!("{change:?}: {applied:?}"),
    }
}

fn begin(name: &str, attempt: u64, request: IntentRequest, service: &str) -> Change {
    let begin = if attempt == 1 { Begin::Plain } else { Begin::AfterRejection };
    let (id, owner) = (AttemptId::from_kept(format!("{name}-{attempt}")), OwnerId::from_kept("owner"));
    Change::begin(
        key(name),
        NewAttempt { begin, service: service.to_owned(), request, attempt_id: id, owner },
        at(attempt * 10),
    )
}

fn end(name: &str, attempt: u64, ending: Ending) -> Change {
    Change::end(key(name), AttemptId::from_kept(format!("{name}-{attempt}")), ending, at(attempt * 10 + 5))
}

fn rejected() -> Ending {
    let mut failure = Failure::of_kind("rejected");
    (failure.http_status, failure.reason) = (Some(429), Some("too many \u{1F4B3} requests".to_owned()));
    failure.transaction_id = Some(transaction("txn_declined"));
    Ending::Rejected(failure)
}

/// An intent in every state, of every request, and one with a full history.
async fn fill<S: IntentStore>(store: &S, again: S) {
    let token = || token_request(10_00);
    let timeout = || Ending::Unknown(Failure::of_kind("timeout"));
    apply(store, begin("sending", 1, token(), SERVICE)).await;
    let (kind, fee) = (TransactionType::Sale, ConvenienceFee::Active);
    let card = Card { number: "4242424242424242", cvv: "123", expiry: "12/33" };
    let card = CardTransaction::builder(TEN, kind, fee, card, PAYER).build().unwrap();
    let account = AchTransaction::builder(TEN, kind, fee, PAYER).account_field("AccountNumber", "000123");
    let ended: [(_, IntentRequest, _); 7] = [
        ("processed", token(), Ending::Processed(transaction("txn_1"))),
        ("rejected", token(), rejected()),
        ("not_processed", token(), Ending::NotProcessed(Failure::of_kind("connect"))),
        ("unknown", token(), timeout()),
        ("card", (&card).into(), Ending::Processed(transaction("txn_2"))),
        ("account", (&account.build().unwrap()).into(), Ending::Processed(transaction("txn_4"))),
        ("void", (&Void::new(transaction("txn_2"))).into(), Ending::Processed(transaction("txn_2"))),
    ];
    for (name, request, ending) in ended {
        apply(store, begin(name, 1, request, SERVICE)).await;
        apply(store, end(name, 1, ending)).await;
    }
    apply(store, begin("resolved", 1, token(), SERVICE)).await;
    let unknown = apply(store, end("resolved", 1, timeout())).await;
    let found = Resolution::processed(transaction("txn_3"), "grace")
        .note("on the statement, \"page 2\"")
        .unverified();
    apply(store, Change::resolve(&unknown, found, at(30))).await;
    story(store).await;
    let journal = Journal::read_only(again);
    let read = journal.intents_of_service(OTHER).await.unwrap();
    let refused =
        store.change_service(ServiceChange::new(&read, Some(SERVICE), "ada", at(900))).await.unwrap();
    assert!(refused.is_none(), "{refused:?}");
    apply(store, Change::lost(key("lost"), at(800), OwnerId::from_kept("owner"), "ada", at(850))).await;
    apply(store, Change::may_lack(key("rejected"), at(800), at(850))).await;
    store.accept_history("ada", Some(1), at(800)).await.unwrap();
}

async fn story(store: &impl IntentStore) {
    let name = "story";
    apply(store, begin(name, 1, token_request(20_00), OTHER)).await;
    let crashed = apply(store, Change::orphan(key(name), AttemptId::from_kept("story-1"), at(15))).await;
    let written_off = Resolution::not_processed("ada").note("in no report");
    apply(store, Change::resolve(&crashed, written_off, at(16))).await;
    for attempt in 2..32 {
        apply(store, begin(name, attempt, token_request(20_00), OTHER)).await;
        apply(store, end(name, attempt, rejected())).await;
    }
    apply(store, Change::reopen(key(name), Some(&[429]), "ada", Some("the limit was raised"), at(400))).await;
    apply(store, Change::reopen(key(name), None, "grace", None, at(401))).await;
    let lost =
        apply(store, Change::lost(key(name), at(350), OwnerId::from_kept("owner"), "ada", at(402))).await;
    let resolution = Resolution::rejected(transaction("txn_declined"), "grace").note("declined");
    apply(store, Change::resolve(&lost, resolution, at(403))).await;
    apply(store, begin(name, 50, token_request(20_00), OTHER)).await;
    apply(store, end(name, 50, rejected())).await;
    // The first attempt was processed after all.
    apply(store, end(name, 1, Ending::Processed(transaction("txn_late")))).await;
}
