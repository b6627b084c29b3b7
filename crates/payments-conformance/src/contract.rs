use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::authority::Authority;
use crate::violation::{Violation, PANICS};
use crate::child::Child;
use crate::connection::Connection;
use crate::http2::Peer;
use crate::script::{Act, Script};
use crate::server::{Security, Server};
use crate::test_run::TestRun;
use crate::{Abilities, Ability, Journal, Setup, Stack, Verdict};

/// One contract: its name, why it matters for money, and what a stack must be able to do for it to apply.
pub(crate) struct Contract {
    name: &'static str,
    why: &'static str,
    needs: Vec<Ability>,
    tested: Option<Ability>,
    exclusive: bool,
}

/// Held by every contract that is being checked: alone by those that would take the memory of another for their own.
static PROCESS: RwLock<()> = RwLock::new(());

impl Contract {
    /// A contract that needs a real server.
    pub(crate) fn new(name: &'static str, why: &'static str) -> Self {
        Self { needs: vec![Ability::Sockets], ..Self::scripted(name, why) }
    }

    /// A contract whose server can be played from a [`Script`] by a stack without sockets.
    pub(crate) fn scripted(name: &'static str, why: &'static str) -> Self {
        Self { name, why, needs: Vec::new(), tested: None, exclusive: false }
    }

    pub(crate) fn needs(mut self, ability: Ability) -> Self {
        self.needs.push(ability);
        self
    }

    /// The same, of a contract that a stack without this ability breaks: the story says how to declare that.
    pub(crate) fn tests(self, ability: Ability) -> Self {
        Self { tested: Some(ability), ..self.needs(ability) }
    }

    /// Of the kit's contracts no other is checked in this process meanwhile.
    pub(crate) fn exclusive(self) -> Self {
        Self { exclusive: true, ..self }
    }

