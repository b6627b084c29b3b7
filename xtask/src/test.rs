//! `cargo xtask test`: everything that must hold before a change is good, in the order in which it fails fastest.

mod features;
mod need;
mod plan;
mod sandbox;
mod stores;

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use xshell::Shell;

use crate::flags::Test;
use crate::workspace::{Workspace, cargo, shell};
use need::SSH_KEYGEN;
use plan::{Call, Step};
use sandbox::Sandbox;

/// Runs every step, or the one that was asked for, stops at the first that fails, and ends with what each one took.
pub(crate) fn run(asked: &Test) -> anyhow::Result<()> {
    let shell = shell()?;
    let has_nextest = cargo(&shell, ["nextest", "--version"]).ignore_stderr().read().is_ok();
    let mut steps = plan::steps(&Workspace::load()?, has_nextest);
    if asked.list {
        for step in &steps {
            println!("{}", step.title);
        }
        return Ok(());
    }
    if let Some(title) = &asked.only {
        steps.retain(|step| step.title == *title);
        ensure!(!steps.is_empty(), "no step is called {title:?}: cargo xtask test --list names them");
    }
    if !has_nextest {
        println!(
            "cargo-nextest is not installed: tests run with `cargo test`, where nothing stops one that hangs"
        );
    }
    for (index, step) in steps.iter().enumerate() {
        println!("{:>2}. {}", index + 1, step.title);
    }

    let started = Instant::now();
    let mut done: Vec<(&Step, Verdict)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n── step {} of {}: {}", index + 1, steps.len(), step.title);
        if let Some(need) = step.needs.iter().find(|need| !need.is_met(&shell)) {
            ensure!(!asked.complete, "{}: {}, and every step must run", step.title, need.otherwise);
            println!("skipped: {}", need.otherwise);
            done.push((step, Verdict::Skipped(need.otherwise)));
            continue;
        }
        if asked.complete && step.is_all_tests {
            let parts = parts_left_out(&shell);
            ensure!(parts.is_empty(), "{}: {}, and every part must run", step.title, parts.join("; "));
        }
        let step_started = Instant::now();
        let failure =
            step.calls.iter().find_map(|call| execute(&shell, call).err().map(|error| (call, error)));
        let Some((call, error)) = failure else {
            done.push((step, Verdict::Passed(step_started.elapsed())));
            continue;
        };
        done.push((step, Verdict::Failed(step_started.elapsed())));
        summarize(&done);
        bail!(
            "step {} of {} failed: {}\nto run it alone: {call}\n{error:#}",
            index + 1,
            steps.len(),
            step.title
        );
    }

    summarize(&done);
    if asked.only.is_none() {
        println!("stores of the journal that were tested: {}", stores::covered());
    }
    println!("{} in {}", outcome(&done), minutes(started.elapsed()));
    Ok(())
}

/// How a step ended.
#[derive(Clone, Copy, Debug)]
enum Verdict {
    Passed(Duration),
    Failed(Duration),
    Skipped(&'static str),
}

/// What tests leave out on this machine, each by itself, so that they end well all the same.
fn parts_left_out(shell: &Shell) -> Vec<&'static str> {
    let postgres = (!stores::are_all_covered())
        .then_some("PostgreSQL's programs are not installed, so the journal is not tested over it");
    let keys = (!SSH_KEYGEN.is_met(shell)).then_some(SSH_KEYGEN.otherwise);
    postgres.into_iter().chain(keys).collect()
}

fn execute(shell: &Shell, call: &Call) -> anyhow::Result<()> {
    println!("$ {call}");
    let Some(sandbox) = &call.sandbox else { return execute_with(shell, call, &[]) };
    let sandbox = Sandbox::start(sandbox)?;
    let executed = sandbox.environment().and_then(|environment| execute_with(shell, call, &environment));
    let stopped = sandbox.stop(shell);
    executed.and(stopped)
}

fn execute_with(shell: &Shell, call: &Call, environment: &[(&str, &str)]) -> anyhow::Result<()> {
    let arguments = call.arguments.iter().map(String::as_str);
    let command = if call.is_of_cargo() {
        cargo(shell, arguments)
    } else {
        shell.cmd(&call.program).args(arguments).quiet()
    };
    let command = command
        .envs(call.environment.iter().map(|(name, value)| (name, value)))
        .envs(environment.iter().copied());
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

/// A table of the steps so far. A step that did not run says so and why, so that nobody takes it for one that passed.
fn summarize(done: &[(&Step, Verdict)]) {
    println!("\n── summary");
    for (index, (step, verdict)) in done.iter().enumerate() {
        println!("{}", summary_line(index + 1, &step.title, *verdict));
    }
}

fn summary_line(number: usize, title: &str, verdict: Verdict) -> String {
    let (word, time, reason) = match verdict {
        Verdict::Passed(time) => ("ok", minutes(time), ""),
        Verdict::Failed(time) => ("FAILED", minutes(time), ""),
        Verdict::Skipped(reason) => ("skipped", String::new(), reason),
    };
    let separator = if reason.is_empty() { "" } else { ": " };
    format!("{word:>7}  {time:>9}  {number:>2}. {title}{separator}{reason}")
}

/// The last line of a run in which nothing failed.
fn outcome(done: &[(&Step, Verdict)]) -> String {
    let skipped = done.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Skipped(_))).count();
    match skipped {
        0 => format!("all {} steps passed", done.len()),
        _ => format!("{} of {} steps passed and {skipped} skipped", done.len() - skipped, done.len()),
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
    fn a_skipped_step_is_not_taken_for_one_that_passed() {
        let skipped = Verdict::Skipped("python3 is not installed");
        let line = summary_line(9, "a payment from Python", skipped);
        assert_eq!(line, "skipped              9. a payment from Python: python3 is not installed");
        let passed = Verdict::Passed(Duration::from_secs(1));
        assert_eq!(summary_line(1, "formatting", passed), "     ok      1.0 s   1. formatting");

        let step = plan::steps(&Workspace::load().unwrap(), true).remove(0);
        assert_eq!(outcome(&[(&step, passed), (&step, passed)]), "all 2 steps passed");
        assert_eq!(outcome(&[(&step, passed), (&step, skipped)]), "1 of 2 steps passed and 1 skipped");
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
