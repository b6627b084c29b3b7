//! The project's tasks, run with `cargo xtask <task>`. This package is not published.
//!
//! The rules of the repository are ordinary tests, in `xtask/tests/tidy`.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a task reports to the person who ran it")]

mod fuzz;
mod shell;
mod test;
mod wheel;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use xshell::cmd;
use xtask::cargo;

use crate::shell::shell;

/// The project's tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
enum Task {
    /// Check everything: formatting, lints, features, tests, doctests, examples in documents, documentation.
    Test(test::Options),
    /// Check only the repository's rules; `test` checks them too.
    Tidy,
    /// Run benchmarks in a release build, and fail if a figure misses its goal.
    #[command(disable_help_flag = true)]
    Bench(PassedOn),
    /// Publish the crates to a registry: `prepare`, `check`, `publish`, `api`, `packages`.
    #[command(disable_help_flag = true)]
    Release(PassedOn),
    /// Simulate payments over a bad network in virtual time, in a release build, and fail on a broken promise.
    #[command(disable_help_flag = true)]
    Simulate(PassedOn),
    /// Kill billing runs at random moments and compare their journal with the service's ledger, in a release build.
    CrashTest {
        /// How many rounds to run.
        #[arg(long, default_value_t = 300)]
        rounds: u64,
        /// The seed of all random choices; by default a new one each time.
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Check every contract of the transports with every flaw; `test` tries one flaw of each theme.
    Conformance,
    /// Fuzz every parser of the workspace; needs a nightly toolchain and cargo-fuzz.
    Fuzz(fuzz::Options),
    /// Convert every amount below a million, and as many random ones, from text to JSON and back.
    ExhaustiveMoney,
    /// Build the `payments` command as a Python wheel, in target/wheel/release.
    Wheel,
    /// Run the unit tests of payments-model and payments-core under Miri; needs a nightly toolchain with `miri`.
    Miri,
}

/// Arguments for the package that does the task. It has its own `--help`.
#[derive(clap::Args, Debug)]
struct PassedOn {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Test(options) => test::run(&options),
        Task::Tidy => run("test --quiet --locked --package xtask --test tidy", &[]),
        Task::Bench(PassedOn { arguments }) => bench(&arguments),
        Task::Release(PassedOn { arguments }) => {
            run("run --quiet --locked --package payments-release --", &arguments)
        }
        Task::Simulate(PassedOn { arguments }) => {
            run("run --release --quiet --locked --package payments-simulation --", &arguments)
        }
        Task::CrashTest { rounds, seed } => crash_test(rounds, seed),
        Task::Conformance => conformance(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::ExhaustiveMoney => {
            run("run --release --quiet --locked --package payments-fuzz --example exhaustive-money", &[])
        }
        Task::Wheel => shell()
            .and_then(|shell| wheel::build(&shell, "release"))
            .map(|(_, path)| println!("{}", path.display())),
        Task::Miri => miri(),
    };
    // Not returned from `main`: anyhow may print a backtrace, which would hide the line that says what to do.
    if let Err(error) = done {
        eprintln!("\nerror: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(call: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    cargo(&shell()?, call).args(arguments).run().context("see above")
}

/// Builds the `payments` command alone, as users get it. Built together with the benchmarks it would also have their
/// features.
fn bench(arguments: &[OsString]) -> anyhow::Result<()> {
    run("build --release --quiet --locked --package payments-cli", &[])?;
    run("run --release --quiet --locked --package payments-bench --", arguments)
}

fn crash_test(rounds: u64, seed: Option<u64>) -> anyhow::Result<()> {
    let shell = shell()?;
    shell.set_var("CRASH_TEST_ROUNDS", rounds.to_string());
    if let Some(seed) = seed {
        shell.set_var("CRASH_TEST_SEED", seed.to_string());
    }
    let test = "test --release --quiet --locked --package payments-cli --test crash -- --ignored --nocapture";
    let tested = cargo(&shell, test).run();
    tested.context("a killed billing run may charge somebody twice, or the test could not run: see above")
}

fn conformance() -> anyhow::Result<()> {
    let shell = shell()?;
    shell.set_var("PAYMENTS_CONFORMANCE_ALL", "1");
    let tested =
        "test --locked --no-fail-fast --package payments-conformance --test conformance -- --include-ignored";
    cargo(&shell, tested).run().context("a contract misses its flaw, or breaks by another: see above")?;
    let http2 =
        "test --locked --no-fail-fast --package payments-hyper --all-features --test hyper -- broken_http2::";
    cargo(&shell, http2)
        .run()
        .context("a contract about HTTP/2 misses its flaw, or breaks by another: see above")
}

/// Neither crate has unsafe code: Miri checks how they use the unsafe code of `serde_json`, `bytes` and `http`.
fn miri() -> anyhow::Result<()> {
    // Each of these repeats the same memory accesses for thousands of texts, which would take Miri most of an hour.
    const TOO_LONG: [&str; 4] =
        ["--skip", "hostile_texts_and_many_secrets_end_in_time", "--skip", "snippet::tests"];
    let shell = shell()?;
    // proptest reads the current folder, which Miri's isolation forbids. More cases would repeat the same memory accesses.
    shell.set_var("MIRIFLAGS", "-Zmiri-disable-isolation");
    shell.set_var("PROPTEST_CASES", "4");
    for package in ["payments-model", "payments-core"] {
        // rustup sets RUSTUP_TOOLCHAIN to the toolchain that runs this program, which would override `nightly`.
        cmd!(shell, "rustup run nightly cargo miri test --locked --package {package} --lib -- {TOO_LONG...}")
            .env_remove("RUSTUP_TOOLCHAIN")
            .run()
            .context(
                "see above. If Miri is missing: rustup toolchain install nightly --component miri,rust-src",
            )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_line_is_well_formed() {
        Task::command().debug_assert();
    }

    #[test]
    fn arguments_for_another_package_are_passed_on_unchanged() {
        let task = Task::parse_from(["xtask", "simulate", "--seed", "7", "--help"]);
        let Task::Simulate(PassedOn { arguments }) = task else { panic!("{task:?}") };
        assert_eq!(arguments, ["--seed", "7", "--help"]);
    }
}
