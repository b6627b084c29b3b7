//! `cargo xtask bench [NAME]`: how fast and how large things are, in a release build.

use xshell::Shell;

use crate::flags::Bench;
use crate::workspace::{cargo, shell};

/// Builds what is measured and what measures it, and lets the latter speak.
pub(crate) fn run(asked: &Bench) -> anyhow::Result<()> {
    let shell = shell()?;
    for arguments in calls(asked) {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
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
fn calls(asked: &Bench) -> [Vec<String>; 2] {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut measure = words("run --release --locked --quiet --package payments-benches -- run");
    measure.extend(asked.name.clone());
    measure.extend(asked.report_only.then(|| "--report-only".to_owned()));
    measure.extend(asked.save.then(|| "--save".to_owned()));
    measure.extend(asked.rows.into_iter().flat_map(|rows| ["--rows".to_owned(), rows.to_string()]));
    [words("build --release --locked --package payments-cli"), measure]
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: Bench = Bench { name: None, report_only: false, rows: None, save: false };

    #[test]
    fn what_is_measured_is_optimised_and_locked() {
        for call in calls(&EVERYTHING) {
            assert!(call.join(" ").contains(" --release --locked "), "{call:?}");
        }
    }

    #[test]
    fn what_was_asked_is_handed_on() {
        let [_, measure] = calls(&EVERYTHING);
        assert!(measure.join(" ").ends_with("-- run"), "{measure:?}");
        let one = Bench { name: Some("sandbox".to_owned()), report_only: true, rows: Some(9), save: true };
        let [_, measure] = calls(&one);
        assert!(measure.join(" ").ends_with("-- run sandbox --report-only --save --rows 9"), "{measure:?}");
    }
}
