//! Whether a call costs the same among many as alone: its instructions, what waiting for a connection holds, and what a
//! million of them leave behind.

mod instructions;
mod kept;
mod waiting;

use std::path::PathBuf;

use crate::clients::{self, OURS};
use crate::open_files;
use crate::plan::Plan;
use crate::report::Report;
use crate::server::Server;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    if let Err(why) = clients::are_compared() {
        report.not_measured("calls among many", why);
        return Ok(());
    }
    let rig = Rig { plan, client: clients::build(OURS)?, open_files: open_files::raise_limit() };
    instructions::measure(&rig, report)?;
    waiting::measure(&rig, report)?;
    kept::measure(&rig, report)
}

/// What every question about many calls needs.
struct Rig<'a> {
    plan: &'a Plan,
    /// The program of this SDK.
    client: PathBuf,
    /// The most that a process may have.
    open_files: u64,
}

/// One that answers when it is told to.
fn server() -> anyhow::Result<Server> {
    Server::start(&std::env::current_exe()?, &["serve-fixed"])
}

const ONLY_LINUX: &str = "only Linux tells how much memory a process has";
