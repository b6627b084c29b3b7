//! What the journal costs a billing run, and whether a long one stays small and as fast as it began.

mod commits;
mod length;
mod plain;
mod rate;
mod run;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::plan::Plan;
use crate::report::Report;
use crate::server::Server;

pub(crate) use plain::run as charge_plainly;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let rig = Rig::new(plan)?;
    rate::measure(&rig, report)?;
    commits::measure(&rig, report)?;
    length::measure(&rig, report)
}

/// What every question about a billing run needs.
struct Rig<'a> {
    plan: &'a Plan,
    /// The `payments` command.
    payments: PathBuf,
}

impl<'a> Rig<'a> {
    fn new(plan: &'a Plan) -> anyhow::Result<Self> {
        let payments = this_program()?.with_file_name(format!("payments{}", std::env::consts::EXE_SUFFIX));
        let help = Command::new(&payments).args(["batch", "run", "--help"]).output();
        let help = help.with_context(|| {
            format!("{} cannot be run: build it with `cargo build -p payments-cli`", payments.display())
        })?;
        ensure!(help.status.success(), "{} has no `batch run`", payments.display());
        Ok(Self { plan, payments })
    }

    fn sandbox(&self) -> anyhow::Result<Server> {
        Server::start(&self.payments, &["sandbox"])
    }

    /// Beside the build, because a folder for temporary files may be in memory, where nothing is ever durable.
    fn folder(&self) -> anyhow::Result<tempfile::TempDir> {
        let build = self.payments.parent().context("a program is in a folder")?;
        Ok(tempfile::Builder::new().prefix("bench-").tempdir_in(build)?)
    }

    /// A billing file of so many good rows.
    fn billing_file(folder: &Path, rows: u32) -> anyhow::Result<PathBuf> {
        let mut text =
            String::from("Key,TokenId,GatewayCustomerId,Amount,ConvenienceFeeActive,ReferenceNo\n");
        for row in 0..rows {
            let (whole, cents) = (1 + row % 900, row % 100);
            writeln!(text, "invoice-2026-{row:07},{TOKEN},gc_1,{whole}.{cents:02},false,order {row:07}")?;
        }
        let file = folder.join("billing.csv");
        fs::write(&file, text)?;
        Ok(file)
    }
}

/// The sandbox always takes it.
const TOKEN: &str = "tok_approved";

const IN_FLIGHT: u32 = 64;

fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("the path of this program is unknown")
}
