//! Senders, a database, a network, a service and persons, in the steps that `Journal` and `JournaledClient` take.
//!
//! A step is one change of the journal or one event on the network, so every interleaving of them is searched. Situations that
//! cannot be told apart are one state:
//!
//! - A sender is one call of one process. Another call of the same process is another sender: they share only the
//!   moment of a crash, and two crashes in a row are searched too.
//! - A crashed process is an idle sender: either it never calls again, or it is its successor.
//! - An end that could not be written is kept, and written later. Others see the same whether its call still waits or has
//!   returned an error. So `Ending` stands for both, and for a withdrawal that is kept. The model writes it at any later time.
//!   The client writes it before the process's next begin, or when `flush` is called. If the process does neither and ends,
//!   that is a crash before the end was written: the row is marked as a crash. So "from every state, steps without a fault or a
//!   new call lead to the end of every key" assumes a process that settles or ends.
//! - A change that the database refuses changes nothing, so it is not a step.
//! - Whether an owner is alive decides only whose row is marked as a crash. Here this can happen to any sender at any time, as
//!   after an expired clock.
//! - A request that the network loses stays in flight forever.
//! - A person reads a row, and resolves it later: any other steps come between. So does a process that marks a crash. Two can have
//!   read a row at once. With two keys there would be too many states: there a person resolves the row as it is, only a process has
//!   read it before, and nobody finds out about an earlier attempt, nor does its response arrive late.
//! - After a person has said that an attempt moved no money, or after its key is new again, what it sends does not count. It
//!   may still record any end: `WrittenOff`. It may even send only then: a process is suspended between its begin and its send,
//!   its row is marked as a crash and resolved as not processed, and it runs again. If another sender sent the key meanwhile,
//!   two transmissions reach the service, because a person said otherwise.

use payments_journal::{Intent, IntentState};

use crate::rows::{Attempt, Decision, Finding, How, Input, Rows, Whose, whose};
use crate::rules::{self, Broken};
use crate::state::{Call, Facts, Key, KeyState, Phase, Purpose, Read, State, Transmission};

/// How the database responds to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Arrives,
    /// The change is written, and the store reports that it is in doubt.
    LostAfter,
    /// The change is not written, and the store reports the same.
    LostBefore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Begin {
        sender: usize,
        key: Key,
        is_after_rejection: bool,
        is_same_request: bool,
        reply: Reply,
    },
    /// The caller leaves before the request is sent, or no connection is opened.
    SendNothing {
        sender: usize,
    },
    Send {
        sender: usize,
    },
    /// The service charges a request in flight, whether its sender still waits or not.
    Charge {
        key: Key,
    },
    Respond {
        sender: usize,
        how: How,
    },
    /// The response is lost, the total deadline ends, the transport panics or the runtime ends.
    ReceiveNothing {
        sender: usize,
    },
    End {
        sender: usize,
        how: How,
        reply: Reply,
    },
    Crash {
        sender: usize,
    },
    /// A process reads a row that is being sent, and considers its sender dead.
    ConsiderDead {
        reader: usize,
        key: Key,
    },
    /// The same process marks the row, whatever has happened since.
    MarkCrashed {
        reader: usize,
    },
    /// A person reads a row, for example in a list.
    ReadRow {
        reader: usize,
        key: Key,
    },
    /// The same person resolves it, whatever has happened since.
    Resolve {
        reader: usize,
        finding: Finding,
    },
    /// A person reads a row and resolves it, with nothing in between.
    ResolveAtOnce {
        key: Key,
        finding: Finding,
    },
    Reopen {
        key: Key,
    },
    Purge {
        key: Key,
    },
}

/// The behavior of the client and of the stores, which a sabotage can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Correct,
    SendsAfterALostReply,
    PurgesUnknown,
}

pub(crate) struct Model<const KEYS: usize, const SENDERS: usize> {
    pub(crate) rows: Rows,
    pub(crate) protocol: Protocol,
}

type Next<const K: usize, const S: usize> = Result<State<K, S>, Broken>;

