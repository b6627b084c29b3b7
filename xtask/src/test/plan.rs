//! The list of steps as data. Nothing here runs anything.

use std::fmt;
use std::path::PathBuf;

use super::features;
use super::need::{BASH, CURL, NODE, Need, PYTHON, PYTHON_3_11, PYTHON_VENV, RUSTDOC_JSON};
use super::sandbox;
use crate::workspace::{Member, Workspace};

/// One line of the summary.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) title: String,
    /// Without these the step is skipped, and the summary says why.
    pub(super) needs: &'static [Need],
    pub(super) calls: Vec<Call>,
    /// Whether it is the one in which tests may leave themselves out.
    pub(super) is_all_tests: bool,
}

/// One call of a program, mostly of cargo.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) program: String,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) arguments: Vec<String>,
    /// A call that chooses tests by name would be green without any, so it fails if none ran.
    pub(super) must_run_a_test: bool,
    /// The call of a sandbox that runs meanwhile, and is told to the program in its environment.
    pub(super) sandbox: Option<Vec<String>>,
}

impl Call {
    /// A call of cargo.
    pub(super) fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(CARGO, arguments)
    }

    /// A call of any program: a name to look up, or a path.
    fn of<'a>(program: impl Into<String>, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            program: program.into(),
            environment: Vec::new(),
            arguments: arguments.into_iter().map(str::to_owned).collect(),
            must_run_a_test: false,
            sandbox: None,
        }
    }

    pub(super) fn is_of_cargo(&self) -> bool {
        self.program == CARGO
    }
}

/// As a person would type it.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(call) = &self.sandbox {
            write!(f, "{} & {}=… {}=… ", call.join(" "), sandbox::BASE_URL, sandbox::API_KEY)?;
        }
        for (name, value) in &self.environment {
            write!(f, "{name}='{value}' ")?;
        }
        write!(f, "{} {}", self.program, self.arguments.join(" "))
    }
}

const CARGO: &str = "cargo";

/// The steps, cheap ones first.
///
/// All of them share one target folder and none sets `RUSTFLAGS`, so that what one step has compiled serves the next:
/// the lints leave the dependencies checked for the feature combinations and the documentation, the tests leave them
/// built for the doctests.
pub(super) fn steps(workspace: &Workspace, has_nextest: bool) -> Vec<Step> {
    let mut steps = vec![
        step(
            "formatting",
            [Call::new(["fmt", "--all", "--check"]), Call::new(CLIENTS_FORMATTING.split(' '))],
        ),
        step(
            "lints, everything together",
            [Call::new("clippy --locked --workspace --all-targets --all-features -- -D warnings".split(' '))],
        ),
    ];
    // Features unify across a workspace, so each crate is also compiled as its user gets it: alone.
    steps.extend(workspace.products().map(lints_of_one_crate));
    let mut workspace_tests = vec![tests(&["--workspace"], has_nextest)];
    if !has_nextest {
        // Told to test examples, cargo builds no programs of them, and a test runs these. nextest has them built.
        workspace_tests.insert(0, Call::new("build --locked --workspace --examples".split(' ')));
    }
    let all_tests = step("tests, the rules of the repository among them", workspace_tests);
    steps.push(Step { is_all_tests: true, ..all_tests });
    steps.push(step("tests of what features add", [tests_of_features(workspace, has_nextest)]));
    steps.extend([openapi(workspace), python(workspace), node(workspace), curl()]);
    steps.push(step(
        "doctests",
        [Call::new(["test", "--locked", "--workspace", "--doc", "--", "--skip", README])],
    ));
    steps.extend([readme_examples(workspace), packages()]);
    steps.push(json_number_features(has_nextest));
    let mut documentation = Call::new(["doc", "--locked", "--workspace", "--no-deps"]);
    documentation.environment.push(("RUSTDOCFLAGS", "-D warnings".to_owned()));
    steps.push(step("documentation", [documentation]));
    steps.push(public_api(workspace));
    steps
}

