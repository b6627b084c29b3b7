//! `payments sandbox`: the payment service on this machine.

mod log;

use std::fs;
use std::io::{self, ErrorKind};
use std::iter;
use std::net::SocketAddr;
use std::path::Path;

use payments_core::ApiKey;
use payments_fake::test_values::{TEST_VALUES, test_values_json};
use payments_fake::{FakeGateway, Fixtures, UnknownFields};
use payments_sandbox::{Sandbox, SandboxBuilder};
use serde::Serialize;
use tokio::runtime;

use crate::args::sandbox::{LogShape, SandboxArguments, SandboxCommand, ServeArguments};
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::process::Interrupt;
use crate::report::{ExitCode, Report};
use crate::{files, stderr, stdout};

/// Prints one of the sandbox's documents, or serves until a signal.
pub(super) fn run(output: &Output, arguments: SandboxArguments) -> ExitCode {
    match arguments.show {
        Some(SandboxCommand::Magic) => output::print_document(&test_values(output)),
        Some(SandboxCommand::Openapi) => output::print_document(payments_sandbox::OPENAPI),
        None => match checked(&arguments.serve) {
            Ok(fixtures) => serve(arguments.serve, fixtures),
            Err(failure) => output.write(&Report::from(failure)),
        },
    }
}

/// The fixtures. Refuses a key that no client can send: the sandbox would return 401 for every request.
fn checked(arguments: &ServeArguments) -> Result<Fixtures, Failure> {
    for key in arguments.api_keys.iter().flat_map(|keys| keys.split(',')) {
        ApiKey::new(key)?;
    }
    let Some(path) = &arguments.fixtures else { return Ok(Fixtures::default()) };
    let file = format!("the file of --fixtures{}", files::name_in_brackets(path));
    let refused = |why: &str| {
        Failure::invalid("input", format!("{file} {why}; nothing was loaded: {}", files::FIX_THE_FILE))
    };
    let bytes = files::read(path, LARGEST_FIXTURES)
        .map_err(|error| refused("cannot be read").with_cause(&error))?
        .ok_or_else(|| refused("is larger than 64 MiB"))?;
    let json = str::from_utf8(&bytes).map_err(|_| refused("is not UTF-8"))?;
    Fixtures::from_json(json).map_err(|error| refused(&format!("is invalid: {error}")))
}

/// Enough for a hundred thousand transactions.
const LARGEST_FIXTURES: usize = 64 * 1024 * 1024;

fn serve(arguments: ServeArguments, fixtures: Fixtures) -> ExitCode {
    let served = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve_until_signal(arguments, fixtures)));
    match served {
        Ok(()) => ExitCode::Processed,
        Err(error) => {
            stderr::write_last(format!("payments sandbox: stopped: {error}\n"));
            ExitCode::Other
        }
    }
}

