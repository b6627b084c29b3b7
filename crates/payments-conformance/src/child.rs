use std::env;
use std::io::{self, Read, Write as _};
use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{process, thread};

use payments_core::{Delivery, TransportError};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::contract_list::names;
use crate::harness::Harness;
use crate::report::ONLY_IN_TESTS;
use crate::scheme::Scheme;
use crate::test_request::TestRequest;
use crate::violation::{Rule, Violation};
use crate::{AnyStack, Arrivals, Setup, Verdict};

/// A child process that runs the same test in another environment.
pub(crate) struct Child {
    /// The address of the parent's server.
    pub(crate) base_url: String,
    /// For transports that connect to the parent's server.
    pub(crate) setup: Setup,
}

impl Child {
    /// The contract that this process was started for. It checks no other contract.
    ///
    /// # Panics
    ///
    /// If the environment was not set by the kit: every other contract would pass unchecked.
    pub(crate) fn contract() -> Option<String> {
        let set = [CONTRACT, BASE_URL, AUTHORITY].map(|name| env::var(name).ok());
        match set {
            [None, None, None] => None,
            [Some(contract), Some(_), Some(_)] if names().iter().any(|(_, name)| *name == contract) => {
                Some(contract)
            }
            _ => panic!(
                "{CONTRACT}, {BASE_URL} and {AUTHORITY} are for processes that the kit starts: remove them from the \
                 environment"
            ),
        }
    }

    /// The parameters from the parent, if this process was started for this contract.
    pub(crate) fn of_this_process(contract: &str) -> Option<Self> {
        Self::contract().filter(|own| own == contract)?;
        let (base_url, authority_pem) = (env::var(BASE_URL).ok()?, env::var(AUTHORITY).ok()?);
        let der = CertificateDer::from_pem_slice(authority_pem.as_bytes());
        let authority_der = der.expect("the parent's certificate").to_vec();
        let http2 = env::var_os(HTTP2).is_some();
        let setup =
            Setup { authority_pem, authority_der, http2, script: None, arrivals: Arrivals::default() };
        Some(Self { base_url, setup })
    }

    /// The name of the test that runs on this thread. `None` if no child process can be started.
    ///
    /// Only a test created by [`contract_tests!`](crate::contract_tests) can start itself again. Any other program would
    /// run with the arguments of a test harness and could, for example, send payments.
    fn test() -> Option<String> {
        thread::current().name().and_then(|name| name.strip_prefix(OF_A_TEST)).map(str::to_owned)
    }

    /// Why a contract cannot be checked in this program, if it needs a child process.
    pub(crate) fn cannot_be_started() -> Option<&'static str> {
        Self::test().is_none().then_some(ONLY_IN_TESTS)
    }

    /// The command that runs only the test of this thread, for its contract, in another process.
    pub(crate) fn command(harness: &Harness<'_>, base_url: &str) -> Result<Command, Violation> {
        let test = Self::test().expect("the contract applies only in a test");
        let mut child = Command::new(env::current_exe().map_err(|error| Self::cannot_start(&error))?);
        // The test may be marked `#[ignore]`.
        child.args([&*test, "--exact", "--nocapture", "--include-ignored"]);
        child
            .env(CONTRACT, harness.contract.name)
            .env(BASE_URL, base_url)
            .env(AUTHORITY, harness.authority.pem());
        if harness.scheme == Scheme::Http2 {
            child.env(HTTP2, "1");
        }
        child.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(child)
    }

    /// Waits for the end of a process, and returns what it wrote to stdout and to stderr. A process that hangs is killed.
    pub(crate) fn output(mut child: process::Child) -> Result<[String; 2], Violation> {
        let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let written = [stdout, stderr].map(|pipe| {
            let (sender, written) = mpsc::channel();
            thread::spawn(move || {
                let mut bytes = Vec::new();
                // What was read before an error counts.
                let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
                let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
            });
            written
        });
        // A process that it has started may still hold the pipes.
        let texts = |longest| written.each_ref().map(|text| text.recv_timeout(longest).unwrap_or_default());
        let started = Instant::now();
        while child.try_wait().map_err(|error| Self::cannot_start(&error))?.is_none() {
            if started.elapsed() > LONGEST {
                let _ = child.kill().and_then(|()| child.wait());
                let found = format!("the process of the call had not ended after {LONGEST:.0?}");
                let said = texts(Duration::from_secs(1)).join("\n");
                return Err(Violation::general(found, Rule::Ends).detail("the process", said.trim()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(texts(LONGEST))
    }

    /// What the child process prints of its call, with `None` for a response. Its exit code says nothing: the test may expect that
    /// the contract is broken.
    pub(crate) fn ended_with(delivery: Option<Delivery>) -> String {
        format!("the call of the child process ended with {delivery:?}.")
    }

    pub(crate) fn cannot_start(error: &io::Error) -> Violation {
        Violation::new(format!("cannot start the test again: {error}"))
    }

    /// Pays at the parent's server, and prints how the call ended.
    pub(crate) fn send(
        &self,
        contract: &'static str,
        stack: &dyn AnyStack,
        prepare: impl Fn(TestRequest) -> TestRequest,
    ) -> Verdict {
        let transport = stack.transport(&self.setup);
        let charge = prepare(TestRequest::charge(&self.base_url, "charge-00001".to_owned()));
        let result = stack.block_on(transport.send(charge.into_transport_request()));
        let ended = Self::ended_with(result.as_ref().err().map(TransportError::delivery));
        drop(writeln!(io::stdout(), "{ended}"));
        match result {
            Ok(_) => Verdict::kept(contract, Vec::new()),
            Err(error) => Verdict::broken(contract, Violation::new(error.to_string()), Vec::new()),
        }
    }
}

/// Runs a contract as the test with this name, on a thread named after it.
#[doc(hidden)]
pub fn run_as_test(place: &str, contract: impl FnOnce() + Send) {
    let test = place.split_once("::").map_or(place, |(_crate, test)| test);
    thread::scope(|scope| {
        let run = thread::Builder::new().name(format!("{OF_A_TEST}{test}")).spawn_scoped(scope, contract);
        if let Err(panic) = run.expect("a thread can be started").join() {
            resume_unwind(panic);
        }
    });
}

/// How long a child process may run: longer than all of its calls together.
const LONGEST: Duration = Duration::from_mins(1);

/// The prefix of a test thread's name. Only the kit gives a thread such a name.
const OF_A_TEST: &str = "payments-conformance test ";

const CONTRACT: &str = "PAYMENTS_CONFORMANCE_CHILD";
const BASE_URL: &str = "PAYMENTS_CONFORMANCE_CHILD_URL";
const AUTHORITY: &str = "PAYMENTS_CONFORMANCE_CHILD_AUTHORITY";
const HTTP2: &str = "PAYMENTS_CONFORMANCE_CHILD_HTTP2";
