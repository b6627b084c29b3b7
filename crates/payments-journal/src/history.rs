//! What has happened to an intent, in order.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::SystemTime;

use payments_model::TransactionId;
use serde::{Deserialize, Serialize};

use crate::milliseconds;
use crate::{AttemptId, Failure, FailureKind, Intent, IntentRequest, IntentState, RecordedResolution};

/// Something that has happened to an intent: to one of its attempts, or what a person has done.
///
/// Times are by the clock of the process that wrote the event. Numbers count the attempts from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum HistoryEvent {
    /// An attempt was written, just before it was sent.
    Begun {
        /// When.
        #[serde(with = "milliseconds")]
        at: SystemTime,
        /// The number of the attempt.
        #[serde(rename = "number")]
        attempt: u32,
        /// Its random id.
        attempt_id: AttemptId,
        /// Its request.
        request: IntentRequest,
    },
    /// An attempt ended, or was marked as a crash because its owner is dead. The last one of an attempt counts: an attempt that
    /// was marked may still record how it really ended.
    Ended {
        /// When.
        #[serde(with = "milliseconds")]
        at: SystemTime,
        /// The number of the attempt.
        #[serde(rename = "number")]
        attempt: u32,
        /// How it ended.
        ending: Ending,
    },
    /// A person has said what happened to an attempt, or the service has reported it
    /// [late](crate::Resolution::is_reported).
    Resolved(RecordedResolution),
    /// A person allowed it to be [sent again](crate::Journal::reopen) after a rejection.
    Reopened {
        /// When.
        #[serde(with = "milliseconds")]
        at: SystemTime,
        /// The person.
        by: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A person gave its service [another name](crate::Journal::rename_service).
    Renamed {
        /// When.
        #[serde(with = "milliseconds")]
        at: SystemTime,
        /// The person.
        by: String,
        /// The name of the service until then.
        service: String,
        /// How many intents were renamed together.
        intents: u64,
    },
    /// The journal had lost later entries than those of this intent, so it may have been sent in that time and became
    /// [unknown](crate::FailureKind::LOST_HISTORY).
    Lost {
        /// When.
        #[serde(with = "milliseconds")]
        at: SystemTime,
        /// The number of the newest attempt, which is the lost one if the journal knew nothing about this key.
        #[serde(rename = "number")]
        attempt: u32,
        /// The person who [named](crate::Journal::accept_history) its key. `None` if it became unknown instead of being sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Since when entries are lost.
        #[serde(with = "milliseconds")]
        since: SystemTime,
    },
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "complete: success, and the three outcomes of a failure")]
pub enum Ending {
    /// The service reports it as processed, with this transaction.
    Processed(TransactionId),
    /// The service or something in front of it said no.
    Rejected(Failure),
    /// The request was provably never acted upon.
    NotProcessed(Failure),
    /// It may have been processed.
    Unknown(Failure),
}

impl HistoryEvent {
    /// When it happened.
    pub const fn at(&self) -> SystemTime {
        match self {
            Self::Begun { at, .. }
            | Self::Ended { at, .. }
            | Self::Reopened { at, .. }
            | Self::Renamed { at, .. }
            | Self::Lost { at, .. }
            | Self::Resolved(RecordedResolution { at, .. }) => *at,
        }
    }

    /// With another number of its attempt.
    pub(crate) fn renumbered(mut self, new: impl Fn(u32) -> u32) -> Self {
        match &mut self {
            Self::Begun { attempt, .. } | Self::Ended { attempt, .. } | Self::Lost { attempt, .. } => {
                *attempt = new(*attempt);
            }
            Self::Resolved(said) => {
                said.attempt = new(said.attempt);
                said.resolution.attempt = said.resolution.attempt.map(new);
            }
            Self::Reopened { .. } | Self::Renamed { .. } => {}
        }
        self
    }
}

impl Ending {
    /// The end of an attempt that was not sent, because it was not certain that its intent was written.
    pub(crate) fn withdrawn() -> Self {
        Self::NotProcessed(Failure::of_kind(FailureKind::WITHDRAWN))
    }
}

