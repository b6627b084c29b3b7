//! What a person does next: the headline of every failure, and the clauses that other texts share, with commands ready to paste.

use payments_core::NextStep;
use payments_journal::{Intent, IntentState, Verdict};
use payments_model::TransactionId;

use crate::failure::{Done, FailedOutcome, Failure, Purpose, Situation};
use crate::report::exit_code::ExitCode;
use crate::service::Service;
use crate::settings::{PrintedCommands, shell_word};
use crate::style::Tone;

/// What happened and what to do, in one line.
pub(crate) fn headline(failure: &Failure) -> (Tone, String) {
    use FailedOutcome::{Invalid, NotProcessed, Rejected, Unknown};
    use Purpose::{FindCustomer, FindTransaction, KeepJournal, MoveMoney};
    use Situation::{InProgress, Journal, KeyReused, NoJournal, NotFound, OtherService, Plain, Report};

    let needs_a_fix = failure.advice.needs_a_fix;
    let is_recorded = failure.note.as_ref().is_some_and(|note| note.is_recorded);
    let now = || failure.note.as_ref().map_or("nothing was sent now", |note| note.now());
    let tone = match (failure.outcome, failure.advice.purpose) {
        (Unknown, _) | (NotProcessed | Rejected, FindTransaction) | (NotProcessed, FindCustomer) => {
            Tone::Warning
        }
        _ => Tone::Error,
    };
    let heading = match (failure.outcome, failure.advice.purpose, failure.situation) {
        // What is compared with it never changes.
        (Invalid, KeepJournal, Report) => "INVALID REPORT",
        (NotProcessed, KeepJournal, _) if failure.advice.done == Done::InDoubt => {
            "MAY BE DONE: look at it before you run it again"
        }
        (Invalid | NotProcessed, KeepJournal, _) if failure.advice.done != Done::Nothing => {
            "PARTLY DONE, it is safe to run it again"
        }
        (Invalid, KeepJournal, _) => "INVALID, nothing was changed",
        (NotProcessed, KeepJournal, _) if needs_a_fix => {
            "NOT DONE, and it will fail again until the cause is fixed"
        }
        (NotProcessed, KeepJournal, _) => "NOT DONE, it is safe to run it again",
        // Without the journal it is not known whether an earlier call has sent the key.
        (Invalid, _, Journal) => "JOURNAL REFUSED, nothing was sent now",
        (NotProcessed, MoveMoney, Journal) => "NOT SENT NOW, it is safe to run the same command again",
        (Invalid, _, _) => "INVALID, nothing was sent",
        (Rejected, MoveMoney, _) if is_recorded => "REJECTED EARLIER, nothing was sent now",
        (Unknown, _, InProgress) => {
            let heading = format!("IN PROGRESS elsewhere, {}: check the journal again later", now());
            return (tone, heading);
        }
        (Unknown, _, Journal) if needs_a_fix => {
            "NOT SENT NOW, and the journal cannot tell whether an earlier call has paid: it will fail again until the cause is fixed"
        }
        (Unknown, _, Journal) => {
            "NOT SENT NOW, and the journal cannot tell whether an earlier call has paid: run it again with the same key"
        }
        (Unknown, _, KeyReused) => {
            return (tone, format!("KEY OF ANOTHER REQUEST, {}: do not pay it another way", now()));
        }
        (Unknown, _, OtherService) => {
            let heading = format!("KEY OF ANOTHER SERVICE, {}: check base URL, merchant and journal", now());
            return (tone, heading);
        }
        (NotProcessed, MoveMoney, _) if needs_a_fix => {
            "NOT PROCESSED, it is safe to run it again, but it will fail again until the cause is fixed"
        }
        (NotProcessed, FindTransaction, _) if needs_a_fix => {
            "NOT LOOKED UP, which says nothing about the payment; it will fail again until the cause is fixed"
        }
        (NotProcessed, FindCustomer, _) if needs_a_fix => {
            "NOT LOOKED UP, and it will fail again until the cause is fixed"
        }
        (NotProcessed, MoveMoney, _) => "NOT PROCESSED, it is safe to run it again",
        (NotProcessed, FindTransaction, _) => {
            "NOT LOOKED UP, which says nothing about the payment; it is safe to run it again"
        }
        (NotProcessed, FindCustomer, _) => "NOT LOOKED UP, it is safe to run it again",
        // The hints say how the key is sent again.
        (Rejected, MoveMoney, _) if failure.note.is_some() => "REJECTED: fix the cause first",
        (Rejected, MoveMoney, _) => "REJECTED: fix the cause, then send a new request",
        // A proxy's 404 has another kind, because it says nothing about the service's records.
        // A payment that is still in flight cannot be found yet.
        (Rejected, FindTransaction, NotFound) => {
            "NOT FOUND, which does not prove that nothing was or will be charged"
        }
        (Rejected, _, NotFound) => "NOT FOUND",
        (Rejected, FindTransaction, _) => "LOOKUP REJECTED, which says nothing about the payment",
        (Rejected, FindCustomer | KeepJournal, _) => "LOOKUP REJECTED",
        (Unknown, _, NoJournal) => {
            "NOT SENT NOW, and without its journal nothing tells whether an earlier call has paid: find it"
        }
        (Unknown, _, Plain | NotFound | Report) => {
            let has_key = failure.note.is_some();
            let next_step = match &failure.advice.next_step {
                // The command is below.
                Some(NextStep::LookUp(_)) => "look it up".to_owned(),
                Some(NextStep::Reconcile { by, .. }) => reconcile_by(by),
                None => "reconcile it with the service".to_owned(),
            };
            let next_step = and_resolve(has_key, next_step);
            return (tone, format!("OUTCOME UNKNOWN, {}: {next_step}", do_not(has_key)));
        }
    };
    (tone, heading.to_owned())
}