/// Of what this SDK is compared with, a workspace of its own. Its lints would compile all of our peers: too much for every
/// change, and `CONTRIBUTING.md` has the call.
const CLIENTS_FORMATTING: &str = "fmt --all --check --manifest-path xtask/bench/clients/Cargo.toml";

/// What rustdoc calls the examples of a file that a doc comment includes.
const README: &str = "README.md";

fn step(title: impl Into<String>, calls: impl IntoIterator<Item = Call>) -> Step {
    Step { title: title.into(), needs: &[], calls: calls.into_iter().collect(), is_all_tests: false }
}

fn lints_of_one_crate(member: &Member) -> Step {
    let target = if member.has_library { "--lib" } else { "--bins" };
    let combinations = features::combinations(&member.features);
    let calls = combinations.iter().map(|features| {
        let features = features.join(",");
        let mut call = Call::new(["clippy", "--quiet", "--locked", "--package", &member.name, target]);
        if !member.features.is_empty() {
            call.arguments.push("--no-default-features".to_owned());
        }
        if !features.is_empty() {
            call.arguments.push(format!("--features={features}"));
        }
        call.arguments.extend(["--", "-D", "warnings"].map(str::to_owned));
        call
    });
    let calls: Vec<_> = calls.collect();
    let title = match calls.len() {
        1 => format!("lints, {} alone", member.name),
        count => format!("lints, {} alone, {count} combinations of features", member.name),
    };
    step(title, calls)
}

/// Unit and integration tests; doctests are a step of their own, since nextest cannot run them.
fn tests(selection: &[&str], has_nextest: bool) -> Call {
    let runner: &[_] = if has_nextest {
        &["nextest", "run", "--locked", "--no-fail-fast"]
    } else {
        &["test", "--locked", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]
    };
    Call::new(runner.iter().chain(selection).copied())
}

/// The products that have features, each with all of them: the tests of the whole workspace ran with those that some
/// member asks for.
fn tests_of_features(workspace: &Workspace, has_nextest: bool) -> Call {
    let featured = workspace.products().filter(|member| !member.features.is_empty());
    let featured = featured.filter(|member| !ALREADY_WITH_EVERY_FEATURE.contains(&member.name.as_str()));
    let mut selection: Vec<&str> = featured.flat_map(|member| ["--package", member.name.as_str()]).collect();
    selection.push("--all-features");
    tests(&selection, has_nextest)
}

/// Their own manifests ask for every feature in their tests.
const ALREADY_WITH_EVERY_FEATURE: &[&str] = &["payments-journal"];

fn readme_examples(workspace: &Workspace) -> Step {
    let packages = workspace.members.iter().filter(|member| member.compiles_readme());
    let selection = packages.flat_map(|member| ["--package", &member.name]);
    let arguments = ["test", "--locked", "--doc"].into_iter().chain(selection).chain(["--", README]);
    let mut call = Call::new(arguments);
    call.must_run_a_test = true;
    step("examples of the README", [call])
}

/// Called as the gate of a release that it asks, so that a release does not ask it twice.
fn packages() -> Step {
    let mut test = Call::new("test --locked --workspace --test packages -- --ignored".split(' '));
    test.must_run_a_test = true;
    step("the README works with the packages alone", [test])
}

