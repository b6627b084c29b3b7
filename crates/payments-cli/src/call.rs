//! One call of the service, from its input to its report.

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use payments_core::{Client, Error};
use payments_model::TransactionId;
use tokio::runtime;
use tokio::task::spawn_blocking;

use crate::args::GlobalOptions;
use crate::exit_code::ExitCode;
use crate::failure::{FailedOutcome, Failure};
use crate::interrupt::Interrupt;
use crate::next_step;
use crate::output::Output;
use crate::processed::Processed;
use crate::purpose::Purpose;
use crate::report::Report;
use crate::settings::Settings;

/// A checked request that only needs a client.
pub(crate) trait Call: Send + 'static {
    const PURPOSE: Purpose;

    /// The transaction that the request itself names.
    fn transaction(&self) -> Option<&TransactionId> {
        None
    }

    /// Sends it. What this is polled once may reach the service.
    async fn send(&self, client: &Client) -> Result<Processed, Error>;
}

/// Resolves the settings, reads the request with `read`, sends it and writes how it ended.
pub(crate) fn run<C: Call>(
    options: GlobalOptions,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> ExitCode {
    let output = Output::choose(options.output);
    let ended = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let ended = runtime.block_on(end(options, read));
            // A thread that still waits for stdin must not keep an interrupted command alive.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(cannot_start(&error)),
    };
    output.write(&match ended {
        Ok(processed) => Report::Processed(processed),
        Err(failure) => failure.of_a(C::PURPOSE).into(),
    })
}

async fn end<C: Call>(
    options: GlobalOptions,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> Result<Processed, Failure> {
    let mut interrupt = Interrupt::install().map_err(|error| cannot_start(&error))?;
    // Files and stdin may block for as long as they like, so a thread reads them and the signals stay heard.
    let prepared = spawn_blocking(move || {
        let settings = Settings::resolve(&options.client)?;
        let call = read()?;
        let key_source = settings.key_source();
        Ok::<_, Failure>((settings.client()?, call, key_source))
    });
    let (client, call, key_source) = tokio::select! {
        biased;
        prepared = prepared => prepared.unwrap_or_else(|_| {
            Err(Failure::not_processed("internal", "internal error; nothing was sent"))
        })?,
        signal = interrupt.arrived() => return Err(before_sending(signal)),
    };
    if let Some(signal) = interrupt.has_arrived().await {
        return Err(before_sending(signal));
    }
    let failure = tokio::select! {
        biased;
        ended = contained(call.send(&client)) => match ended {
            Some(Ok(processed)) => return Ok(processed),
            Some(Err(error)) if error.is_unauthorized() => Failure::from(error).hint(key_source.hint()),
            Some(Err(error)) => Failure::from(error),
            None => after_sending(&call, "internal", "internal error"),
        },
        signal = interrupt.arrived() => after_sending(&call, "interrupted", &format!("interrupted by {signal}")),
    };
    Err(match call.transaction() {
        Some(id) if failure.outcome == FailedOutcome::Unknown => failure.look_up_next(id),
        _ => failure,
    })
}

/// `None` if the future panics: even then the caller must say that the request may have been sent.
async fn contained<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(poll) => poll.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::not_processed("internal", "this process cannot wait for sockets and signals; nothing was sent")
        .because(error)
}

fn before_sending(signal: &str) -> Failure {
    let message = format!("interrupted by {signal} before anything was sent; it is safe to run it again");
    Failure::not_processed("interrupted", message)
}

/// What is left to say of a call that was given up after it may have left this process.
fn after_sending<C: Call>(call: &C, kind: &'static str, what: &str) -> Failure {
    match C::PURPOSE {
        Purpose::MoveMoney => {
            let next_step = next_step::after_unknown(call.transaction());
            Failure::unknown(
                kind,
                format!(
                    "{what} after the request may have been sent; the outcome is unknown, \
                     it may have been processed: do not run it again, {next_step}"
                ),
            )
        }
        Purpose::FindTransaction | Purpose::FindCustomer => Failure::not_processed(
            kind,
            format!("{what}; a look-up moves nothing: it is safe to run it again"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_of_the_call_is_no_result_and_no_end_of_the_process() {
        assert_eq!(contained(async { 7 }).await, Some(7));
        assert_eq!(contained(async { std::iter::empty::<u8>().next().expect("a defect") }).await, None);
    }

    struct Look;

    impl Call for Look {
        const PURPOSE: Purpose = Purpose::FindTransaction;

        async fn send(&self, _client: &Client) -> Result<Processed, Error> {
            unreachable!("it is never sent")
        }
    }

    struct Pay;

    impl Call for Pay {
        const PURPOSE: Purpose = Purpose::MoveMoney;

        async fn send(&self, _client: &Client) -> Result<Processed, Error> {
            unreachable!("it is never sent")
        }
    }

    #[test]
    fn a_call_given_up_is_unknown_only_if_it_moves_money() {
        assert_eq!(before_sending("SIGINT").exit_code(), ExitCode::NotProcessed);
        assert_eq!(after_sending(&Look, "interrupted", "x").exit_code(), ExitCode::NotProcessed);
        assert_eq!(after_sending(&Pay, "interrupted", "x").exit_code(), ExitCode::Unknown);
    }
}
