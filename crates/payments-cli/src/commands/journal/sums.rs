//! Counts and exact sums of intents, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use payments_journal::{Intent, IntentState, StateName};

use crate::format::in_words;
use crate::intent::{IntentSum, charged};
use crate::style::for_terminal;

#[derive(Default)]
pub(super) struct Sums {
    /// In the order of the states, and first what was paid.
    states: BTreeMap<(usize, bool), OfState>,
    /// By service. Of a key that the journal has lost it is not known.
    services: BTreeMap<Option<String>, IntentSum>,
    /// What was charged or authorized, by service.
    charged: BTreeMap<(Option<String>, &'static str), IntentSum>,
}

/// The intents of one state, or the resolved ones that were paid or were not.
pub(super) struct OfState {
    pub(super) name: String,
    is_resolved: bool,
    pub(super) sum: IntentSum,
    pub(super) oldest: SystemTime,
}

impl Sums {
    pub(super) fn add(&mut self, intent: &Intent) {
        let service = intent.service.clone();
        if let Some(what) = charged(intent) {
            self.charged.entry((service.clone(), what)).or_default().add(intent);
        }
        self.services.entry(service).or_default().add(intent);
        let state = intent.state.name();
        let is_resolved = matches!(intent.state, IntentState::Resolved { .. });
        let is_unpaid = is_resolved && intent.processed_as().is_none();
        let order = StateName::ALL.iter().position(|name| *name == state).unwrap_or(usize::MAX);
        let of_state = self.states.entry((order, is_unpaid)).or_insert_with(|| {
            let name = match (is_resolved, is_unpaid) {
                (false, _) => in_words(state.as_str()),
                (true, false) => "resolved (processed)".to_owned(),
                (true, true) => "resolved (not processed)".to_owned(),
            };
            OfState { name, is_resolved, sum: IntentSum::default(), oldest: intent.begun_at }
        });
        of_state.sum.add(intent);
        of_state.oldest = of_state.oldest.min(intent.begun_at);
    }

    pub(super) fn states(&self) -> impl Iterator<Item = &OfState> {
        self.states.values()
    }

    pub(super) fn resolved(&self) -> impl Iterator<Item = &OfState> {
        self.states().filter(|of| of.is_resolved)
    }

    pub(super) fn of_services(&self) -> String {
        let services = self.services.iter();
        lines(services.map(|(service, sum)| format!("at {}: {}", shown(service.as_ref()), sum.shown())))
    }

    /// A line for each service; empty if nothing was charged.
    pub(super) fn charged(&self) -> String {
        let charged = self.charged.iter();
        lines(
            charged.map(|((service, what), sum)| {
                format!("{what} at {}: {}", shown(service.as_ref()), sum.shown())
            }),
        )
    }
}

fn shown(service: Option<&String>) -> String {
    service.map_or_else(|| "an unknown service".to_owned(), |name| for_terminal(name))
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}
