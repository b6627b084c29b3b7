use std::net::{Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::authority::Authority;
use crate::connection::Connection;
use crate::http2_peer::Peer;
use crate::scheme::Scheme;
use crate::script::{Act, Script};
use crate::server::{Security, Server};
use crate::test_run::TestRun;
use crate::violation::{Rule, Violation};
use crate::{Ability, AnyStack, Arrivals, Setup};

/// What a failure message says of a contract.
#[derive(Default)]
pub(crate) struct Requirement {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    /// The ability without which a stack breaks the contract.
    pub(crate) tested: Option<Ability>,
    /// What to look at if it is the first broken contract.
    pub(crate) advice: Option<&'static str>,
}

/// Starts servers and test runs for one contract, stack and scheme.
pub(crate) struct Harness<'a> {
    pub(crate) stack: &'a dyn AnyStack,
    pub(crate) contract: &'a Requirement,
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// Whether the stack has declared that it breaks the contract.
    pub(crate) has_deviation: bool,
    pub(crate) findings: &'a Mutex<Findings>,
}

/// The findings of a contract that is being checked, besides a violation that ended the check.
#[derive(Default)]
pub(crate) struct Findings {
    /// The measured values.
    pub(crate) figures: Vec<String>,
    /// The first violation that the declared deviation covers.
    pub(crate) covered: Option<Violation>,
    /// Why this system cannot check the whole contract.
    pub(crate) unchecked: Option<&'static str>,
}

