//! A small transport on blocking sockets that can be given one flaw.

mod call;
mod exchange;
mod simulated;
mod stream;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use payments_conformance::{Abilities, Ability, Setup, Stack};
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse, blocking};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

pub(crate) use crate::broken::Flaw;
use call::Call;
use exchange::Exchange;
use simulated::Simulated;
use stream::Stream;

/// HTTP/1.1 on one thread for each call, or on the caller's own.
pub(crate) struct Plain {
    shared: Arc<Shared>,
}

struct Shared {
    flaw: Option<Flaw>,
    tls: Arc<ClientConfig>,
    /// Idle connections, each with its server.
    idle: Mutex<Vec<(String, Stream)>>,
    /// The largest number of concurrent calls so far.
    most_calls: AtomicUsize,
    /// The number of connections in use, for the flaw with a connection limit.
    in_use: (Mutex<usize>, Condvar),
    /// The port from the last `Alt-Svc`.
    alternative: Mutex<Option<u16>>,
    /// Replaces the network, for the flaw that is about long timeouts.
    simulated: Option<Simulated>,
}

impl Transport for Plain {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        if self.shared.has(Flaw::PanicsOutsideRuntime) {
            let name = std::thread::current().name().map(str::to_owned);
            assert!(name.as_deref() == Some("runtime"), "there is no runtime here");
        }
        if let Some(simulated) = &self.shared.simulated {
            return simulated.send(request);
        }
        let exchange = Exchange::new(Arc::clone(&self.shared), request);
        // Each call holds one reference and the transport another.
        self.shared.most_calls.fetch_max(Arc::strong_count(&self.shared) - 1, Ordering::Relaxed);
        if self.shared.has(Flaw::BlocksTheThread) {
            return exchange.run(&Mutex::default());
        }
        Call::begin(exchange, self.shared.has(Flaw::ContinuesAfterDrop)).await
    }
}

impl blocking::Transport for Plain {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        Exchange::new(Arc::clone(&self.shared), request).run(&Mutex::default())
    }
}

impl Shared {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}

/// The transport with one flaw, or with none.
pub(crate) struct PlainStack(pub(crate) Option<Flaw>);

impl Stack for PlainStack {
    type Transport = Plain;

    fn transport(&self, setup: &Setup) -> Plain {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(setup.authority_der().to_vec())).unwrap();
        let mut tls = if self.0 == Some(Flaw::TrustsAnyCertificate) {
            stream::trusting_anybody()
        } else {
            stream::tls().with_root_certificates(roots).with_no_client_auth()
        };
        if self.0 == Some(Flaw::OffersHttp2) {
            tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        tls.enable_early_data = self.0 == Some(Flaw::UsesEarlyData);
        if self.0 == Some(Flaw::LogsTheTlsKeys) {
            tls.key_log = Arc::new(rustls::KeyLogFile::new());
        }
        let shared = Shared {
            flaw: self.0,
            tls: Arc::new(tls),
            idle: Mutex::default(),
            most_calls: AtomicUsize::default(),
            in_use: <(Mutex<usize>, Condvar)>::default(),
            alternative: Mutex::default(),
            simulated: setup.script().map(|script| Simulated::new(script, setup.arrivals())),
        };
        Plain { shared: Arc::new(shared) }
    }

    fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future + Send,
        F::Output: Send,
    {
        if self.0 != Some(Flaw::PanicsOutsideRuntime) {
            return payments_conformance::block_on(future);
        }
        std::thread::scope(|scope| {
            let runtime = std::thread::Builder::new().name("runtime".to_owned());
            let run = runtime.spawn_scoped(scope, || payments_conformance::block_on(future));
            run.unwrap().join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn abilities(&self) -> Abilities {
        let all = Abilities::default()
            .with(Ability::LooksBeforeReuse)
            .with(Ability::ManyHeaders)
            .with(Ability::FoldedHeaders);
        match self.0 {
            None => all,
            Some(flaw) if flaw.is_of_tls() => all.without(Ability::PlainHttp, "this flaw needs TLS"),
            Some(Flaw::BlocksTheThread) => all
                .without(Ability::Https, "this flaw has nothing to do with TLS")
                .without(Ability::Cancel, "a blocking call cannot be interrupted"),
            Some(Flaw::GivesUpAfterThirtySeconds) => all.without(Ability::Sockets, "time is simulated"),
            Some(_) => all.without(Ability::Https, "this flaw has nothing to do with TLS"),
        }
    }

    fn now(&self) -> Instant {
        simulated::now()
    }

    fn debug(&self, transport: &Plain) -> Option<String> {
        let idle = transport.shared.idle.lock().unwrap();
        let many = transport.shared.most_calls.load(Ordering::Relaxed) > 20;
        let prints = self.0 == Some(Flaw::PrintsTheKey) && many;
        Some(if prints { format!("Plain {idle:?}") } else { "Plain".to_owned() })
    }
}