/// Asks a running sandbox, with thousands of requests good and bad, whether it answers as the document says.
fn openapi(workspace: &Workspace) -> Step {
    let folder = workspace.target.join("schemathesis");
    let path = |name: &str| folder.join(name).display().to_string();
    // Both find at once that nothing is to be done, and mend what an interrupted run left.
    let environment = Call::of("python3", ["-m", "venv", &folder.display().to_string()]);
    let install = "-m pip install --quiet --disable-pip-version-check --require-hashes --requirement tests/schemathesis/requirements.txt";
    let install = Call::of(path("bin/python"), install.split(' '));
    let ask = |decline_shape: &str, phases: &str| {
        let arguments = format!(
            "--config-file tests/schemathesis/schemathesis.toml run crates/payments-sandbox/openapi.json --phases {phases}"
        );
        let mut ask = Call::of(path("bin/schemathesis"), arguments.split(' '));
        ask.environment.push(("HYPOTHESIS_STORAGE_DIRECTORY", path("hypothesis")));
        // It would send what is meant for this machine to a proxy that the environment names.
        ask.environment.push(("NO_PROXY", "127.0.0.1".to_owned()));
        let command = command(workspace).display().to_string();
        let sandbox = [&command, "sandbox", "--seed", "1", "--decline-shape", decline_shape];
        ask.sandbox = Some(sandbox.map(str::to_owned).into());
        ask
    };
    let mut calls = vec![build_command(), environment, install];
    calls.push(ask("ok-failed", "examples,coverage,fuzzing,stateful"));
    // The examples have declines among them.
    calls.extend(["ok-error", "bad-request", "payment-required"].map(|shape| ask(shape, "examples")));
    Step {
        needs: &[PYTHON, PYTHON_3_11, PYTHON_VENV],
        ..step("the sandbox answers as its OpenAPI document says", calls)
    }
}

fn python(workspace: &Workspace) -> Step {
    let mut test = Call::of("python3", ["examples/python/test_payments.py"]);
    test.environment.push(("PAYMENTS", command(workspace).display().to_string()));
    Step { needs: &[PYTHON], ..step("a payment from Python", [build_command(), test]) }
}

fn node(workspace: &Workspace) -> Step {
    let mut test = Call::of("node", ["--test", "examples/node/payments.test.mjs"]);
    test.environment.push(("PAYMENTS", command(workspace).display().to_string()));
    Step { needs: &[NODE], ..step("a payment from Node", [build_command(), test]) }
}

fn curl() -> Step {
    let mut test = Call::new("test --locked --workspace --test cli -- --ignored readme".split(' '));
    test.must_run_a_test = true;
    Step { needs: &[BASH, CURL], ..step("the session with curl of the README", [test]) }
}

/// A gate of a release as well, which knows this step by its title.
fn public_api(workspace: &Workspace) -> Step {
    let build = Call::new("test --quiet --locked --workspace --test e2e --no-run".split(' '));
    let program = workspace.root.join(&workspace.target).join("debug/payments-release");
    let check = Call::of(program.display().to_string(), ["api", "--check"]);
    Step { needs: &[RUSTDOC_JSON], ..step("the public API is the committed one", [build, check]) }
}

/// The `payments` command, with the features that the tests of the whole workspace have built it with: nothing is
/// compiled twice.
fn build_command() -> Call {
    Call::new("test --quiet --locked --workspace --test cli --no-run".split(' '))
}

/// Where that is.
fn command(workspace: &Workspace) -> PathBuf {
    workspace.root.join(&workspace.target).join("debug/payments")
}

