//! Tests which servers a transport trusts, and the errors of one that cannot be built.

use std::error::Error as StdError;

use payments_core::Outcome;
use payments_core::SystemTimer;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_sandbox::{BlockingSandbox, Sandbox};
use payments_ureq::{UreqTransport, UreqTransportBuilder};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

fn charge(sandbox: &BlockingSandbox, builder: UreqTransportBuilder) -> Result<(), payments_core::Error> {
    let client =
        payments_core::Client::builder(sandbox.endpoint(), builder.build().unwrap(), SystemTimer::new())
            .build_blocking();
    let amount = Amount::from_cents(10_50);
    let payment =
        TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap();
    client.process_token(&payment).map(drop)
}

#[test]
fn a_server_is_trusted_through_the_added_roots() {
    let sandbox = Sandbox::builder().tls().start_blocking().unwrap();
    let pem = sandbox.ca_certificate_pem().unwrap();
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let other = Sandbox::builder().tls().start_blocking().unwrap();
    let other = other.ca_certificate_pem().unwrap();
    let builder = UreqTransport::builder;

    charge(&sandbox, builder().root_certificates_pem(pem)).unwrap();
    charge(&sandbox, builder().root_certificate_der(der.to_vec())).unwrap();
    charge(&sandbox, builder().only_root_certificates_pem(pem)).unwrap();
    charge(&sandbox, builder().only_root_certificates_pem(other).root_certificate_der(der.to_vec())).unwrap();
    assert_eq!(sandbox.gateway().ledger().charged().count(), 4);

    for distrusting in [builder(), builder().only_root_certificates_pem(other)] {
        let error = charge(&sandbox, distrusting).unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotProcessed, "{error:?}");
    }
    assert_eq!(sandbox.gateway().ledger().charged().count(), 4);
}

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
fn an_invalid_root_certificate_is_refused() {
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let damaged = key.replace("-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ");
    for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n", key.as_str(), damaged.as_str()] {
        let error = UreqTransport::builder().root_certificates_pem(pem).build().unwrap_err();
        // A key file that is passed by mistake must not be in a log, neither as text nor as byte values.
        let shown = format!("{error:?} {error:#?} {}", text(&error));
        assert!(!shown.contains("BEGIN") && !shown.contains("66, 69, 71"), "{shown}");
    }
    assert_eq!(
        format!("{:#}", UreqTransport::builder().only_root_certificates_pem("").build().unwrap_err()),
        "a root certificate could not be read: the text has no PEM section CERTIFICATE; nothing was sent: \
         pass X.509 certificates as PEM or DER, as the builder's method requires"
    );
}

#[test]
fn an_invalid_der_root_certificate_is_refused() {
    let error = UreqTransport::builder().root_certificate_der(*b"nonsense").build().unwrap_err();
    assert!(error.is_root_certificate(), "{error:?}");
}

#[test]
fn debug_shows_the_settings_and_no_certificate() {
    let builder = UreqTransport::builder();
    let roots = r#"Ok(RootCertStore { roots: "(0 roots)" }), trusts_public_authorities: true"#;
    let pool = "Pool { idle_timeout: 20s, max_idle: 512 }";
    let shown = format!("UreqTransportBuilder {{ roots: {roots}, pool: {pool} }}");
    assert_eq!(format!("{builder:?}"), shown);
    assert_eq!(format!("{:?}", builder.build().unwrap()), "UreqTransport { .. }");
}
