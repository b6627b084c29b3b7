//! A server that waits for a synchronous standby which does not respond.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use payments_core::Outcome;
use payments_fake::FakeGateway;
use payments_journal::internals::{Applied, Change, IntentStore as _, Refusal};
use payments_journal::{PostgresStore, StateName};
use payments_postgres_for_tests::Server;
use tokio_postgres::Client;

use super::{TEN_FIFTY, administrator, applying, client, connect, key, make_older, opened, payment, until};
use crate::contract;

/// Sets the standby that commits wait for, and waits until the server has read the setting.
async fn wait_for_standby(administrator: &Client, name: &str) {
    administrator
        .batch_execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'"))
        .await
        .unwrap();
    administrator.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    until("the setting is read", async || {
        let row = administrator.query_one("SHOW synchronous_standby_names", &[]).await.unwrap();
        row.get::<_, &str>(0) == name
    })
    .await;
}

/// A server whose commits wait, because nobody is the standby. A commit of the administrator does not.
async fn stall(server: &Server) -> Client {
    let administrator = administrator(&server.url()).await;
    administrator.batch_execute("SET synchronous_commit = local").await.unwrap();
    stall_again(server, &administrator).await;
    administrator
}

async fn stall_again(server: &Server, administrator: &Client) {
    wait_for_standby(administrator, "nobody").await;
    // Another process of the server makes commits wait, some time after it has read the setting.
    let other = super::administrator(&server.url()).await;
    loop {
        let mut commit = pin!(other.batch_execute("SELECT pg_logical_emit_message(true, '', '')"));
        tokio::select! {
            committed = &mut commit => committed.unwrap(),
            () = until_waiting(administrator) => {
                cancel(administrator).await;
                commit.await.unwrap();
                return;
            }
        }
    }
}

/// A commit of a client that waits for the standby. Autovacuum commits too.
const WAITING: &str =
    "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'";

/// Waits until a commit waits for the standby.
async fn until_waiting(administrator: &Client) {
    until("a commit waits", async || {
        let waiting = format!("SELECT count(*) {WAITING}");
        administrator.query_one(&waiting, &[]).await.unwrap().get::<_, i64>(0) == 1
    })
    .await;
}

/// Ends the wait of a commit. The server then confirms the commit with a warning.
async fn cancel(administrator: &Client) {
    until_waiting(administrator).await;
    let cancel = format!("SELECT pid, query_start::text, pg_cancel_backend(pid) {WAITING}");
    // Else the same wait could be taken for that of the next commit.
    for row in administrator.query(&cancel, &[]).await.unwrap() {
        let (pid, query_start): (i32, String) = (row.get(0), row.get(1));
        until("the canceled wait has ended", async || {
            let same = format!("SELECT 1 {WAITING} AND pid = $1 AND query_start::text = $2");
            administrator.query(&same, &[&pid, &query_start]).await.unwrap().is_empty()
        })
        .await;
    }
}