/// What nobody may do while an outcome is unknown, and what to do instead, as the end of a message.
pub(crate) fn not_again(has_key: bool, step: &NextStep, commands: &PrintedCommands) -> String {
    format!("{}, {}", do_not(has_key), after_unknown(has_key, step, commands))
}

/// With a key, running the same command again is harmless: the journal does not send it twice.
const fn do_not(has_key: bool) -> &'static str {
    if has_key { "do not pay it another way" } else { "do not run it again" }
}

/// What to do about an unknown outcome. With a key, also that the journal must learn what was found out.
pub(crate) fn after_unknown(has_key: bool, step: &NextStep, commands: &PrintedCommands) -> String {
    let next_step = match step {
        NextStep::LookUp(id) => format!("look it up: {}", commands.look_up(id)),
        NextStep::Reconcile { by, .. } => reconcile_by(by),
    };
    and_resolve(has_key, next_step)
}

fn and_resolve(has_key: bool, next_step: String) -> String {
    if has_key { format!("{next_step}, then resolve the key") } else { next_step }
}

/// An id that a lookup refuses must not look like part of a command.
fn reconcile_by(by: &str) -> String {
    format!("reconcile by {by}")
}

/// The end of a message about a call whose journal could not be opened: an earlier call may have paid.
pub(crate) const fn earlier_call(failure: &Failure) -> &'static str {
    match failure.situation {
        // The message about the signal already says that nothing was sent.
        _ if failure.advice.is_interrupted => {
            "an earlier call with this key may have paid: if so, the same command shows its result and sends nothing"
        }
        Situation::NoJournal => "an earlier call with this key may have paid: do not pay it another way",
        _ if failure.advice.needs_a_fix => {
            "nothing was sent now: an earlier call with this key may have paid, so do not pay it another way; it fails again until \
             that is fixed"
        }
        _ => {
            "nothing was sent now: an earlier call with this key may have paid, so run the same command again when the \
             journal is available"
        }
    }
}

/// The same of a run: it sent nothing, but only the journal knows what earlier runs have sent.
pub(crate) const EARLIER_RUNS: &str =
    "earlier runs may have paid rows of this file: do not pay them another way";

