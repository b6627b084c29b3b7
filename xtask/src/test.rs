//! `cargo xtask test`: every check that a change must pass, cheap steps first.
//!
//! All steps share one target folder and none sets `RUSTFLAGS`, so each step reuses what earlier ones have compiled. Cargo locks
//! the folder while it compiles, and not while a test runs.

mod sandbox;

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use xshell::{Shell, cmd};

use crate::cargo::{self, cargo};
use crate::wheel;
use sandbox::Sandbox;

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
    let shell = cargo::shell()?;
    if options.list {
        for step in STEPS {
            println!("{}", step.title);
        }
        return Ok(());
    }
    if options.quick {
        return quick(&shell);
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
        if let Some(Need { missing, .. }) = step.needs.iter().find(|need| !need.is_met(&shell)) {
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
    let result = run_all_steps(&shell, steps, options.complete, &mut summary);
    println!("\n── summary\n{}", summary.join("\n"));
    result?;
    println!("{} in {}", count_passed(&summary), duration(started.elapsed()));
    Ok(())
}

/// Runs the steps before the tests, then the tests and the others beside them: most tests wait, and leave time to compile.
fn run_all_steps(
    shell: &Shell,
    steps: Vec<&'static Step>,
    is_complete: bool,
    summary: &mut Vec<String>,
) -> anyhow::Result<()> {
    // The path stays the same when the tests are built, and this program with them.
    let program = std::env::current_exe()?;
    let (beside, mut in_order): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| step.is_beside_tests);
    let tests = in_order.pop().context("the tests run always")?;
    in_order.into_iter().try_for_each(|step| step.run_here(shell, summary))?;

    thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        scope.spawn(move || {
            for step in beside {
                let started = Instant::now();
                let (output, result) = step.run_apart(&program, is_complete);
                let is_last = result.is_err();
                // Nobody receives it if the tests have failed.
                if sender.send((step, started.elapsed(), output, result)).is_err() || is_last {
                    break;
                }
            }
        });
        let mut all = tests.run_here(shell, summary);
        while let Some((step, took, output, result)) =
            if all.is_ok() { ended.recv().ok() } else { ended.try_recv().ok() }
        {
            println!("{output}");
            let result = step.end(took, result, summary);
            all = all.and(result);
        }
        all
    })
}

struct Step {
    title: &'static str,
    /// If one of these is not met, the step is skipped and the summary says why.
    needs: &'static [Need],
    /// All files that decide its result besides the toolchain and [`ALWAYS_READ`], as patterns of git. If there are none, it may
    /// read any file.
    reads: &'static [&'static str],
    /// It replaces no program that a test starts.
    is_beside_tests: bool,
    run: Run,
}

type Run = fn(&Shell) -> anyhow::Result<()>;

impl Step {
    fn run_here(&self, shell: &Shell, summary: &mut Vec<String>) -> anyhow::Result<()> {
        println!("\n── {}", self.title);
        let started = Instant::now();
        let result = (self.run)(shell);
        self.end(started.elapsed(), result, summary)
    }

    /// Runs it in a process of low priority, because tests have deadlines. What it prints is kept until the tests have printed
    /// theirs.
    fn run_apart(&self, program: &Path, is_complete: bool) -> (String, anyhow::Result<()>) {
        let mut output = Vec::new();
        let result = (|| {
            let (mut reader, writer) = io::pipe()?;
            let mut command = Command::new(if cfg!(unix) { Path::new("nice") } else { program });
            command.args(cfg!(unix).then_some(program)).args(["test", "--only", self.title]);
            command.args(is_complete.then_some("--complete")).stdin(Stdio::null());
            let mut step = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
            // It holds the pipe open.
            drop(command);
            reader.read_to_end(&mut output)?;
            ensure!(step.wait()?.success(), "it failed");
            Ok(())
        })();
        if result.is_err() {
            println!("\n── FAILED: {}. What it printed follows when the tests have ended", self.title);
        }
        (String::from_utf8_lossy(&output).into_owned(), result)
    }

    fn end(
        &self,
        took: Duration,
        result: anyhow::Result<()>,
        summary: &mut Vec<String>,
    ) -> anyhow::Result<()> {
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        summary.push(format!("{word:>7}  {:>9}  {}", duration(took), self.title));
        result.with_context(|| {
            format!("see above, fix it, then run this step alone: cargo xtask test --only {:?}", self.title)
        })
    }
}

