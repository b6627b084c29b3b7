//! `cargo xtask test`: everything that must hold before a change is good, cheap steps first.
//!
//! All steps share one target folder and none sets `RUSTFLAGS`, so that what one step has compiled serves the next.

mod sandbox;

use std::time::{Duration, Instant};

use anyhow::ensure;
use xshell::{Shell, cmd};

use crate::cargo::{self, cargo};
use sandbox::Sandbox;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Name the steps and run none.
    #[arg(long)]
    list: bool,
    /// One step alone, by its name.
    #[arg(long, value_name = "STEP")]
    only: Option<String>,
    /// Fail where a step or a test would have to be skipped.
    #[arg(long)]
    complete: bool,
    /// Only the packages with changes since the last commit, without their slow tests.
    #[arg(long, conflicts_with_all = ["only", "complete"])]
    quick: bool,
}

/// Runs every step, or the one that was asked for, and stops at the first that fails.
pub(crate) fn run(asked: &Options) -> anyhow::Result<()> {
    let shell = cargo::shell()?;
    if asked.list {
        for step in STEPS {
            println!("{}", step.title);
        }
        return Ok(());
    }
    if asked.quick {
        return quick(&shell);
    }
    if asked.complete {
        // A test that would leave itself out where a program is missing fails where CI says so.
        shell.set_var("CI", "true");
    }
    let wanted = |step: &&Step| asked.only.as_deref().is_none_or(|title| title == step.title);
    let steps: Vec<_> = STEPS.iter().filter(wanted).collect();
    ensure!(!steps.is_empty(), "there is no such step: `cargo xtask test --list` names them");

    let started = Instant::now();
    let mut summary = Vec::new();
    for (step, number) in steps.iter().zip(1..) {
        println!("\n── step {number} of {}: {}", steps.len(), step.title);
        if let Some(Need { otherwise, .. }) = step.needs.iter().find(|need| !need.is_met(&shell)) {
            ensure!(!asked.complete, "{}: {otherwise}, and every step must run", step.title);
            println!("skipped: {otherwise}");
            summary.push(format!("skipped  {:>9}  {}: {otherwise}", "", step.title));
            continue;
        }
        let step_started = Instant::now();
        let done = (step.run)(&shell);
        let verdict = if done.is_ok() { "ok" } else { "FAILED" };
        summary.push(format!("{verdict:>7}  {:>9}  {}", minutes(step_started.elapsed()), step.title));
        if let Err(error) = done {
            println!("\n── summary\n{}", summary.join("\n"));
            let again = format!("to run it alone: cargo xtask test --only {:?}", step.title);
            return Err(error.context(again));
        }
    }
    println!("\n── summary\n{}", summary.join("\n"));
    println!("{} in {}", outcome(&summary), minutes(started.elapsed()));
    Ok(())
}

struct Step {
    title: &'static str,
    /// Without these the step is skipped, and the summary says why.
    needs: &'static [Need],
    run: fn(&Shell) -> anyhow::Result<()>,
}

const STEPS: &[Step] = &[
    Step { title: "formatting", needs: &[], run: formatting },
    Step { title: "lints", needs: &[], run: lints },
    Step { title: "lints of each library alone", needs: &[], run: lints_of_each_library },
    Step { title: "tests", needs: &[], run: tests },
    Step { title: "numbers under serde_json's other features", needs: &[], run: numbers },
    Step { title: "the sandbox answers as its OpenAPI document says", needs: &[PYTHON_VENV], run: openapi },
    Step { title: "a payment from Python", needs: &[PYTHON], run: python },
    Step { title: "a payment from Node", needs: &[NODE], run: node },
    Step { title: "the sessions of the documents", needs: &[BASH, CURL], run: sessions },
    Step { title: "doctests", needs: &[], run: doctests },
    Step { title: "the README works with the packages alone", needs: &[], run: packages },
    Step { title: "documentation", needs: &[], run: documentation },
    Step { title: PUBLIC_API, needs: &[RUSTDOC_JSON], run: public_api },
];

/// A gate of a release as well, which knows the step by this title.
const PUBLIC_API: &str = "the public API is the committed one";

fn formatting(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["fmt --all --check", "fmt --all --check --manifest-path xtask/bench/clients/Cargo.toml"])
}

fn lints(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["clippy --locked --workspace --all-targets --all-features -- -D warnings"])
}

