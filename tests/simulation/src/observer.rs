use payments_core::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};

use crate::shared::Shared;
use crate::trace::Event;
use crate::{Ending, Sabotage};

/// The observer of every simulated client. It records each event.
pub(crate) struct RecordingObserver {
    pub(crate) shared: Shared,
    pub(crate) sabotage: Option<Sabotage>,
}

impl RecordingObserver {
    fn current(&self) -> usize {
        self.shared.state().current
    }
}

impl Observer for RecordingObserver {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.shared.note(self.current(), Event::AttemptStarted(event.attempt), |record| {
            record.observed_starts += 1;
        });
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let outcome = event.failure.and_then(|failure| failure.outcome);
        let ending = event.failure.map_or(Some(Ending::Succeeded), |_| outcome.map(Into::into));
        let how = event.failure.map_or("succeeded", |failure| {
            failure.transport.map_or(failure.kind.as_str(), |kind| kind.as_str())
        });
        self.shared.note(self.current(), Event::AttemptFinished(how), |record| {
            record.observed_ends += 1;
            record.last_observed = ending;
            let is_of_lookup = outcome.is_some() && !event.operation.moves_money();
            record.lookup_outcomes_observed += u32::from(is_of_lookup);
        });
    }

    fn attempt_abandoned(&self, _event: &AttemptAbandoned<'_>) {
        if self.sabotage == Some(Sabotage::HidesAbandoned) {
            return;
        }
        self.shared.note(self.current(), Event::AttemptAbandoned, |record| record.observed_abandoned += 1);
    }
}
