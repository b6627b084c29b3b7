//! What both databases must do, and no store in memory: with damaged rows, and with older copies of the rows.

use payments_core::Outcome;
use payments_fake::FakeGateway;
use payments_journal::internals::{Applied, Change, Ending, IntentStore};
use payments_journal::{
    Cause, Failure, FailureKind, Intent, IntentState, Journal, JournaledClient, Resolution, SentSince,
    StateName, StoreError,
};

use super::{
    HOUR, Place, as_processed, at, begin, begun, charged, charged_at, ended, intents, key, resolve, row,
};
use crate::client::support::{TEN_FIFTY, paid_with};
use crate::process::Process;

/// A journal in tables.
pub(crate) trait Tables: Place {
    /// The intents as they were.
    type Copy: Send;

    /// What makes a document unreadable in no other database.
    const DAMAGE: &[&str] = &[];

    /// Runs a statement about the table `intent` that the store knows nothing of.
    fn sql(&self, statement: &str) -> impl Future<Output = ()> + Send;

    /// Other processes that have opened it at the same time, and obey `begin KEY`.
    fn processes(&self, count: usize) -> Vec<Process>;

    /// Copies the intents, while no store is open.
    fn copy(&self) -> impl Future<Output = Self::Copy> + Send;

    /// Puts the copy in place of the intents, as a person does who restores a backup.
    fn restore(&self, copy: &Self::Copy) -> impl Future<Output = ()> + Send;
}

/// Generates a test from each function below, as [`contract::tests`](super::tests) does.
macro_rules! tests_of_tables {
    ($place:expr) => {
        $crate::contract::tests!($place,
            closed_owner_is_dead_although_its_store_is_kept
            one_of_sixteen_processes_that_begin_one_key_wins
            damaged_row_permits_nothing_and_stops_no_other
            row_in_an_unknown_state_is_not_purged
            restored_older_copy_begins_nothing_until_a_person_accepts_it_d49
            refusal_in_an_older_copy_is_no_answer_about_the_money_d49
            nothing_was_sent_changes_no_key_d49
            ends_go_on_in_an_older_copy_which_lacks_some_attempts_d49
            lost_time_begins_with_the_newest_entry_of_the_copy_d49
            charge_that_ends_after_the_restore_does_not_shorten_the_lost_time_d49
            finding_from_before_a_loss_is_refused_for_a_named_key_d49
        );
    };
}
pub(crate) use tests_of_tables;

/// The same error can meet the begin of a payment and the record of one that was made.
pub(crate) fn assert_says_nothing_of_sending(error: &StoreError) {
    assert!(!format!("{error:#}").contains("was sent"), "{error:#}");
}

pub(crate) async fn closed_owner_is_dead_although_its_store_is_kept<P: Tables>(place: P) {
    let (store, other) = (place.open().await, place.open().await);
    store.close().await;
    assert!(!other.is_live(store.owner()).await.unwrap());
}

pub(crate) async fn one_of_sixteen_processes_that_begin_one_key_wins<P: Tables>(place: P) {
    const ROUNDS: usize = 100;
    let mut processes = place.processes(16);
    for round in 0..ROUNDS {
        for process in &mut processes {
            process.send(&format!("begin round-{round}"));
        }
        let responses: Vec<_> = processes.iter_mut().map(Process::response).collect();
        let winners = responses.iter().filter(|response| *response == "begun").count();
        assert_eq!(winners, 1, "round {round}: {responses:?}");
        assert!(responses.iter().all(|response| response == "begun" || response == "kept"), "{responses:?}");
    }
    let intents = intents(&place.open().await).await;
    assert_eq!(intents.len(), ROUNDS);
    assert!(intents.iter().all(|intent| intent.revision == 1 && intent.attempts == 1));
}

