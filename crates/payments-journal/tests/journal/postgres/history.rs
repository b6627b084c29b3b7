//! A server that may lack commits: a promoted standby, and a restored dump.

use std::process::Command;

use payments_journal::internals::IntentStore as _;
use payments_journal::{Journal, PostgresStore, SentSince, StateName};
use payments_postgres_for_tests::Server;

use super::{BILLING, administrator, connect, make_standby, opened, place, sql, until};
#[cfg(feature = "tracing")]
use crate::client::events::logged;
use crate::contract::{Place as _, Tables as _, accept, assert_lost, begins, key};

async fn reader(server: &Server) -> PostgresStore {
    PostgresStore::connect_to_read(&server.url()).await.unwrap().unwrap()
}

/// Starts the server as a standby, and promotes it.
async fn promote(server: &mut Server) {
    make_standby(server);
    reader(server).await.check_history().await.expect("a standby tells nothing");
    let administrator = administrator(&server.url()).await;
    assert!(administrator.query_one("SELECT pg_promote()", &[]).await.unwrap().get::<_, bool>(0));
    until("it can be written", async || {
        let row = administrator.query_one("SELECT pg_is_in_recovery()", &[]).await.unwrap();
        !row.get::<_, bool>(0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promoted_standby_begins_nothing_until_a_person_accepts_it_d49() {
    let Some((mut server, store)) = opened().await else { return };
    assert!(begins(&store, "kept").await.unwrap());
    store.close().await;
    reader(&server).await.check_history().await.unwrap();
    promote(&mut server).await;
    assert!(reader(&server).await.check_history().await.unwrap_err().is_history_lost());
    let synchronous = PostgresStore::options().fails_over_without_loss();
    let synchronous = synchronous.connect(&server.url()).await.unwrap();
    assert!(begins(&synchronous, "synchronous").await.unwrap());
    synchronous.close().await;
    let store = connect(&server).await;
    assert_lost(&store, "lost", "its timeline is").await;
    assert!(!begins(&store, "kept").await.unwrap(), "it is known");
    let journal = Journal::open(store).await.unwrap();
    let sent = [key("lost"), key("kept")];
    assert_eq!(journal.accept_history(SentSince::Keys(&sent), "ada").await.unwrap(), 2);
    assert_eq!(journal.find(&key("lost")).await.unwrap().unwrap().state.name(), StateName::Unknown);
    journal.close().await;
    let store = connect(&server).await;
    assert!(!begins(&store, "lost").await.unwrap(), "it may have been charged");
    assert!(begins(&store, "new").await.unwrap());
    store.close().await;
    // A second promotion is noticed too.
    promote(&mut server).await;
    let store = connect(&server).await;
    assert_lost(&store, "newer", "its timeline is").await;
}

/// On a fresh server its table may have the number that it had on the server before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dump_restored_into_another_server_begins_nothing_d49() {
    let Some((first, store)) = opened().await else { return };
    assert!(begins(&store, "kept").await.unwrap());
    store.close().await;
    let mut dumped = dump(&first, &[]);
    let mut numbers = Vec::new();
    for lost in ["lost-1", "lost-2"] {
        let server = Server::of_a_new_cluster().unwrap();
        administrator(&server.url()).await.batch_execute(&dumped).await.unwrap();
        let store = connect(&server).await;
        assert_lost(&store, lost, "restored").await;
        let synchronous = PostgresStore::options().fails_over_without_loss();
        let synchronous = synchronous.connect(&server.url()).await.unwrap();
        assert_lost(&synchronous, lost, "restored").await;
        accept(store, SentSince::Nothing).await;
        dumped = dump(&server, &[]);
        let number = administrator(&server.url()).await;
        let number = number.query_one("SELECT intents FROM payments_journal.meta", &[]).await.unwrap();
        numbers.push(number.get::<_, u32>(0));
        let store = connect(&server).await;
        assert!(begins(&store, lost).await.unwrap());
        store.close().await;
    }
    assert_eq!(numbers[0], numbers[1], "nothing but the server differs");
}

/// A nightly copy in the same server is put in place of the database. Its tables have the same numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_made_from_another_as_its_template_begins_nothing_d49() {
    // It has `template0`.
    let Some(server) = Server::of_a_new_cluster() else { return };
    let store = connect(&server).await;
    assert!(begins(&store, "kept").await.unwrap());
    store.close().await;
    let address = server.url();
    let address = address.strip_suffix("/postgres").unwrap();
    let url = |database: &str| format!("{address}/{database}");
    sql(&server.url(), "CREATE DATABASE elsewhere TEMPLATE template0").await;
    sql(&url("elsewhere"), "CREATE DATABASE night TEMPLATE postgres").await;
    let store = connect(&server).await;
    assert!(begins(&store, "charged").await.unwrap());
    store.close().await;
    let swap = "ALTER DATABASE postgres RENAME TO morning; ALTER DATABASE night RENAME TO postgres";
    sql(&url("elsewhere"), swap).await;
    let restored = connect(&server).await;
    assert_lost(&restored, "charged", "another server or database").await;
    // The database itself may have any name.
    let renamed = PostgresStore::connect(&url("morning")).await.unwrap();
    assert!(begins(&renamed, "new").await.unwrap());
}

/// What the journal knows of its server.
async fn recorded_timeline(server: &Server) -> Option<String> {
    let administrator = administrator(&server.url()).await;
    administrator.query_one("SELECT timeline FROM payments_journal.meta", &[]).await.unwrap().get(0)
}

/// The statements of a dump by `pg_dump`.
pub(crate) fn dump(server: &Server, options: &[&str]) -> String {
    let dumped = Command::new("pg_dump").args(["--inserts", &server.url()]).args(options).output().unwrap();
    let dumped = String::from_utf8(dumped.stdout).unwrap();
    // Not comments, nor commands of psql.
    let is_statement = |line: &&str| !line.trim().is_empty() && !line.starts_with(['-', '\\']);
    dumped.split_inclusive('\n').filter(is_statement).collect()
}

/// The timeline alone is then compared, unless the journal knows the id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_whose_id_may_not_be_asked_for_is_known_by_its_timeline_d49() {
    let Some(mut server) = Server::start() else { return };
    sql(&server.url(), "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC").await;
    connect(&server).await.close().await;
    sql(&server.url(), BILLING).await;
    let may_accept = "
        GRANT UPDATE ON payments_journal.meta TO billing;
        GRANT SELECT, INSERT ON payments_journal.accepted TO billing";
    sql(&server.url(), may_accept).await;
    let url = server.url().replace("postgres@", "billing@");
    let synchronous = PostgresStore::options().fails_over_without_loss().connect(&url).await.unwrap();
    assert_lost(&synchronous, "first", "EXECUTE ON FUNCTION pg_control_system()").await;
    synchronous.close().await;
    // Accepting that does not make the journal forget the id.
    let known = recorded_timeline(&server).await;
    assert!(known.as_ref().is_some_and(|known| known.contains(' ')), "{known:?}");
    accept(PostgresStore::connect(&url).await.unwrap(), SentSince::Nothing).await;
    assert_eq!(recorded_timeline(&server).await, known);
    let store = PostgresStore::connect(&url).await.unwrap();
    assert_lost(&store, "first", "EXECUTE ON FUNCTION pg_control_system()").await;
    sql(&server.url(), "GRANT EXECUTE ON FUNCTION pg_control_system() TO billing").await;
    assert!(begins(&store, "first").await.unwrap());
    store.close().await;
    sql(&server.url(), "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM billing").await;
    let reader = PostgresStore::connect_to_read(&url).await.unwrap().unwrap();
    reader.check_history().await.expect("it tells nothing to who only reads");
    let of_timeline = "UPDATE payments_journal.meta SET timeline = split_part(timeline, ' ', 1)";
    sql(&server.url(), of_timeline).await;
    for url in [&url, &server.url()] {
        let store = PostgresStore::connect(url).await.unwrap();
        assert!(begins(&store, if url.contains("billing@") { "second" } else { "third" }).await.unwrap());
        store.close().await;
    }
    promote(&mut server).await;
    let store = PostgresStore::connect(&url).await.unwrap();
    assert_lost(&store, "fourth", "its timeline is").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeline_that_may_no_longer_be_asked_for_counts_as_changed_d49() {
    let Some(server) = Server::start() else { return };
    connect(&server).await.close().await;
    sql(&server.url(), BILLING).await;
    let url = server.url().replace("postgres@", "billing@");
    let store = PostgresStore::connect(&url).await.unwrap();
    assert!(begins(&store, "first").await.unwrap());
    store.close().await;
    sql(&server.url(), "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC").await;
    let store = PostgresStore::connect(&url).await.unwrap();
    assert_lost(&store, "second", "may no longer ask for the server's timeline").await;
    store.close().await;
    // A journal that was never observed goes on, with a warning.
    sql(&server.url(), "UPDATE payments_journal.meta SET timeline = NULL").await;
    let store = PostgresStore::connect(&url).await.unwrap();
    assert!(begins(&store, "third").await.unwrap());
}

/// A server in which the role `owner` has created the tables without the right to ask for the timeline and the identifier.
async fn of_an_owner_without_rights() -> Option<(Server, String)> {
    let server = Server::start()?;
    let rights = "
        REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC;
        REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
        CREATE ROLE owner LOGIN;
        GRANT CREATE ON DATABASE postgres TO owner";
    sql(&server.url(), rights).await;
    let owner = server.url().replace("postgres@", "owner@");
    PostgresStore::connect(&owner).await.unwrap().close().await;
    assert_eq!(recorded_timeline(&server).await, None);
    Some((server, owner))
}

/// Whether this key begins in a store of its own, which asks anew what its user may ask.
async fn begins_as(url: &str, key: &str) -> bool {
    let store = PostgresStore::connect(url).await.unwrap();
    let begun = begins(&store, key).await.unwrap();
    store.close().await;
    begun
}

const MAY_ASK_FOR_TIMELINE: &str = "GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) TO owner";
const MAY_ASK_FOR_CLUSTER: &str = "GRANT EXECUTE ON FUNCTION pg_control_system() TO owner";

/// Before that, nobody could notice a loss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_begin_that_can_records_what_the_journal_does_not_know_d49() {
    let Some((mut server, owner)) = of_an_owner_without_rights().await else { return };
    assert!(begins_as(&owner, "hidden").await);
    assert_eq!(recorded_timeline(&server).await, None);
    sql(&server.url(), MAY_ASK_FOR_TIMELINE).await;
    let store = PostgresStore::connect(&owner).await.unwrap();
    store.check_history().await.unwrap();
    assert_eq!(recorded_timeline(&server).await, None, "nothing began");
    assert!(begins(&store, "timeline").await.unwrap());
    store.close().await;
    let timeline = recorded_timeline(&server).await.unwrap();
    assert_eq!(timeline, "00000001");
    sql(&server.url(), MAY_ASK_FOR_CLUSTER).await;
    assert!(begins_as(&owner, "cluster").await);
    let known = recorded_timeline(&server).await.unwrap();
    assert!(known.starts_with(&format!("{timeline} ")), "{known}");
    // It is compared from now on.
    promote(&mut server).await;
    let store = PostgresStore::connect(&owner).await.unwrap();
    assert_lost(&store, "lost", "its timeline is").await;
    store.close().await;
    assert_eq!(recorded_timeline(&server).await.unwrap(), known);
    sql(&server.url(), "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM owner").await;
    let store = PostgresStore::connect(&owner).await.unwrap();
    assert_lost(&store, "refused", "may no longer ask for the server's timeline").await;
}

/// A loss that can be noticed is not hidden by what is learned with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identifier_of_a_server_that_may_lack_entries_is_not_recorded_d49() {
    let Some((mut server, owner)) = of_an_owner_without_rights().await else { return };
    sql(&server.url(), MAY_ASK_FOR_TIMELINE).await;
    assert!(begins_as(&owner, "first").await);
    sql(&server.url(), MAY_ASK_FOR_CLUSTER).await;
    promote(&mut server).await;
    let store = PostgresStore::connect(&owner).await.unwrap();
    assert_lost(&store, "lost", "its timeline is").await;
    store.close().await;
    let synchronous = PostgresStore::options().fails_over_without_loss().connect(&owner).await.unwrap();
    assert!(begins(&synchronous, "synchronous").await.unwrap());
    synchronous.close().await;
    assert_eq!(recorded_timeline(&server).await.unwrap(), "00000001");
}

