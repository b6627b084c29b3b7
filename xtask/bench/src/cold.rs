//! What the first call costs: of a process, of a process without a network, and of a connection after the first.

mod first_answer;
mod resumption;
mod tls_start;

use crate::plan::Plan;
use crate::report::Report;

pub(crate) use tls_start::run as start_tls;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    tls_start::measure(plan, report)?;
    resumption::measure(plan, report)?;
    first_answer::measure(plan, report)
}
