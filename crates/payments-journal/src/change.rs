//! Every change of an intent. [`Change::decide`] is the entry to the rules. Others are in `resolving`: what a person may say; in
//! `lost`: what becomes of an attempt that the journal has lost; and in `intent`: which requests a key takes. `service_change` has
//! those about all intents of one service, which are no change of one row.

use std::time::SystemTime;

use payments_core::OperationName;
use payments_model::{TransactionId, mask};

use crate::milliseconds;
use crate::resolving::{MAX_NOTES, Refusal};
use crate::{
    AttemptId, Ending, Failure, FailureKind, HistoryEvent, Intent, IntentKey, IntentRequest, IntentState,
    OwnerId, Resolution, Subject,
};

/// One change of one row, and the only way a row ever changes.
///
/// The rules are behind [`decide`](Self::decide), a function without clock, randomness or I/O. A store reads the row, calls
/// `decide`, writes the result and makes it durable, atomically. About the row itself it decides nothing.
///
/// A [`Journal`](crate::Journal) makes the changes.
#[derive(Clone, Debug)]
pub struct Change {
    key: IntentKey,
    at: SystemTime,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Begin(Box<NewAttempt>),
    End(End),
    Orphan {
        attempt_id: AttemptId,
    },
    Resolve(Said),
    /// `attempt` is the row of one that may have been made in the time that the journal has lost.
    Lost {
        attempt: Box<Intent>,
        by: String,
    },
    /// Entries from this time on are lost, and the key may be one of theirs.
    MayLack(SystemTime),
    Reopen(Reopening),
}

#[derive(Clone, Debug)]
struct End {
    attempt_id: AttemptId,
    ending: Ending,
    /// The row of its begin, if it may have been sent.
    begun: Option<Box<Intent>>,
}

/// What a person says about the intent with so many attempts, this newest one and this revision.
#[derive(Clone, Debug)]
struct Said {
    attempts: u32,
    attempt_id: AttemptId,
    revision: u64,
    resolution: Resolution,
    /// The one that the person asked.
    service: Option<String>,
    /// What they know about a lost entry.
    is_void: bool,
}

#[derive(Clone, Debug)]
struct Reopening {
    /// `None` if a person has named the key.
    http_statuses: Option<Vec<u16>>,
    by: String,
    note: Option<String>,
}

/// An attempt that is about to be sent.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "complete: the parts of the row of an attempt")]
pub struct NewAttempt {
    /// Which attempts may be before it.
    pub begin: Begin,
    /// The [service](payments_core::Client::service). A key that was used for another one never begins.
    pub service: String,
    /// Its request.
    pub request: IntentRequest,
    /// Its id.
    pub attempt_id: AttemptId,
    /// Who sends it.
    pub owner: OwnerId,
}

impl NewAttempt {
    /// Why a call with this attempt that moved no money gets its answer from this row.
    pub(crate) fn refused_by(&self, found: &Intent) -> Refusal {
        if !found.answers(&self.service) {
            return Refusal::OtherService;
        }
        let differences = found.differences(&self.request);
        if differences.is_empty() { Refusal::Known } else { Refusal::AnotherRequest(differences) }
    }
}

/// Which attempts may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "complete: a plain call and an explicit one")]
pub enum Begin {
    /// Only the first one, and a repetition of the same request if it was provably never acted upon.
    Plain,
    /// A new one, with any request, of a key that moved no money: rejected, not processed, or resolved as not processed. The
    /// caller knows that it was rejected and asks for it.
    AfterRejection,
}