impl<const K: usize, const S: usize> Model<K, S> {
    pub(crate) fn start() -> State<K, S> {
        State { keys: [KeyState::default(); K], senders: [None; S], reads: [None; 2] }
    }

    /// Every possible step and its next state. Steps that change nothing are omitted.
    pub(crate) fn steps(&self, state: State<K, S>) -> impl Iterator<Item = (Step, Next<K, S>)> {
        let mut steps = Vec::with_capacity(32);
        // One of several identical senders is enough.
        for sender in (0..S).filter(|sender| !state.senders[..*sender].contains(&state.senders[*sender])) {
            Self::add_steps_of_sender(&state, sender, &mut steps);
        }
        for key in Key::all::<K>() {
            self.add_steps_of_key(&state, key, &mut steps);
        }
        for (reader, read) in state.reads.iter().enumerate() {
            match read {
                Some(Read { purpose: Purpose::MarkCrashed, .. }) => steps.push(Step::MarkCrashed { reader }),
                Some(Read { purpose: Purpose::Resolve, key, .. }) => {
                    let row = state[*key].row.map(|row| self.rows.intent(row));
                    let findings = findings::<K>(row.as_deref());
                    steps.extend(findings.map(|finding| Step::Resolve { reader, finding }));
                }
                None => {}
            }
        }
        steps.into_iter().filter_map(move |step| {
            let next = self.take(&state, step);
            let is_change = next != Ok(state);
            is_change
                .then(|| (step, next.and_then(|next| rules::check_state(&self.rows, &next).map(|()| next))))
        })
    }

    fn add_steps_of_sender(state: &State<K, S>, sender: usize, steps: &mut Vec<Step>) {
        let Some(Call { key, phase, .. }) = state.senders[sender] else {
            for (key, reply) in Key::all::<K>().flat_map(|key| REPLIES.map(|reply| (key, reply))) {
                // A begin that is not written is the same for every request.
                let calls = if reply == Reply::LostBefore { &CALLS[..1] } else { &CALLS };
                steps.extend(calls.iter().map(|&(is_after_rejection, is_same_request)| Step::Begin {
                    sender,
                    key,
                    is_after_rejection,
                    is_same_request,
                    reply,
                }));
            }
            return;
        };
        match phase {
            Phase::Begun { .. } => steps.extend([Step::Send { sender }, Step::SendNothing { sender }]),
            Phase::Waiting => {
                let is_charged = state[key].facts.transmission == Some(Transmission::Charged);
                let how = if is_charged { How::Processed } else { How::Rejected };
                steps.extend([Step::Respond { sender, how }, Step::ReceiveNothing { sender }]);
            }
            Phase::Ending(how) | Phase::WrittenOff(Some(how)) => steps.extend(ends(sender, how)),
            Phase::WrittenOff(None) => steps.extend(How::ALL.into_iter().flat_map(|how| ends(sender, how))),
        }
        steps.push(Step::Crash { sender });
    }

    fn add_steps_of_key(&self, state: &State<K, S>, key: Key, steps: &mut Vec<Step>) {
        if state[key].facts.transmission == Some(Transmission::InFlight) {
            steps.push(Step::Charge { key });
        }
        let Some(row) = state[key].row else { return };
        let row = self.rows.intent(row);
        if let Some(reader) = state.reads.iter().position(Option::is_none) {
            let is_marking = state.reads.iter().flatten().any(|read| read.purpose == Purpose::MarkCrashed);
            if row.state == IntentState::Sending && !is_marking {
                steps.push(Step::ConsiderDead { reader, key });
            }
            let is_final = matches!(row.state, IntentState::Processed { .. }) && row.attempts == 1;
            if K == 1 && !is_final {
                steps.push(Step::ReadRow { reader, key });
            }
        }
        if K > 1 {
            steps.extend(findings::<K>(Some(&row)).map(|finding| Step::ResolveAtOnce { key, finding }));
        }
        steps.push(Step::Reopen { key });
        if self.may_purge(&row) {
            steps.push(Step::Purge { key });
        }
    }