/// Features unify across a workspace, so each library is also compiled as its user gets it: with its default features,
/// without any, and with each one alone. A release also tries every combination.
fn lints_of_each_library(shell: &Shell) -> anyhow::Result<()> {
    for library in
        cargo::packages(shell)?.iter().filter(|package| package.is_published && package.has_library)
    {
        let lint = format!("clippy --quiet --locked --package {} --lib", library.name);
        let mut calls = vec![format!("{lint} -- -D warnings")];
        if !library.features.is_empty() {
            calls.push(format!("{lint} --no-default-features -- -D warnings"));
        }
        let alone = |feature| format!("{lint} --no-default-features --features {feature} -- -D warnings");
        calls.extend(library.features.iter().map(alone));
        run_all(shell, &calls)?;
    }
    Ok(())
}

/// Every feature that a crate's tests ask about is on: the manifests of the tests see to that.
fn tests(shell: &Shell) -> anyhow::Result<()> {
    if has_nextest(shell) {
        return run_all(shell, &["nextest run --locked --no-fail-fast --workspace"]);
    }
    println!("cargo-nextest is not installed: `cargo test` stops no test that hangs");
    // Told to test examples, cargo builds no programs of them, and a test runs these.
    let test = "test --locked --no-fail-fast --workspace --lib --bins --tests --examples";
    run_all(shell, &["build --locked --workspace --examples", test])
}

/// What is about numbers, under the features that another crate of a user's build may switch on. The tests of the whole
/// workspace ran with neither.
fn numbers(shell: &Shell) -> anyhow::Result<()> {
    let runner = if has_nextest(shell) { "nextest run" } else { "test" };
    let packages = "--package payments-model --package payments-core --package payments-fuzz";
    let call = |features| {
        format!(
            "{runner} --locked {packages} --lib --test model --test outcome_table --test money --features {features}"
        )
    };
    run_all(
        shell,
        &["arbitrary_precision", "float_roundtrip", "arbitrary_precision,float_roundtrip"].map(call),
    )
}

/// Sends a running sandbox thousands of requests, good and bad, and checks the responses against the document.
fn openapi(shell: &Shell) -> anyhow::Result<()> {
    let folder = cargo::target(shell)?.join("schemathesis");
    let (python, schemathesis) = (folder.join("bin/python"), folder.join("bin/schemathesis"));
    build_command(shell)?;
    // Both find at once that nothing is to be done, and repair what an interrupted run left.
    cmd!(shell, "python3 -m venv {folder}").run()?;
    let requirements = "tests/schemathesis/requirements.txt";
    cmd!(shell, "{python} -m pip install --quiet --disable-pip-version-check --require-hashes --requirement {requirements}")
        .run()?;
    // The examples have declines among them, so each shape of a decline is seen.
    let every_phase = ("ok-failed", "examples,coverage,fuzzing,stateful");
    let shapes = ["ok-error", "bad-request", "payment-required"].map(|shape| (shape, "examples"));
    for (shape, phases) in std::iter::once(every_phase).chain(shapes) {
        let sandbox = Sandbox::start(&command(shell)?, &["--seed", "1", "--decline-shape", shape])?;
        let document = "crates/payments-sandbox/openapi.json";
        let config = "tests/schemathesis/schemathesis.toml";
        cmd!(shell, "{schemathesis} --config-file {config} run {document} --phases {phases}")
            .envs([("SANDBOX_BASE_URL", sandbox.base_url()), ("SANDBOX_API_KEY", sandbox.api_key())])
            .env("HYPOTHESIS_STORAGE_DIRECTORY", folder.join("hypothesis"))
            // It would send what is meant for this machine to a proxy that the environment names.
            .env("NO_PROXY", "127.0.0.1")
            .run()?;
    }
    Ok(())
}

fn python(shell: &Shell) -> anyhow::Result<()> {
    build_command(shell)?;
    let payments = command(shell)?;
    Ok(cmd!(shell, "python3 examples/python/test_payments.py").env("PAYMENTS", payments).run()?)
}

fn node(shell: &Shell) -> anyhow::Result<()> {
    build_command(shell)?;
    let payments = command(shell)?;
    Ok(cmd!(shell, "node --test examples/node/payments.test.mjs").env("PAYMENTS", payments).run()?)
}

fn sessions(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --locked --workspace --test cli -- --ignored documents"])
}

/// Those of the READMEs and guides among them, which `tidy` checks.
fn doctests(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --locked --workspace --doc"])
}

fn packages(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --locked --workspace --test packages -- --ignored"])
}

