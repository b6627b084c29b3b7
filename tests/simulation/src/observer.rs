use payments_core::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};

use crate::shared::Shared;
use crate::trace::Event;
use crate::{Ending, Invariant};

/// The observer of every simulated client. It records each event.
pub(crate) struct RecordingObserver(pub(crate) Shared);

impl RecordingObserver {
    fn current(&self) -> usize {
        self.0.state().current
    }
}

impl Observer for RecordingObserver {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.0.note(self.current(), Event::AttemptStarted(event.attempt), |record| {
            record.observed.starts += 1;
        });
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let outcome = event.failure.and_then(|failure| failure.outcome);
        let ending = event.failure.map_or(Some(Ending::Succeeded), |_| outcome.map(Into::into));
        let how = event.failure.map_or("succeeded", |failure| {
            failure.transport.map_or(failure.kind.as_str(), |kind| kind.as_str())
        });
        self.0.note(self.current(), Event::AttemptFinished(how), |record| {
            record.observed.ends += 1;
            record.observed.last = ending;
            let is_of_lookup = outcome.is_some() && !event.started.operation.moves_money();
            record.observed.lookup_outcomes += u32::from(is_of_lookup);
        });
    }

    fn attempt_abandoned(&self, _event: &AttemptAbandoned<'_>) {
        if self.0.breaks(Invariant::AttemptsAreObserved) {
            return;
        }
        self.0.note(self.current(), Event::AttemptAbandoned, |record| record.observed.abandoned += 1);
    }
}