    /// Checks the contract over every scheme that the stack speaks.
    pub(crate) fn check<S: Stack>(
        self,
        stack: &S,
        body: impl Fn(&Harness<'_, S>) -> Result<(), Violation>,
    ) -> Verdict {
        let abilities = stack.abilities();
        if let Some(contract) = Child::contract().filter(|contract| contract != self.name) {
            let reason = format!("this process is for {contract}");
            return Verdict::not_applicable(self.name, reason);
        }
        if let Some(reason) = self.needs.iter().find_map(|ability| abilities.missing(*ability)) {
            let verdict = Verdict::not_applicable(self.name, reason.to_owned());
            return verdict.with_deviation(abilities.deviation_of(self.name));
        }
        let schemes = schemes(&abilities, &self.needs);
        if schemes.is_empty() {
            let reason = if abilities.missing(Ability::Http2).is_none() {
                "the stack speaks HTTP/2 but not https, which is the only way that the kit offers it"
            } else {
                "the stack speaks neither http nor https"
            };
            let reason = reason.to_owned();
            return Verdict::broken(self.name, reason, Vec::new());
        }
        let _write_guard = self.exclusive.then(|| PROCESS.write().unwrap_or_else(PoisonError::into_inner));
        let _read_guard = (!self.exclusive).then(|| PROCESS.read().unwrap_or_else(PoisonError::into_inner));
        let figures = Mutex::new(Vec::new());
        let mut broken = None;
        for scheme in schemes {
            let harness =
                Harness { stack, contract: &self, scheme, authority: Authority::new(), figures: &figures };
            // The next contract is still to be checked.
            let kept = catch_unwind(AssertUnwindSafe(|| body(&harness))).unwrap_or_else(|panic| {
                Err(panicked(&*panic)
                    .with_context(|violation| harness.failure_message("was not reached", violation, "nothing", "no call was made")))
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
            (Some(violation), Some(reason)) if violation.is_general() => {
                let failure_message = format!(
                    "{violation}\n  deviation:      the one that is declared (\"{reason}\") covers what this contract \
                     demands; this is owed in every situation"
                );
                return Verdict::broken(self.name, failure_message, figures);
            }
            (Some(violation), _) => Verdict::broken(self.name, violation.to_string(), figures),
        };
        verdict.with_deviation(deviation)
    }

    /// How a stack declares that it lacks what the contract is about.
    fn declaration(&self) -> Option<String> {
        let ability = self.tested?;
        Some(format!(
            "if the stack cannot do this at all, declare it: \
             `Abilities::default().without(Ability::{ability:?}, \"the reason\")`"
        ))
    }
}

/// Over which a contract is checked. HTTP/2 is offered within TLS alone, and without sockets there is no difference.
fn schemes(abilities: &Abilities, needs: &[Ability]) -> Vec<Scheme> {
    if abilities.missing(Ability::Sockets).is_some() {
        return vec![Scheme::Http];
    }
    let speaks = |ability| abilities.missing(ability).is_none();
    let needs = |ability| needs.contains(&ability);
    let mut schemes = Vec::new();
    if speaks(Ability::PlainHttp) && !needs(Ability::Https) && !needs(Ability::Http2) {
        schemes.push(Scheme::Http);
    }
    if speaks(Ability::Https) && !needs(Ability::PlainHttp) && !needs(Ability::Http2) {
        schemes.push(Scheme::Https);
    }
    // What needs a server of sockets says byte by byte what it does, in the words of HTTP/1.1.
    if speaks(Ability::Https) && speaks(Ability::Http2) && (needs(Ability::Http2) || !needs(Ability::Sockets))
    {
        schemes.push(Scheme::Http2);
    }
    schemes
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Violation {
    Violation::general(format!("something panicked: {}", message(panic)), PANICS)
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// What the addresses of a server begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
    /// `https` with a server that speaks HTTP/2 and nothing else.
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

/// Where trials of one contract take place: a stack and a scheme.
pub(crate) struct Harness<'a, S> {
    pub(crate) stack: &'a S,
    contract: &'a Contract,
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    figures: &'a Mutex<Vec<String>>,
}

impl<S: Stack> Harness<'_, S> {
    /// A trial with a server that does what the script says; `situation` says it in words.
    pub(crate) fn with_script(
        &self,
        situation: &str,
        acts: impl Into<Vec<Act>>,
        body: impl FnOnce(&TestRun<'_, S>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let script = Script::in_turn(acts);
        let journal = Journal::default();
        if self.stack.abilities().missing(Ability::Sockets).is_some() {
            let setup = self.setup(journal.clone(), Some(script));
            let transport = self.stack.transport(&setup);
            let url = "http://localhost:1/api/v1/public".to_owned();
            return self.run_check(situation, TestRun::new(self.stack, transport, None, journal, url), body);
        }
        if script.refuses_all() {
            // Bound, so that nobody else can take the port, and not listening: whoever connects is refused.
            let nobody = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
            let nobody = nobody.expect("this machine has sockets");
            let bound = nobody.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into());
            bound.expect("loopback has a free port");
            let address = nobody.local_addr().ok().and_then(|address| address.as_socket());
            let url = self.url(address.expect("a bound socket has an address"));
            let transport = self.stack.transport(&self.setup(journal.clone(), None));
            return self.run_check(situation, TestRun::new(self.stack, transport, None, journal, url), body);
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
            return self.with_http2_server(situation, &[], script, body);
        }
        self.with_server(
            situation,
            move |connection| {
                while let Some(request) = connection.read_request() {
                    let act = script.act(number.fetch_add(1, Ordering::SeqCst));
                    if !connection.play(act, &request) {
                        return;
                    }
                }
            },
            body,
        )
    }

    /// A trial with a server whose every connection runs `script` on a thread of its own.
    pub(crate) fn with_server(
        &self,
        situation: &str,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
        body: impl FnOnce(&TestRun<'_, S>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.with_server_over(self.security(), situation, script, body)
    }

    /// The same, with a server that greets its clients otherwise than the scheme asks for.
    pub(crate) fn with_server_over(
        &self,
        security: Security,
        situation: &str,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
        body: impl FnOnce(&TestRun<'_, S>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let journal = Journal::default();
        let server = Server::start(security, &journal, script);
        let transport = self.stack.transport(&self.setup(journal.clone(), None));
        let url = self.url(server.address);
        self.run_check(situation, TestRun::new(self.stack, transport, Some(&server), journal, url), body)
    }

    /// A trial with a server that speaks HTTP/2 and greets with these settings. Every connection runs `script`.
    pub(crate) fn with_http2_server(
        &self,
        situation: &str,
        settings: &'static [(u16, u32)],
        script: impl Fn(&mut Peer<'_>) + Send + Sync + 'static,
        body: impl FnOnce(&TestRun<'_, S>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let script = move |connection: &mut Connection| {
            if let Some(mut peer) = Peer::start(connection, settings) {
                script(&mut peer);
            }
        };
        self.with_server_over(self.http2_security(), situation, script, body)
    }

    /// TLS with HTTP/2 and nothing else.
    pub(crate) fn http2_security(&self) -> Security {
        Security::Tls(self.authority.server_speaking(&["h2"]))
    }

    /// A further server, beside that of the trial.
    pub(crate) fn another_server(
        &self,
        journal: &Journal,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Server {
        Server::start(self.security(), journal, script)
    }

    /// A further server on a socket that listens already.
    pub(crate) fn another_server_on(
        &self,
        listener: TcpListener,
        journal: &Journal,
        script: impl Fn(&mut Connection) + Send + Sync + 'static,
    ) -> Server {
        Server::start_on(listener, self.security(), journal, script)
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

    /// Keeps a measured value for the report.
    pub(crate) fn figure(&self, text: impl AsRef<str>) {
        let figure = format!("{}: {}", self.scheme, text.as_ref());
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).push(figure);
    }

    /// Whether requests arrive in the words of HTTP/1.1.
    pub(crate) fn speaks_http1(&self) -> bool {
        self.scheme != Scheme::Http2 && !self.lacks(Ability::Sockets)
    }

    /// Whether the stack has declared that it cannot do this.
    pub(crate) fn lacks(&self, ability: Ability) -> bool {
        self.stack.abilities().missing(ability).is_some()
    }

    fn security(&self) -> Security {
        match self.scheme {
            Scheme::Http => Security::Plain,
            Scheme::Https => Security::Tls(self.authority.server()),
            Scheme::Http2 => self.http2_security(),
        }
    }

    fn run_check(
        &self,
        situation: &str,
        run: TestRun<'_, S>,
        body: impl FnOnce(&TestRun<'_, S>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let journal = run.journal().clone();
        let kept =
            catch_unwind(AssertUnwindSafe(|| body(&run))).unwrap_or_else(|panic| Err(panicked(&*panic)));
        let log = run.call_log();
        let finished =
            catch_unwind(AssertUnwindSafe(|| run.finish())).unwrap_or_else(|panic| Err(panicked(&*panic)));
        let outcome = match (kept, finished) {
            // What is owed in every situation weighs more than what the contract demands, and no deviation covers it.
            (Err(violation), Err(owed)) if !violation.is_general() && owed.is_general() => Err(owed),
            (kept, finished) => kept.and(finished),
        };
        outcome.map_err(|violation| {
            violation.with_context(|violation| {
                let calls = log.about(&violation.to_string(), &journal);
                self.failure_message(situation, violation, &journal.to_string(), &calls)
            })
        })
    }

    fn failure_message(&self, situation: &str, violation: &Violation, journal: &str, calls: &str) -> String {
        let over = format!("`{}`, over {}", self.contract.name, self.scheme);
        let why = violation.why().unwrap_or(self.contract.why);
        let declaration = self.contract.declaration().filter(|_| !violation.is_general());
        let fields = [("contract", over.as_str()), ("the server", situation), ("its journal", journal)];
        let beside = violation.lines().iter().map(|(name, text)| (*name, text.as_str()));
        let after = [("the transport", calls), ("why", why)];
        let declared = declaration.iter().map(|text| ("otherwise", text.as_str()));
        let mut failure_message = format!("{violation}\n");
        for (name, text) in fields.into_iter().chain(beside).chain(after).chain(declared) {
            let name = format!("{name}:");
            failure_message.extend(["\n  ", &name, &" ".repeat(16_usize.saturating_sub(name.len()))]);
            failure_message.push_str(&text.replace('\n', "\n                  "));
        }
        failure_message
    }
}
