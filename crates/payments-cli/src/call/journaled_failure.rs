//! What is said about a charge with a key that failed.

use std::error::Error as StdError;
use std::time::SystemTime;

use payments_core::{NextStep, Outcome};
use payments_journal::{Cause, Error, IntentState, StoreError};

use crate::call::{self, Call, hints};
use crate::failure::{FailedOutcome, FailedResponse, Failure, Sent, Situation};
use crate::intent::IntentNote;
use crate::report::advice::{NEW_ATTEMPT, earlier_call, of_other_service};
use crate::settings::{PrintedCommands, Settings, shell_word};

/// The failure of a call with a key. With an unknown outcome, also what it can be found by. `at` is the start of this call.
pub(crate) fn failed<C: Call>(
    error: &Error,
    call: &C,
    settings: &Settings,
    commands: &PrintedCommands,
    at: SystemTime,
) -> Failure {
    let failure = with_note(error, settings, commands);
    if matches!(failure.situation, Situation::Journal | Situation::OtherService) {
        // Nothing was sent now, and this service knows of nothing that was sent before: there is nothing to search for yet.
        return failure;
    }
    match error.intent().filter(|_| error.outcome() == Outcome::Unknown) {
        // An earlier attempt was sent at another time, maybe with another reference.
        Some(intent) => {
            let reference =
                intent.request.reference.as_deref().map(|text| settings.reference_without_key(text));
            let sent = Sent { amount: intent.request.amount, reference, at: intent.begun_at };
            failure.with_sent(sent)
        }
        None if failure.outcome == FailedOutcome::Unknown => call::with_sent(failure, call, settings, at),
        None => failure,
    }
}

pub(super) fn unreadable(error: &StoreError) -> Failure {
    journal_not_opened(Failure::of_store(error))
}

/// The failure of a call whose journal could not be opened: an earlier call may have paid.
pub(super) fn journal_not_opened(failure: Failure) -> Failure {
    let message = format!("{}; {}", failure.message, earlier_call(&failure));
    let failure = Failure { outcome: FailedOutcome::Unknown, message, ..failure };
    if failure.advice.is_interrupted {
        Failure { kind: "journal".into(), situation: Situation::Journal, ..failure }
    } else {
        failure
    }
}

/// The failure of a call with a key, with hints and the journal's part.
fn with_note(error: &Error, settings: &Settings, commands: &PrintedCommands) -> Failure {
    let (situation, message) = (Situation::of(error), error.to_string());
    let mut failure = match error.cause() {
        Cause::Call(call_error) => hints::failure_saying(call_error, message, settings),
        Cause::Store(store_error) => {
            Failure { outcome: FailedOutcome::Unknown, message, ..Failure::of_store(store_error) }
        }
        _ => Failure { situation, ..without_response(error) },
    };
    failure.note = Some(Box::new(note(error)));
    if let Some(what_happened) = &mut failure.advice.what_happened {
        *what_happened = format!("{}: {what_happened}", error.key());
    }
    let status = failure.response.as_ref().map(|response| response.http_status);
    match (failure.outcome, status.filter(|_| !error.is_decline())) {
        (FailedOutcome::Rejected, Some(status)) => {
            // The service may also say so in the body of a success.
            let status =
                if (400..500).contains(&status) { format!("--status {status} ") } else { String::new() };
            failure.hint(format!(
                "the key stays rejected until a person allows it to be sent again: {}",
                commands.retry(&format!("{status}--key={}", shell_word(error.key().as_str())))
            ))
        }
        (FailedOutcome::Rejected, _) => failure.hint(NEW_ATTEMPT),
        (FailedOutcome::Invalid, _) if situation == Situation::KeyReused => failure.hint(NEW_ATTEMPT),
        _ => match error.cause() {
            Cause::OtherService { recorded: Some(recorded), .. } => {
                failure.hint(of_other_service(recorded, settings.endpoint.service()))
            }
            _ => failure,
        },
    }
}

fn note(error: &Error) -> IntentNote {
    let own_failure = error.source().filter(|_| !matches!(error.cause(), Cause::Call(_)));
    IntentNote {
        key: (!matches!(error.cause(), Cause::SecretInKey)).then(|| error.key().clone()),
        is_recorded: error.is_from_the_journal(),
        may_have_been_sent: own_failure.is_some_and(<dyn StdError>::is::<payments_core::Error>),
        not_recorded: error.write_error().map(|error| format!("{error:#}")),
        ..IntentNote::default()
    }
}

/// A failure that the journal reports without a response to this call.
fn without_response(error: &Error) -> Failure {
    let outcome = FailedOutcome::of(error.outcome(), !error.is_from_the_journal());
    let response =
        match error.intent().map(|intent| &intent.state) {
            Some(
                IntentState::Rejected(kept) | IntentState::NotProcessed(kept) | IntentState::Unknown(kept),
            ) if error.is_from_the_journal() => FailedResponse::recorded(kept),
            _ => None,
        };
    let failure = Failure::new(outcome, error.kind(), error.to_string());
    let mut failure = Failure { response: response.map(Box::new), ..failure };
    failure.advice.next_step = error.next_step();
    let id = failure.advice.next_step.as_ref().and_then(NextStep::transaction_id);
    if let Some(response) = &mut failure.response {
        // The journal keeps one id, which is not the response's if the response named none.
        response.transaction_id.take_if(|kept| Some(&*kept) == id);
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::journaled::tests::{overtaken, payment};
    use crate::report::advice::headline;

    #[tokio::test]
    async fn call_that_was_sent_does_not_say_that_nothing_was_sent_d48() {
        let declined = r#"{"status":"failed","status_code":400,"msg":"no"}"#;
        let (key, client) = overtaken((200, declined), false).await;
        for now in ["this call moved no money", "nothing was sent now"] {
            let error = client.after_rejection(&key).process_token(&payment(200)).await.unwrap_err();
            let failure = Failure {
                situation: Situation::of(&error),
                note: Some(Box::new(note(&error))),
                ..without_response(&error)
            };
            assert!(failure.message.contains(now), "{failure:?}");
            let heading = format!("KEY OF ANOTHER REQUEST, {now}: do not pay it another way");
            assert_eq!(headline(&failure).1, heading);
        }
    }
}
