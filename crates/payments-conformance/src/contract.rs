use std::net::{Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::authority::Authority;
use crate::child::Child;
use crate::connection::Connection;
use crate::http2::Peer;
use crate::script::{Act, Script};
use crate::server::{Security, Server};
use crate::test_run::TestRun;
use crate::violation::{PANICS, Violation};
use crate::{Abilities, Ability, AnyStack, Journal, Setup, Verdict};

/// One contract: its name, why it matters for money, and which abilities it needs.
pub(crate) struct Contract {
    name: &'static str,
    why: &'static str,
    needs: Vec<Ability>,
    tested: Option<Ability>,
    exclusive: bool,
    /// Why the contract does not apply to the stack, besides a missing ability.
    inapplicable: Option<String>,
    /// Whether it starts another process.
    starts_a_child: bool,
}

/// Locked during every check: exclusively by contracts that measure the memory of the process, shared by all others.
static PROCESS: RwLock<()> = RwLock::new(());

impl Contract {
    /// A contract that needs a real server.
    pub(crate) fn new(name: &'static str, why: &'static str) -> Self {
        Self { needs: vec![Ability::Sockets], ..Self::scripted(name, why) }
    }

    /// A contract whose server is a [`Script`], which a stack without sockets can run itself.
    pub(crate) fn scripted(name: &'static str, why: &'static str) -> Self {
        Self {
            name,
            why,
            needs: Vec::new(),
            tested: None,
            exclusive: false,
            inapplicable: None,
            starts_a_child: false,
        }
    }

    /// A contract that needs a real server with TLS.
    pub(crate) fn over_tls(name: &'static str, why: &'static str) -> Self {
        Self::new(name, why).needs(Ability::Https)
    }

    pub(crate) fn needs(mut self, ability: Ability) -> Self {
        self.needs.push(ability);
        self
    }

    /// A contract that a stack without this ability breaks. The failure message says how to declare the missing ability.
    pub(crate) fn tests(self, ability: Ability) -> Self {
        Self { tested: Some(ability), ..self.needs(ability) }
    }

    /// Checks no other contract of the kit in this process at the same time.
    pub(crate) fn exclusive(self) -> Self {
        Self { exclusive: true, ..self }
    }

    /// A contract that does not apply to the stack if there is a reason.
    pub(crate) fn unless(self, reason: Option<&str>) -> Self {
        Self { inapplicable: reason.map(str::to_owned), ..self }
    }

    /// A contract that starts its own test again, as a child process.
    pub(crate) fn starting_a_child(self) -> Self {
        Self { starts_a_child: true, ..self }
    }

    /// Checks the contract over every scheme that the stack supports.
    pub(crate) fn check(
        self,
        stack: &dyn AnyStack,
        body: impl Fn(&Harness<'_>) -> Result<(), Violation>,
    ) -> Verdict {
        let abilities = stack.abilities();
        if let Some(contract) = Child::contract().filter(|contract| contract != self.name) {
            let reason = format!("this process was started for {contract}");
            return Verdict::not_applicable(self.name, reason);
        }
        let missing = self.needs.iter().find_map(|ability| abilities.missing(*ability));
        if let Some(reason) = missing.or(self.inapplicable.as_deref()) {
            let verdict = Verdict::not_applicable(self.name, reason.to_owned());
            return verdict.with_deviation(abilities.deviation_of(self.name));
        }
        if let Some(reason) = Child::cannot_be_started().filter(|_| self.starts_a_child) {
            // It applies to the stack in another program, so a declared deviation is not wrong.
            return Verdict::not_applicable(self.name, reason.to_owned());
        }
        let schemes = schemes(&abilities, &self.needs);
        if schemes.is_empty() {
            let reason = if abilities.missing(Ability::Http2).is_none() {
                "the stack supports HTTP/2 but not https, and the kit offers HTTP/2 only over TLS"
            } else {
                "the stack supports neither http nor https"
            };
            return Verdict::broken(self.name, reason.to_owned(), Vec::new());
        }
        let _write_guard = self.exclusive.then(|| PROCESS.write().unwrap_or_else(PoisonError::into_inner));
        let _read_guard = (!self.exclusive).then(|| PROCESS.read().unwrap_or_else(PoisonError::into_inner));
        let figures = Mutex::new(Vec::new());
        let mut broken = None;
        for scheme in schemes {
            let harness =
                Harness { stack, contract: &self, scheme, authority: Authority::new(), figures: &figures };
            // A panic must not keep the next contract from being checked.
            let kept = catch_unwind(AssertUnwindSafe(|| body(&harness))).unwrap_or_else(|panic| {
                Err(panicked(&*panic).with_context(|violation| {
                    harness.failure_message("was not reached", violation, "nothing", "no call was made")
                }))
            });
            if let Err(violation) = kept {
                broken = Some(violation);
                break;
            }
        }
        let figures = figures.into_inner().unwrap_or_else(PoisonError::into_inner);
        let deviation = abilities.deviation_of(self.name);
        let verdict = match (broken, deviation) {
            (None, _) => Verdict::kept(self.name, figures),
            (Some(violation), Some(reason)) if violation.general.is_some() => {
                let message = format!(
                    "{violation}\n  deviation:      the declared deviation (\"{reason}\") covers only this contract's own \
                     requirement, and the transport broke a general rule"
                );
                return Verdict::broken(self.name, message, figures);
            }
            (Some(violation), _) => Verdict::broken(self.name, violation.to_string(), figures),
        };
        verdict.with_deviation(deviation)
    }
}

/// The schemes to check. HTTP/2 is offered only over TLS. Without sockets all schemes are the same.
fn schemes(abilities: &Abilities, needs: &[Ability]) -> Vec<Scheme> {
    if abilities.missing(Ability::Sockets).is_some() {
        return vec![Scheme::Http];
    }
    let speaks = |ability| abilities.missing(ability).is_none();
    let needs = |ability| needs.contains(&ability);
    // A contract that needs sockets but not HTTP/2 scripts its server byte by byte in HTTP/1.1.
    let allows_http2 = needs(Ability::Http2) || !needs(Ability::Sockets);
    let schemes = [
        (Scheme::Http, speaks(Ability::PlainHttp) && !needs(Ability::Https) && !needs(Ability::Http2)),
        (Scheme::Https, speaks(Ability::Https) && !needs(Ability::Http2)),
        (Scheme::Http2, speaks(Ability::Https) && speaks(Ability::Http2) && allows_http2),
    ];
    schemes.into_iter().filter_map(|(scheme, applies)| applies.then_some(scheme)).collect()
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Violation {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Violation::general(format!("a panic occurred: {}", text.unwrap_or("no message")), PANICS)
}

/// The scheme and protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
    /// `https` with a server that speaks only HTTP/2.
    Http2,
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Http2 => "HTTP/2",
        })
    }
}