    pub(crate) fn take(&self, state: &State<K, S>, step: Step) -> Next<K, S> {
        let mut next = *state;
        match step {
            Step::Begin { sender, key, is_after_rejection, is_same_request, reply } => {
                let input = Input::Begin { is_after_rejection, is_same_request };
                let found = state[key].row;
                let is_wanted = self.rows.decide(found, input).written.is_some();
                let is_written = reply != Reply::LostBefore && self.change(&mut next, key, input)?;
                if is_written {
                    next.rename_current(key);
                    rules::check_begin(
                        state[key].facts,
                        found.is_some(),
                        is_after_rejection,
                        is_same_request,
                    )?;
                }
                let attempt = if is_written { Attempt::Current } else { Attempt::Gone };
                let begun = Phase::Begun { is_after_rejection };
                let phase = match reply {
                    Reply::Arrives => is_written.then_some(begun),
                    _ if is_wanted && self.protocol == Protocol::SendsAfterALostReply => Some(begun),
                    // Nothing is sent. The withdrawal is kept, and written before this process begins anything else.
                    _ => Some(Phase::Ending(How::NotProcessed)),
                };
                next.senders[sender] = phase.map(|phase| Call { key, attempt, phase });
            }
            Step::SendNothing { sender } => next.call(sender).phase = Phase::Ending(How::NotProcessed),
            Step::Send { sender } => {
                let Call { key, phase, .. } = *next.call(sender);
                let Phase::Begun { is_after_rejection } = phase else { unreachable!("it has begun") };
                rules::check_send(state[key].facts, is_after_rejection)?;
                let facts = &mut next[key].facts;
                (facts.transmission, facts.is_refused) = (Some(Transmission::InFlight), false);
                next.call(sender).phase = Phase::Waiting;
            }
            Step::Charge { key } => next[key].facts.transmission = Some(Transmission::Charged),
            Step::Respond { sender, how } => {
                let call = next.call(sender);
                call.phase = Phase::Ending(how);
                let key = call.key;
                if how == How::Rejected {
                    let facts = &mut next[key].facts;
                    (facts.transmission, facts.is_refused) = (None, true);
                }
            }
            Step::ReceiveNothing { sender } => next.call(sender).phase = Phase::Ending(How::Unknown),
            Step::End { sender, how, reply } => {
                let Call { key, attempt, phase } = *next.call(sender);
                // Whether it is written or not.
                next[key].facts.is_earlier_found |= attempt == Attempt::Other && how == How::Processed;
                let is_written = self.change(&mut next, key, Input::End { attempt, how })?;
                if is_written && attempt == Attempt::Current && how == How::Processed {
                    let facts = &mut next[key].facts;
                    facts.is_newest_found = false;
                    // The person who has written it off was wrong.
                    if matches!(phase, Phase::WrittenOff(_)) {
                        facts.transmission = Some(Transmission::Charged);
                    }
                }
                if reply == Reply::Arrives {
                    next.senders[sender] = None;
                } else if matches!(phase, Phase::WrittenOff(_)) {
                    next.call(sender).phase = Phase::WrittenOff(Some(how));
                }
            }
            Step::Crash { sender } => next.senders[sender] = None,
            Step::ConsiderDead { reader, key } => {
                next.reads[reader] = Some(Read::of(key, Purpose::MarkCrashed));
            }
            Step::ReadRow { reader, key } => next.reads[reader] = Some(Read::of(key, Purpose::Resolve)),
            Step::MarkCrashed { reader } => {
                let Read { key, attempt, .. } = next.reads[reader].take().expect("a row was read");
                self.change(&mut next, key, Input::Orphan { attempt })?;
            }
            Step::Resolve { reader, finding } => {
                let Read { key, attempt, is_same_revision, .. } =
                    next.reads[reader].take().expect("a row was read");
                self.resolve(&mut next, key, Input::Resolve { attempt, is_same_revision, finding }, finding)?;
            }
            Step::ResolveAtOnce { key, finding } => {
                self.resolve(&mut next, key, Input::of_fresh_read(finding), finding)?;
            }
            Step::Reopen { key } => {
                if self.change(&mut next, key, Input::Reopen)? {
                    next[key].facts.is_refused = false;
                }
            }
            Step::Purge { key } => {
                rules::check_purge(&self.rows.intent(next[key].row.expect("there is a row")).state)?;
                next[key].row = None;
                next.write_off(key);
                next[key].facts = Facts::default();
                next.forget_attempts(key);
            }
        }
        Ok(next)
    }

