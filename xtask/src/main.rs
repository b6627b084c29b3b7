//! The project's own tasks, called as `cargo xtask <task>`. No published crate contains any of it.
//!
//! The rules of the repository are ordinary tests, in `xtask/tests/tidy`.

#![allow(clippy::print_stdout, reason = "a task reports to the person who ran it")]

mod cargo;
mod fuzz;
mod test;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use xshell::cmd;

use crate::cargo::{cargo, shell};

/// The project's own tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
enum Task {
    /// Check everything: format, lints, features, tests, doctests, examples of the documents, documentation.
    Test(test::Options),
    /// Check the rules of the repository alone; they are also part of `test`.
    Tidy,
    /// Measure, in a release build, and fail if a goal is missed.
    #[command(disable_help_flag = true)]
    Bench(Words),
    /// Take the crates to a registry: `prepare`, `check`, `publish`, `api`.
    #[command(disable_help_flag = true)]
    Release(Words),
    /// Search for a broken promise: payments over a bad network in virtual time, in a release build.
    #[command(disable_help_flag = true)]
    Simulate(Words),
    /// Kill billing runs at any moment and compare their journal with the service's ledger, in a release build.
    CrashTest {
        /// How many rounds there are.
        #[arg(long, default_value_t = 300)]
        rounds: u64,
        /// The seed of all random choices; a new one each time by default.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Search for inputs that break what must hold for any bytes; needs a nightly toolchain and cargo-fuzz.
    Fuzz(fuzz::Options),
    /// Take every amount of cents below a million, and as many random ones, from text to JSON and back.
    ExhaustiveMoney,
    /// Run the unit tests of model and core under Miri; needs a nightly toolchain with the component `miri`.
    Miri,
}

/// Passed on to the package that does the task, which has a help of its own.
#[derive(clap::Args, Debug)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Test(options) => test::run(&options),
        Task::Tidy => run("test --quiet --locked --package xtask --test tidy", &[]),
        Task::Bench(Words { words }) => bench(&words),
        Task::Release(Words { words }) => run("run --quiet --locked --package payments-release --", &words),
        Task::Simulate(Words { words }) => {
            run("run --release --quiet --locked --package payments-simulation --", &words)
        }
        Task::CrashTest { rounds, seed } => crash_test(rounds, seed),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::ExhaustiveMoney => {
            run("run --release --quiet --locked --package payments-fuzz --example exhaustive-money", &[])
        }
        Task::Miri => miri(),
    };
    // Not returned from `main` as it is: a stack backtrace below it would hide the line that says what to do.
    if let Err(error) = done {
        println!("\nerror: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(call: &str, words: &[OsString]) -> anyhow::Result<()> {
    cargo(&shell()?, call).args(words).run().context("see above")
}

/// The command is built alone, as its users get it. Built together with the benchmarks it would also have their
/// features.
fn bench(words: &[OsString]) -> anyhow::Result<()> {
    run("build --release --quiet --locked --package payments-cli", &[])?;
    run("run --release --quiet --locked --package payments-bench --", words)
}

fn crash_test(rounds: u64, seed: Option<u64>) -> anyhow::Result<()> {
    let shell = shell()?;
    shell.set_var("CRASH_TEST_ROUNDS", rounds.to_string());
    if let Some(seed) = seed {
        shell.set_var("CRASH_TEST_SEED", seed.to_string());
    }
    let test = "test --release --quiet --locked --package payments-cli --test crash -- --ignored --nocapture";
    let tested = cargo(&shell, test).run();
    tested.context("somebody may be charged twice, or the test could not run: see above")
}

/// Neither crate has unsafe code of its own: Miri checks how they use that of `serde_json`, `bytes` and `http`.
fn miri() -> anyhow::Result<()> {
    // Each goes through thousands of texts on the same way through memory, which would take Miri most of an hour.
    const TOO_LONG: [&str; 4] =
        ["--skip", "hostile_texts_and_many_secrets_end_in_time", "--skip", "snippet::tests"];
    let shell = shell()?;
    // proptest asks where it is, to keep failures, and more cases would not take other ways through memory.
    shell.set_var("MIRIFLAGS", "-Zmiri-disable-isolation");
    shell.set_var("PROPTEST_CASES", "4");
    for package in ["payments-model", "payments-core"] {
        // The toolchain of this program is set for its children, and the one that is asked for must win.
        cmd!(shell, "rustup run nightly cargo miri test --locked --package {package} --lib -- {TOO_LONG...}")
            .env_remove("RUSTUP_TOOLCHAIN")
            .run()
            .context("is Miri there? rustup toolchain install nightly --component miri,rust-src")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Task::command().debug_assert();
    }

    #[test]
    fn words_for_another_package_are_passed_on_as_they_are() {
        let task = Task::parse_from(["xtask", "simulate", "--seed", "7", "--help"]);
        let Task::Simulate(Words { words }) = task else { panic!("{task:?}") };
        assert_eq!(words, ["--seed", "7", "--help"]);
    }
}
