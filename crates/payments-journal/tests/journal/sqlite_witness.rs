//! A database that was replaced by an older copy: what it has lost must not be charged again.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use payments_core::Outcome;
use payments_core::model::{ConvenienceFee, TokenTransaction, TransactionId};
use payments_fake::FakeGateway;
use payments_journal::internals::{Applied, Change, Ending, IntentStore as _};
use payments_journal::{
    Cause, Failure, FailureKind, IntentState, Journal, JournaledClient, Resolution, SentSince, SqliteOptions,
    SqliteReader, SqliteStore, StateName, StoreError,
};

use rusqlite::Connection;

use crate::client::support::TEN_FIFTY;
use crate::contract::{self, as_processed, at, begun, ended, key};
use crate::process::Process;
use crate::sqlite::{InAFile, beside, close};

fn witness(place: &InAFile) -> PathBuf {
    beside(&place.path(), "-owners").join("witness")
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path).unwrap()
}

/// [`Journal::check_history`] says the same.
async fn begin(store: &SqliteStore, name: &str) -> Result<Applied, StoreError> {
    let begun = store.apply(contract::begin(name, store, 1)).await;
    if !matches!(begun, Ok(Applied::Refused(..))) {
        let is_lost = |error: &StoreError| error.is_history_lost();
        let checked = store.check_history().await;
        assert_eq!(checked.err().is_some_and(|it| is_lost(&it)), begun.as_ref().err().is_some_and(is_lost));
    }
    begun
}

/// Charges this key, and closes the journal.
async fn charge(store: SqliteStore, name: &str) {
    contract::charged(&store, name, as_processed(&format!("txn_{name}"))).await;
    close(store);
}

/// A journal with a charge of `kept`, in which the charge of `lost` is lost.
async fn restored() -> InAFile {
    let place = InAFile::new();
    charge(open(&place.path()), "kept").await;
    let copy = fs::read(place.path()).unwrap();
    charge(open(&place.path()), "lost").await;
    fs::write(place.path(), copy).unwrap();
    place
}

fn assert_lost(begun: Result<Applied, StoreError>) {
    let error = begun.unwrap_err();
    assert!(error.is_history_lost(), "{error:?}");
    assert!(error.to_string().contains("payments journal accept-history"), "{error}");
}