    fn resolve(
        &self,
        next: &mut State<K, S>,
        key: Key,
        input: Input,
        finding: Finding,
    ) -> Result<(), Broken> {
        if self.change(next, key, input)? {
            match finding {
                Finding::NotProcessed | Finding::Rejected => next.write_off(key),
                Finding::Processed | Finding::ProcessedAsTheOther => next[key].facts.is_newest_found = true,
                Finding::EarlierProcessed => next[key].facts.is_earlier_found = true,
            }
            next[key].facts.is_refused |= finding == Finding::Rejected;
        }
        Ok(())
    }

    /// Makes a change as a store does: calls `decide`, and refuses a resolution if another key has the transaction. Returns
    /// whether the row was written.
    fn change(&self, next: &mut State<K, S>, key: Key, input: Input) -> Result<bool, Broken> {
        let found = next[key].row;
        let Decision { written, is_refused_if_taken, to_search, is_counted } = self.rows.decide(found, input);
        let Some(written) = written else { return Ok(false) };
        if is_refused_if_taken && to_search.is_some_and(|whose| self.is_taken(next, key, whose)) {
            return Ok(false);
        }
        if let Some(found) = found {
            rules::check_change(&self.rows.intent(found), input, &self.rows.intent(written))?;
        }
        next[key].row = Some(written);
        if is_counted {
            next.count_revision(key);
        }
        Ok(true)
    }

    fn is_taken(&self, state: &State<K, S>, key: Key, searched: Whose) -> bool {
        // An id is relative to the key of its row.
        let of = |key: Key, whose| if whose == Whose::Own { key } else { key.other() };
        let others = Key::all::<K>().filter(|other| *other != key);
        others.filter_map(|other| Some((other, self.rows.intent(state[other].row?)))).any(|(other, row)| {
            let mut held = row.held_transactions().filter_map(whose);
            held.any(|held| of(other, held) == of(key, searched))
        })
    }

    fn may_purge(&self, row: &Intent) -> bool {
        !row.is_unresolved() || self.protocol == Protocol::PurgesUnknown && row.state != IntentState::Sending
    }

    /// Whether every key has ended and no sender is active.
    pub(crate) fn is_over(&self, state: &State<K, S>) -> bool {
        let mut rows = state.keys.iter().filter_map(|key_state| key_state.row);
        state.senders.iter().all(Option::is_none) && rows.all(|row| !self.rows.intent(row).is_unresolved())
    }
}

const REPLIES: [Reply; 3] = [Reply::Arrives, Reply::LostAfter, Reply::LostBefore];
/// A plain call or a new attempt after a rejection, with the recorded request or with another.
pub(crate) const CALLS: [(bool, bool); 4] = [(false, true), (false, false), (true, true), (true, false)];

/// What a person may say about this row. The last finding needs another key.
fn findings<const K: usize>(row: Option<&Intent>) -> impl Iterator<Item = Finding> + use<K> {
    let has_earlier = row.is_some_and(|row| row.attempts > 1);
    [Finding::NotProcessed, Finding::Processed]
        .into_iter()
        .chain((K == 1).then_some(Finding::Rejected))
        .chain(has_earlier.then_some(Finding::EarlierProcessed))
        .chain((K > 1).then_some(Finding::ProcessedAsTheOther))
}

/// An end that is not written changes nothing.
fn ends(sender: usize, how: How) -> [Step; 2] {
    [Reply::Arrives, Reply::LostAfter].map(|reply| Step::End { sender, how, reply })
}
