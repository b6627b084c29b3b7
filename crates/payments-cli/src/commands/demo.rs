//! `payments demo`: everything at work, and the proof that client and service agree.

mod belief;
mod comparison;
mod exchange;
mod page;
mod script;
mod truth;

use std::error::Error as StdError;
use std::io;
use std::time::SystemTime;

use payments_core::{ApiKey, Client, Endpoint};
use payments_fake::FakeGateway;
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use tokio::runtime;

use self::comparison::Comparison;
use self::page::Page;
use self::script::Stage;
use super::refuse_client_settings;
use crate::args::{GlobalOptions, OutputShape};
use crate::exit_code::ExitCode;
use crate::stderr;
use crate::style::Style;

/// Plays the demonstration. Text unless JSON is asked for by name: the lines are its point, also in a pipe.
pub(super) fn run(options: &GlobalOptions) -> ExitCode {
    if let Some(refused) = refuse_client_settings(options) {
        return refused;
    }
    let shape = options.output.unwrap_or(OutputShape::Text);
    let stdout = io::stdout();
    let style = Style::of(&stdout);
    let played =
        runtime::Builder::new_current_thread().enable_all().build().map_err(Into::into).and_then(|runtime| {
            let page = Page { out: &mut stdout.lock(), shape, style };
            // A fault that does not strike shows in the comparison; it must not end the demonstration with a panic.
            let gateway = FakeGateway::builder().wall_clock(SystemTime::now).ignore_unfired_faults().build();
            runtime.block_on(async { play(page, Sandbox::builder().gateway(gateway).start().await?).await })
        });
    match played {
        Ok(exit_code) => exit_code,
        Err(error) => {
            // The exit code says it too.
            stderr::write_last(format!("payments: the demonstration could not run to its end: {error}\n"));
            ExitCode::Other
        }
    }
}

async fn play(mut page: Page<'_>, sandbox: Sandbox) -> Result<ExitCode, Box<dyn StdError>> {
    page.opening(&sandbox.base_url())?;
    let transport = HyperTransport::builder().build()?;
    let client = |key: &str| -> Result<Client, payments_core::Error> {
        let endpoint = Endpoint::new(&sandbox.base_url(), ApiKey::new(key)?)?;
        Ok(Client::builder(endpoint, transport.clone(), TokioTimer::new()).build())
    };
    let mut stage = Stage {
        gateway: sandbox.gateway().clone(),
        client: client(&sandbox.api_key())?,
        stranger: client("not_the_key_of_this_sandbox")?,
        page,
        exchanges: Vec::new(),
    };
    stage.play().await?;
    let Stage { mut page, exchanges, .. } = stage;
    let comparison = Comparison::new(exchanges, &sandbox.gateway().ledger());
    page.ledger(&comparison)?;
    sandbox.shutdown().await?;
    Ok(if comparison.agrees() { ExitCode::Processed } else { ExitCode::Other })
}

#[cfg(test)]
mod tests {
    use payments_core::OperationName;
    use payments_fake::Fault;
    use payments_model::{Amount, ConvenienceFee, TokenTransaction};

    use super::*;

    async fn played(sandbox: Sandbox) -> (ExitCode, String) {
        let mut out = Vec::new();
        let page = Page { out: &mut out, shape: OutputShape::Text, style: Style::Plain };
        let exit_code = play(page, sandbox).await.unwrap();
        (exit_code, String::from_utf8(out).unwrap())
    }

    #[tokio::test]
    async fn an_undisturbed_sandbox_and_the_client_agree() {
        let (exit_code, text) = played(Sandbox::start().await.unwrap()).await;
        assert_eq!(exit_code, ExitCode::Processed, "{text}");
        assert!(text.contains("They agree on all 15 calls."), "{text}");
    }

    #[tokio::test]
    async fn a_call_that_ends_otherwise_than_scripted_fails_the_demonstration() {
        let sandbox = Sandbox::start().await.unwrap();
        sandbox.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
        let (exit_code, text) = played(sandbox).await;
        assert_eq!(exit_code, ExitCode::Other, "{text}");
        assert!(text.contains("They disagree on 1 of 15 calls."), "{text}");
    }

    #[tokio::test]
    async fn a_payment_that_no_call_accounts_for_fails_the_demonstration() {
        let sandbox = Sandbox::start().await.unwrap();
        let payment =
            TokenTransaction::builder("tok_approved", Amount::from_cents(1), ConvenienceFee::Inactive);
        sandbox.gateway().client().process_token(&payment.build().unwrap()).await.unwrap();
        let (exit_code, text) = played(sandbox).await;
        assert_eq!(exit_code, ExitCode::Other, "{text}");
        assert!(text.contains("The ledger holds 1 payment that no call accounts for."), "{text}");
    }
}