/// The combination of neither is the one that the tests of the whole workspace ran with.
fn json_number_features(has_nextest: bool) -> Step {
    const PACKAGE: &str = "payments-tests";
    let combinations = [
        vec!["arbitrary_precision"],
        vec!["float_roundtrip"],
        vec!["arbitrary_precision", "float_roundtrip"],
    ];
    let calls = combinations.map(|features| {
        let features =
            features.iter().map(|feature| format!("{PACKAGE}/{feature}")).collect::<Vec<_>>().join(",");
        tests(&["--package", PACKAGE, "--package", "payments-model", "--features", &features], has_nextest)
    });
    step("money and serialization under serde_json's other combinations of number features", calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(has_nextest: bool) -> Vec<Step> {
        steps(&Workspace::load().unwrap(), has_nextest)
    }

    #[test]
    fn the_step_in_which_tests_may_leave_themselves_out_is_known() {
        let steps = planned(true);
        let all: Vec<_> = steps.iter().filter(|step| step.is_all_tests).collect();
        assert!(
            all.len() == 1 && all[0].calls.iter().any(|call| call.to_string().ends_with(" --workspace")),
            "{all:?}"
        );
    }

    #[test]
    fn nothing_changes_the_lock_file_or_the_flags_of_the_compiler() {
        let (with, without) = (planned(true), planned(false));
        let calls = with.iter().chain(&without).flat_map(|step| &step.calls);
        for call in calls.filter(|call| call.is_of_cargo()) {
            assert!(
                call.arguments[0] == "fmt" || call.arguments.iter().any(|word| word == "--locked"),
                "{call}"
            );
            assert!(call.environment.iter().all(|(name, _)| *name != "RUSTFLAGS"), "{call}");
        }
    }

    #[test]
    fn warnings_are_errors_in_lints_and_documentation() {
        for call in planned(true).iter().flat_map(|step| &step.calls) {
            match call.arguments[0].as_str() {
                "clippy" => assert!(call.to_string().ends_with("-- -D warnings"), "{call}"),
                "doc" => assert!(call.to_string().starts_with("RUSTDOCFLAGS='-D warnings' "), "{call}"),
                _ => {}
            }
        }
    }

    #[test]
    fn each_product_is_also_compiled_alone() {
        let steps = planned(true);
        for member in Workspace::load().unwrap().products() {
            let title = format!("lints, {} alone", member.name);
            assert!(
                steps.iter().any(|step| step.title.starts_with(&title) && !step.calls.is_empty()),
                "{title}"
            );
        }
    }

    #[test]
    fn a_step_that_calls_another_program_says_what_it_needs() {
        for step in planned(true) {
            for call in step.calls.iter().filter(|call| !call.is_of_cargo()) {
                // What is called by its path was made by an earlier call of the same step.
                let is_needed = step.needs.iter().any(|need| need.program == call.program);
                assert!(is_needed || call.program.contains('/'), "{call}");
            }
        }
    }

    #[test]
    fn what_is_asked_of_a_sandbox_is_told_where_it_is() {
        let step = openapi(&Workspace::load().unwrap());
        let asks: Vec<_> = step.calls.iter().filter(|call| call.sandbox.is_some()).collect();
        assert_eq!(asks.len(), 4, "one for each shape of a decline");
        assert!(asks.iter().all(|call| call.to_string().contains(" & SANDBOX_BASE_URL=… ")), "{asks:?}");
    }

    #[test]
    fn what_features_add_is_tested_too() {
        let call = tests_of_features(&Workspace::load().unwrap(), true).to_string();
        assert!(call.ends_with("--package payments-core --package payments-hyper --all-features"), "{call}");
    }

    #[test]
    fn what_others_ask_for_is_tested_with_every_feature() {
        let workspace = Workspace::load().unwrap();
        for name in ALREADY_WITH_EVERY_FEATURE {
            let member = workspace.member(name).unwrap();
            let asked = format!("{name} = ");
            let asked = member.manifest.lines().find(|line| line.starts_with(&asked)).unwrap_or_default();
            let by_default =
                member.manifest.lines().find(|line| line.starts_with("default = ")).unwrap_or_default();
            for feature in &member.features {
                let feature = format!("\"{feature}\"");
                assert!(asked.contains(&feature) || by_default.contains(&feature), "{name}: {feature}");
            }
        }
    }

    #[test]
    fn tests_need_no_nextest() {
        assert_eq!(
            tests(&["--workspace"], true).to_string(),
            "cargo nextest run --locked --no-fail-fast --workspace"
        );
        assert!(tests(&["--workspace"], false).to_string().starts_with("cargo test --locked"));
    }

    #[test]
    fn the_four_combinations_of_number_features_are_different() {
        let calls: Vec<_> = json_number_features(true).calls.iter().map(ToString::to_string).collect();
        assert!(calls[0].ends_with("--features payments-tests/arbitrary_precision"));
        assert!(calls[1].ends_with("--features payments-tests/float_roundtrip"));
        assert!(
            calls[2]
                .ends_with("--features payments-tests/arbitrary_precision,payments-tests/float_roundtrip")
        );
    }
}
