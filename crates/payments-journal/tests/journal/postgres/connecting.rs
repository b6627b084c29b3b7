//! What a connection attempt reports, and which addresses it tries.

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use payments_journal::PostgresStore;
use payments_postgres_for_tests::{Server, Shutdown};
use tokio::net::TcpListener;

use super::{refusal, sql};

fn server_on_tcp() -> Option<Server> {
    Server::start_with(&[("listen_addresses", "127.0.0.1")])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_host_leaves_time_for_the_next() {
    let Some(server) = server_on_tcp() else { return };
    // Connections are accepted, and nothing responds.
    let silence = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = silence.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    tokio::spawn({
        let asked = asked.clone();
        async move {
            let mut open = Vec::new();
            while let Ok(connection) = silence.accept().await {
                open.push(connection);
                asked.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    let url = format!("postgres://postgres@127.0.0.1:{silent},127.0.0.1:{}/postgres", server.port());
    PostgresStore::connect(&url).await.unwrap();
    // Each store has two connections, and the second goes to the host that responded.
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // On a busy machine one may be late, or the server. With a limit that is not kept, all are late.
    let mut late = Vec::new();
    for _ in 0..4 {
        let began = Instant::now();
        let connected = PostgresStore::connect(&format!("{url}?connect_timeout=1")).await;
        if connected.is_ok() && began.elapsed() < Duration::from_secs(4) {
            return;
        }
        late.push((began.elapsed(), connected.err()));
    }
    panic!("{late:?}");
}

const ONE_NAME: &str = "PAYMENTS_TEST_ONE_NAME";

/// One name has both addresses, in a file of hosts that only another process sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_address_of_a_name_leaves_time_for_the_next() {
    let Some(server) = server_on_tcp() else { return };
    let Ok(_silence) = TcpListener::bind(("::1", server.port())).await else {
        eprintln!("NOT COVERED: a name with two addresses; this machine has no IPv6");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    std::fs::write(&hosts, "::1 journal.test\n127.0.0.1 journal.test\n").unwrap();
    let script = format!("mount --bind {} /etc/hosts && exec \"$0\" \"$@\"", hosts.display());
    let wrapped = |program: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script, program]);
        command
    };
    if !wrapped("true").status().is_ok_and(|status| status.success()) {
        eprintln!("NOT COVERED: a name with two addresses; this user may not mount a file of hosts");
        return;
    }
    let url = format!("postgres://postgres@journal.test:{}/postgres?sslmode=disable", server.port());
    let mut connecting = wrapped(env::current_exe().unwrap().to_str().unwrap());
    connecting.args(["--exact", "postgres::connecting::one_name", "--ignored"]).env(ONE_NAME, url);
    let status = tokio::task::spawn_blocking(move || connecting.status().unwrap()).await.unwrap();
    assert!(status.success());
}

#[tokio::test]
#[ignore = "the other end of the test above"]
async fn one_name() {
    PostgresStore::connect(&env::var(ONE_NAME).unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_password_is_refused_and_named() {
    let Some(mut server) = Server::start() else { return };
    for method in ["scram-sha-256", "md5", "password"] {
        sql(
            &server.url(),
            &format!("DROP ROLE IF EXISTS billing; SET password_encryption = '{}'; CREATE ROLE billing LOGIN PASSWORD 's3cret'",
                if method == "md5" { "md5" } else { "scram-sha-256" }),
        )
        .await;
        server.stop(Shutdown::Fast);
        server.write("pg_hba.conf", &format!("local all postgres trust\nlocal all all {method}\n"));
        server.start_again();
        let error = refusal(&server.url().replace("postgres@", "billing@")).await;
        assert!(
            error.is_refused() && error.to_string().contains("requires a password"),
            "{method}: {error:#}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusal_is_reported_whatever_other_addresses_do() {
    let Some(server) = server_on_tcp() else { return };
    // The port of a client: nobody listens there, and no other process can.
    let client = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let nobody = client.local_addr().unwrap().port();
    for ports in [[server.port(), nobody], [nobody, server.port()]] {
        let [first, second] = ports;
        let url = format!("postgres://stranger@127.0.0.1:{first},127.0.0.1:{second}/postgres");
        let error = refusal(&url).await;
        assert!(error.is_refused() && format!("{error:#}").contains("stranger"), "{error:#}");
    }
}
