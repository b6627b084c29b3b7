//! Build time and program size: the example in payments-core's README with default features, compared with the same charge made
//! with only hyper-util, hyper-rustls and serde.

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::ensure;

use crate::measure::Turns;
use crate::process::folder;
use crate::report::{Goal, Report};

const OURS: &str = "bench-hello-payments";
const PEER: &str = "bench-hello-hyper-util";

/// Clean release builds with two jobs, from sources that are already downloaded.
pub(crate) fn measure(report: &mut Report) -> anyhow::Result<()> {
    if report.is_smoke() {
        println!("  skipped: it takes minutes");
        return Ok(());
    }
    let (mut our_size, mut peer_size) = (0.0, 0.0);
    let turns = Turns::take(3, || clean_build(OURS, &mut our_size), || clean_build(PEER, &mut peer_size))?;
    let goal = Some(Goal::AtMost(1.1));
    report.add("clean build of the first example", turns.median(), "of hyper-rustls", goal, turns.note());
    let ratio = our_size / peer_size;
    let note = format!("{:.2} against {:.2} MB, stripped", our_size / 1e6, peer_size / 1e6);
    report.add("the first example's program", ratio, "of hyper-rustls", Some(Goal::AtMost(1.15)), note);
    Ok(())
}

/// Builds a package from scratch. Returns the seconds, and stores the size of the stripped program in bytes.
fn clean_build(package: &str, size: &mut f64) -> anyhow::Result<f64> {
    let target = folder()?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--quiet", "--jobs", "2", "--package", package]);
    cargo.args(["--config", "profile.release.strip=true", "--target-dir"]).arg(target.path());
    let started = Instant::now();
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    ensure!(status.success(), "cannot build {package}");
    let seconds = started.elapsed().as_secs_f64();
    let program = target.path().join("release").join(package);
    #[expect(clippy::cast_precision_loss, reason = "no program has 2^52 bytes")]
    let bytes = fs::metadata(program)?.len() as f64;
    *size = bytes;
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_program_is_the_example_in_the_readme_of_core() {
        let program = include_str!("../clients/hello-payments/src/first_example.rs");
        let readme = include_str!("../../../crates/payments-core/README.md");
        let (_, example) = readme.split_once("```rust,no_run\n").unwrap();
        assert_eq!(example.split_once("```\n").unwrap().0, program, "copy it into hello-payments");
    }
}
