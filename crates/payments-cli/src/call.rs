//! One call to the service, from its input to its report.

pub(crate) mod admission;
pub(crate) mod hints;
pub(crate) mod journaled;
pub(crate) mod journaled_failure;
pub(crate) mod same_payment;
pub(crate) mod trace;

use std::cell::Cell;
use std::time::SystemTime;

use bytes::Bytes;
use http::Request;
use payments_core::{CallError, Client, ClientBuilder, Endpoint, Facts, NextStep};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_journal::IntentKey;
use payments_model::CustomerId;
use tokio::task::spawn_blocking;

use self::trace::Trace;
use crate::args::ClientOptions;
use crate::failure::{Abandoned, FailedOutcome, Failure, Purpose, Sent};
use crate::intent::IntentNote;
use crate::output::Output;
use crate::process::Interrupt;
use crate::process::run_to_report::{self, catch_panic};
use crate::report::{DryRun, Effect, ExitCode, Processed, Report, advice};
use crate::settings::{PrintedCommands, ReadKeys, Settings};
use crate::stderr;

/// A validated request, ready for a client.
pub(crate) trait Call: Send + 'static {
    const PURPOSE: Purpose;

    /// What identifies a request that moves money.
    fn facts(&self) -> Option<Facts<'_>> {
        None
    }

    /// The id of a void or a lookup.
    fn id(&self) -> Option<&str> {
        None
    }

    /// `Error` for a call that moves money, `LookupError` for a lookup.
    type Error: CallError;

    /// The request that is sent.
    fn http_request(&self, endpoint: &Endpoint) -> Result<Request<Bytes>, Self::Error>;

    /// Sends the request. Polling this future even once may send it.
    async fn send(&self, client: &Client) -> Result<Processed, Self::Error>;
}

/// Resolves the settings, reads the request with `read`, sends it and writes the result.
pub(crate) fn run<C: Call>(
    options: ClientOptions,
    output: &Output,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> ExitCode {
    let call = async |interrupt: &mut Interrupt, has_begun: &Cell<bool>| {
        send(options, &output.commands, interrupt, read, has_begun).await
    };
    run_to_report::run(output, C::PURPOSE, 0, call, |has_begun| match C::PURPOSE {
        Purpose::MoveMoney if has_begun => maybe_sent(Abandoned::Panic, None, None, &output.commands),
        _ => Abandoned::Panic.before_sending(),
    })
}

async fn send<C: Call>(
    options: ClientOptions,
    commands: &PrintedCommands,
    interrupt: &mut Interrupt,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
    has_begun: &Cell<bool>,
) -> Result<Report, Failure> {
    let dry_run = options.dry_run;
    let Prepared { settings, client, call } = Prepared::new(options, interrupt, read).await?;
    if C::PURPOSE == Purpose::MoveMoney {
        settings.require_one_key()?;
    }
    // What a person is to look up cannot be masked.
    if call.id().is_some_and(|id| settings.keys.is_in(id)) {
        return Err(Failure::usage("the id holds the API key; nothing was sent"));
    }
    if dry_run {
        return Ok(Report::DryRun(DryRun::of(call.http_request(&settings.endpoint))?));
    }
    let client = client.build();
    let at = SystemTime::now();
    has_begun.set(true);
    let failure = match interrupt.or_signal(catch_panic(call.send(&client))).await {
        Ok(Some(Ok(processed))) => return check_id(&call, &processed).map(|()| Report::Processed(processed)),
        Ok(Some(Err(error))) => hints::failure(&error, &settings),
        Ok(None) => after_sending(&call, None, Abandoned::Panic, commands),
        Err(signal) => after_sending(&call, None, Abandoned::Signal(signal), commands),
    };
    if failure.outcome != FailedOutcome::Unknown {
        return Err(failure);
    }
    Err(with_sent(failure, &call, &settings, at))
}

/// Everything that a call needs. Nothing has been sent yet.
pub(crate) struct Prepared<C> {
    pub(crate) settings: Settings,
    pub(crate) client: ClientBuilder<HyperTransport, TokioTimer>,
    pub(crate) call: C,
}

impl<C: Send + 'static> Prepared<C> {
    /// Resolves the settings and reads the request.
    pub(crate) async fn new(
        options: ClientOptions,
        interrupt: &mut Interrupt,
        read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
    ) -> Result<Self, Failure> {
        let is_verbose = options.verbose;
        // Reading files or stdin may block, so it happens on another thread and signals are still handled.
        let prepared = spawn_blocking(move || {
            let settings = Settings::with_keys(&options, ReadKeys::of(&options))?;
            if let Some(warning) = &settings.warning {
                stderr::warn(warning);
            }
            if is_verbose {
                trace::settings(&settings);
            }
            let call = read()?;
            Ok::<_, Failure>((settings.client()?, settings, call))
        });
        let prepared = async { prepared.await.unwrap_or_else(|_| Err(Abandoned::Panic.before_sending())) };
        let (client, settings, call) = interrupt.unless_arrived(prepared).await?;
        if let Some(signal) = interrupt.has_arrived().await {
            return Err(Abandoned::Signal(signal).before_sending());
        }
        let client = if is_verbose { client.observer(Trace) } else { client };
        Ok(Self { settings, client, call })
    }
}

