//! What a user pays to build and to ship: the README's first example with default features, beside the same charge by somebody
//! who takes hyper-util, hyper-rustls and serde alone.
//!
//! Each build is a clean one of optimised code, with two jobs on any machine and with sources that are there already.
//! Together they take minutes, so whoever asks for all benchmarks waits for them, and `--smoke` leaves them out.

mod clean_build;
mod tree;

use std::path::{Path, PathBuf};

use crate::clients;
use crate::plan::Plan;
use crate::report::{Goal, Report, Short};
use crate::statistics::{Sample, SideBySide};
use clean_build::CleanBuild;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    if plan.builds == 0 {
        report.not_measured("hello-charge: clean build", "it takes minutes");
        return Ok(());
    }
    // First, because cargo fetches the sources to tell of them.
    trees(report)?;
    hello_charge(plan, report)?;
    let core = (0..plan.builds)
        .map(|_| Ok(CleanBuild::of(&ours(), "payments-core")?.time()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let core: Sample = core.into_iter().map(|time| time.as_secs_f64()).collect();
    report.spread("payments-core: clean build", &core, "s", Goal::AtMost(8.0), "release, two jobs");
    Ok(())
}

const HELLO: &str = "bench-hello-payments";
const HELLO_PEER: &str = "bench-hello-hyper-util";

fn hello_charge(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let workspace = clients::workspace();
    let (mut our_size, mut peer_size) = (0.0, 0.0);
    let SideBySide { first, second, ratio } = SideBySide::measure(
        plan.builds,
        || {
            let build = CleanBuild::of(&workspace, HELLO)?;
            our_size = build.program_mb(HELLO)?;
            Ok(build.time().as_secs_f64())
        },
        || {
            let build = CleanBuild::of(&workspace, HELLO_PEER)?;
            peer_size = build.program_mb(HELLO_PEER)?;
            Ok(build.time().as_secs_f64())
        },
    )?;
    let note = format!(
        "{} against {} s, release, two jobs; {} turns, from {} to {}",
        Short(first.median()),
        Short(second.median()),
        plan.builds,
        Short(ratio.least()),
        Short(ratio.most()),
    );
    report.figure("hello-charge: clean build", ratio.median(), "of hyper-rustls", Goal::AtMost(1.15), &note);
    let note = format!("{} against {} MB", Short(our_size), Short(peer_size));
    let ratio = our_size / peer_size;
    report.figure("hello-charge: stripped program", ratio, "of hyper-rustls", Goal::AtMost(1.15), &note);
    Ok(())
}

fn trees(report: &mut Report) -> anyhow::Result<()> {
    let note = format!("{} with hyper-rustls alone", tree::crates(&clients::workspace(), HELLO_PEER)?);
    let hello = tree::crates(&clients::workspace(), HELLO)?;
    report.figure("hello-charge: tree", f64::from(hello), "crates", Goal::None, &note);
    for (package, budget) in BUDGETS {
        let count = tree::crates(&ours(), package)?;
        report.figure(&format!("{package}: tree"), f64::from(count), "crates", Goal::AtMost(budget), "");
    }
    Ok(())
}

/// What `cargo xtask tidy` holds too.
const BUDGETS: [(&str, f64); 2] = [("payments-core", 20.0), ("payments-hyper", 60.0)];

fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    #[test]
    fn hello_charge_is_the_first_example_of_the_readme() {
        let program = include_str!("../clients/hello-payments/src/main.rs");
        let (_, program) = program.split_once("\n\n").unwrap();
        let readme = include_str!("../../README.md");
        let (_, example) = readme.split_once("```rust,no_run\n").unwrap();
        assert_eq!(example.split_once("```\n").unwrap().0, program, "copy it into hello-payments");
    }
}
