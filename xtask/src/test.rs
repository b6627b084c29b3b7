//! `cargo xtask test`: everything that must hold before a change is good, in the order in which it fails fastest.

mod features;
mod plan;

use std::time::{Duration, Instant};

use anyhow::bail;
use xshell::Shell;

use crate::workspace::{Workspace, cargo, shell};
use plan::{Call, Step};

/// Runs every step, stops at the first that fails, and ends with what each one took.
pub(crate) fn run() -> anyhow::Result<()> {
    let shell = shell()?;
    let has_nextest = cargo(&shell, ["nextest", "--version"]).ignore_stderr().read().is_ok();
    if !has_nextest {
        println!(
            "cargo-nextest is not installed: tests run with `cargo test`, where nothing stops one that hangs"
        );
    }
    let steps = plan::steps(&Workspace::load()?, has_nextest);

    for (index, step) in steps.iter().enumerate() {
        println!("{:>2}. {}", index + 1, step.title);
    }

    let started = Instant::now();
    let mut taken = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n── step {} of {}: {}", index + 1, steps.len(), step.title);
        let step_started = Instant::now();
        let failure =
            step.calls.iter().find_map(|call| execute(&shell, call).err().map(|error| (call, error)));
        taken.push((step, step_started.elapsed()));
        if let Some((call, error)) = failure {
            summarize(&taken, "FAILED");
            bail!(
                "step {} of {} failed: {}\nto run it alone: {call}\n{error:#}",
                index + 1,
                steps.len(),
                step.title
            );
        }
    }

    summarize(&taken, "ok");
    println!("all {} steps passed in {}", steps.len(), minutes(started.elapsed()));
    Ok(())
}

fn execute(shell: &Shell, call: &Call) -> anyhow::Result<()> {
    println!("$ {call}");
    let command =
        cargo(shell, call.arguments.iter().map(String::as_str)).envs(call.environment.iter().copied());
    if !call.must_run_a_test {
        return Ok(command.run()?);
    }
    // The exit status counts even where the output says that tests passed.
    let output = command.ignore_status().output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{}{text}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("the command ended with {}", output.status);
    }
    if passed(&text) == 0 {
        bail!("no test ran, so nothing was shown");
    }
    Ok(())
}

/// How many tests the closing lines of `cargo test` say have passed.
fn passed(output: &str) -> usize {
    let results = output.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results.filter_map(|rest| rest.split_whitespace().next()?.parse::<usize>().ok()).sum()
}

/// A table of the steps so far; `last` is the verdict on the last of them, those before it have passed.
fn summarize(taken: &[(&Step, Duration)], last: &str) {
    println!("\n── summary");
    for (index, (step, time)) in taken.iter().enumerate() {
        let verdict = if index + 1 == taken.len() { last } else { "ok" };
        println!("{verdict:>6}  {:>9}  {:>2}. {}", minutes(*time), index + 1, step.title);
    }
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:>2} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_ran_and_passed_are_counted() {
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\
                      test result: ok. 0 passed; 0 failed; 1 ignored\ntest result: FAILED. 3 passed; 1 failed";
        assert_eq!(passed(output), 2);
        assert_eq!(passed(""), 0);
    }

    #[test]
    fn a_time_is_told_in_the_unit_that_a_person_would_use() {
        assert_eq!(minutes(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(minutes(Duration::from_secs(125)), "2 min  5 s");
    }

    #[test]
    fn a_call_that_runs_no_test_fails_where_one_must_run() {
        let mut call = Call::new(["--version"]);
        let shell = shell().unwrap();
        assert!(execute(&shell, &call).is_ok());
        call.must_run_a_test = true;
        assert!(execute(&shell, &call).is_err());
    }
}
