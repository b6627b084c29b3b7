//! Does a transport that cannot be built say what to change?

use std::error::Error as StdError;

use crate::support::{Authority, Identity, KEY, Server};
use payments_core::{ApiKey, Endpoint};
use payments_hyper::{HyperTransport, TlsProvider, TrustedRoots};

fn text(error: &dyn StdError) -> String {
    let mut texts = Vec::new();
    let mut this: Option<&dyn StdError> = Some(error);
    while let Some(error) = this {
        texts.push(error.to_string());
        this = error.source();
    }
    texts.join(": ")
}

#[test]
fn defaults_build_outside_a_runtime() {
    let transport = HyperTransport::builder().build().unwrap();
    assert_eq!(format!("{transport:?}"), "HyperTransport { .. }");
}

#[tokio::test]
async fn client_returns_a_ready_client() {
    let server = Server::start(|connection| {
        connection.serve(r#"{"status_code":200,"data":{"TransactionId":"txn_1"}}"#);
    });
    let url = format!("http://{}/api/v1/public", server.address);
    let endpoint = Endpoint::new(&url, ApiKey::new(KEY).unwrap()).unwrap();
    let client = payments_hyper::client(endpoint).unwrap();
    let id = "txn_1".parse().unwrap();
    for _ in 0..2 {
        assert_eq!(client.transaction(&id).await.unwrap().transaction_id, id);
    }
    let [first, _] = server.received().try_into().expect("two requests");
    assert_eq!(first.request_line(), "GET /api/v1/public/transaction/txn_1 HTTP/1.1");
    assert_eq!(server.connections(), 1);
}

#[test]
fn invalid_root_certificates_are_refused() {
    let key = Identity::self_signed("localhost").key_pem;
    let damaged = key.replace("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ");
    let pem = |pem: &str| HyperTransport::builder().root_certificates_pem(pem);
    let unfinished = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    let cases = [
        ("empty", pem("")),
        ("no PEM", pem("nonsense")),
        ("unfinished PEM", pem(unfinished)),
        ("a key", pem(&key)),
        ("a damaged key", pem(&damaged)),
        ("none but an empty list", HyperTransport::builder().only_root_certificates_pem("")),
        #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
        ("no DER", HyperTransport::builder().root_certificate_der(*b"nonsense")),
    ];
    for (what, builder) in cases {
        let error = builder.build().map(drop).expect_err(what);
        assert!(error.is_root_certificate(), "{what}: {error:?}");
        // If the caller mixes up two files, no log may show the private key, neither as text nor as a list of bytes.
        let shown = format!("{error:?} {error:#?} {}", text(&error));
        assert!(!shown.contains("BEGIN") && !shown.contains("66, 69, 71"), "{shown}");
    }
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[test]
fn a_client_certificate_with_a_wrong_key_is_refused_without_showing_the_key() {
    let [first, second] = [Identity::self_signed("a shop"), Identity::self_signed("another shop")];
    let line = second.key_pem.lines().nth(1).unwrap();
    // The first line of this key file is damaged: a parser that quotes the line would show part of the key.
    let damaged = second.key_pem.replace("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ");
    let root = Authority::new().pem();
    for (certificate, key) in [
        (first.certificate_pem.as_str(), second.key_pem.as_str()),
        (first.certificate_pem.as_str(), first.certificate_pem.as_str()),
        (first.certificate_pem.as_str(), damaged.as_str()),
        (second.key_pem.as_str(), second.key_pem.as_str()),
        ("", ""),
    ] {
        let builder =
            HyperTransport::builder().root_certificates_pem(&root).client_certificate_pem(certificate, key);
        let shown = format!("{builder:?} {builder:#?}");
        let error = builder.build().unwrap_err();
        let shown = format!("{shown} {error:?} {error:#?} {}", text(&error));
        assert!(error.is_client_certificate(), "{error:?}");
        let as_numbers = format!("{:?}", line.as_bytes());
        for part in [line, as_numbers.trim_matches(['[', ']'])] {
            assert!(!shown.contains(part), "part of a private key is shown: {shown}");
        }
    }
}

#[test]
fn the_first_invalid_setting_is_reported() {
    let error = HyperTransport::builder()
        .root_certificates_pem("")
        .client_certificate_pem("", "")
        .build()
        .unwrap_err();
    assert!(error.is_root_certificate());
    assert_eq!(
        format!("{error:#}"),
        "a root certificate could not be read: the text has no PEM section CERTIFICATE; nothing was sent: \
         pass X.509 certificates as PEM or DER, as the builder's method requires"
    );
}

#[test]
fn providers_build_or_name_their_feature() {
    let root = Authority::new().pem();
    for (provider, feature, compiled_in) in [
        (TlsProvider::Ring, "`ring`", cfg!(feature = "ring")),
        (TlsProvider::AwsLcRs, "`aws-lc-rs`", cfg!(feature = "aws-lc-rs")),
    ] {
        let built = HyperTransport::builder().root_certificates_pem(&root).tls_provider(provider).build();
        match built {
            Ok(_) => assert!(compiled_in),
            Err(error) => {
                assert!(!compiled_in && error.is_missing_feature(), "{error:?}");
                assert!(error.to_string().contains(feature), "{error}");
            }
        }
    }
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
#[test]
fn sets_of_roots_build_or_name_their_feature() {
    for (roots, feature, compiled_in) in [
        (TrustedRoots::Mozilla, "`webpki-roots`", cfg!(feature = "webpki-roots")),
        (TrustedRoots::Platform, "`platform-verifier`", cfg!(feature = "platform-verifier")),
    ] {
        match HyperTransport::builder().trusted_roots(roots).build() {
            Ok(_) => assert!(compiled_in),
            // Another test covers a machine without a CA bundle.
            Err(error) if error.is_platform_roots() => assert!(compiled_in),
            Err(error) => {
                assert!(!compiled_in && error.is_missing_feature(), "{error:?}");
                assert!(error.to_string().contains(feature), "{error}");
            }
        }
    }
}

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
#[tokio::test]
async fn https_without_a_provider_is_not_processed_and_names_the_features_d02() {
    let transport = HyperTransport::builder().build().unwrap();
    let (delivery, kind, error) =
        crate::support::send_failing(&transport, crate::support::post("https://127.0.0.1:1/")).await;
    assert_eq!(delivery, payments_core::Delivery::NotProcessed);
    assert_eq!(kind, payments_core::TransportErrorKind::Configuration);
    let source = error.source().unwrap().to_string();
    assert!(source.contains("`ring`") && source.contains("`aws-lc-rs`"), "{source}");

    let error = HyperTransport::builder().trusted_roots(TrustedRoots::Mozilla).build().unwrap_err();
    assert!(error.is_missing_feature());
}

#[cfg(all(
    any(feature = "ring", feature = "aws-lc-rs"),
    not(any(feature = "webpki-roots", feature = "platform-verifier"))
))]
#[tokio::test]
async fn https_without_roots_is_not_processed_and_names_the_features_d02() {
    let transport = HyperTransport::builder().build().unwrap();
    let (delivery, kind, error) =
        crate::support::send_failing(&transport, crate::support::post("https://127.0.0.1:1/")).await;
    assert_eq!(delivery, payments_core::Delivery::NotProcessed);
    assert_eq!(kind, payments_core::TransportErrorKind::Configuration);
    let source = error.source().unwrap().to_string();
    assert!(source.contains("`webpki-roots`"), "{source}");
}