/// Refuses the record of another transaction or customer: what it shows is not true of the one that was asked for.
fn check_id(call: &impl Call, processed: &Processed) -> Result<(), Failure> {
    let (what, found) = match &processed.effect {
        Effect::FoundTransaction(id) => ("transaction", Some(id.as_str())),
        Effect::FoundCustomer(id) => ("customer", id.as_ref().map(CustomerId::as_str)),
        Effect::Moved(_) => return Ok(()),
    };
    let (Some(id), Some(found)) = (call.id(), found.filter(|found| Some(*found) != call.id())) else {
        return Ok(());
    };
    let message = format!("the record belongs to another {what}: requested {id}, received {found}");
    let mut failure = Failure::not_processed("unclear_answer", message);
    failure.advice.needs_a_fix = true;
    Err(failure)
}

/// Adds what a call with an unknown outcome can be found by.
pub(crate) fn with_sent<C: Call>(failure: Failure, call: &C, settings: &Settings, at: SystemTime) -> Failure {
    let Some(facts) = call.facts() else { return failure };
    let reference = facts.reference.map(|text| settings.reference_without_key(text));
    let mut failure = failure.with_sent(Sent { amount: facts.amount, reference, at });
    failure.advice.next_step.get_or_insert_with(|| facts.next_step());
    failure
}

/// The failure of a call, maybe with a key, that was abandoned after the request may have been sent.
pub(crate) fn after_sending<C: Call>(
    call: &C,
    key: Option<&IntentKey>,
    why: Abandoned,
    commands: &PrintedCommands,
) -> Failure {
    match C::PURPOSE {
        Purpose::MoveMoney => maybe_sent(why, call.facts(), key, commands),
        Purpose::FindTransaction | Purpose::FindCustomer | Purpose::KeepJournal => {
            why.harmless("; a lookup moves no money: it is safe to run it again")
        }
    }
}

/// The same of a request that moves money. `facts` are those of the request, if they are known.
pub(crate) fn maybe_sent(
    why: Abandoned,
    facts: Option<Facts<'_>>,
    key: Option<&IntentKey>,
    commands: &PrintedCommands,
) -> Failure {
    let what = format!(
        "{why} after the request may have been sent; the outcome is unknown, it may have been processed"
    );
    let step = facts.map_or_else(|| NextStep::new(None, "time"), |facts| facts.next_step());
    let message = format!("{what}: {}", advice::not_again(key.is_some(), &step, commands));
    let mut failure = why.failure(FailedOutcome::Unknown, message);
    failure.advice.what_happened = Some(what);
    failure.note = key.map(|key| Box::new(IntentNote { key: Some(key.clone()), ..IntentNote::default() }));
    failure
}

