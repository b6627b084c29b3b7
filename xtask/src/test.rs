//! `cargo xtask test`: every check that a change must pass, cheap steps first.
//!
//! All steps share one target folder and none sets `RUSTFLAGS`, so each step reuses what earlier ones have compiled. Cargo locks
//! the folder while it compiles, and not while a test runs.

mod quick;
mod step;
mod steps;

use std::sync::Mutex;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

use anyhow::ensure;
use xshell::Shell;

use crate::shell::shell;
use step::{Need, Stage, Step, duration};
use steps::STEPS;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// List the steps without running them.
    #[arg(long)]
    list: bool,
    /// Run only the step with this name.
    #[arg(long, value_name = "STEP")]
    only: Option<String>,
    /// Fail if a step or a test would be skipped.
    #[arg(long)]
    complete: bool,
    /// Do not run a step that reads only some files, if none of them has changed since this commit.
    #[arg(long, value_name = "COMMIT", conflicts_with = "only")]
    since: Option<String>,
    /// Check only the packages with uncommitted changes, without their slow tests.
    #[arg(long, conflicts_with_all = ["only", "complete", "since"])]
    quick: bool,
}

/// Runs all steps, or the selected one. After a failure no other step begins.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let shell = shell()?;
    if options.list {
        for step in STEPS {
            println!("{}", step.title);
        }
        return Ok(());
    }
    if options.quick {
        return quick::run(&shell);
    }
    if options.complete {
        // Some tests skip themselves if a program is missing. With this variable they fail instead.
        shell.set_var("CI", "true");
    }
    let is_selected = |step: &&Step| options.only.as_deref().is_none_or(|title| title == step.title);
    let selected: Vec<_> = STEPS.iter().filter(is_selected).collect();
    ensure!(!selected.is_empty(), "there is no such step: list them with `cargo xtask test --list`");

    let started = Instant::now();
    let (mut summary, mut steps) = (Vec::new(), Vec::new());
    for step in selected {
        if let Some(Need { missing, .. }) = step.needs.iter().find(|need| !(need.is_met)(&shell)) {
            ensure!(
                !options.complete,
                "cannot run {:?}: {missing}. Install it, or run without --complete to skip this step",
                step.title
            );
            summary.push(format!("skipped  {:>9}  {}: {missing}", "", step.title));
        } else if let Some(commit) =
            options.since.as_deref().filter(|commit| step.reads_nothing_new(&shell, commit))
        {
            let why = format!("nothing that it reads has changed since {commit}");
            summary.push(format!("not run  {:>9}  {}: {why}", "", step.title));
        } else {
            steps.push(step);
        }
    }
    if let ([step], Some(_)) = (&steps[..], &options.only) {
        return step.run_here(&shell, &mut summary);
    }
    let result = run_all_steps(&shell, &steps, options.complete, &mut summary);
    println!("\n── summary\n{}", summary.join("\n"));
    result?;
    println!("{} in {}", count_passed(&summary), duration(started.elapsed()));
    Ok(())
}

/// Runs the steps before the tests, then the tests and the others beside them: most tests wait, and leave time to compile. When the
/// tests have ended, two of the others run at a time.
fn run_all_steps(
    shell: &Shell,
    steps: &[&'static Step],
    is_complete: bool,
    summary: &mut Vec<String>,
) -> anyhow::Result<()> {
    // The path stays the same when the tests are built, and this program with them.
    let program = std::env::current_exe()?;
    let of = |stage| steps.iter().filter(move |step| step.stage == stage);
    of(Stage::BeforeTests).try_for_each(|step| step.run_here(shell, summary))?;

    let rest = Mutex::new(of(Stage::BesideTests));
    let next = || rest.lock().expect("taking a step does not panic").next();
    let run_the_rest = |sender: Sender<_>| {
        while let Some(step) = next() {
            let started = Instant::now();
            let (output, result) = step.run_apart(&program, is_complete);
            if result.is_err() {
                while next().is_some() {}
            }
            sender.send((step, started.elapsed(), output, result)).expect("the results are awaited");
        }
    };
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        let second = sender.clone();
        scope.spawn(move || run_the_rest(sender));
        let mut all = of(Stage::Tests).try_for_each(|step| step.run_here(shell, summary));
        if all.is_ok() {
            // One of the two compiles at a time, because cargo locks the folder. The other runs what it has compiled.
            scope.spawn(move || run_the_rest(second));
        } else {
            drop(second);
            while next().is_some() {}
        }
        for (step, took, output, result) in results {
            println!("{output}");
            let result = step.end(took, result, summary);
            all = all.and(result);
        }
        all
    })
}

fn count_passed(summary: &[String]) -> String {
    let count = |word| summary.iter().filter(|line| line.starts_with(word)).count();
    let (skipped, not_run) = (count("skipped"), count("not run"));
    let passed = summary.len() - skipped - not_run;
    format!("{passed} of {} steps passed, {skipped} skipped, {not_run} not run", summary.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_fails_if_the_only_step_is_skipped() {
        run_all_steps(&shell().unwrap(), &[], false, &mut Vec::new()).unwrap();
    }
}
