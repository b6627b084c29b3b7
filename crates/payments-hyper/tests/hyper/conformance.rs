//! Does the transport keep the contracts for transports over plain http and over https? The second TLS provider and the proxy differ
//! only in how a connection is opened, so they run the themes about that.

use std::future::Future;

use payments_conformance::{Abilities, Ability, Setup, Stack};
use payments_hyper::HyperTransport;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
use payments_hyper::{HyperTransportBuilder, TlsProvider};
use tokio::runtime::Runtime;

struct HyperStack {
    runtime: Runtime,
    abilities: Abilities,
    make: fn(&Setup) -> HyperTransport,
}

impl HyperStack {
    fn plain() -> Self {
        Self {
            runtime: Runtime::new().unwrap(),
            abilities: base_abilities().without(Ability::Https, "checked with each TLS provider"),
            make: |_| HyperTransport::builder().build().unwrap(),
        }
    }

    #[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
    fn secure(make: fn(&Setup) -> HyperTransport) -> Self {
        let abilities = base_abilities().without(Ability::PlainHttp, "checked without TLS");
        let http2 = |abilities: Abilities| abilities.with(Ability::Http2).with(Ability::Http2Pings);
        let abilities = if cfg!(feature = "http2") { http2(abilities) } else { abilities };
        Self { abilities, make, ..Self::plain() }
    }
}

fn base_abilities() -> Abilities {
    Abilities::default()
        .with(Ability::LooksBeforeReuse)
        .with(Ability::ManyHeaders)
        .with(Ability::FoldedHeaders)
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
fn builder(provider: TlsProvider, setup: &Setup) -> HyperTransportBuilder {
    let builder = HyperTransport::builder().tls_provider(provider);
    let builder = builder.only_root_certificates_pem(setup.authority_pem());
    #[cfg(feature = "http2")]
    let builder = if setup.wants_http2() { builder.allow_http2() } else { builder };
    builder
}

impl Stack for HyperStack {
    type Transport = HyperTransport;

    fn transport(&self, setup: &Setup) -> HyperTransport {
        (self.make)(setup)
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        self.runtime.block_on(future)
    }

    fn abilities(&self) -> Abilities {
        self.abilities.clone()
    }

    fn debug(&self, transport: &HyperTransport) -> Option<String> {
        Some(format!("{transport:?}"))
    }
}

mod plain {
    payments_conformance::contract_tests!(super::HyperStack::plain());
}

/// A task that reads a flood must let the call, which runs on the same thread, see its deadline.
mod on_one_thread {
    use tokio::runtime::Builder;

    use super::HyperStack;

    payments_conformance::contract_tests!(
        HyperStack {
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            ..HyperStack::plain()
        },
        themes: limits,
    );
}

#[cfg(feature = "ring")]
mod ring {
    use super::{HyperStack, TlsProvider, builder};

    payments_conformance::contract_tests!(HyperStack::secure(|setup| {
        builder(TlsProvider::Ring, setup).build().unwrap()
    }));
}

#[cfg(feature = "aws-lc-rs")]
mod aws_lc_rs {
    use super::{HyperStack, TlsProvider, builder};

    payments_conformance::contract_tests!(
        HyperStack::secure(|setup| builder(TlsProvider::AwsLcRs, setup).build().unwrap()),
        themes: broken_tls, never_sent, late_connections,
    );
}

/// The proxy is tested over https only: with a plain http address, only a proxy on this machine is allowed.
#[cfg(feature = "ring")]
mod through_a_proxy {
    use payments_conformance::Ability;

    use super::{HyperStack, TlsProvider, builder};
    use crate::support::ConnectProxy;

    fn stack() -> HyperStack {
        let stack = HyperStack::secure(|setup| {
            let address = ConnectProxy::tunnelling().address();
            builder(TlsProvider::Ring, setup).proxy(format!("http://{address}")).build().unwrap()
        });
        let reason = "a close of the server arrives only after the proxy has forwarded it";
        let abilities = stack.abilities.clone().without(Ability::LooksBeforeReuse, reason);
        HyperStack { abilities, ..stack }
    }

    // Not the contracts about the environment: a stop of the process would stop this proxy, too.
    payments_conformance::contract_tests!(
        stack(),
        themes: other_routes, broken_tls, never_sent, late_connections,
    );
}
