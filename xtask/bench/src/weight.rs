//! What a user pays to build and to ship: the README's first example with default features, beside the same charge by somebody
//! who takes hyper-util, hyper-rustls and serde alone.
//!
//! Each build is a clean one, of optimised code where nothing else is said, with two jobs on any machine and with sources that
//! are there already. Together they take minutes, so whoever asks for all benchmarks waits for them, and `--smoke` leaves
//! them out.

mod clean_build;
mod tree;

use std::path::{Path, PathBuf};

use crate::clients;
use crate::plan::Plan;
use crate::report::{Goal, Report, Table};
use crate::statistics::SideBySide;
use clean_build::CleanBuild;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    if plan.builds == 0 {
        report.not_measured("hello-charge: clean build", "it takes minutes");
        return Ok(());
    }
    // First, because cargo fetches the sources to tell of them.
    let crates = trees(report)?;
    hello_charge(plan, crates, report)?;
    core(plan, report)
}

/// Tells of ours, and gives the numbers of crates in [`HELLO`] and [`PEER`].
fn trees(report: &mut Report) -> anyhow::Result<(f64, f64)> {
    for (package, budget) in BUDGETS {
        let count = tree::crates(&ours(), package)?;
        report.figure(&format!("{package}: tree"), count, "crates", Goal::AtMost(budget), "");
    }
    Ok((tree::crates(&clients::workspace(), HELLO)?, tree::crates(&clients::workspace(), PEER)?))
}

fn hello_charge(
    plan: &Plan,
    (our_crates, peer_crates): (f64, f64),
    report: &mut Report,
) -> anyhow::Result<()> {
    let Builds { seconds, our_mb, peer_mb } = Builds::measure(plan)?;
    let SideBySide { first, second, ratio } = &seconds;
    let columns = ["hello-charge", "clean build, s", "stripped, MB", "crates"];
    let mut table = Table::new("The first program of a user, in release", &columns);
    table.peer("hyper-util, hyper-rustls, serde", [second.into(), peer_mb.into(), peer_crates.into()]);
    table.ours("this SDK", [first.into(), our_mb.into(), our_crates.into()]);
    report.table(table);
    let note = format!("{} turns, two jobs", plan.builds);
    report.spread("hello-charge: clean build", ratio, "of hyper-rustls", Goal::AtMost(1.1), &note);
    let ratio = our_mb / peer_mb;
    report.figure("hello-charge: stripped program", ratio, "of hyper-rustls", Goal::AtMost(1.15), "");
    Ok(())
}

fn core(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    for (profile, goal) in [("release", Goal::AtMost(8.0)), ("dev", Goal::None)] {
        let build = |_| Ok(CleanBuild::of(&ours(), "payments-core", profile)?.seconds());
        let seconds = (0..plan.builds).map(build).collect::<anyhow::Result<Vec<_>>>()?;
        let name = format!("payments-core: clean {profile} build");
        report.spread(&name, &seconds.into_iter().collect(), "s", goal, "two jobs");
    }
    Ok(())
}

/// The README's first example, and what stands beside it.
const HELLO: &str = "bench-hello-payments";
const PEER: &str = "bench-hello-hyper-util";

struct Builds {
    /// Ours first.
    seconds: SideBySide,
    our_mb: f64,
    peer_mb: f64,
}

impl Builds {
    fn measure(plan: &Plan) -> anyhow::Result<Self> {
        let workspace = clients::workspace();
        let (mut our_mb, mut peer_mb) = (f64::NAN, f64::NAN);
        let build = |package: &str, size: &mut f64| {
            let build = CleanBuild::of(&workspace, package, "release")?;
            *size = build.program_mb(package)?;
            Ok(build.seconds())
        };
        let seconds =
            SideBySide::measure(plan.builds, || build(HELLO, &mut our_mb), || build(PEER, &mut peer_mb))?;
        Ok(Self { seconds, our_mb, peer_mb })
    }
}

/// What `cargo xtask tidy` holds too.
const BUDGETS: [(&str, f64); 2] = [("payments-core", 20.0), ("payments-hyper", 60.0)];

fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    #[test]
    fn hello_charge_is_the_first_example_of_the_readme() {
        let program = include_str!("../clients/hello-payments/src/first_example.rs");
        let readme = include_str!("../../../README.md");
        let (_, example) = readme.split_once("```rust,no_run\n").unwrap();
        assert_eq!(example.split_once("```\n").unwrap().0, program, "copy it into hello-payments");
    }
}
