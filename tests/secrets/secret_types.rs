//! Checks that no type that holds a secret can be turned into text by accident.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt::{Binary, Display, LowerExp, LowerHex, Octal, UpperHex};
use std::ops::Deref;

use serde::Serialize;
use static_assertions::assert_not_impl_any;

use super::sources::holders_of_secrets;

/// Asserts that none of these types implements a trait through which its value could become text. `Display` includes
/// `ToString`.
macro_rules! secret_types {
    ($($type:ident $(<$($generic:tt),+>)? of $krate:ident $(:: $module:ident)?;)*) => {
        const SECRET_TYPES: &[&str] = &[$(stringify!($type),)*];

        $(
            assert_not_impl_any!(
                $krate $(::$module)? ::$type $(<$($generic),+>)?: Display, LowerHex, UpperHex, Binary, Octal, LowerExp,
                Serialize, Deref<Target = str>, Deref<Target = String>, Deref<Target = [u8]>, AsRef<str>, Borrow<str>,
                Into<String>, Into<Vec<u8>>, Into<Box<str>>
            );
        )*
    };
}

use payments_core::model;
use payments_fake::{FakeTransport, ManualClock};

secret_types! {
    CardNumber of model;
    Cvv of model;
    Expiry of model;
    SecretBytes of model;
    Card<'static> of model;
    CardTransaction of model;
    CardTransactionBuilder<'static> of model;
    AchTransaction of model;
    AchTransactionBuilder<'static> of model;
    TokenTransaction of model;
    TokenTransactionBuilder<'static> of model;
    TransactionRequest of model;
    RequestMembers<'static> of model::unversioned;
    Envelope<'static> of model::unversioned;
    RawJson of model;
    OtherFields of model;
    ApiKey of payments_core;
    Endpoint of payments_core;
    Client of payments_core;
    ClientBuilder<FakeTransport, ManualClock> of payments_core;
    MeterObserver of payments_core::unversioned;
    AttemptFinished<'static> of payments_core;
    BodySnippet<'static> of payments_core;
    TransportRequest of payments_core;
    TransportResponse of payments_core;
    Reply of payments_fake;
    FakeGateway of payments_fake;
    FakeGatewayBuilder of payments_fake;
    Tenant of payments_fake;
    FakeTransport of payments_fake;
    HyperTransportBuilder of payments_hyper;
    ReqwestTransport of payments_reqwest;
    SandboxBuilder of payments_sandbox;
    Sandbox of payments_sandbox;
    BlockingSandbox of payments_sandbox;
    AfterRejection<'static> of payments_journal;
    JournaledClient of payments_journal;
    SqliteReader of payments_journal;
    SqliteStore of payments_journal;
    PostgresStore of payments_journal;
}

/// Types that may become text although they hold the secrets of their request, which they need for masking. `calls.rs`,
/// `repeated_requests.rs` and `public_types.rs` search their output for secrets.
const READABLE_TYPES: [&str; 6] =
    ["Error", "LookupError", "FailedCall", "ResolveError", "Success", "Journaled"];

#[test]
fn s5_secret_types_cannot_become_text_by_accident() {
    let known: BTreeSet<_> =
        SECRET_TYPES.iter().chain(&READABLE_TYPES).map(|name| (*name).to_owned()).collect();
    let holders = holders_of_secrets();
    assert!(
        holders.contains("CardTransaction")
            && holders.contains("TransactionRequest")
            && holders.contains("Endpoint"),
        "{holders:?}"
    );
    let unknown: Vec<_> = holders.difference(&known).collect();
    assert!(unknown.is_empty(), "these hold secrets: add them to tests/secrets/secret_types.rs: {unknown:?}");
}

/// A transport needs the bytes of an encoded request. `AsRef` is the only way to get them.
#[test]
fn s5_encoded_requests_are_bytes_only() {
    static_assertions::assert_impl_all!(model::SecretBytes: AsRef<[u8]>);
    assert_not_impl_any!(model::SecretBytes: Clone);
}