#[tokio::test]
async fn restored_older_copy_begins_nothing_until_a_person_accepts_it_d49() {
    let place = restored().await;
    for _ in 0..5 {
        let store = open(&place.path());
        // More tries than lost changes: the loss is not forgotten.
        for name in ["lost", "new", "lost", "new"] {
            assert_lost(begin(&store, name).await);
        }
        assert!(matches!(begin(&store, "kept").await, Ok(Applied::Refused(..))), "it is known");
        close(store);
    }
    let journal = Journal::open(open(&place.path())).await.unwrap();
    let sent = [key("lost"), key("kept")];
    assert_eq!(journal.accept_history(SentSince::Keys(&sent), "ada").await.unwrap(), 1);
    let lost = journal.find(&key("lost")).await.unwrap().unwrap();
    assert_eq!(lost.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
    assert_eq!(journal.find(&key("kept")).await.unwrap().unwrap().state.name(), StateName::Processed);
    journal.close().await;
    let store = open(&place.path());
    assert!(begin(&store, "lost").await.unwrap().written().is_none(), "it may have been charged");
    assert!(begin(&store, "new").await.unwrap().written().is_some());
    close(store);
    // A second restore is noticed too.
    let copy = fs::read(place.path()).unwrap();
    charge(open(&place.path()), "newest").await;
    fs::write(place.path(), copy).unwrap();
    assert_lost(begin(&open(&place.path()), "newest").await);
}

/// The key was rejected when the copy was made, and charged since.
#[tokio::test]
async fn refusal_in_an_older_copy_is_no_answer_about_the_money_d49() {
    let declined = payment_with("tok_declined");
    let approved = payment_with("tok_approved");
    let [invoice, unused] = ["invoice-17", "unused"].map(key);
    let place = InAFile::new();
    let gateway = FakeGateway::new();
    let client = async || {
        let journal = Journal::open(open(&place.path())).await.unwrap();
        JournaledClient::new(gateway.client(), journal)
    };
    let before = client().await;
    before.process_token(&invoice, &declined).await.unwrap_err();
    before.journal().close().await;
    let copy = fs::read(place.path()).unwrap();
    let lost = client().await;
    lost.after_rejection(&invoice).process_token(&approved).await.unwrap();
    lost.journal().close().await;
    fs::write(place.path(), copy).unwrap();

    let restored = client().await;
    for _ in 0..2 {
        let explicit = restored.after_rejection(&invoice).process_token(&approved).await;
        let without_row = restored.after_rejection(&unused).process_token(&approved).await;
        for answer in [
            restored.process_token(&invoice, &declined).await,
            restored.process_token(&invoice, &approved).await,
            explicit,
            without_row,
        ] {
            let error = answer.unwrap_err();
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            assert!(matches!(error.cause(), Cause::Store(error) if error.is_history_lost()), "{error}");
        }
    }
    let read = restored.journal().find(&invoice).await.unwrap().unwrap();
    assert_eq!(read.state.name(), StateName::Rejected, "reads go on");
    // The key is not on the person's list.
    restored.journal().accept_history(SentSince::Keys(&[unused]), "ada").await.unwrap();
    let error = restored.after_rejection(&invoice).process_token(&approved).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    let row = restored.journal().find(&invoice).await.unwrap().unwrap();
    assert_eq!(row.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

/// While the witness cannot be asked, nobody knows whether this is an older copy.
#[tokio::test]
async fn refusal_is_no_answer_about_the_money_without_its_witness_d49() {
    let place = InAFile::new();
    for (name, ending) in [
        ("rejected", Ending::Rejected(Failure::of_kind("rejected"))),
        ("processed", as_processed("txn_1")),
        ("unknown", Ending::Unknown(Failure::of_kind("timeout"))),
    ] {
        let store = open(&place.path());
        contract::charged(&store, name, ending).await;
        close(store);
    }
    fs::remove_file(witness(&place)).unwrap();
    let store = open(&place.path());
    assert!(begin(&store, "rejected").await.unwrap_err().to_string().contains("is missing"));
    for name in ["processed", "unknown"] {
        assert!(matches!(begin(&store, name).await, Ok(Applied::Refused(_, Some(_)))), "{name}");
    }
}

fn payment_with(token: &str) -> TokenTransaction {
    TokenTransaction::builder(token, TEN_FIFTY, ConvenienceFee::Inactive).build().unwrap()
}

/// It does not begin when the loss is noticed, or when a person accepts it: what was charged before that would be looked for too
/// late.
#[tokio::test]
async fn lost_time_begins_with_the_newest_entry_of_the_copy_d49() {
    let place = restored().await;
    let store = open(&place.path());
    assert_lost(begin(&store, "new").await);
    close(store);
    let journal = Journal::open(open(&place.path())).await.unwrap();
    let kept = journal.find(&key("kept")).await.unwrap().unwrap();
    for (name, begun_after) in [("lost", "new"), ("forgotten", "newest")] {
        assert_eq!(journal.accept_history(SentSince::Keys(&[key(name)]), "ada").await.unwrap(), 1);
        let lost = journal.find(&key(name)).await.unwrap().unwrap();
        assert_eq!(lost.begun_at, kept.created_at, "{name}");
        assert!(begin(&open(&place.path()), begun_after).await.unwrap().written().is_some());
    }
}

/// A charge that was in flight when the copy was put in place is its newest entry once it has ended.
#[tokio::test]
async fn charge_that_ends_after_the_restore_does_not_shorten_the_lost_time_d49() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Restored {
        Alone,
        FromBeforeALossWasAccepted,
        WithItsWitness,
    }
    for restored in [Restored::Alone, Restored::FromBeforeALossWasAccepted, Restored::WithItsWitness] {
        let place = InAFile::new();
        let mut second = 0;
        let mut begin = async |store: &SqliteStore, name: &str| {
            second += 1;
            store.apply(contract::begin(name, store, second)).await.unwrap().written().unwrap()
        };
        for round in ["first", "second"] {
            let name = |what: &str| format!("{round}-{what}");
            let store = open(&place.path());
            let kept = begin(&store, &name("kept")).await;
            close(store);
            let [copy, seen] = [place.path(), witness(&place)].map(|path| fs::read(path).unwrap());
            let store = open(&place.path());
            if restored == Restored::FromBeforeALossWasAccepted {
                store.accept_history("ada", None, at(0)).await.unwrap();
            }
            begin(&store, &name("lost")).await;
            let in_flight = begin(&store, &name("in-flight")).await;
            close(store);
            fs::write(place.path(), copy).unwrap();
            if restored == Restored::WithItsWitness {
                fs::write(witness(&place), seen).unwrap();
            }
            let store = open(&place.path());
            let end = Change::end_of(in_flight, as_processed(&name("txn")), at(100));
            assert!(store.apply(end).await.unwrap().written().is_some());
            close(store);
            let journal = Journal::open(open(&place.path())).await.unwrap();
            // Also if it was cut short.
            for text in ["lost", "more"].map(name) {
                assert_eq!(journal.accept_history(SentSince::Keys(&[key(&text)]), "ada").await.unwrap(), 1);
                let lost = journal.find(&key(&text)).await.unwrap().unwrap();
                assert_eq!(lost.begun_at, kept.created_at, "{text}, {restored:?}");
            }
            journal.close().await;
            if restored == Restored::WithItsWitness {
                break; // Only a loss that is noticed is another one than the last that was accepted.
            }
        }
    }
}

/// The newest file was put aside, the witness was lost, and a person accepted the older copy. However few changes that has made
/// since, the newest file is not the journal any more.
#[tokio::test]
async fn file_that_was_put_aside_begins_nothing_when_it_is_put_back_d49() {
    for has_second in [false, true] {
        let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
        let path = elsewhere.path().join("witness");
        let options = if has_second { SqliteStore::options().witness(&path) } else { SqliteStore::options() };
        let open = || options.open(place.path()).unwrap();
        charge(open(), "kept").await;
        let copy = fs::read(place.path()).unwrap();
        for number in 0..10 {
            charge(open(), &format!("lost-{number}")).await;
        }
        let newest = fs::read(place.path()).unwrap();
        for witness in [witness(&place), path.clone()] {
            let _ = fs::remove_file(witness);
        }
        fs::write(place.path(), copy).unwrap();
        let journal = Journal::open(open()).await.unwrap();
        journal.accept_history(SentSince::Nothing, "ada").await.unwrap();
        journal.close().await;
        charge(open(), "since").await;
        let accepted = fs::read(place.path()).unwrap();
        for _ in 0..2 {
            fs::write(place.path(), &newest).unwrap();
            let store = open();
            assert_lost(begin(&store, "since").await);
            close(store);
            fs::write(place.path(), &accepted).unwrap();
            let store = open();
            assert!(begin(&store, "since").await.unwrap().written().is_none());
            close(store);
        }
        charge(open(), "new").await;
    }
}

/// That of a disk that was away when a person accepted a loss with another one. Named by mistake, it does no lasting harm.
#[tokio::test]
async fn second_witness_of_another_time_begins_nothing_while_it_is_named_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let [stale, used] = ["stale", "used"].map(|name| elsewhere.path().join(name));
    let with = |witness: &Path| SqliteStore::options().witness(witness).open(place.path()).unwrap();
    charge(with(&stale), "kept").await;
    let journal = Journal::open(with(&used)).await.unwrap();
    journal.accept_history(SentSince::Nothing, "ada").await.unwrap();
    journal.close().await;
    for number in 0..3 {
        let store = with(&stale);
        assert_lost(begin(&store, "new").await);
        close(store);
        charge(with(&used), &format!("new-{number}")).await;
    }
}

/// The stores that are open meanwhile go on, also if the witness is another file now.
#[tokio::test]
async fn open_stores_learn_that_a_loss_was_accepted_d49() {
    let place = InAFile::new();
    let (store, other) = (open(&place.path()), open(&place.path()));
    assert!(begin(&store, "first").await.unwrap().written().is_some());
    fs::remove_file(witness(&place)).unwrap();
    let person = Journal::open(other).await.unwrap();
    for number in 0..3 {
        person.accept_history(SentSince::Nothing, "ada").await.unwrap();
        assert!(begin(&store, &format!("new-{number}")).await.unwrap().written().is_some());
        let seen = fs::read(witness(&place)).unwrap();
        assert!(begin(&store, &format!("newer-{number}")).await.unwrap().written().is_some());
        assert_ne!(fs::read(witness(&place)).unwrap(), seen, "it writes the witness that is there");
    }
    person.close().await;
    close(store);
    // As if its process had died after the witness was written and before the journal was.
    let before = fs::read(place.path()).unwrap();
    let accept = async || {
        let person = Journal::open(open(&place.path())).await.unwrap();
        person.accept_history(SentSince::Nothing, "ada").await.unwrap();
        person.close().await;
    };
    accept().await;
    fs::write(place.path(), before).unwrap();
    let store = open(&place.path());
    assert_lost(begin(&store, "another").await);
    close(store);
    accept().await;
    charge(open(&place.path()), "another").await;
}

/// What a person found out before the loss says nothing about the lost time, in which the key may have been sent again.
#[tokio::test]
async fn finding_from_before_a_loss_is_refused_for_a_named_key_d49() {
    let place = InAFile::new();
    let store = open(&place.path());
    contract::charged(&store, "k", Ending::Unknown(Failure::of_kind("timeout"))).await;
    let read = store.find(&key("k")).await.unwrap().unwrap();
    close(store);
    let copy = fs::read(place.path()).unwrap();
    let finding = || Resolution::not_processed("ada").note("not in the report");
    let journal = Journal::open(open(&place.path())).await.unwrap();
    journal.resolve(&read, finding()).await.unwrap();
    journal.close().await;
    charge(open(&place.path()), "k").await;
    fs::write(place.path(), copy).unwrap();
    let journal = Journal::open(open(&place.path())).await.unwrap();
    assert_eq!(journal.accept_history(SentSince::Keys(&[key("k")]), "ada").await.unwrap(), 1);
    assert!(journal.resolve(&read, finding()).await.is_err());
    let now = journal.find(&key("k")).await.unwrap().unwrap();
    assert_eq!(now.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
    assert!(now.begun_at <= read.begun_at, "it may be the attempt from before the loss, too");
    journal.resolve(&now, finding()).await.unwrap();
}

#[tokio::test]
async fn nothing_was_sent_changes_no_key_d49() {
    let place = restored().await;
    let journal = Journal::open(open(&place.path())).await.unwrap();
    assert_eq!(journal.accept_history(SentSince::Nothing, "ada").await.unwrap(), 0);
    journal.close().await;
    let store = open(&place.path());
    assert!(begin(&store, "lost").await.unwrap().written().is_some());
    assert!(begin(&store, "kept").await.unwrap().written().is_none());
}

#[tokio::test]
async fn ends_go_on_and_a_lost_key_is_resolved_as_any_other_d49() {
    let (place, store) = InAFile::opened();
    begun(&store, "sending").await;
    close(store);
    let copy = fs::read(place.path()).unwrap();
    charge(open(&place.path()), "lost").await;
    fs::write(place.path(), copy).unwrap();
    let store = open(&place.path());
    let ended = ended(&store, "sending", as_processed("txn_1")).await;
    assert_eq!(ended.written().unwrap().state.name(), StateName::Processed);
    let journal = Journal::open(store).await.unwrap();
    assert_eq!(journal.accept_history(SentSince::Keys(&[key("lost")]), "ada").await.unwrap(), 1);
    let lost = journal.find(&key("lost")).await.unwrap().unwrap();
    let resolution = Resolution::not_processed("ada").note("not in the report");
    assert!(journal.resolve(&lost, resolution).await.is_ok());
    journal.close().await;
    assert!(begin(&open(&place.path()), "lost").await.unwrap().written().is_some(), "a person said so");
}

/// The process that sends holds the row of its begin.
#[tokio::test]
async fn end_of_a_charge_that_the_restored_copy_lacks_is_written_whole_d49() {
    for is_named in [false, true] {
        let place = InAFile::new();
        charge(open(&place.path()), "kept").await;
        let copy = fs::read(place.path()).unwrap();
        let store = open(&place.path());
        let begun = begun(&store, "sending").await;
        close(store);
        fs::write(place.path(), copy).unwrap();
        if is_named {
            let journal = Journal::open(open(&place.path())).await.unwrap();
            assert_eq!(journal.accept_history(SentSince::Keys(&[key("sending")]), "ada").await.unwrap(), 1);
            journal.close().await;
        }
        let store = open(&place.path());
        let end = Change::end_of(begun.clone(), as_processed("txn_1"), at(1));
        let ended = store.apply(end).await.unwrap().written().unwrap();
        assert_eq!((ended.state.name(), &ended.request), (StateName::Processed, &begun.request));
        close(store);
        let store = open(&place.path());
        assert_eq!(store.find(&key("sending")).await.unwrap(), Some(ended));
        assert!(begin(&store, "sending").await.unwrap().written().is_none(), "it is charged");
        assert_eq!(
            begin(&store, "new").await.is_ok(),
            is_named,
            "only ends are written before a person accepts it"
        );
    }
}

#[tokio::test]
async fn missing_database_beside_its_witness_is_refused_d49() {
    let place = InAFile::new();
    charge(open(&place.path()), "kept").await;
    let copy = place.path().with_file_name("copy");
    fs::rename(place.path(), &copy).unwrap();
    for _ in 0..2 {
        let error = SqliteStore::open(place.path()).unwrap_err();
        assert!(error.is_history_lost(), "{error:?}");
        assert!(!place.path().exists());
    }
    fs::rename(copy, place.path()).unwrap();
    assert!(begin(&open(&place.path()), "new").await.unwrap().written().is_some());
}

/// As a run in another working directory does. What it leaves there would be an old journal to the next run.
#[tokio::test]
async fn no_journal_is_created_for_the_witness_of_another_or_for_none_d49() {
    let (place, other, elsewhere) = (InAFile::new(), InAFile::new(), tempfile::tempdir().unwrap());
    let options = SqliteStore::options().witness(elsewhere.path().join("witness"));
    charge(options.open(place.path()).unwrap(), "kept").await;
    for error in [
        options.open(other.path()).unwrap_err(),
        options.open_existing(other.path()).map(|_| ()).unwrap_err(),
        options.open_to_read(other.path()).map(|_| ()).unwrap_err(),
    ] {
        assert!(error.is_history_lost() && error.to_string().contains("name its place"), "{error:?}");
    }
    let nowhere = SqliteStore::options().witness(elsewhere.path().join("missing/witness"));
    assert!(nowhere.open(other.path()).unwrap_err().is_refused());
    assert!(fs::read_dir(other.path().parent().unwrap()).unwrap().next().is_none());
}

#[tokio::test]
async fn one_torn_slot_is_ignored_and_two_begin_nothing_d49() {
    let place = InAFile::new();
    charge(open(&place.path()), "kept").await;
    let whole = fs::read(witness(&place)).unwrap();
    for torn in 0..2 {
        let mut bytes = whole.clone();
        bytes[torn * whole.len() / 2 + 40] ^= 1;
        fs::write(witness(&place), bytes).unwrap();
        let store = open(&place.path());
        assert!(begin(&store, &format!("new-{torn}")).await.unwrap().written().is_some(), "slot {torn}");
        close(store);
    }
    fs::write(witness(&place), "").unwrap();
    assert_lost(begin(&open(&place.path()), "another").await);
    fs::remove_file(witness(&place)).unwrap();
    assert_lost(begin(&open(&place.path()), "another").await);
}

#[tokio::test]
async fn witness_that_is_behind_is_harmless_d49() {
    let place = InAFile::new();
    charge(open(&place.path()), "kept").await;
    let behind = fs::read(witness(&place)).unwrap();
    charge(open(&place.path()), "later").await;
    fs::write(witness(&place), &behind).unwrap();
    charge(open(&place.path()), "new").await;
    assert_ne!(fs::read(witness(&place)).unwrap(), behind, "it has caught up");
}

/// As a restore of the whole folder does.
#[tokio::test]
async fn witness_on_another_disk_notices_what_the_folder_has_lost_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let options = SqliteStore::options().witness(elsewhere.path().join("witness"));
    charge(options.open(place.path()).unwrap(), "kept").await;
    let copies = [place.path(), witness(&place)].map(|path| (fs::read(&path).unwrap(), path));
    charge(options.open(place.path()).unwrap(), "lost").await;
    for (copy, path) in copies {
        fs::write(path, copy).unwrap();
    }
    assert_lost(begin(&options.open(place.path()).unwrap(), "lost").await);
}

#[tokio::test]
async fn journal_with_a_witness_elsewhere_begins_nothing_without_it_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let options = SqliteStore::options().witness(elsewhere.path().join("witness"));
    charge(open(&place.path()), "first").await;
    charge(options.open(place.path()).unwrap(), "kept").await;
    assert_lost(begin(&open(&place.path()), "new").await);
    assert!(SqliteReader::open(place.path()).unwrap().is_some(), "it can be read");
}

