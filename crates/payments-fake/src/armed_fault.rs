use std::fmt;

use payments_core::OperationName;
use serde::{Serialize, Serializer};

use crate::Fault;
use crate::document::to_json;

/// Identifies one armed fault of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(u64);

impl fmt::Display for FaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault_{}", self.0)
    }
}

impl Serialize for FaultId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An armed fault and how often it fired.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArmedFault {
    /// What [`FakeGateway::arm`](crate::FakeGateway::arm) returned.
    pub id: FaultId,
    /// What was armed.
    #[serde(flatten)]
    pub fault: Fault,
    /// How many requests for which it can fire have arrived since it was armed.
    pub seen: u32,
    /// For how many of them it fired.
    pub fired: u32,
}

impl ArmedFault {
    /// The fault in its [JSON form](Fault::from_json), with `id`, `seen` and `fired`.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
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
    pub(crate) list: Vec<ArmedFault>,
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

    /// The fault that fires for this request, if any: of those that are due, the one armed first. The others count the
    /// request as seen and stay due.
    pub(crate) fn fire(&mut self, operation: OperationName, is_refused: bool) -> Option<Fault> {
        let mut firing = None;
        for ArmedFault { fault, seen, fired, .. } in &mut self.list {
            if fault.operation.is_some_and(|own| own != operation) || !fault.can_fire(is_refused) {
                continue;
            }
            if firing.is_none() && *seen >= fault.skip && *fired < fault.times {
                *fired += 1;
                firing = Some(fault.clone());
            }
            *seen = seen.saturating_add(1);
        }
        firing
    }

    /// The panic message that lists the faults that never fired, or `None` if all did.
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
    use OperationName::Void;

    use super::*;
    use crate::FaultKind;

    #[test]
    fn the_older_of_two_due_faults_fires_and_the_other_stays_due() {
        let mut faults = ArmedFaults::default();
        faults.arm(Fault::on_any().before_commit().close());
        faults.arm(Fault::on(Void).before_commit().reset());
        let fired = [(); 3].map(|()| faults.fire(Void, false).map(|fault| fault.kind()));
        assert_eq!(fired, [Some(FaultKind::Close), Some(FaultKind::Reset), None]);
    }
}
