//! Senders, a database, a network, a service and persons, in the steps that `Journal` and `JournaledClient` take.
//!
//! A step is one change of the journal or one event on the network, so every interleaving of them is searched. Steps that
//! nobody can tell apart are one state:
//!
//! - A sender is one call of one process. Another call of the same process is another sender: they share nothing but the
//!   moment of a crash, and two crashes in a row are searched too.
//! - A crashed process is an idle sender: as one that never calls again, or as its successor.
//! - An end that could not be written is kept, and written later. Whether its call still waits or has returned an error, others
//!   see the same. So `Ending` stands for both, and for a withdrawal that is kept. The model writes it at any later time. The
//!   client writes it before the process's next begin, or when `settle` is called. If the process does neither and ends, that
//!   is a crash before the end was written: the row is given up. So "from every state, steps without a fault or a new call
//!   lead to the end of every key" assumes a process that settles or ends.
//! - A change that the database refuses changes nothing: it is no step.
//! - Whether an owner lives decides nothing but who is given up. Here anybody can be at any time, as after an expired clock.
//! - A request that the network loses is one that is under way for ever.
//! - What an attempt sends does not count once a person has said that it was not processed, or its key is new again. Whatever
//!   it does, it may still say any end: `WrittenOff`. It may also send only then: a process that is suspended between its
//!   begin and its send, is given up and resolved as not processed, and runs again. If the key was sent by another meanwhile,
//!   two transmissions reach the service, because a person said otherwise.

use payments_journal::{Intent, IntentState};

use crate::rows::{Answer, Asked, Attempt, How, OTHER_ID, OWN_ID, Row, Rows, Word};
use crate::rules::{self, Broken};
use crate::state::{Book, Call, Fate, Key, Phase, Purpose, State, Truth};

/// How the database answers a change.
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
    /// The caller goes away before the request is sent, or no connection is made.
    SendNothing {
        sender: usize,
    },
    Send {
        sender: usize,
    },
    /// The service charges a request that is under way, whether its sender still waits or not.
    Charge {
        key: Key,
    },
    Respond {
        sender: usize,
        how: How,
    },
    /// The response is lost, the total deadline ends, the transport panics or the runtime ends.
    HearNothing {
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
    /// Somebody reads a row that is being sent, and takes its sender for dead.
    TakeForDead {
        key: Key,
    },
    /// The same somebody writes that down, whatever has happened since.
    GiveUp,
    /// A person looks at a row that is unknown, for example in a list.
    LookAt {
        key: Key,
    },
    /// The same person resolves it, whatever has happened since.
    ResolveWhatWasRead {
        word: Word,
    },
    Resolve {
        key: Key,
        word: Word,
    },
    Reopen {
        key: Key,
    },
    Purge {
        key: Key,
    },
}

/// The rules of the client and of the stores, which a sabotage can break.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Honest,
    SendsAfterALostReply,
    PurgesWhatIsUnknown,
}

pub(crate) struct Model<const KEYS: usize, const SENDERS: usize> {
    pub(crate) rows: Rows,
    pub(crate) protocol: Protocol,
}

type Next<const K: usize, const S: usize> = Result<State<K, S>, Broken>;

impl<const K: usize, const S: usize> Model<K, S> {
    pub(crate) fn start() -> State<K, S> {
        State { books: [Book::default(); K], senders: [None; S], read: None }
    }

    /// Every step that is possible, and where it leads. What changes nothing is left out.
    pub(crate) fn steps(&self, state: State<K, S>) -> impl Iterator<Item = (Step, Next<K, S>)> {
        let mut steps = Vec::with_capacity(32);
        // Of senders that are alike, one is enough.
        for sender in (0..S).filter(|sender| !state.senders[..*sender].contains(&state.senders[*sender])) {
            Self::add_steps_of_sender(&state, sender, &mut steps);
        }
        for key in Key::all::<K>() {
            self.add_steps_of_key(&state, key, &mut steps);
        }
        match state.read {
            Some((.., Purpose::GiveUp)) => steps.push(Step::GiveUp),
            Some((.., Purpose::Resolve)) => {
                steps.extend(words::<K>().map(|word| Step::ResolveWhatWasRead { word }));
            }
            None => {}
        }
        steps.into_iter().filter_map(move |step| {
            let next = self.take(&state, step);
            let is_change = next != Ok(state);
            is_change.then(|| (step, next.and_then(|next| rules::hold_in(&self.rows, &next).map(|()| next))))
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
                let is_charged = state[key].truth.transmission == Some(Fate::Charged);
                let how = if is_charged { How::Processed } else { How::Rejected };
                steps.extend([Step::Respond { sender, how }, Step::HearNothing { sender }]);
            }
            Phase::Ending(how) => steps.extend(ends(sender, how)),
            Phase::WrittenOff => steps.extend(How::ALL.into_iter().flat_map(|how| ends(sender, how))),
        }
        steps.push(Step::Crash { sender });
    }

    fn add_steps_of_key(&self, state: &State<K, S>, key: Key, steps: &mut Vec<Step>) {
        if state[key].truth.transmission == Some(Fate::UnderWay) {
            steps.push(Step::Charge { key });
        }
        let Some(row) = state[key].row else { return };
        let row = self.rows.intent(row);
        match &row.state {
            IntentState::Sending if state.read.is_none() => steps.push(Step::TakeForDead { key }),
            IntentState::Unknown(_) if state.read.is_none() => steps.push(Step::LookAt { key }),
            _ => {}
        }
        steps.extend(words::<K>().map(|word| Step::Resolve { key, word }));
        steps.push(Step::Reopen { key });
        if self.may_purge(&row) {
            steps.push(Step::Purge { key });
        }
    }