/// An operator forgets to name it. That is no loss, and stops nobody else.
#[tokio::test]
async fn forgotten_witness_stops_only_who_forgot_it_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let path = elsewhere.path().join("witness");
    let options = SqliteStore::options().witness(&path);
    charge(options.open(place.path()).unwrap(), "kept").await;
    for _ in 0..3 {
        assert_lost(begin(&open(&place.path()), "new").await);
        let journal = Journal::open(open(&place.path())).await.unwrap();
        for lost in [SentSince::Nothing, SentSince::Keys(&[])] {
            let error = journal.accept_history(lost, "ada").await.unwrap_err();
            assert!(error.to_string().contains("was not named"), "{error}");
        }
        journal.close().await;
    }
    // So is a disk that is not mounted for a while.
    let unmounted = path.with_extension("away");
    fs::rename(&path, &unmounted).unwrap();
    assert_lost(begin(&options.open(place.path()).unwrap(), "new").await);
    fs::rename(unmounted, &path).unwrap();
    assert!(begin(&options.open(place.path()).unwrap(), "new").await.unwrap().written().is_some());
}

/// What is still written without the witness does not catch up with it.
#[tokio::test]
async fn changes_that_the_witness_did_not_see_hide_no_loss_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let options = SqliteStore::options().witness(elsewhere.path().join("witness"));
    let store = options.open(place.path()).unwrap();
    for number in 0..5 {
        begun(&store, &format!("sending-{number}")).await;
    }
    close(store);
    let copies = [place.path(), witness(&place)].map(|path| (fs::read(&path).unwrap(), path));
    charge(options.open(place.path()).unwrap(), "lost").await;
    for (copy, path) in copies {
        fs::write(path, copy).unwrap();
    }
    let store = open(&place.path());
    for number in 0..5 {
        let ending = as_processed(&format!("txn_{number}"));
        assert!(ended(&store, &format!("sending-{number}"), ending).await.written().is_some());
    }
    close(store);
    assert_lost(begin(&options.open(place.path()).unwrap(), "lost").await);
}

