use payments_journal::PostgresStore;
use payments_postgres_for_tests::{Server, Shutdown};
use rcgen::CertifiedKey;
use tempfile::NamedTempFile;

use super::{refusal, sql};

/// A server that accepts TCP connections only with TLS and a password, and the file of its certificate, which is only for
/// `localhost`.
async fn server_with_tls() -> Option<(Server, NamedTempFile)> {
    let mut server = Server::start()?;
    let (certificate, key) = certificate();
    server.write("server.crt", &certificate);
    server.write("server.key", &key);
    server.write("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n");
    sql(
        &server.url(),
        "ALTER ROLE postgres PASSWORD 's3cret';
         ALTER SYSTEM SET ssl = on;
         ALTER SYSTEM SET listen_addresses = '127.0.0.1'",
    )
    .await;
    server.stop(Shutdown::Fast);
    server.start_again();
    Some((server, file(&certificate)))
}

fn certificate() -> (String, String) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (cert.pem(), signing_key.serialize_pem())
}

fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificate_is_always_verified_with_tls() {
    let Some((server, trusted)) = server_with_tls().await else { return };
    let url = |host: &str, parameters: &str| {
        format!("postgres://postgres:s3cret@{host}:{}/postgres?{parameters}", server.port())
    };
    let trusted = format!("sslrootcert={}", trusted.path().display());
    for parameters in [
        "sslmode=require",
        "sslmode=verify-full",
        "sslmode=prefer",
        "sslmode=require&channel_binding=require",
    ] {
        PostgresStore::connect(&url("localhost", &format!("{parameters}&{trusted}"))).await.unwrap();
    }

    let stranger = file(&certificate().0);
    let stranger = format!("sslrootcert={}", stranger.path().display());
    for (host, parameters) in [
        ("localhost", format!("sslmode=require&{stranger}")),
        ("localhost", format!("sslmode=prefer&{stranger}")),
        ("localhost", "sslmode=require".to_owned()),
        ("127.0.0.1", format!("sslmode=require&{trusted}")),
    ] {
        let error = refusal(&url(host, &parameters)).await;
        assert!(format!("{error:#}").contains("certificate"), "{host} {parameters}: {error:#}");
        assert!(error.is_refused(), "a retry does not help: {error:#}");
        assert!(!format!("{error:#} {error:?}").contains("s3cret"));
    }
    let error = refusal(&url("localhost", "sslmode=disable")).await;
    assert!(error.is_refused(), "{error:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn required_tls_is_never_replaced_by_plain_text() {
    let Some(server) = Server::start() else { return };
    let error = refusal(&format!("{}?sslmode=require", server.url())).await;
    assert!(format!("{error:#}").contains("does not support TLS"), "{error:#}");
    assert!(error.is_refused() && error.to_string().contains("does not offer TLS"), "{error:#}");
}
