//! `payments sandbox`: the service on this machine.

use std::io::{self, Write};

use payments_core::ApiKey;
use payments_sandbox::Sandbox;
use serde_json::Value;
use tokio::runtime;

use super::refuse_client_settings;
use crate::args::{GlobalOptions, SandboxArguments};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::report::Report;

/// Serves until a signal asks it to end.
pub(super) fn run(options: &GlobalOptions, arguments: SandboxArguments) -> ExitCode {
    if let Some(refused) = refuse_client_settings(options) {
        return refused;
    }
    // A key that no client could send would make a sandbox that answers 401 to everybody.
    if let Err(error) = ApiKey::new(&arguments.api_key) {
        return Output::choose(options.output).write(&Report::from(Failure::from(error)));
    }
    let served = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    match served {
        Ok(()) => ExitCode::Processed,
        Err(error) => {
            note(&format!("cannot go on: {error}"));
            ExitCode::Other
        }
    }
}

async fn serve(arguments: SandboxArguments) -> io::Result<()> {
    let SandboxArguments { listen, api_key } = arguments;
    // Caught from before the ready line, so that whoever reads that line may send a signal at once.
    let mut interrupt = Interrupt::install()?;
    let started = Sandbox::builder().listen(listen).api_key(api_key).start().await;
    let sandbox = started.map_err(|error| {
        let advice = "give another address or port with --listen; port 0 takes a free one";
        io::Error::new(error.kind(), format!("it cannot listen on {listen} ({error}): {advice}"))
    })?;
    if !listen.ip().is_loopback() {
        note(&format!(
            "warning: listening on {}, which is not a loopback address: \
             other machines can reach this sandbox, and what they send it crosses the network in the clear",
            sandbox.local_addr()
        ));
    }
    announce(&sandbox.base_url(), &sandbox.api_key())?;
    note("ready; stop with Ctrl-C");
    let signal = interrupt.arrived().await;
    note(&format!("{signal}: finishing what is in flight; once more ends at once"));
    tokio::select! {
        () = sandbox.shutdown() => {}
        _ = interrupt.arrived() => {}
    }
    Ok(())
}

/// The ready line, its members in the order in which the documentation shows them.
fn announce(base_url: &str, api_key: &str) -> io::Result<()> {
    let (base_url, api_key) = (Value::from(base_url), Value::from(api_key));
    let mut stdout = io::stdout().lock();
    writeln!(stdout, r#"{{"base_url":{base_url},"api_key":{api_key}}}"#)?;
    stdout.flush()
}

/// A line on stderr; a sandbox serves on if nobody can read it.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "payments sandbox: {text}");
}