/// Restored from before it, the journal would send the key, and no witness would know.
#[tokio::test]
async fn key_that_may_be_sent_is_not_resolved_without_its_witness_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let options = SqliteStore::options().witness(elsewhere.path().join("witness"));
    let store = options.open(place.path()).unwrap();
    for (name, ending) in [
        ("unknown", Ending::Unknown(Failure::of_kind("timeout"))),
        ("not-sent", Ending::NotProcessed(Failure::of_kind("connect"))),
        ("rejected", Ending::Rejected(Failure::of_kind("rejected"))),
    ] {
        contract::charged(&store, name, ending).await;
    }
    close(store);
    let processed = || Resolution::processed(TransactionId::new("txn_1").unwrap(), "ada").of_attempt(1);
    let journal = Journal::open(open(&place.path())).await.unwrap();
    for name in ["not-sent", "rejected"] {
        let found = journal.find(&key(name)).await.unwrap().unwrap();
        let error = journal.resolve(&found, processed()).await.unwrap_err();
        assert!(error.to_string().contains("was not named"), "{name}: {error}");
        assert_eq!(journal.find(&key(name)).await.unwrap().unwrap(), found);
    }
    // A restored copy has this one as unknown, and sends nothing.
    let found = journal.find(&key("unknown")).await.unwrap().unwrap();
    journal.resolve(&found, processed()).await.unwrap();
    journal.close().await;
    let journal = Journal::open(options.open(place.path()).unwrap()).await.unwrap();
    let found = journal.find(&key("rejected")).await.unwrap().unwrap();
    let other = Resolution::processed(TransactionId::new("txn_2").unwrap(), "ada").of_attempt(1);
    journal.resolve(&found, other).await.unwrap();
}