impl Change {
    /// This attempt is about to be sent.
    pub fn begin(key: IntentKey, new: NewAttempt, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Begin(new.into()))
    }

    /// This is how the attempt ended. If it [follows a rejection](Intent::follows) and was not processed, the key is rejected
    /// again.
    ///
    /// An earlier attempt that ends only now changes the row if it was processed: that is recorded as a
    /// [finding](Resolution::is_reported) about it.
    pub fn end(key: IntentKey, attempt_id: AttemptId, ending: Ending, at: SystemTime) -> Self {
        Self::new(key, at, Kind::End(End { attempt_id, ending, begun: None }))
    }

    /// As [`end`](Self::end), of the attempt that was begun with this row. It needs nothing of the journal: if the journal has
    /// lost the attempt, because an older copy was restored, the row is written whole.
    ///
    /// So it is over an older row, over a key that was [named](Self::lost) as one that may have been sent, and over later attempts
    /// that moved nothing. If a later attempt may have moved money, this is an earlier attempt that ends only now.
    pub fn end_of(begun: Intent, ending: Ending, at: SystemTime) -> Self {
        let (key, attempt_id) = (begun.key.clone(), begun.attempt_id.clone());
        Self::new(key, at, Kind::End(End { attempt_id, ending, begun: Some(begun.into()) }))
    }

    /// The owner of this attempt is dead and has not recorded how it ended.
    pub fn orphan(key: IntentKey, attempt_id: AttemptId, at: SystemTime) -> Self {
        Self::new(key, at, Kind::Orphan { attempt_id })
    }

    /// A person reports what happened to this intent, as the person read it. Card numbers in their text are masked.
    ///
    /// It is refused if the intent has changed since it was read, because the person decided about what they saw. A row that was
    /// only marked as a crash since then has not changed.
    pub fn resolve(read: &Intent, resolution: Resolution, at: SystemTime) -> Self {
        let Intent { attempts, revision, .. } = *read;
        let attempt_id = read.attempt_id.clone();
        let is_void = resolution.is_void;
        let resolution = Resolution {
            by: masked(&resolution.by),
            note: resolution.note.as_deref().map(masked),
            // Only the service's own response says that.
            is_reported: false,
            is_void: false,
            ..resolution
        };
        let said = Said { attempts, attempt_id, revision, resolution, service: None, is_void };
        Self::new(read.key.clone(), at, Kind::Resolve(said))
    }

    /// A resolution by a person who asked this service. A key whose entry was lost then belongs to it.
    pub(crate) fn of_service(mut self, at: &str) -> Self {
        if let Kind::Resolve(said) = &mut self.kind {
            said.service = Some(at.to_owned());
        }
        self
    }

    /// A person allows it to be sent again, if it was rejected with one of these HTTP statuses. Without them the person names this
    /// key, and it is sent again whatever it was rejected with; a key that was already reopened becomes one that was named.
    pub fn reopen(
        key: IntentKey,
        http_statuses: Option<&[u16]>,
        by: &str,
        note: Option<&str>,
        at: SystemTime,
    ) -> Self {
        let (http_statuses, by) = (http_statuses.map(<[u16]>::to_vec), masked(by));
        Self::new(key, at, Kind::Reopen(Reopening { http_statuses, by, note: note.map(masked) }))
    }

    /// The journal has lost its newest entries, and this person says that this key was, or may have been, sent since then. If it
    /// is not in the journal, or if a call could send it, it becomes unknown. So does one that is unknown already: it has changed,
    /// so that an earlier finding about it is refused.
    pub fn lost(key: IntentKey, since: SystemTime, owner: OwnerId, by: &str, at: SystemTime) -> Self {
        let (request, since) = (IntentRequest::lost(), milliseconds::rounded(since));
        let attempt = first(key.clone(), None, request, AttemptId::new(), owner, since).into();
        Self::new(key, at, Kind::Lost { attempt, by: masked(by) })
    }

    /// The journal has lost its newest entries, and nobody says that this key was sent since then. If it is rejected, an explicit
    /// call may have sent it: from now on it [lacks](Intent::lost_since) them. The revision stays: for a person who has read the row
    /// it becomes unknown when they decide, and not changed now.
    pub fn may_lack(key: IntentKey, since: SystemTime, at: SystemTime) -> Self {
        Self::new(key, at, Kind::MayLack(milliseconds::rounded(since)))
    }

    /// Whether a call may send the key after this.
    pub(crate) fn allows_another_attempt(&self) -> bool {
        match &self.kind {
            Kind::Begin(_) | Kind::Reopen(_) => true,
            Kind::Resolve(said) => said.resolution.verdict.processed_as().is_none(),
            Kind::End(_) | Kind::Orphan { .. } | Kind::Lost { .. } | Kind::MayLack(_) => false,
        }
    }

    /// Whether its call reports that no money has moved if this writes nothing. A journal that lacks its newest entries does not
    /// know that.
    pub(crate) fn reports_that_nothing_moved(&self, found: Option<&Intent>) -> bool {
        self.is_begin() && found.is_none_or(Intent::moved_nothing)
    }

    /// Whether it allows something to be sent.
    pub(crate) const fn is_begin(&self) -> bool {
        matches!(self.kind, Kind::Begin(_))
    }

    /// Whether it says of a key that may be sent that it may have moved money. If a copy from before that were restored, the key
    /// would be sent, so a store that has witnesses must be able to tell them.
    #[cfg(feature = "sqlite")]
    pub(crate) fn must_be_watched(&self, found: Option<&Intent>, written: &Intent) -> bool {
        self.resolution().is_some() && found.is_some_and(Intent::moved_nothing) && !written.moved_nothing()
    }

    fn new(key: IntentKey, at: SystemTime, kind: Kind) -> Self {
        Self { key, at: milliseconds::rounded(at), kind }
    }

    /// The key of the row that it changes.
    pub fn key(&self) -> &IntentKey {
        &self.key
    }

    /// Refused if another intent already [holds](Intent::held_transactions) the transaction that a person names. What the service
    /// reported is always written.
    pub fn taken_by(&self, holder: Option<&IntentKey>) -> Option<Refusal> {
        let id = self.resolution()?.verdict.transaction_id()?.clone();
        Some(Refusal::Taken { id, by: holder?.clone() })
    }

    /// The transaction that no other intent may hold if this is written: the one that a person names, or that the service has
    /// returned.
    pub fn transaction_to_search(&self) -> Option<&TransactionId> {
        let id = match &self.kind {
            Kind::Resolve(said) => said.resolution.verdict.transaction_id(),
            Kind::End(End { ending: Ending::Processed(id), .. }) => Some(id),
            _ => None,
        };
        id.filter(|id| !id.is_redacted())
    }

    /// What a person says.
    pub(crate) fn resolution(&self) -> Option<&Resolution> {
        match &self.kind {
            Kind::Resolve(said) => Some(&said.resolution),
            _ => None,
        }
    }

    /// How the attempt ended, if this records that.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        let Kind::End(end) = &self.kind else { return None };
        Some(&end.ending)
    }

    /// Whether it records the end of an attempt that may have been sent. The outcome cannot be obtained again, so the write is
    /// worth retrying. A withdrawal is not, because the journal repeats it.
    pub(crate) fn is_final_outcome(&self) -> bool {
        self.ending().is_some_and(
            |ending| !matches!(ending, Ending::NotProcessed(failure) if failure.kind == FailureKind::WITHDRAWN),
        )
    }

    /// Whether the row has the end that this records.
    pub(crate) fn is_recorded_in(&self, found: &Intent) -> bool {
        let Kind::End(End { attempt_id, ending, .. }) = &self.kind else { return false };
        let Some(number) = found.number_of(attempt_id) else { return false };
        found.history().iter().any(|event| match event {
            HistoryEvent::Ended { attempt, ending: recorded, .. } => *attempt == number && recorded == ending,
            HistoryEvent::Resolved(said) => {
                let is_reported = said.attempt == number && said.resolution.is_reported;
                is_reported && matches!(ending, Ending::Processed(id) if said.resolution.verdict.processed_as() == Some(id))
            }
            _ => false,
        })
    }

    /// The row to write in place of `found`, or why it does not change.
    ///
    /// The [`revision`](Intent::revision) of the row to write is higher than that of `found`, or the same if the row is only
    /// marked, as a crash or as one that [may lack](Self::may_lack) entries.
    ///
    /// Each change adds to the [history](Intent::history) of the row what has happened, and changes nothing in it.
    ///
    /// # Errors
    ///
    /// Where no caller asks why, the reason is that the outcome is [known](Refusal::Known).
    pub fn decide(&self, found: Option<&Intent>) -> Result<Intent, Refusal> {
        let written = match (&self.kind, found) {
            (Kind::Resolve(said), Some(found)) => Some(self.resolved(found, said)?),
            (Kind::Reopen(reopening), Some(found)) => Some(self.reopened(found, reopening)?),
            (Kind::Orphan { attempt_id }, Some(found)) => self.crashed(found, attempt_id),
            (Kind::Begin(new), _) => Some(self.begun(found, new)?),
            (Kind::End(end), _) => {
                let is_unknown = matches!(end.ending, Ending::Unknown(_));
                match end.begun.as_ref().and_then(|begun| begun.brought_back(found, is_unknown)) {
                    Some(lost) => self.ended(&lost, end, true),
                    None => found.and_then(|found| self.ended(found, end, false)),
                }
            }
            (Kind::Lost { attempt, by }, _) => self.lost_by_name(found, attempt, by),
            (Kind::MayLack(since), Some(found)) => {
                let is_new = found.is_rejected() && found.lost_since.is_none();
                is_new.then(|| Intent { lost_since: Some(*since), ..found.clone() })
            }
            (Kind::Resolve(_) | Kind::Reopen(_) | Kind::Orphan { .. } | Kind::MayLack(_), None) => {
                return Err(Refusal::NoSuchIntent);
            }
        };
        let written = written.ok_or(Refusal::Known)?;
        let written = match found.and_then(|found| Some((found, found.lost_since?))) {
            // It may have been sent again in the time whose entries are lost.
            Some((found, since)) if self.allows_another_attempt() => self.unknown(found, since, None),
            _ => written,
        };
        Ok(written.with_short_history())
    }

    /// The row of a new attempt, if it may begin.
    fn begun(&self, found: Option<&Intent>, new: &NewAttempt) -> Result<Intent, Refusal> {
        let NewAttempt { begin, service, request, attempt_id, owner } = new.clone();
        let Some(found) = found else {
            if begin == Begin::AfterRejection {
                return Err(Refusal::NoSuchIntent);
            }
            let first = first(self.key.clone(), Some(service), request, attempt_id, owner, self.at);
            return Ok(self.changed(&first, None));
        };
        let refusal = new.refused_by(found);
        let may_begin = match (begin, &refusal) {
            (_, Refusal::OtherService) => false,
            (Begin::AfterRejection, _) => found.moved_nothing(),
            (Begin::Plain, refusal) => found.may_be_sent() && *refusal == Refusal::Known,
        };
        if !may_begin {
            return Err(refusal);
        }
        let (at, attempt) = (self.at, found.attempts.saturating_add(1));
        let (id, sent) = (attempt_id.clone(), request.clone());
        let event = HistoryEvent::Begun { at, attempt, attempt_id: id, request: sent };
        Ok(Intent {
            service: Some(service),
            request,
            state: IntentState::Sending,
            attempt_id,
            owner,
            follows: match &found.state {
                IntentState::Rejected(failure) => Some(failure.clone()),
                _ => None,
            },
            attempts: attempt,
            begun_at: self.at,
            ..self.changed(found, Some(event))
        })
    }

    /// The row of an attempt that has ended, if it is the newest one and its end was not known. `was_lost` says that the journal
    /// did not have the attempt.
    fn ended(&self, found: &Intent, end: &End, was_lost: bool) -> Option<Intent> {
        let End { attempt_id, ending, .. } = end;
        if *attempt_id != found.attempt_id {
            return self.ended_late(found, end, was_lost);
        }
        // A row that was marked as a crash still gets the real outcome, if its sender is alive after all.
        let has_no_end = match &found.state {
            IntentState::Unknown(failure) => failure.kind == FailureKind::CRASH,
            state => *state == IntentState::Sending,
        };
        // That it was processed is the service's own word.
        let overrules_a_person = matches!(ending, Ending::Processed(_))
            && (found.is_decided_by_a_person() || found.is_unknown_by_loss());
        if !has_no_end && !overrules_a_person {
            return None;
        }
        let state = match ending.clone() {
            Ending::Processed(transaction_id) => IntentState::Processed { transaction_id },
            Ending::Rejected(failure) => IntentState::Rejected(failure),
            Ending::NotProcessed(failure) => match &found.follows {
                Some(rejection) => IntentState::Rejected(rejection.clone()),
                None => IntentState::NotProcessed(failure),
            },
            Ending::Unknown(failure) => IntentState::Unknown(failure),
        };
        let event = self.end_event(found.attempts, ending.clone());
        let mut ended = Intent { state, follows: None, ..self.changed(found, Some(event)) };
        ended.show_the_deciding_attempt();
        Some(ended)
    }

    /// The row in which an earlier attempt ends only now.
    fn ended_late(&self, found: &Intent, end: &End, was_lost: bool) -> Option<Intent> {
        let number = found.number_of(&end.attempt_id)?;
        match &end.ending {
            Ending::Processed(id) => {
                let mut late = self.changed(found, None);
                late.resolve(&Resolution::reported(id.clone()).of_attempt(number), self.at);
                Some(late)
            }
            // It may have moved money, and stays to be resolved when the newest attempt has ended.
            ending @ Ending::Unknown(_) if was_lost => {
                Some(self.changed(found, Some(self.end_event(number, ending.clone()))))
            }
            _ => None,
        }
    }

    /// The row of an attempt whose owner is dead.
    fn crashed(&self, found: &Intent, attempt_id: &AttemptId) -> Option<Intent> {
        if *attempt_id != found.attempt_id || found.state != IntentState::Sending {
            return None;
        }
        let transaction_id = match &found.request.subject {
            Subject::Transaction(to_look_up) => Some(to_look_up.clone()),
            _ => None,
        };
        let failure = Failure { transaction_id, ..Failure::of_kind(FailureKind::CRASH) };
        let event = self.end_event(found.attempts, Ending::Unknown(failure.clone()));
        let (state, revision) = (IntentState::Unknown(failure), found.revision);
        Some(Intent { state, revision, ..self.changed(found, Some(event)) })
    }

    /// The row as a person has resolved it.
    fn resolved(&self, found: &Intent, said: &Said) -> Result<Intent, Refusal> {
        if (&said.attempt_id, said.revision) != (&found.attempt_id, found.revision) {
            return Err(Refusal::Changed(said.attempts));
        }
        if let Some(refusal) = found.refusal_of(&said.resolution) {
            return Err(refusal);
        }
        let mut resolved = self.changed(found, None);
        resolved.resolve(&said.resolution, self.at);
        resolved.service = resolved.service.or_else(|| said.service.clone());
        if said.is_void && resolved.request.subject == Subject::Lost {
            resolved.request.operation = Some(OperationName::Void);
        }
        Ok(resolved)
    }

    /// The row of a rejected key that a person allows to be sent again.
    fn reopened(&self, found: &Intent, reopening: &Reopening) -> Result<Intent, Refusal> {
        let Reopening { http_statuses, by, note } = reopening.clone();
        let (IntentState::Rejected(failure) | IntentState::NotProcessed(failure)) = &found.state else {
            return Err(Refusal::NotRejected);
        };
        let is_rejected = matches!(found.state, IntentState::Rejected(_));
        let (may_be_reopened, kind) = match http_statuses {
            Some(statuses) => {
                let is_one = failure.http_status.is_some_and(|status| statuses.contains(&status));
                (is_rejected && is_one, FailureKind::REOPENED)
            }
            None => (is_rejected || failure.kind == FailureKind::REOPENED, FailureKind::REOPENED_BY_NAME),
        };
        if !may_be_reopened {
            return Err(Refusal::NotRejected);
        }
        if note.is_some() && found.count_of_notes() >= MAX_NOTES {
            return Err(Refusal::TooMany);
        }
        let state = IntentState::NotProcessed(Failure { kind, ..failure.clone() });
        let event = HistoryEvent::Reopened { at: self.at, by, note };
        Ok(Intent { state, ..self.changed(found, Some(event)) })
    }

    /// The row of a key that a person has named as one that may have been sent in the lost time.
    fn lost_by_name(&self, found: Option<&Intent>, attempt: &Intent, by: &str) -> Option<Intent> {
        let since = attempt.begun_at;
        let Some(found) = found else { return Some(self.unknown(attempt, since, Some(by))) };
        // Also a key that is unknown already: what a person found out about it before the loss says nothing about the lost time.
        let is_unknown = matches!(found.state, IntentState::Unknown(_));
        // A time that was lost before counts too.
        let before = if is_unknown { Some(found.begun_at) } else { found.lost_since };
        let since = before.map_or(since, |before| since.min(before));
        (is_unknown || found.moved_nothing()).then(|| self.unknown(found, since, Some(by)))
    }

    /// It may have been sent in the time whose entries are lost.
    fn unknown(&self, found: &Intent, since: SystemTime, by: Option<&str>) -> Intent {
        let (since, by) = (milliseconds::rounded(since), by.map(str::to_owned));
        let event = HistoryEvent::Lost { at: self.at, attempt: found.attempts, by, since };
        let state = IntentState::Unknown(Failure::of_kind(FailureKind::LOST_HISTORY));
        Intent { state, begun_at: since, lost_since: None, ..self.changed(found, Some(event)) }
    }

    /// The next revision of the row, with its whole history and this event.
    fn changed(&self, found: &Intent, event: Option<HistoryEvent>) -> Intent {
        let (changed_at, revision) = (self.at, found.revision + 1);
        Intent { changed_at, revision, events: found.followed_by(event), ..found.clone() }
    }

    const fn end_event(&self, attempt: u32, ending: Ending) -> HistoryEvent {
        HistoryEvent::Ended { at: self.at, attempt, ending }
    }
}