/// A run panicked, and has no summary.
pub(crate) fn run_lost(commands: &PrintedCommands) -> String {
    format!(
        "internal error after charges may have been sent; their outcomes may be unknown: do not pay them another way, see `{}`, then \
         run the same command again",
        commands.journal("list --unresolved")
    )
}

/// What sends a rejected key again.
pub(crate) const NEW_ATTEMPT: &str = "to make a new attempt with this key, give --after-rejection";

/// What to do about a key of another service.
pub(crate) fn of_other_service(recorded: &str, called: &str) -> String {
    let recorded = Service::of(recorded);
    if recorded.base_url == Service::of(called).base_url {
        let merchant = match recorded.merchant {
            Some(label) => format!("give --merchant {}", shell_word(label)),
            None => "leave --merchant and PAYMENTS_MERCHANT out".to_owned(),
        };
        return format!("only the merchant differs: if it is a payment of the key's merchant, {merchant}");
    }
    "if it is the same service under another name, or a mistake that moved no money: payments journal rename-service OLD NEW"
        .to_owned()
}

/// What to do about an intent, or what may happen next.
pub(crate) fn about(intent: &Intent, commands: &PrintedCommands) -> Option<String> {
    let others: Vec<_> = intent.second_charges().map(TransactionId::as_str).collect();
    if !others.is_empty() {
        return Some(format!(
            "compare it with transaction {}, which an earlier attempt was processed as: if both were charged, undo one; \
             this key is not sent again",
            others.join(" and ")
        ));
    }
    match &intent.state {
        IntentState::Sending => {
            Some("wait until it ends: the process that is sending it is alive".to_owned())
        }
        IntentState::Unknown(_) => Some(after_unknown(true, &intent.next_step(), commands)),
        IntentState::NotProcessed(_) => Some("the key may be sent again".to_owned()),
        IntentState::Resolved { resolution, .. } if resolution.verdict == Verdict::NotProcessed => {
            Some("the key may be sent again: if it was processed after all, somebody pays twice".to_owned())
        }
        _ => None,
    }
}

/// The warning about an intent of which several attempts may have been charged.
pub(crate) fn second_charge(intent: &Intent) -> Option<String> {
    let others: Vec<_> = intent.second_charges().map(TransactionId::as_str).collect();
    let newest = match intent.processed_as() {
        Some(id) => format!("and also as {id}"),
        None => "and the outcome of its newest attempt is open".to_owned(),
    };
    (!others.is_empty()).then(|| {
        format!(
            "POSSIBLE SECOND CHARGE of {}: it was processed as {}, {newest} (exit code {}); the key is never sent again: \
             compare them with the service's records, and undo what was charged twice",
            intent.key,
            others.join(" and "),
            ExitCode::SecondCharge.number()
        )
    })
}

#[cfg(test)]
mod tests {
    use payments_journal::StoreError;

    use super::*;

    #[test]
    fn lookup_command_does_not_take_its_id_for_an_option() {
        let commands = PrintedCommands::default();
        let step =
            |text| after_unknown(false, &NextStep::LookUp(TransactionId::new(text).unwrap()), &commands);
        assert_eq!(step("txn_1"), "look it up: payments transaction get txn_1");
        assert_eq!(step("--output=json"), "look it up: payments transaction get -- --output=json");
        assert_eq!(
            after_unknown(false, &NextStep::new(None, "token and time"), &commands),
            "reconcile by token and time"
        );
    }

    #[test]
    fn write_that_may_have_been_done_is_looked_at_before_it_is_repeated() {
        let of_store =
            |error: &StoreError| headline(&Failure::of_store(error).for_purpose(Purpose::KeepJournal)).1;
        assert_eq!(
            [StoreError::in_doubt("text"), StoreError::unavailable("text")].map(|error| of_store(&error)),
            ["MAY BE DONE: look at it before you run it again", "NOT DONE, it is safe to run it again"]
        );
    }
}