/// The manifests, the lock file and the steps themselves.
const ALWAYS_READ: [&str; 5] = ["*Cargo.toml", "Cargo.lock", ".cargo", ".ci", "xtask"];

impl Step {
    /// If git cannot tell, for example in a clone without history, the answer is no.
    fn reads_nothing_new(&self, shell: &Shell, commit: &str) -> bool {
        let reads = self.reads;
        let same = cmd!(shell, "git diff --quiet {commit} -- {ALWAYS_READ...} {reads...}");
        let new = cmd!(shell, "git ls-files --others --exclude-standard -- {ALWAYS_READ...} {reads...}");
        !reads.is_empty()
            && same.quiet().ignore_stderr().run().is_ok()
            && new.quiet().read().is_ok_and(|files| files.is_empty())
    }
}

/// Beside the tests come first those that use one core: when the tests have ended, the others have both.
const STEPS: &[Step] = &[
    first("formatting", formatting),
    first("lints", lints),
    first("build of the tests", build_of_the_tests),
    first("tests", tests),
    beside("the sandbox follows its OpenAPI document", &[PYTHON_VENV], SANDBOX, openapi),
    beside("a payment from Python", &[PYTHON_VENV], &[], python),
    beside("a payment from Node", &[NODE], &[], node),
    beside("console examples in the documents", &[BASH, CURL], &[], console_examples),
    beside("doctests", &[], &[], doctests),
    beside("lints of each library alone", &[], LIBRARIES, lints_of_each_library),
    beside("the public API matches tests/api", &[RUSTDOC_JSON], API, public_api),
    beside("documentation", &[], &[], documentation),
    beside("numbers under serde_json's other features", &[], NUMBERS, numbers),
    beside("the Python package", &[PYTHON_VENV], WHEEL, python_package),
    beside("the README works with the packages alone", &[], PACKAGES, packages),
];

const fn first(title: &'static str, run: Run) -> Step {
    Step { title, needs: &[], reads: &[], is_beside_tests: false, run }
}

const fn beside(
    title: &'static str,
    needs: &'static [Need],
    reads: &'static [&'static str],
    run: Run,
) -> Step {
    Step { title, needs, reads, is_beside_tests: true, run }
}

const LIBRARIES: &[&str] = &["crates", ":(exclude,glob)crates/*/tests/**", "clippy.toml"];
/// The packages whose tests read numbers, with the members that they depend on.
const NUMBERS: &[&str] = &[
    "crates/payments-model",
    "crates/payments-core",
    "crates/payments-fake",
    "crates/payments-sandbox",
    "crates/payments-conformance",
    "docs",
    "tests/canary",
    "tests/fuzz",
];
const SANDBOX: &[&str] = &[
    ":(glob)crates/payments-cli/src/**",
    "crates/payments-core",
    "crates/payments-fake",
    "crates/payments-model",
    "crates/payments-sandbox",
    "tests/schemathesis",
];
const WHEEL: &[&str] = &["crates", ":(exclude,glob)crates/*/tests/**", "tests/wheel", "examples/python"];
const PACKAGES: &[&str] = &["crates", ":(exclude,glob)crates/*/tests/**", "README.md", "docs"];
const API: &[&str] = &["crates", ":(exclude,glob)crates/*/tests/**", "tests/api"];

fn formatting(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["fmt --all --check", "fmt --all --check --manifest-path xtask/bench/clients/Cargo.toml"])
}

fn lints(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["clippy --locked --workspace --all-targets --all-features -- -D warnings"])
}

/// Cargo unifies features across a workspace, so this compiles each library as its users get it: with its default
/// features, without any, and with each one alone. A release also checks every combination.
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

fn build_of_the_tests(shell: &Shell) -> anyhow::Result<()> {
    let test = if has_nextest(shell) { NEXTEST } else { TEST };
    run_all(shell, &[format!("{test} --no-run")])
}

/// The manifests of the tests enable every feature that the crates' tests need.
fn tests(shell: &Shell) -> anyhow::Result<()> {
    if has_nextest(shell) {
        return run_all(shell, &[format!("{NEXTEST} --no-fail-fast")]);
    }
    println!("cargo-nextest is not installed: using `cargo test`, which does not stop a test that hangs");
    // `cargo test --examples` does not build the example programs, which one test runs.
    run_all(shell, &["build --locked --workspace --examples", &format!("{TEST} --no-fail-fast")])
}

