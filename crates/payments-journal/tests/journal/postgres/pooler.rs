//! A connection pooler that gives each transaction another session.

use payments_journal::PostgresStore;
use payments_journal::internals::IntentStore as _;
use payments_postgres_for_tests::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::{administrator, connect, refusal};
use crate::contract;
use crate::process::is_alone;

/// What PgBouncer can do with `pool_mode = transaction`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Session {
    /// The client gets another one for each transaction.
    Changes,
    /// Another client has prepared statements in it.
    OfAnother,
    /// The client gets another one for each transaction after its first `BEGIN`, in which the pooler prepares its statements too,
    /// as `max_prepared_statements` does.
    ChangesWithStatements,
}

/// Starts a pooler and returns its address.
async fn pooler(server: &Server, session: Session) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, socket) = (listener.local_addr().unwrap(), server.socket());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let sessions =
                [UnixStream::connect(&socket).await.unwrap(), UnixStream::connect(&socket).await.unwrap()];
            tokio::spawn(forward(client, sessions, session));
        }
    });
    format!("postgres://postgres@{address}/postgres")
}

async fn forward(mut client: TcpStream, mut sessions: [UnixStream; 2], session: Session) {
    let (mut up, mut down, mut is_starting) = (vec![0; 65_536], vec![0; 16_384], true);
    let mut has_begun = false;
    // The client has one message before it waits for the server: this one.
    let Ok(length @ 1..) = client.read(&mut up).await else { return };
    for session in &mut sessions {
        session.write_all(&up[..length]).await.unwrap();
    }
    until_idle(&mut sessions[1]).await;
    if session == Session::OfAnother {
        let [_, of_another] = &mut sessions;
        // The library numbers the statements of a process.
        let statements: Vec<_> = (0..2000).map(|number| format!("PREPARE s{number} AS SELECT 1")).collect();
        let text = statements.join(";");
        let length = u32::try_from(4 + text.len() + 1).unwrap().to_be_bytes();
        of_another.write_all(&[b"Q", &length[..], text.as_bytes(), b"\0"].concat()).await.unwrap();
        until_idle(of_another).await;
    }
    loop {
        let [current, other] = &mut sessions;
        tokio::select! {
            read = client.read(&mut up) => {
                let Ok(length @ 1..) = read else { return };
                if session == Session::ChangesWithStatements {
                    has_begun |= up[..length].windows(6).any(|text| text == b"BEGIN\0");
                    let statements = named_statements(&up[..length]);
                    if !statements.is_empty() {
                        other.write_all(&[&statements[..], b"S\0\0\0\x04"].concat()).await.unwrap();
                        until_idle(other).await;
                    }
                }
                if current.write_all(&up[..length]).await.is_err() { return }
            }
            read = current.read(&mut down) => {
                let Ok(length @ 1..) = read else { return };
                if client.write_all(&down[..length]).await.is_err() { return }
                let changes = match session {
                    Session::Changes => true,
                    Session::OfAnother => is_starting,
                    Session::ChangesWithStatements => has_begun,
                };
                if down[..length].ends_with(IDLE) && changes {
                    sessions.reverse();
                    is_starting = false;
                }
            }
        }
    }
}

/// The messages that prepare a statement with a name. Each of these clients sends its messages whole.
fn named_statements(mut messages: &[u8]) -> Vec<u8> {
    let mut found = Vec::new();
    while let [kind, a, b, c, d, text, ..] = messages {
        let length = 1 + u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if *kind == b'P' && *text != 0 {
            found.extend(&messages[..length]);
        }
        messages = &messages[length..];
    }
    found
}

async fn until_idle(session: &mut UnixStream) {
    let mut response = Vec::new();
    while !response.ends_with(IDLE) {
        assert!(session.read_buf(&mut response).await.unwrap() > 0);
    }
}

/// The server is ready, and no transaction is open.
const IDLE: &[u8] = b"Z\0\0\0\x05I";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pooler_that_changes_the_session_or_shares_its_statements_is_named_and_refused() {
    // Other tests may have prepared thousands of statements in this process.
    let name =
        "postgres::pooler::pooler_that_changes_the_session_or_shares_its_statements_is_named_and_refused";
    if !is_alone(name) {
        return;
    }
    let Some(server) = Server::start() else { return };
    for (session, code) in [(Session::Changes, "26000"), (Session::OfAnother, "42P05")] {
        let error = refusal(&pooler(&server, session).await).await;
        let text = format!("{error:#}");
        assert!(error.is_refused(), "{code}: {text}");
        for part in [code, "pool_mode = session", "nothing was changed"] {
            assert!(text.contains(part), "{code}: {text}");
        }
    }
}

/// A commit without the session's settings may not be durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pooler_that_prepares_statements_in_each_session_is_refused_before_a_write() {
    let Some(server) = Server::start() else { return };
    connect(&server).await.close().await;
    let administrator = administrator(&server.url()).await;
    let noting = "
        ALTER DATABASE postgres SET synchronous_commit = off;
        CREATE TABLE written (synchronous_commit text);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO written VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON payments_journal.intents FOR EACH ROW EXECUTE FUNCTION note()";
    administrator.batch_execute(noting).await.unwrap();
    let pooler = pooler(&server, Session::ChangesWithStatements).await;
    let store = PostgresStore::connect(&pooler).await.unwrap();
    contract::begun(&store, "a").await;
    let error = store.apply(contract::begin("b", &store, 1)).await.unwrap_err();
    assert!(error.is_refused() && error.to_string().contains("pool_mode = session"), "{error:#}");
    let written = administrator.query("SELECT synchronous_commit FROM written", &[]).await.unwrap();
    let written: Vec<&str> = written.iter().map(|row| row.get(0)).collect();
    assert_eq!(written, ["on"]);
}
