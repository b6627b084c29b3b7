use payments_core::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};

use crate::stage::Stage;
use crate::trace::Event;
use crate::{Ending, Sabotage};

/// The observer of every simulated client: it writes down what it is told.
pub(crate) struct Witness {
    pub(crate) stage: Stage,
    pub(crate) sabotage: Option<Sabotage>,
}

impl Witness {
    fn current(&self) -> usize {
        self.stage.state().current
    }
}

impl Observer for Witness {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        self.stage.note(self.current(), Event::AttemptStarted(event.attempt), |passage| {
            passage.told_started += 1;
        });
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        let outcome = event.failure.and_then(|failure| failure.outcome);
        let ending = event.failure.map_or(Some(Ending::Succeeded), |_| outcome.map(Into::into));
        let how = event.failure.map_or("succeeded", |failure| failure.code);
        self.stage.note(self.current(), Event::AttemptFinished(how), |passage| {
            passage.told_finished += 1;
            passage.told_last = ending;
            let is_of_lookup = outcome.is_some() && !event.operation.moves_money();
            passage.told_outcomes_of_lookups += u32::from(is_of_lookup);
        });
    }

    fn attempt_abandoned(&self, _event: &AttemptAbandoned<'_>) {
        if self.sabotage == Some(Sabotage::HushesAbandoned) {
            return;
        }
        self.stage.note(self.current(), Event::AttemptAbandoned, |passage| passage.told_abandoned += 1);
    }
}