/// What is searched by must be what the document says, and a document of a later version is not read either.
pub(crate) async fn damaged_row_permits_nothing_and_stops_no_other<P: Tables>(place: P) {
    const DAMAGE: [&str; 11] = [
        "state = 'paid'",
        "state = 'rejected'",
        "document = replace(document, '10.50', 'much')",
        "document = replace(document, '\"k\"', '\"l\"')",
        "document = substr(document, 2)",
        "document = '{}'",
        "processed_as = NULL",
        "processed_as = 'txn_9'",
        "is_void = NOT is_void",
        "service = ''",
        "service = service || 'x'",
    ];
    let store = place.open().await;
    charged(&store, "other", as_processed("txn_other")).await;
    for damage in DAMAGE.iter().chain(P::DAMAGE) {
        let begun = begun(&store, "k").await;
        ended(&store, "k", as_processed("txn_k")).await;
        place.sql(&format!("UPDATE intent SET {damage} WHERE key = 'k'")).await;
        let end = Change::end_of(begun, as_processed("txn_k"), at(9));
        let mut results = vec![
            store.apply(begin("k", &store, 9)).await.map(drop),
            store.apply(end).await.map(drop),
            store.find(&key("k")).await.map(drop),
        ];
        // It is in no list of rows in a known state.
        if *damage != "state = 'paid'" {
            results.push(store.list(StateName::ALL, None, 9).await.map(drop));
        }
        for result in results {
            let error = result.expect_err(damage);
            assert!(error.is_damaged(), "{damage}: {error:?}");
            assert!(
                damage.contains("CAST") || error.to_string().contains("the intent k"),
                "{damage}: {error}"
            );
            assert_says_nothing_of_sending(&error);
        }
        assert!(store.apply(begin("other", &store, 9)).await.unwrap().written().is_none());
        place.sql("DELETE FROM intent WHERE key = 'k'").await;
    }
}

/// A newer version may have written it.
pub(crate) async fn row_in_an_unknown_state_is_not_purged<P: Tables>(place: P) {
    for name in ["known", "strange"] {
        charged_at(name, &place.open().await, at(1)).await;
    }
    place.sql("UPDATE intent SET state = 'refunded' WHERE key = 'strange'").await;
    place.make_older(48 * HOUR).await;
    // So that the journal has a newer time.
    charged_at("newer", &place.open().await, at(1)).await;
    let store = place.open().await;
    assert_eq!(store.purge(36 * HOUR).await.unwrap().intents, 1);
    assert_eq!(store.find(&key("known")).await.unwrap(), None);
    assert!(store.find(&key("strange")).await.unwrap_err().is_damaged());
}

/// Whether this key begins. [`Journal::check_history`] says the same.
pub(crate) async fn begins(store: &impl IntentStore, name: &str) -> Result<bool, StoreError> {
    let begun = store.apply(begin(name, store, 1)).await;
    if !matches!(begun, Ok(Applied::Refused(..))) {
        let is_lost = |error: &StoreError| error.is_history_lost();
        let checked = store.check_history().await;
        assert_eq!(checked.err().is_some_and(|it| is_lost(&it)), begun.as_ref().err().is_some_and(is_lost));
    }
    begun.map(|applied| applied.written().is_some())
}

/// Checks that this key does not begin because entries may be missing, and that the error says why.
pub(crate) async fn assert_lost(store: &impl IntentStore, name: &str, why: &str) {
    let error = begins(store, name).await.unwrap_err();
    assert!(error.is_history_lost(), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(why) && text.contains("payments journal accept-history"), "{text}");
}

/// A person accepts that entries are lost. Returns how many keys have changed.
pub(crate) async fn accept(store: impl IntentStore, sent: SentSince<'_>) -> u64 {
    let journal = Journal::open(store).await.unwrap();
    let changed = journal.accept_history(sent, "ada").await.unwrap();
    journal.close().await;
    changed
}

/// Charges this key, and closes the journal.
pub(crate) async fn charge(store: impl IntentStore, name: &str) {
    charged(&store, name, as_processed(&format!("txn_{name}"))).await;
    store.close().await;
}

/// A journal with a charge of `kept`, in which the charge of `lost` is lost.
pub(crate) async fn restored(place: &impl Tables) {
    charge(place.open().await, "kept").await;
    let copy = place.copy().await;
    charge(place.open().await, "lost").await;
    place.restore(&copy).await;
}