    pub(crate) fn take(&self, state: &State<K, S>, step: Step) -> Next<K, S> {
        let mut next = *state;
        match step {
            Step::Begin { sender, key, is_after_rejection, is_same_request, reply } => {
                let asked = Asked::Begin { is_after_rejection, is_same_request };
                let found = state[key].row;
                let is_wanted = self.rows.decide(found, asked).written.is_some();
                let is_written = reply != Reply::LostBefore && self.change(&mut next, key, asked)?;
                if is_written {
                    next.rename_current(key);
                    rules::hold_at_begin(found.is_some(), is_after_rejection, is_same_request)?;
                }
                let attempt = if is_written { Attempt::Current } else { Attempt::Other };
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
                rules::hold_at_send(state[key].truth, is_after_rejection)?;
                next[key].truth = Truth { transmission: Some(Fate::UnderWay), is_refused: false };
                next.call(sender).phase = Phase::Waiting;
            }
            Step::Charge { key } => next[key].truth.transmission = Some(Fate::Charged),
            Step::Respond { sender, how } => {
                let call = next.call(sender);
                call.phase = Phase::Ending(how);
                let key = call.key;
                if how == How::Rejected {
                    next[key].truth = Truth { transmission: None, is_refused: true };
                }
            }
            Step::HearNothing { sender } => next.call(sender).phase = Phase::Ending(How::Unknown),
            Step::End { sender, how, reply } => {
                let Call { key, attempt, .. } = *next.call(sender);
                self.change(&mut next, key, Asked::End { attempt, how })?;
                if reply == Reply::Arrives {
                    next.senders[sender] = None;
                }
            }
            Step::Crash { sender } => next.senders[sender] = None,
            Step::TakeForDead { key } => next.read = Some((key, Attempt::Current, Purpose::GiveUp)),
            Step::LookAt { key } => next.read = Some((key, Attempt::Current, Purpose::Resolve)),
            Step::GiveUp => {
                let (key, attempt, _) = next.read.take().expect("somebody is about to");
                self.change(&mut next, key, Asked::Orphan { attempt })?;
            }
            Step::ResolveWhatWasRead { word } => {
                let (key, attempt, _) = next.read.take().expect("somebody has read it");
                self.resolve(&mut next, key, Asked::ResolveAttempt { attempt, word }, word)?;
            }
            Step::Resolve { key, word } => self.resolve(&mut next, key, Asked::Resolve(word), word)?,
            Step::Reopen { key } => {
                if self.change(&mut next, key, Asked::Reopen)? {
                    next[key].truth.is_refused = false;
                }
            }
            Step::Purge { key } => {
                rules::hold_at_purge(&self.rows.intent(next[key].row.expect("there is a row")).state)?;
                next[key].row = None;
                next.write_off(key);
                next.rename_current(key);
            }
        }
        Ok(next)
    }

    fn resolve(&self, next: &mut State<K, S>, key: Key, asked: Asked, word: Word) -> Result<(), Broken> {
        if self.change(next, key, asked)? && word == Word::NotProcessed {
            next.write_off(key);
        }
        Ok(())
    }

    /// What a store does: it asks `decide`, and refuses a person's word if another key holds that transaction. Returns whether
    /// the row was written.
    fn change(&self, next: &mut State<K, S>, key: Key, asked: Asked) -> Result<bool, Broken> {
        let found = next[key].row;
        let Answer { written, is_refused_if_taken } = self.rows.decide(found, asked);
        let Some(written) = written else { return Ok(false) };
        if is_refused_if_taken && self.is_taken(next, key, written) {
            return Ok(false);
        }
        if let Some(found) = found {
            rules::hold_at_change(&self.rows.intent(found).state, asked)?;
        }
        next[key].row = Some(written);
        Ok(true)
    }

    fn is_taken(&self, state: &State<K, S>, key: Key, written: Row) -> bool {
        // An id is named relative to the key whose row holds it.
        let holds = |key: Key, row: Row| {
            self.rows.intent(row).processed_as().map(|id| match id.as_str() {
                OWN_ID => key,
                OTHER_ID => key.other(),
                _ => unreachable!("nobody names another id"),
            })
        };
        let others = Key::all::<K>().filter(|other| *other != key);
        others.filter_map(|other| holds(other, state[other].row?)).any(|id| Some(id) == holds(key, written))
    }

    fn may_purge(&self, row: &Intent) -> bool {
        !row.is_unresolved()
            || self.protocol == Protocol::PurgesWhatIsUnknown && row.state != IntentState::Sending
    }

    /// Whether every key has ended and no sender is at work.
    pub(crate) fn is_over(&self, state: &State<K, S>) -> bool {
        let mut rows = state.books.iter().filter_map(|book| book.row);
        state.senders.iter().all(Option::is_none) && rows.all(|row| !self.rows.intent(row).is_unresolved())
    }
}

const REPLIES: [Reply; 3] = [Reply::Arrives, Reply::LostAfter, Reply::LostBefore];
/// A plain call or a new attempt after a rejection, with the recorded request or with another.
pub(crate) const CALLS: [(bool, bool); 4] = [(false, true), (false, false), (true, true), (true, false)];

/// The last one needs another key.
fn words<const K: usize>() -> impl Iterator<Item = Word> {
    [Word::NotProcessed, Word::Processed, Word::ProcessedAsTheOther].into_iter().take(K + 1)
}

/// An end that is not written changes nothing.
fn ends(sender: usize, how: How) -> [Step; 2] {
    [Reply::Arrives, Reply::LostAfter].map(|reply| Step::End { sender, how, reply })
}