fn documentation(shell: &Shell) -> anyhow::Result<()> {
    let doc = cargo(shell, "doc --locked --workspace --no-deps").env("RUSTDOCFLAGS", "-D warnings");
    Ok(doc.run()?)
}

fn public_api(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["run --quiet --locked --package payments-release -- api --check"])
}

/// After a change in one crate: its format, lints and tests, and the rules of the repository.
fn quick(shell: &Shell) -> anyhow::Result<()> {
    let changed = cmd!(shell, "git status --porcelain --no-renames --untracked-files=all").quiet().read()?;
    let files: Vec<_> = changed.lines().filter_map(|line| line.get(3..)).collect();
    let packages = cargo::packages(shell)?;
    // `tests/canary` is inside `tests`: the longest folder is the file's own package.
    let package_of = |file: &str| {
        let around = packages.iter().filter(|package| file.starts_with(&format!("{}/", package.folder)));
        around.max_by_key(|package| package.folder.len())
    };
    let mut names: Vec<_> =
        files.iter().filter_map(|file| package_of(file)).map(|package| package.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    ensure!(
        !names.is_empty(),
        "nothing has changed since the last commit: `cargo xtask test` tests everything"
    );
    let selection = format!(" --package {}", names.join(" --package "));
    let (test, slow) = if has_nextest(shell) {
        ("nextest run --no-fail-fast --profile quick", "the slow tests")
    } else {
        ("test --no-fail-fast", "no tests of these packages")
    };
    run_all(
        shell,
        &[
            "fmt --all --check".to_owned(),
            format!("clippy --locked --all-targets{selection} -- -D warnings"),
            format!("{test} --locked{selection}"),
            "test --quiet --locked --package xtask --test tidy".to_owned(),
        ],
    )?;
    println!("{} hold; left out: {slow}, and what depends on them", names.join(", "));
    Ok(())
}

/// Runs one call of cargo after the other.
fn run_all(shell: &Shell, calls: &[impl AsRef<str>]) -> anyhow::Result<()> {
    for call in calls {
        println!("$ cargo {}", call.as_ref());
        cargo(shell, call.as_ref()).run()?;
    }
    Ok(())
}

fn has_nextest(shell: &Shell) -> bool {
    cargo(shell, "nextest --version").ignore_stdout().ignore_stderr().run().is_ok()
}

/// The `payments` command, with the features that the tests of the whole workspace have built it with: nothing is
/// compiled twice.
fn build_command(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --quiet --locked --workspace --test cli --no-run"])
}

fn command(shell: &Shell) -> anyhow::Result<std::path::PathBuf> {
    Ok(cargo::target(shell)?.join("debug/payments"))
}

/// A program, and a call of it that succeeds where it will do.
struct Need {
    call: [&'static str; 3],
    /// The reason that a skipped step gives.
    otherwise: &'static str,
}

const PYTHON: Need = Need { call: ["python3", "-c", "import json"], otherwise: "python3 is not installed" };

const PYTHON_VENV: Need = Need {
    call: ["python3", "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"],
    otherwise: "there is no python3 from 3.11 on that can make virtual environments (in Debian: python3-venv)",
};

const NODE: Need = Need {
    call: ["node", "--eval", "require('node:test'); fetch"],
    otherwise: "node is not installed, or older than 18",
};

const CURL: Need = Need { call: ["curl", "--silent", "--version"], otherwise: "curl is not installed" };

const BASH: Need = Need { call: ["bash", "-c", "true"], otherwise: "bash is not installed" };

/// Rustdoc writes JSON to its standard output where it can; the format is the one that payments-release reads.
const RUSTDOC_JSON: Need = Need {
    call: [
        "sh",
        "-c",
        "echo | RUSTC_BOOTSTRAP=1 rustdoc - --crate-name probe -o - -Z unstable-options --output-format json \
         | grep --quiet --extended-regexp '\"format_version\":5[789][,}]'",
    ],
    otherwise: "rustdoc's JSON is in none of the formats 57 to 59, which Rust 1.95 for one has",
};

impl Need {
    fn is_met(&self, shell: &Shell) -> bool {
        let [program, arguments @ ..] = &self.call;
        shell.cmd(program).args(arguments).quiet().ignore_stdout().ignore_stderr().run().is_ok()
    }
}

fn outcome(summary: &[String]) -> String {
    let skipped = summary.iter().filter(|line| line.starts_with("skipped")).count();
    match skipped {
        0 => format!("all {} steps passed", summary.len()),
        _ => format!("{} of {} steps passed and {skipped} skipped", summary.len() - skipped, summary.len()),
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
