//! A charge with a key, which a journal lets be sent at most once.

use std::borrow::Cow;
use std::pin::pin;
use std::time::SystemTime;

use payments_core::Outcome;
use payments_journal::{Error, IntentKey, IntentState, JournaledClient};
use tokio::time::timeout;

use crate::args::journal::IntentOptions;
use crate::args::{ClientOptions, GlobalOptions};
use crate::call::{self, Call, Prepared};
use crate::exit_code::ExitCode;
use crate::failure::{FailedAnswer, FailedOutcome, Failure, Purpose, Sent};
use crate::journal_place::{JOURNAL, JournalPlace, LONGEST_CLOSING, store_failure};
use crate::output::{self, Output};
use crate::rehearsal::Rehearsal;
use crate::report::{IntentNote, Processed, Report};
use crate::settings::Settings;
use crate::stderr;
use crate::trace::Trace;

/// A call that a journal can keep.
pub(crate) trait Charge: Call {
    /// Sends it, if the journal allows it.
    async fn send_with(
        &self,
        client: &JournaledClient,
        key: &IntentKey,
        attempt: Attempt,
    ) -> Result<Processed, Error>;
}

/// What the journal is asked to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// At most one for the key.
    Only,
    /// One more, with a key that was rejected.
    AfterRejection,
}