impl Harness<'_> {
    /// Runs `body` against a server that follows the script. `situation` describes the server's behavior in words.
    pub(crate) fn with_script(
        &self,
        situation: &str,
        acts: impl Into<Vec<Act>>,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let script = Script::in_turn(acts);
        if self.lacks(Ability::Sockets) {
            let url = "http://localhost:1/api/v1/public".to_owned();
            return self.run_check(
                situation,
                None,
                &self.setup(Arrivals::default(), Some(script)),
                url,
                body,
            );
        }
        if script.refuses_all() {
            // Bound to reserve the port, but not listening, so that connections are refused.
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
            let socket = socket.expect("this machine has sockets");
            let bound = socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into());
            bound.expect("loopback has a free port");
            let address = socket.local_addr().ok().and_then(|address| address.as_socket());
            return self.with_address(address.expect("a bound socket has an address"), situation, body);
        }
        let number = AtomicUsize::new(0);
        if self.scheme == Scheme::Http2 {
            let script = move |peer: &mut Peer<'_>| {
                while let Some(request) = peer.next_request() {
                    let act = script.act(number.fetch_add(1, Ordering::SeqCst));
                    if !peer.play(act, &request) {
                        return;
                    }
                }
            };
            return self.with_http2_server(situation, script, body);
        }
        let script = move |connection: &mut Connection| {
            while let Some(request) = connection.read_request() {
                let act = script.act(number.fetch_add(1, Ordering::SeqCst));
                if !connection.play(act, &request) {
                    return;
                }
            }
        };
        self.with_server(situation, script, body)
    }

    /// Runs `body` against a server that runs `script` on its own thread for each connection.
    pub(crate) fn with_server(
        &self,
        situation: &str,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.with_server_over(self.security(), situation, script, body)
    }

    /// Like `with_server`, with or without TLS regardless of the scheme.
    pub(crate) fn with_server_over(
        &self,
        security: Security,
        situation: &str,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.with_started(&Server::start(security, script), situation, body)
    }

    /// Runs `body` against a server that has started.
    pub(crate) fn with_started(
        &self,
        server: &Server,
        situation: &str,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let setup = self.setup(server.arrivals.clone(), None);
        self.run_check(situation, Some(server), &setup, self.url(server.address), body)
    }

    /// Runs `body` against an address at which nothing reads.
    pub(crate) fn with_address(
        &self,
        address: SocketAddr,
        situation: &str,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.run_check(situation, None, &self.setup(Arrivals::default(), None), self.url(address), body)
    }

    /// Runs `body` against an HTTP/2 server. Each connection runs `script`.
    pub(crate) fn with_http2_server(
        &self,
        situation: &str,
        script: impl Fn(&mut Peer<'_>) + Send + Sync + 'static,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let script = move |connection: &mut Connection| {
            if let Some(mut peer) = Peer::start(connection) {
                script(&mut peer);
            }
        };
        self.with_server_over(self.http2_security(), situation, script, body)
    }

    /// TLS that negotiates only HTTP/2.
    pub(crate) fn http2_security(&self) -> Security {
        Security::Tls(self.authority.server_speaking(&["h2"]))
    }

    /// A second server with its own record of arrivals.
    pub(crate) fn another_server(&self, script: impl Fn(&mut Connection) + Send + Sync + 'static) -> Server {
        Server::start(self.security(), script)
    }

    pub(crate) fn url(&self, server: SocketAddr) -> String {
        let port = server.port();
        match self.scheme {
            Scheme::Http => format!("http://127.0.0.1:{port}/api/v1/public"),
            Scheme::Https | Scheme::Http2 => format!("https://localhost:{port}/api/v1/public"),
        }
    }

    pub(crate) fn setup(&self, arrivals: Arrivals, script: Option<Script>) -> Setup {
        Setup {
            authority_pem: self.authority.pem(),
            authority_der: self.authority.der(),
            http2: self.scheme == Scheme::Http2,
            script,
            arrivals,
        }
    }

    /// Keeps a violation that the declared deviation covers, so that the check goes on: a later situation may break a general
    /// rule.
    pub(crate) fn unless_covered(&self, kept: Result<(), Violation>) -> Result<(), Violation> {
        match kept {
            Err(violation) if self.has_deviation && violation.rule().is_none() => {
                self.findings().covered.get_or_insert(violation);
                Ok(())
            }
            kept => kept,
        }
    }

    /// Says that this system cannot check the whole contract. If nothing is broken, the contract is not applicable.
    pub(crate) fn not_checked(&self, reason: &'static str) {
        self.findings().unchecked = Some(reason);
    }

    /// Adds a measured value to the report.
    pub(crate) fn figure(&self, text: impl AsRef<str>) {
        let mut findings = self.findings();
        // A situation that broke off has measured nothing.
        if findings.covered.is_none() {
            findings.figures.push(format!("{}: {}", self.scheme, text.as_ref()));
        }
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server speaks HTTP/1.1.
    pub(crate) fn speaks_http1(&self) -> bool {
        self.scheme != Scheme::Http2 && !self.lacks(Ability::Sockets)
    }

    /// Whether the stack has declared that it cannot do this.
    pub(crate) fn lacks(&self, ability: Ability) -> bool {
        self.stack.abilities().missing(ability).is_some()
    }

    /// The security that fits the scheme.
    pub(crate) fn security(&self) -> Security {
        match self.scheme {
            Scheme::Http => Security::Plain,
            Scheme::Https => Security::Tls(self.authority.server()),
            Scheme::Http2 => self.http2_security(),
        }
    }

    fn run_check(
        &self,
        situation: &str,
        server: Option<&Server>,
        setup: &Setup,
        base_url: String,
        body: impl FnOnce(&TestRun<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let arrivals = &setup.arrivals;
        let run = TestRun::new(self.stack, setup, server, base_url);
        let kept = catch_unwind(AssertUnwindSafe(|| body(&run)))
            .unwrap_or_else(|panic| Err(Violation::panicked(&*panic)));
        let log = run.call_log();
        let finished = catch_unwind(AssertUnwindSafe(|| run.finish()))
            .unwrap_or_else(|panic| Err(Violation::panicked(&*panic)));
        let outcome = match (kept, finished) {
            (Err(first), Err(later)) if later.rank() > first.rank() => Err(later),
            (kept, finished) => kept.and(finished),
        };
        self.unless_covered(outcome.map_err(|mut violation| {
            // What arrived shows that the transport trusts the server.
            violation.lacks_response &= arrivals.requests() == 0 && arrivals.unfinished_bytes() == 0;
            let calls = log.about(&violation.to_string(), arrivals);
            self.in_situation(violation, situation, arrivals.to_string(), calls)
        }))
    }

    pub(crate) fn in_situation(
        &self,
        mut violation: Violation,
        situation: &str,
        arrivals: String,
        calls: String,
    ) -> Violation {
        let Requirement { name, why, tested, advice } = *self.contract;
        let rule = violation.rule();
        let risk = rule.map_or(why, Rule::risk).to_owned();
        let distrusts = self.scheme == Scheme::Https && violation.lacks_response;
        let by_rule = || rule.and_then(Rule::advice);
        let by_scheme = || distrusts.then_some(TRUSTS_THE_AUTHORITY);
        violation.advice = advice.or_else(by_rule).or_else(by_scheme);
        let before =
            [("contract", name.to_owned()), ("the server", situation.to_owned()), ("received", arrivals)];
        let tested = tested.filter(|_| rule.is_none());
        let declaration = tested.map(|ability| {
            let declaration = format!(
                "if the stack cannot do this at all, declare it with \
                 `Abilities::default().without(Ability::{ability:?}, \"the reason\")`"
            );
            ("otherwise", declaration)
        });
        let after = [("returned", calls), ("risk", risk)].into_iter().chain(declaration);
        violation.details.splice(0..0, before);
        violation.details.extend(after);
        violation.scheme = Some(self.scheme);
        violation
    }
}

/// Why a call over https often has no response.
const TRUSTS_THE_AUTHORITY: &str = "the transport does not trust `Setup::authority_pem`. If it does not support https, declare \
     that with `Abilities::default().without(Ability::Https, \"the reason\")`";