/// A user needs no more rights than before.
#[cfg(feature = "tracing")]
#[test]
fn log_says_why_the_timeline_is_not_observed_d49() {
    let mut opened = None;
    let begin_as_billing = async |url: &str, key: &str| {
        assert!(begins_as(&url.replace("postgres@", "billing@"), key).await);
    };
    let may_not_ask = logged(async {
        let Some((server, _)) = of_an_owner_without_rights().await else { return };
        sql(&server.url(), BILLING).await;
        begin_as_billing(&server.url(), "first").await;
        opened = Some(server);
    });
    let Some(server) = opened else { return };
    let may_not_record = logged(async {
        for right in [MAY_ASK_FOR_TIMELINE, MAY_ASK_FOR_CLUSTER] {
            sql(&server.url(), &right.replace("TO owner", "TO billing")).await;
        }
        begin_as_billing(&server.url(), "second").await;
        assert_eq!(recorded_timeline(&server).await, None);
    });
    let is_recorded = logged(async {
        sql(&server.url(), "GRANT UPDATE (timeline) ON payments_journal.meta TO billing").await;
        begin_as_billing(&server.url(), "third").await;
        assert!(recorded_timeline(&server).await.is_some());
    });
    for (lines, text) in [
        (may_not_ask, "not observed: this user may not ask for the timeline"),
        (may_not_record, "not observed: this user may not record the timeline"),
    ] {
        assert!(
            matches!(&lines[..], [line] if line.starts_with("WARN") && line.contains(text)),
            "{lines:#?}"
        );
    }
    assert_eq!(is_recorded, [""; 0]);
}