#[tokio::test]
async fn file_that_is_no_witness_is_left_as_it_is_d49() {
    let (place, folder) = (InAFile::new(), tempfile::tempdir().unwrap());
    charge(open(&place.path()), "kept").await;
    let [billing, other, pipe] = ["billing.csv", "other.db", "pipe"].map(|name| folder.path().join(name));
    fs::write(&billing, "Key,Amount\ninvoice-17,10.50\n").unwrap();
    close(open(&other));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let [log, link] = [beside(&place.path(), "-wal"), folder.path().join("link")];
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let refused = |path: &Path| {
        let error = SqliteStore::options().witness(path).open(place.path()).unwrap_err();
        assert!(error.to_string().contains("witness"), "{error}");
        close(open(&place.path()));
    };
    for own in [place.path(), link, log, witness(&place)] {
        refused(&own);
    }
    refused(&pipe);
    for file in [&billing, &other] {
        let before = fs::read(file).unwrap();
        refused(file);
        assert!(fs::read(file).unwrap() == before, "{}", file.display());
    }
    // Nor does a person's acceptance overwrite it.
    let named = folder.path().join("witness");
    let options = SqliteStore::options().witness(&named);
    close(options.open(place.path()).unwrap());
    for file in [billing, other] {
        let before = fs::read(&file).unwrap();
        fs::write(&named, &before).unwrap();
        let journal = Journal::open(options.open(place.path()).unwrap()).await.unwrap();
        let error = journal.accept_history(SentSince::Nothing, "ada").await.unwrap_err();
        assert!(error.to_string().contains("no witness"), "{error}");
        assert!(fs::read(&named).unwrap() == before, "{}", file.display());
        journal.close().await;
    }
}

