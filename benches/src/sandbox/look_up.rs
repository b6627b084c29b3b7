//! Whether a look-up takes longer the more there is to look through.

use std::rc::Rc;

use bytes::Bytes;

use super::{MANY_CONNECTIONS, Rig, Stored};
use crate::report::{Goal, Report, Short};
use crate::requests;
use crate::statistics::SideBySide;

pub(super) fn measure(rig: &Rig<'_>, many: &Stored, report: &mut Report) -> anyhow::Result<()> {
    let server = rig.sandbox()?;
    let ids = rig.fill(&server, rig.plan.few)?;
    let few = Stored { server, ids };
    let (of_few, of_many) = (look_ups(&few), look_ups(many));
    let turns = SideBySide::measure(
        rig.plan.rounds,
        || rig.turn(&many.server, MANY_CONNECTIONS, Rc::clone(&of_many)),
        || rig.turn(&few.server, MANY_CONNECTIONS, Rc::clone(&of_few)),
    )?;
    let SideBySide { first, second, ratio } = turns;
    let name = format!("GET /transaction/{{id}} among {}", rig.plan.many);
    let unit = format!("of among {}", rig.plan.few);
    let note = format!("{} against {} per second", Short(first.median()), Short(second.median()));
    report.figure(&name, ratio.median(), &unit, Goal::AtLeast(GOAL), &note);
    Ok(())
}

/// Less than one by what noise and the processor's caches cost; a search through everything would be far below.
const GOAL: f64 = 0.9;

/// Look-ups of transactions from all over the store, in an order that jumps about in it.
fn look_ups(stored: &Stored) -> Rc<[Bytes]> {
    let Stored { server, ids } = stored;
    let order = (0..ids.len().min(MOST_REQUESTS)).map(|number| number * STRIDE % ids.len());
    order.map(|index| requests::look_up(server, &ids[index])).collect()
}

/// Enough for the records not to stay in the processor's caches, and few enough for the requests not to matter there.
const MOST_REQUESTS: usize = 10_000;

/// A prime, so that no id comes twice before all others have come.
const STRIDE: usize = 7_919;
