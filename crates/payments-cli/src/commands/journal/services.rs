//! `payments journal rename-service` and `forget-service`: what a person does with all intents of one service.

use payments_journal::{ServiceError, ServiceIntents, StateName};
use serde::Serialize;
use serde_json::json;

use super::sums::Sums;
use super::{CommandError, READ, summary};
use crate::args::journal::ServiceConfirmation;
use crate::failure::Failure;
use crate::format::{counted, timestamp};
use crate::output::Output;
use crate::settings::{JournalPlace, KnownKeys, OpenFor, PrintedCommands};
use crate::style::for_terminal;

/// Without the count, shows what the change concerns. With it, makes the change.
pub(super) async fn run(
    place: &JournalPlace,
    output: &Output,
    service: &str,
    to: Option<&str>,
    confirmed: &ServiceConfirmation,
) -> Result<(), CommandError> {
    let open_for = if confirmed.count.is_some() { OpenFor::Changing } else { OpenFor::Reading };
    let journal = place.open(open_for).await?;
    let found = journal.intents_of_service(service).await.map_err(|error| failure(&error))?;
    let (Some(count), Some(by)) = (confirmed.count, &confirmed.by) else {
        return write(output, &found, to, None);
    };
    let by = &KnownKeys::in_environment().mask(by);
    let code = code(&found, to);
    if found.intents.count() != count || confirmed.shown.as_ref().is_some_and(|shown| *shown != code) {
        return Err(changed(&found, confirmed).into());
    }
    let changed = match to {
        Some(to) => journal.rename_service(&found, to, by).await,
        None => journal.forget_service(&found, by).await,
    };
    changed.map_err(|error| failure(&error))?;
    write(output, &found, to, Some(by))
}

fn write(
    output: &Output,
    found: &ServiceIntents,
    to: Option<&str>,
    by: Option<&str>,
) -> Result<(), CommandError> {
    let ServiceIntents { service, intents, .. } = found;
    let (what, count) = (if by.is_some() { "done" } else { READ }, intents.count());
    let (states, shown) = (summary::states(intents), code(found, to));
    let document = Document { service, to, count, shown: &shown, states, is_done: by.is_some() };
    super::write(what, output, &document, |_| text(found, to, by, &output.commands))
}

fn text(found: &ServiceIntents, to: Option<&str>, by: Option<&str>, commands: &PrintedCommands) -> String {
    let ServiceIntents { service, intents, .. } = found;
    let (count, code) = (intents.count(), code(found, to));
    let (shown, to) = (for_terminal(service), to.map(for_terminal));
    let lines = summary::lines(intents, &Sums::default());
    let counted = counted(count, "intent");
    // No code makes these change.
    let refused = intents.states.iter().filter(|of| match of.state {
        StateName::Sending => true,
        StateName::Unknown => to.is_none(),
        _ => false,
    });
    let refused: Vec<_> = refused.filter(|of| of.count > 0).collect();
    if by.is_none() && !refused.is_empty() {
        let states: Vec<_> = refused.iter().map(|of| format!("{} {}", of.count, of.state.as_str())).collect();
        let has = |state| refused.iter().any(|of| of.state == state);
        let list = commands.journal("list --unresolved");
        let before = match (has(StateName::Sending), has(StateName::Unknown)) {
            (true, false) => "no payment is being sent: wait until it has ended".to_owned(),
            (true, true) => {
                format!("no payment is being sent and these are resolved: wait, then see `{list}`")
            }
            (false, _) => format!("these are resolved: see `{list}`"),
        };
        return format!(
            "{lines}\nnothing was changed: {shown} has {}, and no key of it can be changed before {before}\n",
            states.join(" and ")
        );
    }
    let end = match (by, &to) {
        (Some(by), Some(to)) => format!("renamed by {by}: {counted} of {shown} to {to}"),
        (Some(by), None) => format!("forgotten by {by}: {counted} of {shown}; their keys are new again"),
        (None, Some(to)) => format!(
            "nothing was changed: to rename {shown} to {to}, add --count {count} --shown {code} --by NAME; calls to {to} then get these \
             outcomes"
        ),
        (None, None) => format!(
            "nothing was changed: to forget {shown}, add --count {count} --shown {code} --by NAME; its keys are then new, and a call \
             with one charges"
        ),
    };
    format!("{lines}\n{end}\n")
}

#[derive(Serialize)]
struct Document<'a> {
    service: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    count: u64,
    shown: &'a str,
    states: Vec<summary::StateObject>,
    #[serde(rename = "done")]
    is_done: bool,
}

/// Of what a person confirms: whether the service is renamed to this name or forgotten, and the count, the sum and the oldest of
/// each state. A key that is rejected when a person looks may be paid a moment later.
fn code(found: &ServiceIntents, to: Option<&str>) -> String {
    let states = found.intents.states.iter();
    let states: Vec<_> = states
        .map(|of| {
            let sum = of.sum.map(|sum| sum.to_string());
            json!([of.state.as_str(), of.count, sum, of.oldest.map(timestamp)])
        })
        .collect();
    let hash = fnv_1a(json!([found.service, to, states]).to_string().as_bytes());
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// The same in every release, against a mistake and not against a person.
fn fnv_1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The person confirmed other counts than those of the journal.
fn changed(found: &ServiceIntents, confirmed: &ServiceConfirmation) -> Failure {
    let ServiceConfirmation { count, shown, by: _ } = confirmed;
    let count = count.map(|count| format!("--count {count}"));
    let shown = shown.as_ref().map(|code| format!("--shown {}", for_terminal(code)));
    let given = count.into_iter().chain(shown).collect::<Vec<_>>().join(" ");
    let now = summary::one_line(&found.intents);
    let service = &found.service;
    let counted = counted(found.intents.count(), "intent");
    Failure::invalid(
        "service_changed",
        format!(
            "{given} is not what this command shows now: {counted} of {service} ({now}); nothing was changed: look at them and \
             decide again"
        ),
    )
}

fn failure(error: &ServiceError) -> CommandError {
    match (error.store_error(), error.changed()) {
        (Some(of_store), _) => Failure::of_store(of_store).with_message(error.to_string()).into(),
        (None, Some(now)) => {
            let now = summary::one_line(&now.intents);
            Failure::invalid("service_changed", format!("{error} ({now})")).into()
        }
        (None, None) => Failure::invalid("service_refused", error.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the authors of the hash.
    #[test]
    fn hash_is_fnv_1a_in_every_release() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv_1a(text.as_bytes()), hash, "{text}");
        }
    }
}
