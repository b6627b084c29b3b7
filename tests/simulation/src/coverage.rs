use std::collections::HashMap;

use payments_core::OperationName;

use crate::{Cause, Ending, Symptom};

/// How often each operation ended in each way after each cause.
#[derive(Clone, Debug, Default)]
pub struct Coverage(HashMap<(OperationName, Cause), [u64; Ending::ALL.len()]>);

impl Coverage {
    pub(crate) fn count(&mut self, operation: OperationName, cause: Cause, ending: Ending) {
        self.0.entry((operation, cause)).or_default()[ending as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (row, counts) in &other.0 {
            let own = self.0.entry(*row).or_default();
            own.iter_mut().zip(counts).for_each(|(own, count)| *own += count);
        }
    }

    /// How often this combination occurred.
    pub fn seen(&self, operation: OperationName, cause: Cause, ending: Ending) -> u64 {
        self.0.get(&(operation, cause)).map_or(0, |counts| counts[ending as usize])
    }

    /// How many calls ended in this way.
    pub(crate) fn ended(&self, ending: Ending) -> u64 {
        self.0.values().map(|counts| counts[ending as usize]).sum()
    }

    /// Every combination that occurs in a long enough run, with its count in this run.
    pub fn required(&self) -> impl Iterator<Item = (OperationName, Cause, Ending, u64)> {
        let rows =
            OperationName::ALL.iter().flat_map(|operation| Cause::all().map(|cause| (*operation, cause)));
        rows.flat_map(move |(operation, cause)| {
            let must = cause.endings(operation).must;
            // A call that never occurs or that ends at once cannot be abandoned.
            let ends_at_once = matches!(cause, Cause::Local | Cause::Gateway(Symptom::Refuse, _));
            let is_abandonable = !must.is_empty() && !ends_at_once;
            let abandoned = is_abandonable.then_some(&Ending::Abandoned);
            must.iter()
                .chain(abandoned)
                .map(move |ending| (operation, cause, *ending, self.seen(operation, cause, *ending)))
        })
    }

    /// The required combinations that did not occur.
    pub fn missing(&self) -> Vec<(OperationName, Cause, Ending)> {
        let missing = self.required().filter(|(.., count)| *count == 0);
        missing.map(|(operation, cause, ending, _)| (operation, cause, ending)).collect()
    }
}
