//! `cargo xtask bench [NAME]`: how fast and how large things are, in a release build.

use xshell::Shell;

use crate::flags::Bench;
use crate::workspace::{cargo, shell};

/// Builds what is measured and what measures it, and lets the latter speak.
pub(crate) fn run(asked: &Bench) -> anyhow::Result<()> {
    let shell = shell()?;
    for arguments in calls(asked) {
        execute(&shell, &arguments)?;
    }
    Ok(())
}

fn execute(shell: &Shell, arguments: &[&str]) -> anyhow::Result<()> {
    println!("$ cargo {}", arguments.join(" "));
    Ok(cargo(shell, arguments.iter().copied()).run()?)
}

/// The command is built by itself, as its users get it: built together with the benchmarks, it would have their
/// features too.
fn calls(asked: &Bench) -> [Vec<&str>; 2] {
    let build = ["build", "--release", "--locked", "--package", "payments-cli"];
    let measure = ["run", "--release", "--locked", "--quiet", "--package", "payments-benches", "--", "run"];
    let name = asked.name.as_deref();
    let report_only = asked.report_only.then_some("--report-only");
    [build.into(), measure.into_iter().chain(name).chain(report_only).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_optimised_and_locked() {
        let everything = Bench { name: None, report_only: false };
        for call in calls(&everything) {
            assert!(call.contains(&"--release") && call.contains(&"--locked"), "{call:?}");
        }
    }

    #[test]
    fn what_was_asked_is_handed_on() {
        let everything = Bench { name: None, report_only: false };
        let [_, measure] = calls(&everything);
        assert!(measure.ends_with(&["--", "run"]), "{measure:?}");
        let one = Bench { name: Some("sandbox".to_owned()), report_only: true };
        let [_, measure] = calls(&one);
        assert!(measure.ends_with(&["--", "run", "sandbox", "--report-only"]), "{measure:?}");
    }
}
