//! `payments check`: whether a payment would get through, found out without making one.

mod findings;
mod probe;

use std::time::Duration;

use http::Uri;
use payments_core::{Client, Deadlines, Delivery, LookupError, Success, TransportErrorKind};
use payments_model::{TransactionId, TransactionRecord};

use self::findings::{Examined, Findings};
use self::probe::Probe;
use crate::args::GlobalOptions;
use crate::call::{self, Prepared};
use crate::checked::{Checked, SettingsFound, Step, StepName};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::last_write;
use crate::output::Output;
use crate::purpose::Purpose;
use crate::report::Report;
use crate::settings::Settings;

/// Checks one step after the other and reports them all.
pub(super) fn run(options: GlobalOptions) -> ExitCode {
    if options.client.dry_run {
        return call::run(options, id_that_nobody_has);
    }
    let output = Output::choose(options.output);
    let checked = call::block_on(check(options, output)).unwrap_or_else(without_settings);
    last_write::write(output, Report::Checked(Box::new(checked)))
}

async fn check(options: GlobalOptions, output: Output) -> Checked {
    let configure = |client: payments_core::ClientBuilder, settings: &Settings| {
        client.connect_timeout(connect_timeout(settings.timeout())).lookup_retries(0)
    };
    let prepared = Prepared::new(options.client, output, configure, id_that_nobody_has).await;
    let Prepared { settings, client, call: id, mut interrupt } = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => return without_settings(failure),
    };
    let found = SettingsFound::of(&settings);
    let examined = tokio::select! {
        biased;
        examined = call::contained(examine(&client, &id, &settings)) => examined.unwrap_or_else(|| {
            Examined::ended(Failure::not_processed("internal", "internal error; a look-up moves nothing"))
        }),
        signal = interrupt.arrived() => Examined::ended(Failure::not_processed(
            "interrupted",
            format!("interrupted by {signal}; a check moves nothing: it is safe to run it again"),
        )),
    };
    let Examined { steps, ended } = examined;
    let settings_step = Step::passed(StepName::Settings, found.line());
    Checked {
        settings: Some(found),
        steps: std::iter::once(settings_step).chain(steps).collect(),
        ended: ended.map_err(|failure| failure.of_a(Purpose::FindTransaction)),
    }
}

/// One look-up through the real client: what it proves is what a payment would meet.
async fn examine(client: &Client, id: &TransactionId, settings: &Settings) -> Examined {
    let result = client.transaction(id).await;
    let uri: Uri = settings.base_url().parse().expect("an endpoint was made of it");
    // What the service's address takes from here directly says nothing of the way through a proxy.
    let probe = if settings.proxy().is_none() && ended_while_connecting(&result) {
        Some(Probe::of(&uri, settings.timeout() / 2).await)
    } else {
        None
    };
    Findings { uri: &uri, settings }.read(result, probe)
}

/// The transport has one deadline for name, TCP and TLS, so its end does not say which of them was late.
fn ended_while_connecting(result: &Result<Success<TransactionRecord>, LookupError>) -> bool {
    let Err(error) = result else { return false };
    error.transport_error().is_some_and(|error| {
        error.kind() == TransportErrorKind::Timeout && error.delivery() == Delivery::NotProcessed
    })
}

/// Half of the time at most, so that enough is left to find out what was late.
fn connect_timeout(total: Duration) -> Duration {
    Deadlines::DEFAULT_CONNECT.min(total / 2)
}

/// The service gives out ids itself, and gives out none like this.
fn id_that_nobody_has() -> Result<TransactionId, Failure> {
    Ok(TransactionId::new("payments-check-of-an-id-that-nobody-has")?)
}

/// Nothing was tried: the settings are to blame, or a signal came first.
fn without_settings(failure: Failure) -> Checked {
    let mut message = failure.message.clone();
    for more in failure.cause.iter().chain(&failure.advice.hints) {
        message = format!("{message} ({more})");
    }
    let skipped =
        [StepName::Connection, StepName::Tls, StepName::Key].map(|name| Step::skipped(name, "not tried"));
    let steps = std::iter::once(Step::failed(StepName::Settings, message)).chain(skipped).collect();
    Checked { settings: None, steps, ended: Err(failure.of_a(Purpose::FindTransaction)) }
}