impl Intent {
    /// What has happened to it, in order: the begin and the end of each attempt, and what persons have done. Events are
    /// only ever added.
    ///
    /// Of more than 50 events, the oldest are dropped and [counted](Self::dropped_events). Never dropped: what persons have said
    /// about an attempt, its begin and end, every other note of a person, the names of its service, and the newest attempt.
    ///
    /// ```
    /// use payments_journal::{HistoryEvent, Intent};
    ///
    /// fn notes(intent: &Intent) -> Vec<String> {
    ///     let history = intent.history();
    ///     let notes = history.iter().filter_map(|event| match event {
    ///         HistoryEvent::Resolved(said) => said.resolution.note.clone(),
    ///         HistoryEvent::Reopened { note, .. } => note.clone(),
    ///         _ => None,
    ///     });
    ///     notes.collect()
    /// }
    /// ```
    pub fn history(&self) -> Cow<'_, [HistoryEvent]> {
        if self.events.is_empty() { Cow::Owned(self.only_attempt()) } else { Cow::Borrowed(&self.events) }
    }

    /// Everything that persons have said about its attempts, and the service about
    /// [earlier ones](crate::Resolution::is_reported), in order.
    pub fn resolutions(&self) -> impl DoubleEndedIterator<Item = &RecordedResolution> {
        self.events.iter().filter_map(|event| match event {
            HistoryEvent::Resolved(said) => Some(said),
            _ => None,
        })
    }

    /// The earlier names of its service, which persons have [replaced](crate::Journal::rename_service), in order.
    pub fn former_services(&self) -> impl Iterator<Item = &str> {
        self.events.iter().filter_map(|event| match event {
            HistoryEvent::Renamed { service, .. } => Some(&**service),
            _ => None,
        })
    }

    /// The request of the attempt with this number, unless it was dropped.
    pub fn request_of(&self, number: u32) -> Option<&IntentRequest> {
        let found = self.events.iter().find_map(|event| match event {
            HistoryEvent::Begun { attempt, request, .. } if *attempt == number => Some(request),
            _ => None,
        });
        found.or_else(|| (number == self.attempts).then_some(&self.request))
    }

    /// The number of this attempt, unless it was dropped.
    pub(crate) fn number_of(&self, id: &AttemptId) -> Option<u32> {
        let found = self.events.iter().find_map(|event| match event {
            HistoryEvent::Begun { attempt, attempt_id, .. } if attempt_id == id => Some(*attempt),
            _ => None,
        });
        found.or_else(|| (*id == self.attempt_id).then_some(self.attempts))
    }

    /// When the attempt with this number may have begun: the written time, or the beginning of the time whose entries are lost.
    pub(crate) fn begun_at_of(&self, number: u32) -> Option<SystemTime> {
        self.events.iter().rev().find_map(|event| match event {
            HistoryEvent::Begun { at, attempt, .. } if *attempt == number => Some(*at),
            HistoryEvent::Lost { since, attempt, .. } if *attempt == number => Some(*since),
            _ => None,
        })
    }

    /// How many events a person is responsible for that are never dropped and have a text.
    pub(crate) fn count_of_notes(&self) -> usize {
        let is_note = |event: &&HistoryEvent| {
            matches!(event, HistoryEvent::Resolved(_) | HistoryEvent::Reopened { note: Some(_), .. })
        };
        self.events.iter().filter(is_note).count()
    }

    /// With its whole history as [`events`](Self::events), and this one as the last.
    pub(crate) fn followed_by(&self, event: Option<HistoryEvent>) -> Vec<HistoryEvent> {
        let mut events = self.history().into_owned();
        events.extend(event);
        events
    }

    /// Drops what its history does not keep, and what its other members say.
    pub(crate) fn with_short_history(mut self) -> Self {
        let mut excess = self.events.len().saturating_sub(MAX_EVENTS);
        if excess > 0 {
            let said = self.resolutions().map(|said| said.attempt);
            let unknown = self.earlier_unknown().map(|(number, _)| number);
            let kept: BTreeSet<_> = said.chain(unknown).chain([self.attempts]).collect();
            self.events.retain(|event| {
                let may_be_dropped = match event {
                    HistoryEvent::Begun { attempt, .. }
                    | HistoryEvent::Ended { attempt, .. }
                    | HistoryEvent::Lost { attempt, .. } => !kept.contains(attempt),
                    HistoryEvent::Reopened { note, .. } => note.is_none(),
                    HistoryEvent::Resolved(_) | HistoryEvent::Renamed { .. } => false,
                };
                let is_dropped = may_be_dropped && excess > 0;
                excess -= usize::from(is_dropped);
                self.dropped_events += u32::from(is_dropped);
                !is_dropped
            });
        }
        if self.events.len() <= 2 && self.events == self.only_attempt() {
            self.events.clear();
        }
        self
    }

    /// The history of an intent to which nothing has happened but its one attempt.
    fn only_attempt(&self) -> Vec<HistoryEvent> {
        let (attempt, attempt_id, request) = (self.attempts, self.attempt_id.clone(), self.request.clone());
        let ending = match &self.state {
            IntentState::Processed { transaction_id } => Some(Ending::Processed(transaction_id.clone())),
            IntentState::Rejected(failure) => Some(Ending::Rejected(failure.clone())),
            IntentState::NotProcessed(failure) => Some(Ending::NotProcessed(failure.clone())),
            IntentState::Unknown(failure) => Some(Ending::Unknown(failure.clone())),
            IntentState::Sending | IntentState::Resolved { .. } => None,
        };
        let begun = HistoryEvent::Begun { at: self.begun_at, attempt, attempt_id, request };
        let ended = ending.map(|ending| HistoryEvent::Ended { at: self.changed_at, attempt, ending });
        [begun].into_iter().chain(ended).collect()
    }
}

/// They bound the size of a row whose key is tried again every hour.
const MAX_EVENTS: usize = 50;