const NEXTEST: &str = "nextest run --locked --workspace";
const TEST: &str = "test --locked --workspace --lib --bins --tests --examples";

/// The tests of numbers, with the features of `serde_json` that another crate in a user's build may enable. The step
/// `tests` runs with neither. What reads no number is not repeated: the contracts of the guide's transport, and hostile texts.
fn numbers(shell: &Shell) -> anyhow::Result<()> {
    let (runner, filter) = if has_nextest(shell) {
        ("nextest run", "--filterset not(test(own_transport)|test(hostile))")
    } else {
        ("test", "-- --skip own_transport --skip hostile")
    };
    // Nothing is built of packages without a library, but with them the dependencies have the features of the other steps, and
    // are not compiled again.
    let all = cargo::packages(shell)?;
    let others = all.iter().filter(|package| !package.has_library).map(|package| package.name.as_str());
    let packages = ["payments-model", "payments-core", "payments-fuzz"].into_iter().chain(others);
    let packages = packages.collect::<Vec<_>>().join(" --package ");
    let targets = "--lib --test model --test core --test money";
    let call =
        |features| format!("{runner} --locked --package {packages} {targets} --features {features} {filter}");
    run_all(
        shell,
        &["arbitrary_precision", "float_roundtrip", "arbitrary_precision,float_roundtrip"].map(call),
    )
}