#[tokio::test]
async fn folder_from_before_the_witness_elsewhere_was_named_is_noticed_d49() {
    let (place, elsewhere) = (InAFile::new(), tempfile::tempdir().unwrap());
    let options = SqliteStore::options().witness(elsewhere.path().join("witness"));
    charge(open(&place.path()), "kept").await;
    let copies = [place.path(), witness(&place)].map(|path| (fs::read(&path).unwrap(), path));
    charge(options.open(place.path()).unwrap(), "lost").await;
    for (copy, path) in copies {
        fs::write(path, copy).unwrap();
    }
    for _ in 0..2 {
        let store = options.open(place.path()).unwrap();
        assert_lost(begin(&store, "lost").await);
        close(store);
    }
}

/// Of a process that died after it had created the witness, and before it recorded that.
#[tokio::test]
async fn copy_from_before_the_witness_was_recorded_is_noticed_d49() {
    let place = InAFile::closed();
    Connection::open(place.path()).unwrap().execute("UPDATE meta SET is_witnessed = 0", []).unwrap();
    let copy = fs::read(place.path()).unwrap();
    charge(open(&place.path()), "lost").await;
    fs::write(place.path(), copy).unwrap();
    for _ in 0..2 {
        let store = open(&place.path());
        assert_lost(begin(&store, "lost").await);
        close(store);
    }
}