/// Runs again in a child process, because the location of the CA bundle is read from the environment.
#[cfg(all(feature = "platform-verifier", any(feature = "ring", feature = "aws-lc-rs"), target_os = "linux"))]
#[test]
fn a_missing_ca_bundle_is_reported_with_a_fix() {
    const NAME: &str = "building::a_missing_ca_bundle_is_reported_with_a_fix";
    if std::env::var_os("SSL_CERT_FILE").is_none_or(|file| file != "/dev/null") {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env("SSL_CERT_FILE", "/dev/null")
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        assert_ran(&child);
        return;
    }
    let error = HyperTransport::builder().trusted_roots(TrustedRoots::Platform).build().unwrap_err();
    assert!(error.is_platform_roots(), "{error:?}");
    assert!(error.to_string().contains("`webpki-roots`"), "{error}");
    let authority = Authority::new();
    let built = HyperTransport::builder()
        .trusted_roots(TrustedRoots::Platform)
        .root_certificates_pem(authority.pem())
        .build();
    assert!(built.is_ok(), "an added root is enough: {built:?}");
}

/// Asserts that the child ran its one test, and that it passed.
#[cfg(all(feature = "platform-verifier", any(feature = "ring", feature = "aws-lc-rs"), target_os = "linux"))]
#[track_caller]
fn assert_ran(child: &std::process::Output) {
    let stdout = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && stdout.contains(" 1 passed"), "{stdout}");
}

/// Also runs again in a child process, where the operating system trusts one authority of this test.
#[cfg(all(feature = "platform-verifier", any(feature = "ring", feature = "aws-lc-rs"), target_os = "linux"))]
#[test]
fn platform_roots_are_trusted_unless_only_others_are_configured() {
    const NAME: &str = "building::platform_roots_are_trusted_unless_only_others_are_configured";
    const FILE: &str = "PAYMENTS_HYPER_TEST_IDENTITY";
    let Some(folder) = std::env::var_os(FILE).map(std::path::PathBuf::from) else {
        let authority = Authority::new();
        let folder = tempfile::tempdir().unwrap();
        let identity = authority.issue("localhost");
        std::fs::write(folder.path().join("authority.pem"), authority.pem()).unwrap();
        std::fs::write(folder.path().join("certificate.pem"), identity.certificate_pem).unwrap();
        std::fs::write(folder.path().join("key.pem"), identity.key_pem).unwrap();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(FILE, folder.path())
            .env("SSL_CERT_FILE", folder.path().join("authority.pem"))
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        assert_ran(&child);
        return;
    };
    let read = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    let identity = Identity::from_pem(&read("certificate.pem"), &read("key.pem"));
    let server = Server::start_tls(identity.server(), |connection| connection.serve("{}"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let other = Authority::new().pem();
    let platform = || HyperTransport::builder().trusted_roots(TrustedRoots::Platform);
    for (builder, trusted) in [
        (platform(), true),
        (platform().root_certificates_pem(&other), true),
        (platform().only_root_certificates_pem(&other), false),
    ] {
        let transport = builder.build().unwrap();
        let result =
            runtime.block_on(crate::support::send(&transport, crate::support::post(server.https_url())));
        assert_eq!(result.is_ok(), trusted, "{result:?}");
    }
    assert_eq!(server.received().len(), 2);
}