pub(crate) async fn restored_older_copy_begins_nothing_until_a_person_accepts_it_d49<P: Tables>(place: P) {
    charged(&place.open().await, "rejected", Ending::Rejected(Failure::of_kind("rejected"))).await;
    restored(&place).await;
    for _ in 0..5 {
        let store = place.open().await;
        // More tries than lost changes: the loss is not forgotten.
        for name in ["lost", "new", "lost", "new", "rejected"] {
            assert_lost(&store, name, "").await;
        }
        assert!(!begins(&store, "kept").await.unwrap(), "it is known");
        store.close().await;
    }
    assert_eq!(accept(place.open().await, SentSince::Keys(&[key("lost"), key("kept")])).await, 1);
    let store = place.open().await;
    let lost = IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY));
    assert_eq!(row(&store, "lost").await.state, lost);
    assert_eq!(row(&store, "kept").await.state.name(), StateName::Processed);
    assert!(!begins(&store, "lost").await.unwrap(), "it may have been charged");
    assert!(begins(&store, "new").await.unwrap());
    store.close().await;
    // A second restore is noticed too.
    let copy = place.copy().await;
    charge(place.open().await, "newest").await;
    place.restore(&copy).await;
    assert_lost(&place.open().await, "newest", "").await;
}

pub(crate) async fn nothing_was_sent_changes_no_key_d49<P: Tables>(place: P) {
    restored(&place).await;
    assert_eq!(accept(place.open().await, SentSince::Nothing).await, 0);
    let store = place.open().await;
    assert!(begins(&store, "lost").await.unwrap());
    assert!(!begins(&store, "kept").await.unwrap());
}