/// Its creator died while it wrote it.
#[tokio::test]
async fn witness_that_was_never_whole_is_created_again_d49() {
    let place = InAFile::closed();
    Connection::open(place.path()).unwrap().execute("UPDATE meta SET is_witnessed = 0", []).unwrap();
    fs::write(witness(&place), "0123").unwrap();
    let store = open(&place.path());
    assert!(begin(&store, "new").await.unwrap().written().is_some());
}

/// After a crash somebody puts the database of an earlier day back and leaves the newer log, or the other way round.
#[tokio::test]
async fn log_of_another_time_than_the_database_is_refused_d49() {
    let place = InAFile::new();
    let [database, log] = ["", "-wal"].map(|suffix| beside(&place.path(), suffix));
    charge(open(&place.path()), "kept").await;
    let older = fs::read(&database).unwrap();
    let mut process = Process::start(&place.path());
    assert_eq!(process.ask("open"), "opened");
    process.kill();
    let older_log = fs::read(&log).unwrap();
    charge(open(&place.path()), "lost").await;
    let mut process = Process::start(&place.path());
    assert_eq!(process.ask("open"), "opened");
    process.kill();
    let (newer, newer_log) = (fs::read(&database).unwrap(), fs::read(&log).unwrap());
    for (database_bytes, log_bytes) in [(&older, &newer_log), (&newer, &older_log)] {
        fs::write(&database, database_bytes).unwrap();
        fs::write(&log, log_bytes).unwrap();
        for _ in 0..2 {
            let refused = SqliteStore::open(&database).unwrap_err();
            assert!(
                refused.is_damaged() && refused.to_string().contains("not of the same time"),
                "{refused}"
            );
            let unread = SqliteReader::open(&database).unwrap_err();
            assert!(unread.is_damaged() && unread.to_string().contains("not of the same time"), "{unread}");
        }
        assert!(fs::read(&database).unwrap() == *database_bytes && fs::read(&log).unwrap() == *log_bytes);
    }
    // The older copy alone is as any other.
    fs::write(&database, older).unwrap();
    fs::remove_file(&log).unwrap();
    let copy = open(&database);
    assert_lost(begin(&copy, "lost").await);
    close(copy);
    // Both newer files are the journal.
    fs::write(&database, newer).unwrap();
    fs::write(&log, newer_log).unwrap();
    fs::set_permissions(&log, Permissions::from_mode(0o600)).unwrap();
    let store = open(&database);
    assert!(begin(&store, "lost").await.unwrap().written().is_none());
    assert!(begin(&store, "new").await.unwrap().written().is_some());
}

