//! A trace in plain English, one line for each step.

use std::fmt::Write;

use crate::model::{Model, Protocol, Reply, Step};
use crate::rows::{How, Word};
use crate::rules::Broken;
use crate::state::{Key, State};

/// Tells how the rule was broken. The path has canonical states, in which senders and keys have no names, so its steps are
/// taken again from the start under the names that they have there.
pub(crate) fn tell<const K: usize, const S: usize>(
    model: &Model<K, S>,
    path: &[State<K, S>],
    rule: Broken,
) -> String {
    let mut story = String::new();
    let mut state = path[0];
    let mut number = 0;
    let mut tell_step = |step, before: &State<K, S>, after: Option<&State<K, S>>| {
        number += 1;
        writeln!(story, "{number:2}. {}", sentence(model, step, before, after)).unwrap();
    };
    for canonical in &path[1..] {
        let mut steps = model.steps(state);
        let is_it = |next: &State<K, S>| next.canonical() == *canonical;
        let (step, next) = steps
            .find_map(|(step, next)| Some((step, next.ok().filter(is_it)?)))
            .expect("the same steps are possible under other names");
        tell_step(step, &state, Some(&next));
        state = next;
    }
    if let Some((step, _)) = model.steps(state).find(|(_, next)| *next == Err(rule)) {
        tell_step(step, &state, None);
    }
    writeln!(story, "    BROKEN: {}", rule.rule()).unwrap();
    story
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
            format!("sender {}'s caller leaves, or no connection is made: nothing is sent", letter(sender))
        }
        Step::Send { sender } => format!("sender {} sends the request", letter(sender)),
        Step::Charge { key } => format!("the service charges {}", name_of_key::<K>(key)),
        Step::Respond { sender, how } => {
            format!("sender {} receives the response: {}", letter(sender), name(how))
        }
        Step::HearNothing { sender } => {
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
        Step::TakeForDead { key } => {
            let because =
                if before.is_sender_alive(key) { "a clock expires" } else { "the journal is opened" };
            format!("{because}: the sender of {} is taken for dead", name_of_key::<K>(key))
        }
        Step::GiveUp => "that sender's attempt is given up".to_owned(),
        Step::LookAt { key } => format!("a person reads the row of {}", name_of_key::<K>(key)),
        Step::ResolveWhatWasRead { word } => {
            format!("that person resolves what was read as {}", name_of_word(word))
        }
        Step::Resolve { key, word } => {
            format!("a person resolves {} as {}", name_of_key::<K>(key), name_of_word(word))
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

fn name_of_key<const K: usize>(key: Key) -> String {
    if K == 1 { "the key".to_owned() } else { format!("key {}", key as usize + 1) }
}

fn name_of_word(word: Word) -> &'static str {
    match word {
        Word::NotProcessed => "not processed",
        Word::Processed => "processed",
        Word::ProcessedAsTheOther => "processed, as the transaction of the other key",
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
