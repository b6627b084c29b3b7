use payments_journal::PostgresStore;
use payments_postgres_for_tests::{Server, Shutdown};

use super::{administrator, connect, make_standby, refusal, sql};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_without_durable_commits_is_refused() {
    let Some(server) = Server::start() else { return };
    connect(&server).await;
    for setting in ["fsync", "full_page_writes"] {
        let switch = async |to: &str| {
            sql(&server.url(), &format!("ALTER SYSTEM SET {setting} = {to}; SELECT pg_reload_conf()")).await;
            super::until("the server has read its settings", async || {
                let row = administrator(&server.url()).await.query_one(&format!("SHOW {setting}"), &[]).await;
                row.unwrap().get::<_, &str>(0) == to
            })
            .await;
        };
        switch("off").await;
        let error = refusal(&server.url()).await;
        assert!(error.is_refused() && error.to_string().contains(&format!("{setting} off")), "{error:#}");
        switch("on").await;
        connect(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_that_cannot_store_a_journal_is_refused() {
    // It has `template0`.
    let Some(server) = Server::of_a_new_cluster() else { return };
    sql(
        &server.url(),
        "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
         CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on;
         CREATE ROLE stranger LOGIN",
    )
    .await;
    let of_database = |name: &str| format!("{}{name}", server.url().strip_suffix("postgres").unwrap());
    let as_role = |role: &str| server.url().replace("postgres@", &format!("{role}@"));
    for (url, what) in [
        (of_database("latin"), "UTF8"),
        (as_role("reader"), "only read"),
        (as_role("stranger"), "permission denied"),
        (as_role("nobody_knows"), "does not exist"),
        (of_database("no_such"), "does not exist: create it"),
    ] {
        let error = refusal(&url).await;
        assert!(error.is_refused() && format!("{error:#}").contains(what), "{error:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standby_and_changed_tables_are_refused() {
    let Some(mut server) = Server::start() else { return };
    connect(&server).await;

    sql(&server.url(), "ALTER TABLE payments_journal.intents SET UNLOGGED").await;
    let error = refusal(&server.url()).await;
    assert!(error.is_refused() && error.to_string().contains("UNLOGGED"), "{error:#}");
    sql(&server.url(), "ALTER TABLE payments_journal.intents SET LOGGED").await;

    sql(&server.url(), "UPDATE payments_journal.meta SET version = version + 1").await;
    let error = refusal(&server.url()).await;
    assert!(
        error.is_newer() && error.to_string().contains("have version 2, and this program knows 1"),
        "{error:#}"
    );
    sql(&server.url(), "UPDATE payments_journal.meta SET version = version - 1").await;
    connect(&server).await;

    sql(&server.url(), "DROP TABLE payments_journal.intents").await;
    let error = refusal(&server.url()).await;
    assert!(error.is_damaged(), "{error:#}");

    make_standby(&mut server);
    let error = refusal(&server.url()).await;
    assert!(error.is_refused() && error.to_string().contains("standby"), "{error:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_from_before_version_1_are_refused_and_left_alone() {
    let Some(server) = Server::start() else { return };
    let tables =
        "CREATE SCHEMA payments_journal; CREATE TABLE payments_journal.version (version integer NOT NULL);
         INSERT INTO payments_journal.version VALUES (7)";
    sql(&server.url(), tables).await;
    for error in [
        refusal(&server.url()).await,
        PostgresStore::options().connect_to_existing(&server.url()).await.unwrap_err(),
        PostgresStore::connect_to_read(&server.url()).await.unwrap_err(),
    ] {
        assert!(error.is_refused() && error.to_string().contains("never released"), "{error:#}");
    }
    let administrator = administrator(&server.url()).await;
    let tables =
        "SELECT string_agg(relname, ' ') FROM pg_class WHERE relnamespace = 'payments_journal'::regnamespace";
    assert_eq!(administrator.query_one(tables, &[]).await.unwrap().get::<_, String>(0), "version");
}

#[tokio::test]
async fn stopped_server_is_unavailable() {
    let Some(mut server) = Server::start() else { return };
    server.stop(Shutdown::Fast);
    let error = refusal(&server.url()).await;
    assert!(error.is_unavailable() && error.to_string().contains("postgres at /"), "{error:#}");
}