/// Also after another warning, and a second time in the life of one store.
#[cfg(feature = "tracing")]
#[test]
fn log_says_each_failover_that_was_accepted_in_advance_d49() {
    let mut is_covered = false;
    let lines = logged(async {
        let Some((mut server, owner)) = of_an_owner_without_rights().await else { return };
        sql(&server.url(), MAY_ASK_FOR_TIMELINE).await;
        assert!(begins_as(&owner, "first").await);
        sql(&server.url(), BILLING).await;
        for right in [MAY_ASK_FOR_TIMELINE, MAY_ASK_FOR_CLUSTER] {
            sql(&server.url(), &right.replace("TO owner", "TO billing")).await;
        }
        let billing = server.url().replace("postgres@", "billing@");
        let store = PostgresStore::options().fails_over_without_loss().connect(&billing).await.unwrap();
        for keys in [["second", "third"], ["fourth", "fifth"], ["sixth", "seventh"]] {
            for key in keys {
                assert!(begins(&store, key).await.unwrap(), "{key}");
            }
            promote(&mut server).await;
        }
        is_covered = true;
    });
    let expected = [
        "not observed: this user may not record the timeline",
        r#"a new timeline, which was accepted accepted="00000001" now="00000002""#,
        r#"a new timeline, which was accepted accepted="00000001" now="00000003""#,
    ];
    let is_said =
        lines.iter().zip(expected).all(|(line, text)| line.starts_with("WARN") && line.contains(text));
    assert!(!is_covered || is_said && lines.len() == expected.len(), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vacuum_full_is_no_restored_dump_d49() {
    let Some(place) = place() else { return };
    let store = place.open().await;
    sql(&place.0.url(), "VACUUM FULL payments_journal.intents").await;
    assert!(begins(&store, "vacuumed").await.unwrap());
    place.copy().await;
    place.restore(&()).await;
    assert_lost(&store, "new", "restored from a dump").await;
}