/// A key that it does not show may have been charged.
#[tokio::test]
async fn who_only_reads_is_told_of_a_loss_d49() {
    let (place, elsewhere) = (restored().await, tempfile::tempdir().unwrap());
    let is_lost = async |witness: Option<&Path>| {
        let options = witness.into_iter().fold(SqliteStore::options(), SqliteOptions::witness);
        let reader = options.open_to_read(place.path()).unwrap().unwrap();
        let before = fs::read(place.path()).unwrap();
        let checked = Journal::read_only(reader).check_history().await;
        assert!(before == fs::read(place.path()).unwrap(), "nothing is written");
        checked.err().map(|error| {
            assert!(error.is_history_lost(), "{error:?}");
            error.to_string()
        })
    };
    assert!(is_lost(None).await.unwrap().contains("has seen 2 later changes"));
    let store = open(&place.path());
    assert_lost(begin(&store, "lost").await);
    close(store);
    assert!(is_lost(None).await.unwrap().contains("noticed earlier"));
    let journal = Journal::open(open(&place.path())).await.unwrap();
    journal.accept_history(SentSince::Keys(&[key("lost")]), "ada").await.unwrap();
    journal.close().await;
    assert_eq!(is_lost(None).await, None, "a person has accepted it");

    let second = elsewhere.path().join("witness");
    fs::write(&second, "").unwrap();
    assert_eq!(is_lost(Some(&second)).await, None, "the journal does not know it yet");
    let before_second = fs::read(place.path()).unwrap();
    charge(SqliteStore::options().witness(&second).open(place.path()).unwrap(), "new").await;
    assert_eq!(is_lost(Some(&second)).await, None);
    assert!(is_lost(None).await.unwrap().contains("was not named"));
    // The whole folder was restored, from before the second witness was named.
    let own = fs::read(witness(&place)).unwrap();
    fs::write(place.path(), before_second).unwrap();
    fs::remove_file(witness(&place)).unwrap();
    assert!(is_lost(None).await.unwrap().contains("is missing"));
    fs::remove_dir_all(beside(&place.path(), "-owners")).unwrap();
    assert!(is_lost(Some(&second)).await.unwrap().contains("has seen"), "the named one is asked");
    assert_eq!(is_lost(None).await, None, "it may be a copy, to be read");
    fs::create_dir(beside(&place.path(), "-owners")).unwrap();
    fs::set_permissions(beside(&place.path(), "-owners"), Permissions::from_mode(0o700)).unwrap();
    fs::write(witness(&place), own).unwrap();
    fs::remove_file(place.path()).unwrap();
    let error = SqliteReader::open(place.path()).unwrap_err();
    assert!(error.is_history_lost() && error.to_string().contains("is missing"), "{error}");
}

#[tokio::test]
async fn journal_that_goes_on_while_it_is_read_has_lost_nothing_d49() {
    const CHARGES: usize = 300;
    let place = InAFile::new();
    let mut process = Process::start(&place.path());
    process.ask("open");
    let journal = Journal::read_only(SqliteReader::open(place.path()).unwrap().unwrap());
    process.send(&format!("charge key 0 {CHARGES}"));
    let charging = std::thread::spawn(move || (0..=CHARGES).map(|_| process.response()).last());
    let mut checks = 0;
    while !charging.is_finished() || checks == 0 {
        journal.check_history().await.unwrap();
        checks += 1;
    }
    assert_eq!(charging.join().unwrap().as_deref(), Some("done"));
}