/// Sends a running sandbox thousands of valid and invalid requests, and checks the responses against the document.
fn openapi(shell: &Shell) -> anyhow::Result<()> {
    let folder = cargo::target(shell)?.join("schemathesis");
    build_command(shell)?;
    let environment = wheel::Environment::create(shell, &folder)?;
    let requirements = "tests/schemathesis/requirements.txt";
    environment.install(shell, &["--require-hashes", "--requirement", requirements])?;
    let schemathesis = environment.program("schemathesis");
    // Some examples are declined, so the runs cover each shape of a decline.
    let every_phase = ("ok-failed", "examples,coverage,fuzzing,stateful");
    let shapes = ["ok-error", "bad-request", "payment-required"].map(|shape| (shape, "examples"));
    for (shape, phases) in std::iter::once(every_phase).chain(shapes) {
        let sandbox = Sandbox::start(&command(shell)?, &["--seed", "1", "--decline-shape", shape])?;
        let document = "crates/payments-sandbox/openapi.json";
        let config = "tests/schemathesis/schemathesis.toml";
        cmd!(shell, "{schemathesis} --config-file {config} run {document} --phases {phases}")
            .envs([("SANDBOX_BASE_URL", sandbox.base_url()), ("SANDBOX_API_KEY", sandbox.api_key())])
            .env("HYPOTHESIS_STORAGE_DIRECTORY", folder.join("hypothesis"))
            // Schemathesis would send requests for this machine through the environment's proxy.
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

/// The same with the command from the wheel, as a Python user installs it.
fn python_package(shell: &Shell) -> anyhow::Result<()> {
    let (environment, wheel) = wheel::build(shell, "dev")?;
    environment.install(shell, &["--no-index", "--force-reinstall", &wheel.to_string_lossy()])?;
    let (python, payments) = (environment.program("python"), environment.program("payments"));
    Ok(cmd!(shell, "{python} examples/python/test_payments.py").env("PAYMENTS", payments).run()?)
}

fn node(shell: &Shell) -> anyhow::Result<()> {
    build_command(shell)?;
    let payments = command(shell)?;
    Ok(cmd!(shell, "node --test examples/node/payments.test.mjs").env("PAYMENTS", payments).run()?)
}

fn console_examples(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --locked --workspace --test cli -- --ignored documents"])
}

/// They include the examples in READMEs and guides; `tidy` checks that none is left out.
fn doctests(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --locked --workspace --doc"])
}

fn packages(shell: &Shell) -> anyhow::Result<()> {
    release(shell, &["packages"])
}

/// With the examples the dependencies have the features of the step `lints`, and are not checked again.
fn documentation(shell: &Shell) -> anyhow::Result<()> {
    let doc = "doc --quiet --locked --workspace --no-deps --all-features --lib --bins --examples";
    Ok(cargo(shell, doc).env("RUSTDOCFLAGS", "-D warnings").run()?)
}

fn public_api(shell: &Shell) -> anyhow::Result<()> {
    release(shell, &["api", "--check"])
}

/// Checks the changed packages: formatting, lints, tests, and the repository's rules.
fn quick(shell: &Shell) -> anyhow::Result<()> {
    let changed = cmd!(shell, "git status --porcelain --no-renames --untracked-files=all").quiet().read()?;
    let files: Vec<_> = changed.lines().filter_map(|line| line.get(3..)).collect();
    let packages = cargo::packages(shell)?;
    // `tests/canary` is inside `tests`: a file belongs to the package with the longest path.
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
        "nothing was checked: no package has uncommitted changes. Run `cargo xtask test` to check everything"
    );
    let selection = format!(" --package {}", names.join(" --package "));
    let (test, skipped) = if has_nextest(shell) {
        ("nextest run --no-fail-fast --profile quick", "slow tests, and packages that depend on these")
    } else {
        ("test --no-fail-fast", "packages that depend on these")
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
    println!("all checks of {} passed; not checked: {skipped}", names.join(", "));
    Ok(())
}

/// Runs cargo once for each call, in order.
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

/// Builds the `payments` command with the features that the step `tests` uses, so that nothing is compiled twice.
fn build_command(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --quiet --locked --workspace --test cli --no-run"])
}

/// Runs the release tool, built like the command.
fn release(shell: &Shell, arguments: &[&str]) -> anyhow::Result<()> {
    run_all(shell, &["test --quiet --locked --workspace --test e2e --no-run"])?;
    let program = cargo::target(shell)?.join("debug/payments-release");
    Ok(cmd!(shell, "{program} {arguments...}").run()?)
}

fn command(shell: &Shell) -> anyhow::Result<std::path::PathBuf> {
    Ok(cargo::target(shell)?.join("debug/payments"))
}

/// A requirement of a step: a command that succeeds if the machine meets it.
struct Need {
    call: [&'static str; 3],
    /// Why the step is skipped otherwise.
    missing: &'static str,
}

const PYTHON_VENV: Need = Need {
    call: ["python3", "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"],
    missing: "python3 is not installed, is older than 3.11, or cannot create virtual environments (Debian: python3-venv)",
};

const NODE: Need = Need {
    call: ["node", "--eval", "require('node:test'); fetch"],
    missing: "node is not installed, or is older than 18",
};

const CURL: Need = Need { call: ["curl", "--silent", "--version"], missing: "curl is not installed" };

const BASH: Need = Need { call: ["bash", "-c", "true"], missing: "bash is not installed" };

/// The formats of rustdoc's JSON that payments-release can read.
const RUSTDOC_JSON: Need = Need {
    call: [
        "sh",
        "-c",
        "echo | RUSTC_BOOTSTRAP=1 rustdoc - --crate-name probe -o - -Z unstable-options --output-format json \
         | grep --quiet --extended-regexp '\"format_version\":5[789][,}]'",
    ],
    missing: "this rustdoc writes none of the JSON formats 57 to 59; Rust 1.95 does",
};

impl Need {
    fn is_met(&self, shell: &Shell) -> bool {
        let [program, arguments @ ..] = &self.call;
        shell.cmd(program).args(arguments).quiet().ignore_stdout().ignore_stderr().run().is_ok()
    }
}

fn count_passed(summary: &[String]) -> String {
    let count = |word| summary.iter().filter(|line| line.starts_with(word)).count();
    let (skipped, not_run) = (count("skipped"), count("not run"));
    let passed = summary.len() - skipped - not_run;
    format!("{passed} of {} steps passed, {skipped} skipped, {not_run} not run", summary.len())
}

fn duration(time: Duration) -> String {
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
    fn every_pattern_that_a_step_reads_names_a_file() {
        let shell = cargo::shell().unwrap();
        let patterns = STEPS.iter().flat_map(|step| step.reads).chain(&ALWAYS_READ);
        for pattern in patterns.filter(|pattern| !pattern.starts_with(":(exclude")) {
            let files = cmd!(shell, "git ls-files -- {pattern}").quiet().read().unwrap();
            assert!(!files.is_empty(), "{pattern}");
        }
    }

    #[test]
    fn a_step_runs_if_it_may_read_any_file_or_git_does_not_know_the_commit() {
        let shell = cargo::shell().unwrap();
        for step in STEPS {
            assert!(!step.reads_nothing_new(&shell, "no-such-commit"), "{}", step.title);
            assert!(!step.reads.is_empty() || !step.reads_nothing_new(&shell, "HEAD"), "{}", step.title);
        }
    }
}