impl Intent {
    /// Whether its key takes this request once a person has [reopened](crate::Journal::reopen) it after a rejection with one of
    /// these HTTP statuses; without statuses, once they have reopened it [by name](crate::Journal::reopen_by_name).
    pub fn is_corrected_by(&self, request: &IntentRequest, http_statuses: Option<&[u16]>) -> bool {
        let reopen = Change::reopen(self.key.clone(), http_statuses, "", None, self.changed_at);
        reopen.decide(Some(self)).is_ok_and(|reopened| reopened.differences(request).is_empty())
    }
}

/// The first attempt of a key, before its row is written.
fn first(
    key: IntentKey,
    service: Option<String>,
    request: IntentRequest,
    attempt_id: AttemptId,
    owner: OwnerId,
    at: SystemTime,
) -> Intent {
    Intent {
        key,
        service,
        request,
        state: IntentState::Sending,
        attempt_id,
        owner,
        follows: None,
        attempts: 1,
        created_at: at,
        begun_at: at,
        changed_at: at,
        revision: 0,
        events: Vec::new(),
        dropped_events: 0,
        lost_since: None,
    }
}

/// A person's text without card numbers.
fn masked(text: &str) -> String {
    mask(text, &[]).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn ended(attempt: &AttemptId, ending: &Ending) -> Change {
        Change::end(IntentKey::new("k").unwrap(), attempt.clone(), ending.clone(), UNIX_EPOCH)
    }

    /// A row with two attempts, of which the first may have moved money, and the second was rejected.
    fn row(first: &AttemptId, second: &AttemptId) -> Intent {
        let key = IntentKey::new("k").unwrap();
        let begin = |attempt: &AttemptId, begin| {
            let (request, owner) = (IntentRequest::lost(), OwnerId::new());
            let new = NewAttempt { begin, service: "s".into(), request, attempt_id: attempt.clone(), owner };
            Change::begin(key.clone(), new, UNIX_EPOCH)
        };
        let sending = begin(first, Begin::Plain).decide(None).unwrap();
        let unknown =
            ended(first, &Ending::Unknown(Failure::of_kind("timeout"))).decide(Some(&sending)).unwrap();
        let resolve = Change::resolve(&unknown, Resolution::not_processed("ada"), UNIX_EPOCH);
        let again =
            begin(second, Begin::AfterRejection).decide(Some(&resolve.decide(Some(&unknown)).unwrap()));
        let rejected = Ending::Rejected(Failure::of_kind("rejected"));
        ended(second, &rejected).decide(Some(&again.unwrap())).unwrap()
    }

    #[test]
    fn end_is_recorded_only_as_that_of_its_attempt() {
        let [first, second, other] = [AttemptId::new(), AttemptId::new(), AttemptId::new()];
        let [one, two] = ["txn_1", "txn_2"].map(|id| Ending::Processed(TransactionId::new(id).unwrap()));
        let rejected = Ending::Rejected(Failure::of_kind("rejected"));
        let row = row(&first, &second);
        let found_late = ended(&first, &one).decide(Some(&row)).unwrap();
        let Ending::Processed(id) = one.clone() else { unreachable!("it is") };
        let by_person = Resolution::processed(id, "ada").of_attempt(1);
        let by_person = Change::resolve(&row, by_person, UNIX_EPOCH).decide(Some(&row)).unwrap();
        for (row, attempt, ending, expected) in [
            (&row, &second, &rejected, true),
            (&row, &first, &rejected, false),
            (&row, &second, &one, false),
            (&row, &other, &rejected, false),
            (&found_late, &first, &one, true),
            (&found_late, &first, &two, false),
            (&found_late, &first, &rejected, false),
            (&found_late, &second, &one, false),
            // The service has not said it.
            (&by_person, &first, &one, false),
        ] {
            let change = ended(attempt, ending);
            assert_eq!(change.is_recorded_in(row), expected, "{change:?}");
        }
    }
}
