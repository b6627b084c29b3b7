//! Whether a look-up takes longer the more there is to look through.

use std::rc::Rc;

use bytes::Bytes;

use super::spent::Spent;
use super::{MANY_CONNECTIONS, Rig, Stored};
use crate::report::{Goal, Report, Short};
use crate::requests;
use crate::statistics::SideBySide;

pub(super) fn measure(rig: &Rig<'_>, many: &Stored, report: &mut Report) -> anyhow::Result<()> {
    let server = rig.sandbox()?;
    let ids = rig.fill(&server, rig.plan.few)?;
    let few = Stored { server, ids };
    let count = few.ids.len();
    let (of_few, of_many) = (look_ups(&few, count), look_ups(many, count));
    let (mut by_few, mut by_many) = (Spent::default(), Spent::default());
    let turn = |server, requests: &Rc<[Bytes]>| rig.turn(server, MANY_CONNECTIONS, Rc::clone(requests));
    let turns = SideBySide::measure(
        rig.plan.turns,
        || by_many.count(&many.server, || turn(&many.server, &of_many)),
        || by_few.count(&few.server, || turn(&few.server, &of_few)),
    )?;
    let SideBySide { first, second, ratio } = turns;
    let name = format!("GET /transaction/{{id}} among {}", rig.plan.many);
    let unit = format!("of among {}", rig.plan.few);
    let note = format!("{} against {} per second", Short(first.median()), Short(second.median()));
    report.figure(&name, ratio.median(), &unit, Goal::AtLeast(GOAL), &note);
    let (name, other) = ("processor time per look-up", format!("among {}", rig.plan.few));
    Spent::report(&by_many, &by_few, &other, name, report);
    Ok(())
}

/// One, less what the processor's caches cost: a thousand records from among a hundred thousand lie on a thousand pages.
/// A search through everything would be at a hundredth.
const GOAL: f64 = 0.9;

/// Look-ups of transactions from all over the store, in an order that jumps about in it. There are as many different
/// ones whatever the size of the store, because more of them would cost the client more.
fn look_ups(stored: &Stored, count: usize) -> Rc<[Bytes]> {
    let Stored { server, ids } = stored;
    let order = (0..count).map(|number| number * STRIDE % ids.len());
    order.map(|index| requests::look_up(server, &ids[index])).collect()
}

/// A prime, so that no id comes twice before all others have come.
const STRIDE: usize = 7_919;