/// As [`call::run`], through a journal if the options name one.
pub(crate) fn run<C: Charge>(
    options: GlobalOptions,
    intent: IntentOptions,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> ExitCode {
    let intent = match intent.resolve() {
        Ok(Some(intent)) => intent,
        Ok(None) => return call::run(options, read),
        Err(failure) => return Output::choose(options.output).write(&Report::from(failure)),
    };
    let output = Output::choose(options.output);
    let ended = call::block_on(async {
        let ended = end(options.client, output, &intent, read).await;
        let closing = intent.place.start_closing();
        let is_given_up = matches!(&ended, Err(failure) if *failure.kind == *INTERRUPTED);
        if !is_given_up {
            let _ = timeout(LONGEST_CLOSING, closing).await;
        }
        ended
    });
    let ended = ended.and_then(|ended| ended);
    output::finish(output, ended.unwrap_or_else(|failure| failure.of_a(C::PURPOSE).into()))
}

/// Where a charge is written down, and under which name.
struct Intention {
    place: JournalPlace,
    key: IntentKey,
    attempt: Attempt,
}

impl IntentOptions {
    /// A key without a journal, or a journal without a key, is refused: whoever gives one of them counts on both.
    fn resolve(self) -> Result<Option<Intention>, Failure> {
        let refused = |message: String| Err(Failure::invalid("usage", message));
        match (JournalPlace::find(self.journal.as_deref(), Purpose::MoveMoney)?, self.key) {
            (Some(place), Some(key)) => {
                let attempt = if self.after_rejection { Attempt::AfterRejection } else { Attempt::Only };
                Ok(Some(Intention { place, key, attempt }))
            }
            (None, None) => Ok(None),
            (None, Some(_)) => refused(format!(
                "--key needs a journal; nothing was sent: give --journal PLACE or set {JOURNAL}"
            )),
            (Some(_), None) if self.journal.is_some() => refused(
                "--journal needs --key; nothing was sent: give your own name for what is being paid, such as an \
                 invoice number"
                    .to_owned(),
            ),
            (Some(_), None) => refused(format!(
                "{JOURNAL} names a journal and --key is missing; nothing was sent: give --key KEY, or unset the variable \
                 for a charge that is in no journal"
            )),
        }
    }
}

async fn end<C: Charge>(
    options: ClientOptions,
    output: Output,
    Intention { place, key, attempt }: &Intention,
    read: impl FnOnce() -> Result<C, Failure> + Send + 'static,
) -> Result<Report, Failure> {
    let ClientOptions { dry_run, verbose, .. } = options;
    let prepared = Prepared::new(options, output, |client, _| client, read).await?;
    let Prepared { settings, client, call, mut interrupt } = prepared;
    output.warn(&place.warnings());
    if verbose {
        Trace::to_stderr().journal(place);
    }
    if dry_run {
        return Ok(Report::Rehearsed(Rehearsal::of(&call, &settings).await?));
    }
    let journal = interrupt.unless_arrived(place.open()).await.map_err(unread)?;
    let client = JournaledClient::new(client, journal);
    let at = SystemTime::now();
    let mut sending = pin!(call.send_with(&client, key, *attempt));
    let report = |ended: Result<Processed, Error>| {
        ended.map(Report::Processed).map_err(|error| failed(&error, &call, &settings, at))
    };
    let signal = tokio::select! {
        biased;
        ended = &mut sending => return report(ended),
        signal = interrupt.arrived() => signal,
    };
    stderr::write(format!(
        "{signal}: waiting for the answer, so that the journal learns it; once more ends at once\n"
    ));
    tokio::select! {
        biased;
        ended = sending => report(ended),
        signal = interrupt.arrived() => {
            let what = format!("interrupted by {signal}");
            let failure = call::after_sending(&call, INTERRUPTED, &what);
            let message =
                format!("{}; the key stays listed in the journal until a person resolves it", failure.message);
            let note = IntentNote { key: Some(key.clone()), is_recorded: false, not_recorded: None, same_transaction_as: None };
            let failure = Failure { message, ..failure }.noted(note);
            Err(with_what_was_sent(failure, &call, &settings, at))
        }
    }
}

/// The failure of a call whose journal was not opened. An earlier call may have paid, which this one cannot see.
fn unread(failure: Failure) -> Failure {
    let is_interrupted = *failure.kind == *INTERRUPTED;
    // The message of an interruption already says that nothing was sent.
    let advice = if is_interrupted {
        "an earlier call with this key may have paid: the same command then shows its result and sends nothing"
    } else {
        "nothing was sent now: an earlier call with this key may have paid, so run the same command again when the \
         journal is back"
    };
    let message = format!("{}; {advice}", failure.message);
    let kind = if is_interrupted { "journal".into() } else { failure.kind };
    Failure { outcome: FailedOutcome::Unknown, kind, message, ..failure }
}

/// The kind of what a signal ended.
const INTERRUPTED: &str = "interrupted";

/// How a call with a key failed, and of an unknown outcome what it can be found by. `at` is when this call began.
pub(crate) fn failed<C: Call>(error: &Error, call: &C, settings: &Settings, at: SystemTime) -> Failure {
    let failure = failure(error, settings);
    if error.is_journal() {
        // Nothing was sent now, and nobody knows what was sent before: there is nothing to search for yet.
        return failure;
    }
    match error.intent().filter(|_| error.outcome() == Outcome::Unknown) {
        // An earlier attempt was sent at another time, with what may have been another reference.
        Some(intent) => {
            let reference = intent.request.reference.as_deref().map(|text| settings.without_key(text));
            let sent = Sent { amount: intent.request.amount, reference, at: intent.begun_at };
            failure.of_what_was_sent(sent).searched_by(intent.request.search_by())
        }
        None => with_what_was_sent(failure, call, settings, at),
    }
}

fn with_what_was_sent<C: Call>(failure: Failure, call: &C, settings: &Settings, at: SystemTime) -> Failure {
    if failure.outcome == FailedOutcome::Unknown {
        call::of_what_was_sent(failure, call, settings, at)
    } else {
        failure
    }
}

/// The failure of a call with a key, with the setting that may be to blame.
fn failure(error: &Error, settings: &Settings) -> Failure {
    let failure = match (error.call_error(), error.store_error()) {
        (Some(call_error), _) => call::refused(call_error, settings),
        (None, Some(store_error)) => {
            Failure { outcome: FailedOutcome::Unknown, ..store_failure(store_error) }
        }
        (None, None) => without_answer(error),
    };
    let note = IntentNote {
        key: (error.kind() != "secret_in_key").then(|| error.key().clone()),
        is_recorded: error.is_recorded(),
        not_recorded: error.not_recorded().map(|error| format!("{error:#}")),
        same_transaction_as: None,
    };
    let failure = Failure { message: error.to_string(), ..failure }.noted(note);
    let status = failure.answer.as_ref().map(|answer| answer.http_status);
    match (failure.outcome, status) {
        (FailedOutcome::Rejected, Some(status @ (401 | 403 | 429))) => failure.hint(format!(
            "the key stays rejected until a person lets it be sent again: \
             payments journal retry --status {status} --key={}",
            shell_word(error.key().as_str())
        )),
        (FailedOutcome::Rejected, _) => failure.hint(NEW_ATTEMPT),
        (FailedOutcome::Invalid, _) if error.is_key_reused() => failure.hint(NEW_ATTEMPT),
        _ => failure,
    }
}

/// A key is visible ASCII, some of which means something to a shell.
fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@+=,%".contains(&byte);
    if text.bytes().all(is_plain) { text.into() } else { format!("'{}'", text.replace('\'', r"'\''")).into() }
}

const NEW_ATTEMPT: &str = "for a new attempt with this key, give --after-rejection";

/// What the journal itself says, without any answer of the service to this call.
fn without_answer(error: &Error) -> Failure {
    let kind = error.kind().to_owned();
    let failure = match error.outcome() {
        Outcome::NotProcessed if !error.is_recorded() => Failure::invalid(kind, String::new()),
        Outcome::NotProcessed => Failure::not_processed(kind, String::new()),
        Outcome::Rejected => Failure::rejected(kind, String::new()),
        Outcome::Unknown => Failure::unknown(kind, String::new()),
    };
    let answer =
        match error.intent().map(|intent| &intent.state) {
            Some(
                IntentState::Rejected(kept) | IntentState::NotProcessed(kept) | IntentState::Unknown(kept),
            ) if error.is_recorded() => FailedAnswer::of_kept(kept),
            _ => None,
        };
    let failure = Failure { answer: answer.map(Box::new), ..failure };
    match error.transaction_id() {
        Some(id) if failure.outcome == FailedOutcome::Unknown && id.path_segment().is_ok() => {
            failure.look_up_next(id)
        }
        _ => failure,
    }
}