async fn serve_until_signal(arguments: ServeArguments, fixtures: Fixtures) -> io::Result<()> {
    // Before the ready line, so that its reader may send a signal at once.
    let mut interrupt = Interrupt::install()?;
    let mut gateway = FakeGateway::builder().ignore_unfired_faults().choices(|choices| {
        choices.decline_shape = arguments.decline_shape;
        choices.unlisted_cards = arguments.unlisted_cards;
        if arguments.allow_unknown_fields {
            choices.unknown_fields = UnknownFields::Ignored;
        }
    });
    let keys: Vec<_> =
        arguments.api_keys.iter().flat_map(|keys| keys.split(',')).map(str::to_owned).collect();
    gateway = arguments.api_keys.iter().fold(gateway, |gateway, keys| gateway.api_keys(keys.split(',')));
    if let Some(seed) = arguments.seed {
        gateway = gateway.seed(seed);
    }
    let mut builder = Sandbox::builder()
        .listen(arguments.listen)
        .fixtures(fixtures)
        .control_headers(!arguments.no_control_headers)
        .fresh_gateway(gateway);
    builder = arguments.admin_listen.into_iter().fold(builder, SandboxBuilder::admin_listen);
    let saves = arguments.data.is_some();
    builder = arguments.data.into_iter().fold(builder, SandboxBuilder::data_file);
    if arguments.tls {
        builder = arguments.tls_names.into_iter().fold(builder.tls(), SandboxBuilder::tls_name);
    }
    let by_default = if stderr::is_terminal() { LogShape::Text } else { LogShape::Off };
    let log_shape = arguments.log.unwrap_or(by_default);
    builder = builder.on_idle_close(log::idle_writer(log_shape));
    if let Some(write) = log::writer(log_shape) {
        builder = builder.on_exchange(write);
    }
    let sandbox = builder.start().await.map_err(with_advice)?;
    if let (Some(path), Some(authority)) = (&arguments.tls_ca_out, sandbox.ca_certificate_pem()) {
        write_authority(path, authority)?;
    }
    let in_the_clear = if arguments.tls { "" } else { ", and their requests cross the network unencrypted" };
    let warn = |address: SocketAddr, can: &str| {
        if !address.ip().is_loopback() {
            stderr::warn(&format!(
                "listening on {address}, which is not a loopback address: other machines can {can}{in_the_clear}"
            ));
        }
    };
    if arguments.admin_listen.is_some() {
        warn(sandbox.local_addr(), "reach this sandbox");
        warn(sandbox.admin_local_addr(), "control this sandbox");
    } else {
        warn(sandbox.local_addr(), "reach and control this sandbox");
    }
    announce(&sandbox, &keys)?;
    note(&format!("ready; watch requests at {}; stop with Ctrl-C", sandbox.ui_url()));
    let signal = interrupt.arrived().await;
    let at_once = if saves { "ends at once and saves nothing" } else { "ends at once" };
    note(&format!("{signal}: finishing the requests in flight; a second signal {at_once}"));
    interrupt.or_signal(sandbox.shutdown()).await.unwrap_or(Ok(()))
}

/// Writes a message of the sandbox to stderr.
fn note(text: &str) {
    stderr::write(format!("payments sandbox: {text}\n"));
}

fn with_advice(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => {
            let advice =
                "give another address or port with --listen or --admin-listen; port 0 picks a free port";
            io::Error::new(error.kind(), format!("{error}: {advice}"))
        }
        _ => error,
    }
}

/// Replaces only another certificate: the path may be that of a journal, by mistake.
fn write_authority(path: &Path, authority: &str) -> io::Result<()> {
    let is_replaceable = fs::read(path).map_or_else(
        |error| error.kind() == ErrorKind::NotFound,
        |old| old.is_empty() || old.starts_with(PEM),
    );
    if !is_replaceable {
        let why = "the file of --tls-ca-out exists and is no certificate, and it was left as it is: name another file";
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    fs::write(path, authority).map_err(|error| {
        io::Error::new(error.kind(), format!("the file of --tls-ca-out cannot be written ({error})"))
    })
}

/// The beginning of a certificate in PEM.
const PEM: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Writes the ready line, with its members in the documented order.
fn announce(sandbox: &Sandbox, keys: &[String]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Ready<'a> {
        base_url: &'a str,
        admin_url: &'a str,
        ui_url: String,
        api_key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        api_keys: Option<&'a [String]>,
        version: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ca_cert: Option<&'a str>,
    }

    let ready = Ready {
        base_url: sandbox.base_url(),
        admin_url: sandbox.admin_url(),
        ui_url: sandbox.ui_url(),
        api_key: sandbox.api_key(),
        api_keys: Some(keys).filter(|keys| keys.len() > 1),
        version: payments_sandbox::VERSION,
        seed: sandbox.seed(),
        ca_cert: sandbox.ca_certificate_pem(),
    };
    stdout::print_json(&ready)
}

/// The table of test values: text for people, JSON for programs.
fn test_values(output: &Output) -> String {
    if !output.is_text() {
        return test_values_json() + "\n";
    }
    let rows = TEST_VALUES.iter().map(|row| (row.field.as_str(), row.value, row.result));
    let rows = iter::once(("field", "value", "result")).chain(rows);
    let lines = rows.map(|(field, value, result)| format!("{field:17}  {value:27}  {result}\n"));
    lines.collect::<Vec<_>>().concat()
}
