//! The steps, and what each needs, reads and does.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use xshell::{Cmd, Shell, cmd};
use xtask::{Metadata, Package, READABLE_FORMATS, Server, cargo};

use super::step::{Need, Reads, Run, Stage, Step};
use crate::shell::{has_nextest, run_all};
use crate::wheel;

/// Beside the tests come first those that use one core. The others share both when the tests have ended, those that run long after
/// they have compiled before those that only compile.
pub(super) const STEPS: &[Step] = &[
    first(Stage::BeforeTests, "formatting", formatting),
    first(Stage::BeforeTests, "lints", lints),
    first(Stage::BeforeTests, "build of the tests", build_of_the_tests),
    first(Stage::Tests, "tests", tests),
    beside("the sandbox follows its OpenAPI document", &[PYTHON_VENV], Some(SANDBOX), openapi),
    beside("a payment from Python", &[PYTHON_VENV], None, python),
    beside("a payment from Node", &[NODE], None, node),
    beside("console examples in the documents", &[BASH, CURL], None, console_examples),
    beside("lints of each library alone", &[], Some(LIBRARIES), lints_of_each_library),
    beside("doctests", &[], None, doctests),
    beside("the release program", &[], Some(RELEASE), release_program),
    beside("the README works with the packages alone", &[], Some(PACKAGES), packages),
    beside("the Python package", &[PYTHON_VENV], Some(WHEEL), python_package),
    beside("numbers under serde_json's other features", &[], Some(NUMBERS), numbers),
    beside("the public API matches tests/api", &[RUSTDOC_JSON], Some(LIBRARIES), public_api),
    beside("documentation", &[], None, documentation),
];

/// A step that always runs.
const fn first(stage: Stage, title: &'static str, run: Run) -> Step {
    Step { title, stage, needs: &[], reads: None, run }
}

const fn beside(title: &'static str, needs: &'static [Need], reads: Option<Reads>, run: Run) -> Step {
    Step { title, stage: Stage::BesideTests, needs, reads, run }
}

/// The libraries, and what checks each alone.
const LIBRARIES: Reads = reading(
    |package| package.is_published() && package.has_library(),
    &["clippy.toml", "tests/api", "xtask/release/src"],
);
const RELEASE: Reads =
    Reads { is_read: |package| package.name == "payments-release", with_tests: true, other_files: &[] };
const NUMBERS: Reads = Reads {
    is_read: |package| ["payments-model", "payments-fuzz"].contains(&&*package.name),
    with_tests: true,
    other_files: &[],
};
const SANDBOX: Reads = reading(is_command, &["tests/schemathesis"]);
const WHEEL: Reads = reading(is_command, &["tests/wheel", "examples/python"]);
const PACKAGES: Reads = reading(Package::is_published, &["README.md", "docs", "xtask/release/src"]);

fn is_command(package: &Package) -> bool {
    package.name == "payments-cli"
}

const fn reading(is_read: fn(&Package) -> bool, other_files: &'static [&'static str]) -> Reads {
    Reads { is_read, with_tests: false, other_files }
}

fn formatting(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["fmt --all --check"])
}

fn lints(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["clippy --locked --workspace --all-targets --all-features -- -D warnings"])
}

/// Cargo unifies features across a workspace, so this compiles each library as its users get it: with its default features, with
/// each of them alone, without any, and with all others. A release also checks every combination.
fn lints_of_each_library(shell: &Shell) -> anyhow::Result<()> {
    let packages = Metadata::read(shell)?.packages;
    for library in packages.iter().filter(|package| (LIBRARIES.is_read)(package)) {
        let default = library.features.get("default").map_or(&[][..], Vec::as_slice);
        // The names of internal features begin with an underscore.
        let is_other =
            |name: &&String| *name != "default" && !name.starts_with('_') && !default.contains(name);
        let others: Vec<_> = library.features.keys().filter(is_other).map(String::as_str).collect();
        let lint = format!("clippy --quiet --locked --package {} --lib", library.name);
        let mut calls = vec![format!("{lint} -- -D warnings")];
        let only = |features: &str| format!("{lint} --no-default-features{features} -- -D warnings");
        if !default.is_empty() {
            calls.push(only(""));
        }
        calls.extend(default.iter().map(|feature| only(&format!(" --features {feature}"))));
        if !others.is_empty() {
            calls.push(only(&format!(" --features {}", others.join(","))));
        }
        run_all(shell, &calls)?;
    }
    Ok(())
}