/// Starts servers and test runs for one contract, stack and scheme.
pub(crate) struct Harness<'a> {
    pub(crate) stack: &'a dyn AnyStack,
    contract: &'a Contract,
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    figures: &'a Mutex<Vec<String>>,
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
            return self.run_check(situation, None, &self.setup(Journal::default(), Some(script)), url, body);
        }
        if script.refuses_all() {
            // Bound to reserve the port, but not listening, so that connections are refused.
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
            let socket = socket.expect("this machine has sockets");
            let bound = socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into());
            bound.expect("loopback has a free port");
            let address = socket.local_addr().ok().and_then(|address| address.as_socket());
            let url = self.url(address.expect("a bound socket has an address"));
            return self.run_check(situation, None, &self.setup(Journal::default(), None), url, body);
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
        let server = Server::start(security, script);
        let setup = self.setup(server.journal.clone(), None);
        self.run_check(situation, Some(&server), &setup, self.url(server.address), body)
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

    /// A second server with its own journal.
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

    pub(crate) fn setup(&self, journal: Journal, script: Option<Script>) -> Setup {
        Setup {
            authority_pem: self.authority.pem(),
            authority_der: self.authority.der(),
            http2: self.scheme == Scheme::Http2,
            script,
            journal,
        }
    }

    /// Adds a measured value to the report.
    pub(crate) fn figure(&self, text: impl AsRef<str>) {
        let figure = format!("{}: {}", self.scheme, text.as_ref());
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).push(figure);
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
        let journal = &setup.journal;
        let run = TestRun::new(self.stack, setup, server, base_url);
        let kept =
            catch_unwind(AssertUnwindSafe(|| body(&run))).unwrap_or_else(|panic| Err(panicked(&*panic)));
        let log = run.call_log();
        let finished =
            catch_unwind(AssertUnwindSafe(|| run.finish())).unwrap_or_else(|panic| Err(panicked(&*panic)));
        let outcome = match (kept, finished) {
            // A broken general rule takes precedence, because no deviation covers it.
            (Err(violation), Err(general)) if violation.general.is_none() && general.general.is_some() => {
                Err(general)
            }
            (kept, finished) => kept.and(finished),
        };
        outcome.map_err(|violation| {
            violation.with_context(|violation| {
                let calls = log.about(&violation.to_string(), journal);
                self.failure_message(situation, violation, &journal.to_string(), &calls)
            })
        })
    }

    fn failure_message(&self, situation: &str, violation: &Violation, journal: &str, calls: &str) -> String {
        let why = violation.general.unwrap_or(self.contract.why);
        let tested = self.contract.tested.filter(|_| violation.general.is_none());
        let declaration = tested.map(|ability| {
            format!(
                "if the stack cannot do this at all, declare it with \
                 `Abilities::default().without(Ability::{ability:?}, \"the reason\")`"
            )
        });
        let fields = [("contract", self.contract.name), ("the server", situation), ("received", journal)];
        let details = violation.details.iter().map(|(name, text)| (*name, text.as_str()));
        let after = [("returned", calls), ("risk", why)];
        let declared = declaration.iter().map(|text| ("otherwise", text.as_str()));
        let mut message = format!("over {}: {violation}\n", self.scheme);
        for (name, text) in fields.into_iter().chain(details).chain(after).chain(declared) {
            let name = format!("{name}:");
            message.extend(["\n  ", &name, &" ".repeat(16_usize.saturating_sub(name.len()))]);
            message.push_str(&text.replace('\n', "\n                  "));
        }
        message
    }
}
