//! A trace in plain English, one line for each step.

use std::fmt::Write;

use crate::model::{Model, Protocol, Reply, Step};
use crate::rows::{Finding, How};
use crate::rules::Broken;
use crate::state::{Key, State};

/// Describes how the rule was broken. The path has canonical states without the names of senders and keys, so its steps are
/// taken again from the start to find the names.
pub(crate) fn describe<const K: usize, const S: usize>(
    model: &Model<K, S>,
    path: &[State<K, S>],
    rule: Broken,
) -> String {
    let mut trace = String::new();
    let mut state = path[0];
    let mut number = 0;
    let mut add_step = |step, before: &State<K, S>, after: Option<&State<K, S>>| {
        number += 1;
        writeln!(trace, "{number:2}. {}", sentence(model, step, before, after)).unwrap();
    };
    for canonical in &path[1..] {
        let mut steps = model.steps(state);
        let is_it = |next: &State<K, S>| next.canonical() == *canonical;
        let (step, next) = steps
            .find_map(|(step, next)| Some((step, next.ok().filter(is_it)?)))
            .expect("the same steps are possible under other names");
        add_step(step, &state, Some(&next));
        state = next;
    }
    if let Some((step, _)) = model.steps(state).find(|(_, next)| *next == Err(rule)) {
        add_step(step, &state, None);
    }
    writeln!(trace, "    BROKEN: {}", rule.rule()).unwrap();
    trace
}

fn sentence<const K: usize, const S: usize>(
    model: &Model<K, S>,
    step: Step,
    before: &State<K, S>,
    after: Option<&State<K, S>>,
) -> String {
    let text = match step {
        Step::Begin { sender, key, is_after_rejection, is_same_request, reply } => {
            let of = if K == 1 { String::new() } else { format!(" of {}", name_of_key::<K>(key)) };
            let what = match (is_after_rejection, is_same_request) {
                (false, true) => format!("the intent{of}"),
                (false, false) => format!("another request{of}"),
                (true, true) => format!("a new attempt{of} that its caller asks for"),
                (true, false) => format!("a new attempt{of} with another request that its caller asks for"),
            };
            let writes = if reply == Reply::Arrives { "writes" } else { "tries to write" };
            let then = match reply {
                Reply::Arrives => "",
                _ if model.protocol == Protocol::SendsAfterALostReply => {
                    "; the database's reply is lost, and it goes on"
                }
                _ => "; the database's reply is lost, so it sends nothing and keeps a withdrawal",
            };
            format!("sender {} {writes} down {what}{then}", letter(sender))
        }
        Step::SendNothing { sender } => {
            format!("sender {}'s caller leaves, or no connection is opened: nothing is sent", letter(sender))
        }
        Step::Send { sender } => format!("sender {} sends the request", letter(sender)),
        Step::Charge { key } => format!("the service charges {}", name_of_key::<K>(key)),
        Step::Respond { sender, how } => {
            format!("sender {} receives the response: {}", letter(sender), name(how))
        }
        Step::ReceiveNothing { sender } => {
            format!("sender {} receives no response before the total deadline", letter(sender))
        }
        Step::End { sender, how, reply } => {
            let what = match how {
                How::NotProcessed => "that nothing was sent".to_owned(),
                _ => format!("how it ended: {}", name(how)),
            };
            let then =
                if reply == Reply::Arrives { "" } else { "; the database's reply is lost, so it keeps that" };
            format!("sender {} writes down {what}{then}", letter(sender))
        }
        Step::Crash { sender } => format!("sender {} crashes, and starts again", letter(sender)),
        Step::ConsiderDead { key, .. } => {
            let because =
                if before.is_sender_alive(key) { "a clock expires" } else { "the journal is opened" };
            format!("{because}: the sender of {} is considered dead", name_of_key::<K>(key))
        }
        Step::MarkCrashed { .. } => "the attempt of that sender is marked as a crash".to_owned(),
        Step::ReadRow { reader, key } => {
            format!("{} reads the row of {}", person(reader), name_of_key::<K>(key))
        }
        Step::Resolve { reader, finding } => {
            format!("{} resolves the row that was read as {}", person(reader), name_of_finding(finding))
        }
        Step::ResolveAtOnce { key, finding } => {
            format!("a person resolves {} as {}", name_of_key::<K>(key), name_of_finding(finding))
        }
        Step::Reopen { key } => format!("a person reopens {}", name_of_key::<K>(key)),
        Step::Purge { key } => format!("{} is purged", name_of_key::<K>(key)),
    };
    let Some(after) = after else { return text };
    let changed = Key::all::<K>().find(|key| before[*key].row != after[*key].row);
    match changed {
        None => text,
        Some(key) => match after[key].row {
            None => format!("{text} (the row is gone)"),
            Some(row) => format!(
                "{text} (the row: {})",
                model.rows.intent(row).state.name().as_str().replace('_', " ")
            ),
        },
    }
}

fn letter(sender: usize) -> char {
    ['A', 'B', 'C'][sender]
}

fn person(reader: usize) -> &'static str {
    ["Ada", "Bob"][reader]
}

fn name_of_key<const K: usize>(key: Key) -> String {
    if K == 1 { "the key".to_owned() } else { format!("key {}", key as usize + 1) }
}

fn name_of_finding(finding: Finding) -> &'static str {
    match finding {
        Finding::NotProcessed => "not processed",
        Finding::Rejected => "rejected",
        Finding::Processed => "processed",
        Finding::EarlierProcessed => "processed by an earlier attempt",
        Finding::ProcessedAsTheOther => "processed, as the transaction of the other key",
    }
}

fn name(how: How) -> &'static str {
    match how {
        How::Processed => "processed",
        How::Rejected => "rejected",
        How::NotProcessed => "not processed",
        How::Unknown => "unknown",
    }
}