fn build_of_the_tests(shell: &Shell) -> anyhow::Result<()> {
    let test = if has_nextest(shell) { NEXTEST } else { TEST };
    run_all(shell, &[format!("{test} --no-run")])
}

/// The manifests of the tests enable every feature that the crates' tests need. Those of the release program are a step of their own.
fn tests(shell: &Shell) -> anyhow::Result<()> {
    if has_nextest(shell) {
        return run_all(shell, &[format!("{NEXTEST} --no-fail-fast --filterset not(binary(e2e))")]);
    }
    println!("cargo-nextest is not installed: using `cargo test`, which does not stop a test that hangs");
    // `cargo test --examples` does not build the example programs, which one test runs.
    run_all(shell, &["build --locked --workspace --examples", &format!("{TEST} --no-fail-fast")])
}

const NEXTEST: &str = "nextest run --locked --workspace";
const TEST: &str = "test --locked --workspace --lib --bins --tests --examples";

/// The tests of numbers, with the features of `serde_json` that another crate in a user's build may enable. The step `tests` runs
/// with neither. Only payments-model reads a number of the service. What reads none is not repeated: hostile texts.
fn numbers(shell: &Shell) -> anyhow::Result<()> {
    let (runner, filter) = if has_nextest(shell) {
        ("nextest run", "--filterset not(test(hostile))")
    } else {
        ("test", "-- --skip hostile")
    };
    // Nothing is built of packages without a library, but with them the dependencies have the features of the other steps, and
    // are not compiled again.
    let all = Metadata::read(shell)?.packages;
    let others = all.iter().filter(|package| !package.has_library()).map(|package| package.name.as_str());
    let packages = ["payments-model", "payments-fuzz"].into_iter().chain(others);
    let packages = packages.collect::<Vec<_>>().join(" --package ");
    let targets = "--lib --test model";
    let call =
        |features| format!("{runner} --locked --package {packages} {targets} --features {features} {filter}");
    run_all(
        shell,
        &["arbitrary_precision", "float_roundtrip", "arbitrary_precision,float_roundtrip"].map(call),
    )
}