/// The key was rejected when the copy was made, and charged since.
pub(crate) async fn refusal_in_an_older_copy_is_no_answer_about_the_money_d49<P: Tables>(place: P) {
    let (declined, approved) = (paid_with("tok_declined"), paid_with("tok_approved"));
    let [invoice, unused] = ["invoice-17", "unused"].map(key);
    let gateway = FakeGateway::new();
    let client = async || {
        let journal = Journal::open(place.open().await).await.unwrap();
        JournaledClient::new(gateway.client(), journal)
    };
    let before = client().await;
    before.process_token(&invoice, &declined).await.unwrap_err();
    before.journal().close().await;
    let copy = place.copy().await;
    let lost = client().await;
    lost.after_rejection(&invoice).process_token(&approved).await.unwrap();
    lost.journal().close().await;
    place.restore(&copy).await;

    let restored = client().await;
    for _ in 0..2 {
        for answer in [
            restored.process_token(&invoice, &declined).await,
            restored.process_token(&invoice, &approved).await,
            restored.after_rejection(&invoice).process_token(&approved).await,
            restored.after_rejection(&unused).process_token(&approved).await,
        ] {
            let error = answer.unwrap_err();
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            assert!(matches!(error.cause(), Cause::Store(error) if error.is_history_lost()), "{error}");
        }
    }
    let state = async || row(&place.open().await, "invoice-17").await.state;
    assert_eq!(state().await.name(), StateName::Rejected, "reads go on");
    // The key is not on the person's list.
    restored.journal().accept_history(SentSince::Keys(&[unused]), "ada").await.unwrap();
    let error = restored.after_rejection(&invoice).process_token(&approved).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    assert_eq!(state().await, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
    let summary = restored.journal().summary().await.unwrap();
    let unknown = summary.state(StateName::Unknown);
    assert_eq!((unknown.count, unknown.sum, unknown.lost), (2, Some(TEN_FIFTY), 1));
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

/// The process that sends holds the row of its begin.
pub(crate) async fn ends_go_on_in_an_older_copy_which_lacks_some_attempts_d49<P: Tables>(place: P) {
    let store = place.open().await;
    charged(&store, "kept", as_processed("txn_kept")).await;
    let known = begun(&store, "known").await;
    store.close().await;
    let copy = place.copy().await;
    let store = place.open().await;
    let [missing, named] = [begun(&store, "missing").await, begun(&store, "named").await];
    store.close().await;
    charge(place.open().await, "lost").await;
    place.restore(&copy).await;
    let ends = async |begun: Intent| {
        let store = place.open().await;
        let name = begun.key.as_str();
        let end = Change::end_of(begun.clone(), as_processed(&format!("txn_{name}")), at(1));
        let ended = store.apply(end).await.unwrap().written().unwrap();
        assert_eq!((ended.state.name(), &ended.request), (StateName::Processed, &begun.request));
        store.close().await;
        let store = place.open().await;
        assert_eq!(row(&store, name).await, ended);
        assert!(!begins(&store, name).await.unwrap(), "it is charged");
    };
    for begun in [known, missing] {
        ends(begun).await;
        assert_lost(&place.open().await, "new", "").await;
    }
    assert_eq!(accept(place.open().await, SentSince::Keys(&["named", "lost"].map(key))).await, 2);
    ends(named).await;
    let store = place.open().await;
    assert!(begins(&store, "new").await.unwrap());
    // A lost key is resolved as any other.
    assert!(!begins(&store, "lost").await.unwrap());
    let said = Resolution::not_processed("ada").note("not in the report");
    assert!(resolve(&store, "lost", said).await.written().is_some());
    assert!(begins(&store, "lost").await.unwrap(), "a person said so");
}

/// It does not begin when the loss is noticed, or when a person accepts it: what was charged before that would be looked for too
/// late.
pub(crate) async fn lost_time_begins_with_the_newest_entry_of_the_copy_d49<P: Tables>(place: P) {
    restored(&place).await;
    assert_lost(&place.open().await, "new", "").await;
    let kept = row(&place.open().await, "kept").await;
    for (name, begun_after) in [("lost", "new"), ("forgotten", "newest")] {
        assert_eq!(accept(place.open().await, SentSince::Keys(&[key(name)])).await, 1);
        let store = place.open().await;
        assert_eq!(row(&store, name).await.begun_at, kept.created_at, "{name}");
        assert!(begins(&store, begun_after).await.unwrap());
    }
}

/// A charge that was in flight when the copy was put in place is its newest entry once it has ended.
pub(crate) async fn charge_that_ends_after_the_restore_does_not_shorten_the_lost_time_d49<P: Tables>(
    place: P,
) {
    let mut second = 0;
    for round in ["first", "second", "third"] {
        let name = |what: &str| format!("{round}-{what}");
        let mut begun = async |what: &str| {
            second += 1;
            let store = place.open().await;
            let begun = store.apply(begin(&name(what), &store, second)).await.unwrap().written();
            store.close().await;
            begun.unwrap()
        };
        let kept = begun("kept").await;
        let copy = place.copy().await;
        // The copy is from before a loss was accepted.
        if round == "third" {
            place.open().await.accept_history("ada", None, at(0)).await.unwrap();
        }
        begun("lost").await;
        let in_flight = begun("in-flight").await;
        place.restore(&copy).await;
        let end = Change::end_of(in_flight, as_processed(&name("txn")), at(100));
        assert!(place.open().await.apply(end).await.unwrap().written().is_some());
        // Also if it was cut short.
        for text in ["lost", "more"].map(name) {
            assert_eq!(accept(place.open().await, SentSince::Keys(&[key(&text)])).await, 1);
            assert_eq!(row(&place.open().await, &text).await.begun_at, kept.created_at, "{text}");
        }
    }
}

/// What a person found out before the loss says nothing about the lost time, in which the key may have been sent again.
pub(crate) async fn finding_from_before_a_loss_is_refused_for_a_named_key_d49<P: Tables>(place: P) {
    let store = place.open().await;
    charged(&store, "k", Ending::Unknown(Failure::of_kind("timeout"))).await;
    let read = row(&store, "k").await;
    store.close().await;
    let copy = place.copy().await;
    let finding = || Resolution::not_processed("ada").note("not in the report");
    let store = place.open().await;
    resolve(&store, "k", finding()).await;
    charge(store, "k").await;
    place.restore(&copy).await;
    assert_eq!(accept(place.open().await, SentSince::Keys(&[key("k")])).await, 1);
    let journal = Journal::open(place.open().await).await.unwrap();
    assert!(journal.resolve(&read, finding()).await.is_err());
    let now = journal.find(&key("k")).await.unwrap().unwrap();
    assert_eq!(now.state, IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY)));
    assert!(now.begun_at <= read.begun_at, "it may be the attempt from before the loss, too");
    journal.resolve(&now, finding()).await.unwrap();
}
