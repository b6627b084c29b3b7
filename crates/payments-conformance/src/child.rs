use std::env;
use std::io::{self, Write as _};
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::test_request::TestRequest;
use crate::violation::Violation;
use crate::{AnyStack, Journal, Setup, Verdict};

/// A child process that runs the same test in another environment.
pub(crate) struct Child {
    /// The address of the parent's server.
    pub(crate) base_url: String,
    /// For transports that connect to the parent's server.
    pub(crate) setup: Setup,
}

impl Child {
    /// The contract that this process was started for. It checks no other contract.
    pub(crate) fn contract() -> Option<String> {
        env::var(CONTRACT).ok()
    }

    /// The parameters from the parent, if this process was started for this contract.
    pub(crate) fn of_this_process(contract: &str) -> Option<Self> {
        Self::contract().filter(|own| own == contract)?;
        let (base_url, authority_pem) = (env::var(BASE_URL).ok()?, env::var(AUTHORITY).ok()?);
        let der = CertificateDer::from_pem_slice(authority_pem.as_bytes());
        let authority_der = der.expect("the parent's certificate").to_vec();
        let http2 = env::var_os(HTTP2).is_some();
        let setup = Setup { authority_pem, authority_der, http2, script: None, journal: Journal::default() };
        Some(Self { base_url, setup })
    }

    /// The name of the test that runs on this thread. `None` if no child process can be started.
    ///
    /// Only a test created by [`contract_tests!`](crate::contract_tests) can start itself again. Any other program would
    /// run with the arguments of a test harness and could, for example, send payments.
    pub(crate) fn test() -> Option<String> {
        thread::current().name().and_then(|name| name.strip_prefix(OF_A_TEST)).map(str::to_owned)
    }

    /// Why a contract does not apply in a program that cannot start a child process.
    pub(crate) const NEEDS_A_TEST: &str =
        "it needs a separate process, which only a test created by `contract_tests!` can start";

    /// The command that runs only this test, for this contract, in another process.
    pub(crate) fn command(
        contract: &str,
        test: &str,
        base_url: &str,
        setup: &Setup,
    ) -> Result<Command, Violation> {
        let mut child = Command::new(env::current_exe().map_err(|error| Self::cannot_start(&error))?);
        // The test may be marked `#[ignore]`.
        child.args([test, "--exact", "--nocapture", "--include-ignored"]);
        child.env(CONTRACT, contract).env(BASE_URL, base_url).env(AUTHORITY, setup.authority_pem());
        if setup.wants_http2() {
            child.env(HTTP2, "1");
        }
        Ok(child)
    }

    /// What the child process prints. Its exit code says nothing: the test may expect that the contract is broken.
    pub(crate) const GOT_RESPONSE: &str = "the call of the child process got a response";

    pub(crate) fn cannot_start(error: &io::Error) -> Violation {
        Violation::new(format!("cannot start the test again: {error}"))
    }

    /// Makes one call with this total deadline to the parent's server, and prints if it got a response.
    pub(crate) fn send(&self, contract: &'static str, stack: &dyn AnyStack, total: Duration) -> Verdict {
        let transport = stack.transport(&self.setup);
        let charge = TestRequest::charge(&self.base_url, "charge-00001".to_owned()).total(total);
        match stack.block_on(transport.send(charge.into_transport_request())) {
            Ok(_) => {
                drop(writeln!(io::stdout(), "{}", Self::GOT_RESPONSE));
                Verdict::kept(contract, Vec::new())
            }
            Err(error) => Verdict::broken(contract, error.to_string(), Vec::new()),
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

/// The prefix of a test thread's name. Only the kit gives a thread such a name.
const OF_A_TEST: &str = "payments-conformance test ";

const CONTRACT: &str = "PAYMENTS_CONFORMANCE_CHILD";
const BASE_URL: &str = "PAYMENTS_CONFORMANCE_CHILD_URL";
const AUTHORITY: &str = "PAYMENTS_CONFORMANCE_CHILD_AUTHORITY";
const HTTP2: &str = "PAYMENTS_CONFORMANCE_CHILD_HTTP2";