fn end(attempt: payments_journal::AttemptId) -> Change {
    Change::end(contract::key("k"), attempt, contract::as_processed("txn_1"), contract::at(2))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begin_that_no_standby_has_is_in_doubt_d50() {
    let Some(server) = Server::start() else { return };
    // With the second level a client gets a warning only if it asks for it.
    for (number, level) in ["notice", "error"].into_iter().enumerate() {
        let set = format!("ALTER DATABASE postgres SET client_min_messages = {level}");
        super::sql(&server.url(), &set).await;
        let store = Arc::new(connect(&server).await);
        let administrator = stall(&server).await;
        let beginning = applying(&store, contract::begin(&format!("k-{number}"), &*store, 1));
        cancel(&administrator).await;
        let error = beginning.await.unwrap().unwrap_err();
        assert!(error.is_in_doubt() && format!("{error:#}").contains("WARNING"), "{level}: {error:#}");
        wait_for_standby(&administrator, "").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intent_that_no_standby_has_is_not_sent_d50() {
    let Some(server) = Server::start() else { return };
    let gateway = FakeGateway::new();
    let client = client(&gateway, &server.url()).await;
    let administrator = stall(&server).await;
    let calling = tokio::spawn({
        let client = client.clone();
        async move { client.process_token(&key(), &payment()).await }
    });
    cancel(&administrator).await;
    // It is withdrawn with another commit.
    until_waiting(&administrator).await;
    wait_for_standby(&administrator, "").await;
    let error = calling.await.unwrap().unwrap_err();
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
    assert_eq!(gateway.requests().len(), 0);
    let withdrawn = client.journal().find(&key()).await.unwrap().unwrap();
    assert_eq!(withdrawn.state.name(), StateName::NotProcessed);
    client.process_token(&key(), &payment()).await.unwrap();
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_is_recorded_once_a_standby_has_it_d50() {
    let Some((server, store)) = opened().await else { return };
    let store = Arc::new(store);
    let attempt = contract::begun(&*store, "k").await.attempt_id;
    let administrator = stall(&server).await;
    let ending = || {
        let (store, end) = (store.clone(), end(attempt.clone()));
        tokio::spawn(async move { store.apply(end).await })
    };
    let first = ending();
    // The row is visible after this, and the standby still does not have it.
    cancel(&administrator).await;
    until_waiting(&administrator).await;
    assert!(!first.is_finished());
    wait_for_standby(&administrator, "").await;
    let written = first.await.unwrap().unwrap().written().unwrap();
    assert_eq!((written.state.name(), written.revision), (StateName::Processed, 2));

    // An end that is written again, as by `flush`, is not taken from a row that a standby may lack.
    stall_again(&server, &administrator).await;
    let second = ending();
    until_waiting(&administrator).await;
    assert!(!second.is_finished());
    wait_for_standby(&administrator, "").await;
    let second = second.await.unwrap().unwrap();
    assert_eq!(second, Applied::Refused(Refusal::Known, Some(written)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purge_that_no_standby_has_is_in_doubt_d50() {
    let Some((server, store)) = opened().await else { return };
    let store = Arc::new(store);
    contract::charged(&*store, "k", contract::as_processed("txn_1")).await;
    make_older(&server.url(), Duration::from_hours(48)).await;
    let administrator = stall(&server).await;
    let purging = tokio::spawn({
        let store = store.clone();
        async move { store.purge(Duration::ZERO).await }
    });
    cancel(&administrator).await;
    let error = purging.await.unwrap().unwrap_err();
    assert!(error.is_in_doubt(), "{error:#}");
}

/// The kind, without a standby: any warning in place of a clean confirmation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commit_with_any_warning_is_in_doubt_d50() {
    let Some((server, store)) = opened().await else { return };
    let administrator = administrator(&server.url()).await;
    let trigger = "
        CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE WARNING 'something is wrong'; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON payments_journal.intents
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warn()";
    administrator.batch_execute(trigger).await.unwrap();
    let error = store.apply(contract::begin("k", &store, 1)).await.unwrap_err();
    assert!(error.is_in_doubt() && format!("{error:#}").contains("something is wrong"), "{error:#}");
    administrator.batch_execute("DROP TRIGGER warn ON payments_journal.intents").await.unwrap();
    contract::begun(&store, "l").await;
}

/// Such a server still commits, and a journal that refused every commit would be of no use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn warning_of_few_transaction_numbers_is_not_about_the_commit_d50() {
    let Some(server) = Server::start() else { return };
    let proxy = super::proxy::Proxy::before(&server).await;
    let store = PostgresStore::connect(&proxy.url()).await.unwrap();
    for (name, routine, is_in_doubt) in
        [("a", "GetNewTransactionId", false), ("b", "SyncRepWaitForLSN", true), ("c", "", true)]
    {
        proxy.warn(routine);
        let applied = store.apply(contract::begin(name, &store, 1)).await;
        assert_eq!(applied.is_err_and(|error| error.is_in_doubt()), is_in_doubt, "{routine}");
    }
}
