use std::fmt;

use payments_core::OperationName;

use crate::Fault;

/// Which of a gateway's armed faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

impl fmt::Display for FaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault_{}", self.0)
    }
}

/// An armed fault and how often it struck.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArmedFault {
    /// Which one.
    pub id: FaultId,
    /// What was armed.
    pub fault: Fault,
    /// How many requests for its operation came since.
    pub seen: u32,
    /// How many of them it struck.
    pub fired: u32,
}

impl fmt::Display for ArmedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, fault, seen, fired } = self;
        write!(f, "{id}: {fault} (seen {seen}, fired {fired})")
    }
}

/// The armed faults of one gateway, in the order in which they were armed.
#[derive(Debug, Default)]
pub(crate) struct ArmedFaults {
    list: Vec<ArmedFault>,
    armed: u64,
}

impl ArmedFaults {
    pub(crate) fn arm(&mut self, fault: Fault) -> FaultId {
        self.armed += 1;
        let id = FaultId(self.armed);
        self.list.push(ArmedFault { id, fault, seen: 0, fired: 0 });
        id
    }

    pub(crate) fn disarm(&mut self, id: FaultId) -> bool {
        let before = self.list.len();
        self.list.retain(|armed| armed.id != id);
        self.list.len() < before
    }

    pub(crate) fn disarm_all(&mut self) {
        self.list.clear();
    }

    /// The fault that strikes this request, if any: the one armed first of those that are due. The others count the
    /// request as seen and stay due.
    pub(crate) fn strike(&mut self, operation: OperationName) -> Option<Fault> {
        let mut struck = None;
        for armed in self.list.iter_mut().filter(|armed| armed.fault.strikes(operation)) {
            if struck.is_none() && armed.fault.is_due(armed.seen, armed.fired) {
                armed.fired += 1;
                struck = Some(armed.fault.clone());
            }
            armed.seen = armed.seen.saturating_add(1);
        }
        struck
    }

    pub(crate) fn all(&self) -> &[ArmedFault] {
        &self.list
    }

    /// A line for each fault that never struck, or nothing.
    pub(crate) fn unfired(&self) -> Option<String> {
        let unfired = self.list.iter().filter(|armed| armed.fired == 0);
        let lines: Vec<String> = unfired.map(|armed| format!("  {armed}")).collect();
        (!lines.is_empty()).then(|| {
            format!("armed faults that never fired, so the test did not test them:\n{}", lines.join("\n"))
        })
    }
}

#[cfg(test)]
mod tests {
    use OperationName::{Transaction, Void};

    use super::*;
    use crate::FaultKind;

    fn kinds(faults: &mut ArmedFaults, operations: &[OperationName]) -> Vec<Option<FaultKind>> {
        operations.iter().map(|operation| faults.strike(*operation).map(|fault| fault.kind())).collect()
    }

    #[test]
    fn a_fault_strikes_the_requests_it_was_armed_for() {
        let mut faults = ArmedFaults::default();
        faults.arm(Fault::on(Transaction).before_commit().close().nth(2).times(2));
        let close = Some(FaultKind::Close);
        let struck = kinds(&mut faults, &[Transaction, Void, Transaction, Transaction, Transaction]);
        assert_eq!(struck, [None, None, close, close, None]);
        assert_eq!((faults.all()[0].seen, faults.all()[0].fired), (4, 2));
    }

    #[test]
    fn of_two_due_faults_the_older_strikes_and_the_other_stays_due() {
        let mut faults = ArmedFaults::default();
        faults.arm(Fault::on_any().before_commit().close());
        faults.arm(Fault::on(Void).before_commit().reset());
        assert_eq!(
            kinds(&mut faults, &[Void, Void, Void]),
            [Some(FaultKind::Close), Some(FaultKind::Reset), None]
        );
    }

    #[test]
    fn an_unfired_fault_is_named() {
        let mut faults = ArmedFaults::default();
        let fired = faults.arm(Fault::on(Transaction).before_commit().close());
        faults.arm(Fault::on(Void).after_commit().truncate(7).nth(3).times(2));
        faults.strike(Transaction);
        let message = faults.unfired().unwrap();
        assert!(
            message.ends_with(
                "fault_2: after_commit truncate on void, from request 3, 2 times (seen 0, fired 0)"
            )
        );
        assert!(!message.contains(&fired.to_string()));
        faults.disarm_all();
        assert_eq!(faults.unfired(), None);
    }
}