/// Sends a running sandbox thousands of valid and invalid requests, and checks the responses against the document.
fn openapi(shell: &Shell) -> anyhow::Result<()> {
    let folder = target(shell)?.join("schemathesis");
    build_command(shell)?;
    let environment = wheel::Environment::create(shell, &folder)?;
    let requirements = "tests/schemathesis/requirements.txt";
    environment.install(shell, &["--require-hashes", "--requirement", requirements])?;
    let schemathesis = environment.program("schemathesis");
    // Some examples are declined, so the runs cover each shape of a decline.
    let every_phase = ("ok-failed", "examples,coverage,fuzzing,stateful");
    let shapes = ["ok-error", "bad-request", "payment-required"].map(|shape| (shape, "examples"));
    for (shape, phases) in std::iter::once(every_phase).chain(shapes) {
        let mut sandbox = Command::new(command(shell)?);
        sandbox.args(["sandbox", "--seed", "1", "--decline-shape", shape]);
        let sandbox = Server::start(sandbox)?;
        let document = "crates/payments-sandbox/openapi.json";
        let config = "tests/schemathesis/schemathesis.toml";
        cmd!(shell, "{schemathesis} --config-file {config} run {document} --phases {phases}")
            .envs([("SANDBOX_BASE_URL", &sandbox.base_url), ("SANDBOX_API_KEY", &sandbox.api_key)])
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

/// Its tests start cargo and git themselves.
fn release_program(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --locked --workspace --test e2e"])
}

fn public_api(shell: &Shell) -> anyhow::Result<()> {
    release(shell, &["api", "--check"])
}

/// Builds the `payments` command with the features that the step `tests` uses, so that nothing is compiled twice.
fn build_command(shell: &Shell) -> anyhow::Result<()> {
    run_all(shell, &["test --quiet --locked --workspace --test cli --no-run"])
}

/// Runs the release tool, built like the command.
fn release(shell: &Shell, arguments: &[&str]) -> anyhow::Result<()> {
    run_all(shell, &["test --quiet --locked --workspace --test e2e --no-run"])?;
    let program = target(shell)?.join("debug/payments-release");
    Ok(cmd!(shell, "{program} {arguments...}").run()?)
}

fn command(shell: &Shell) -> anyhow::Result<PathBuf> {
    Ok(target(shell)?.join("debug/payments"))
}

fn target(shell: &Shell) -> anyhow::Result<PathBuf> {
    Ok(Metadata::read(shell)?.target_directory)
}

const PYTHON_VENV: Need = Need {
    is_met: |shell| {
        let code = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
        succeeds(cmd!(shell, "python3 -c {code}"))
    },
    missing: "python3 is not installed, is older than 3.11, or cannot create virtual environments (Debian: python3-venv)",
};

const NODE: Need = Need {
    is_met: |shell| {
        let code = "require('node:test'); fetch";
        succeeds(cmd!(shell, "node --eval {code}"))
    },
    missing: "node is not installed, or is older than 18",
};

const CURL: Need = Need {
    is_met: |shell| succeeds(cmd!(shell, "curl --silent --version")),
    missing: "curl is not installed",
};

const BASH: Need =
    Need { is_met: |shell| succeeds(cmd!(shell, "bash -c true")), missing: "bash is not installed" };

fn succeeds(command: Cmd<'_>) -> bool {
    command.quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

const RUSTDOC_JSON: Need = Need {
    is_met: |shell| {
        let options =
            ["--crate-name", "probe", "-o", "-", "-Z", "unstable-options", "--output-format", "json"];
        let json = cmd!(shell, "rustdoc - {options...}").env("RUSTC_BOOTSTRAP", "1").stdin("");
        let json = json.quiet().ignore_stderr().read().unwrap_or_default();
        let json: Value = serde_json::from_str(&json).unwrap_or_default();
        json["format_version"].as_u64().is_some_and(|format| READABLE_FORMATS.contains(&format))
    },
    missing: "payments-release cannot read the JSON of this rustdoc; it can read that of Rust 1.95",
};

#[cfg(test)]
mod tests {
    use super::super::step::ALWAYS_READ;
    use super::*;
    use crate::shell::shell;

    #[test]
    fn every_pattern_that_a_step_reads_names_a_file() {
        let shell = shell().unwrap();
        let packages = Metadata::read(&shell).unwrap().packages;
        let reads = STEPS.iter().filter_map(|step| step.reads.as_ref());
        let patterns = reads.flat_map(|reads| reads.patterns(&packages));
        let patterns = patterns.chain(ALWAYS_READ.map(str::to_owned));
        for pattern in patterns.filter(|pattern| !pattern.starts_with(":(exclude")) {
            let files = cmd!(shell, "git ls-files -- {pattern}").quiet().read().unwrap();
            assert!(!files.is_empty(), "{pattern}");
        }
    }

    #[test]
    fn a_step_reads_the_members_that_its_packages_depend_on() {
        let packages = Metadata::read(&shell().unwrap()).unwrap().packages;
        let reads = |reads: Reads, file: &str| {
            let patterns = reads.patterns(&packages);
            let is_in = |folder: &str| file.starts_with(&format!("{folder}/"));
            let is_excluded = |pattern: &String| pattern.strip_prefix(":(exclude)").is_some_and(is_in);
            patterns.iter().any(|pattern| is_in(pattern)) && !patterns.iter().any(is_excluded)
        };
        for member in ["cli", "core", "fake", "hyper", "journal", "model", "sandbox"] {
            assert!(reads(SANDBOX, &format!("crates/payments-{member}/src/lib.rs")), "{member}");
            assert!(!reads(SANDBOX, &format!("crates/payments-{member}/tests/a/main.rs")), "{member}");
        }
        assert!(!reads(SANDBOX, "crates/payments-ureq/src/lib.rs"));
        assert!(reads(NUMBERS, "crates/payments-model/tests/model/money.rs"));
        assert!(reads(NUMBERS, "crates/payments-core/src/lib.rs"));
        assert!(!reads(NUMBERS, "crates/payments-core/tests/core/main.rs"));
    }

    #[test]
    fn a_step_runs_if_it_may_read_any_file_or_git_does_not_know_the_commit() {
        let shell = shell().unwrap();
        for step in STEPS {
            assert!(!step.reads_nothing_new(&shell, "no-such-commit"), "{}", step.title);
            assert!(step.reads.is_some() || !step.reads_nothing_new(&shell, "HEAD"), "{}", step.title);
        }
    }
}