#[cfg(test)]
mod tests {
    use payments_core::Error;

    use super::*;

    /// A payment that is never sent. Everything that is asked of it meets a bug; facts only if it has some.
    struct Buggy {
        has_facts: bool,
    }

    impl Call for Buggy {
        type Error = Error;

        const PURPOSE: Purpose = Purpose::MoveMoney;

        fn facts(&self) -> Option<Facts<'_>> {
            assert!(!self.has_facts, "a bug");
            None
        }

        fn http_request(&self, _endpoint: &Endpoint) -> Result<Request<Bytes>, Error> {
            unreachable!("a bug")
        }

        async fn send(&self, _client: &Client) -> Result<Processed, Error> {
            unreachable!("a bug")
        }
    }

    const BUGGY: Buggy = Buggy { has_facts: true };

    impl journaled::Charge for Buggy {
        fn request(&self) -> payments_journal::IntentRequest {
            unreachable!("a bug")
        }

        async fn send_with(
            &self,
            _attempt: &journaled::Attempt<'_>,
        ) -> Result<Processed, payments_journal::Error> {
            unreachable!("a bug")
        }
    }

    #[test]
    fn panic_of_a_single_charge_is_unknown_only_after_it_may_have_been_sent_d54() {
        use clap::Parser as _;

        use crate::args::journal::IntentOptions;
        use crate::args::{Arguments, Command, Payment, TokenTransactionCommand};

        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        std::fs::write(path("key"), "sk_canary").expect("it is writable");
        let given = |more: &[&str]| -> (ClientOptions, IntentOptions) {
            let key_file = ["--api-key-file".to_owned(), path("key")];
            let line = "payments token-transaction create --file - --base-url http://127.0.0.1:1".split(' ');
            let line = line.chain(more.iter().copied()).map(str::to_owned).chain(key_file);
            let Arguments { global, command } = Arguments::try_parse_from(line).expect("a good line");
            match command {
                Command::TokenTransaction(TokenTransactionCommand::Create(Payment { intent, .. })) => {
                    (global.client, intent)
                }
                _ => unreachable!("another command was given"),
            }
        };
        let output = &Output::choose(None, PrintedCommands::default());
        // In the call itself, and in the report of an unknown outcome.
        let (options, _) = given(&[]);
        assert_eq!(run(options, output, || Ok(BUGGY)), ExitCode::Unknown);
        // Before anything was sent.
        let (options, _) = given(&[]);
        assert_eq!(run::<Buggy>(options, output, || unreachable!("a bug")), ExitCode::NotProcessed);

        let journal = path("journal.db");
        let line = ["--journal", &journal, "--key", "invoice-17"];
        let (options, intent) = given(&line);
        assert_eq!(journaled::run(options, output, &intent, || Ok(BUGGY)), ExitCode::Unknown);
        let (options, intent) = given(&line);
        let ended = journaled::run::<Buggy>(options, output, &intent, || unreachable!("a bug"));
        assert_eq!(ended, ExitCode::NotProcessed);
    }

    const SIGNAL: Abandoned = Abandoned::Signal("SIGINT");

    #[test]
    fn message_and_headline_give_the_same_advice() {
        let (key, commands) = (IntentKey::new("invoice-17").expect("a key"), PrintedCommands::default());
        for key in [None, Some(&key)] {
            for failure in [
                after_sending(&Buggy { has_facts: false }, key, SIGNAL, &commands),
                maybe_sent(Abandoned::Panic, None, key, &commands),
            ] {
                let (_, headline) = advice::headline(&failure);
                for (advice, is_for_a_key) in [
                    ("do not run it again", false),
                    ("do not pay it another way", true),
                    (", then resolve the key", true),
                ] {
                    let is_given = is_for_a_key == key.is_some();
                    let given = (failure.message.contains(advice), headline.contains(advice));
                    assert_eq!(given, (is_given, is_given), "{advice}: {failure:?}");
                }
            }
        }
    }
}
