//! The list of steps as data. Nothing here runs anything.

use std::fmt;

use super::features;
use crate::workspace::{Member, Workspace};

/// One line of the summary.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) title: String,
    pub(super) calls: Vec<Call>,
}

/// One call of cargo.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) environment: Vec<(&'static str, &'static str)>,
    pub(super) arguments: Vec<String>,
    /// A call that chooses tests by name would be green without any, so it fails if none ran.
    pub(super) must_run_a_test: bool,
}

impl Call {
    pub(super) fn new<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { environment: Vec::new(), arguments, must_run_a_test: false }
    }
}

/// As a person would type it.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}='{value}' ")?;
        }
        write!(f, "cargo {}", self.arguments.join(" "))
    }
}

/// The steps, cheap ones first.
///
/// All of them share one target folder and none sets `RUSTFLAGS`, so that what one step has compiled serves the next:
/// the lints leave the dependencies checked for the feature combinations and the documentation, the tests leave them
/// built for the doctests.
pub(super) fn steps(workspace: &Workspace, has_nextest: bool) -> Vec<Step> {
    let mut steps = vec![
        step("formatting", [Call::new(["fmt", "--all", "--check"])]),
        step(
            "lints, everything together",
            [Call::new("clippy --locked --workspace --all-targets --all-features -- -D warnings".split(' '))],
        ),
    ];
    // Features unify across a workspace, so each crate is also compiled as its user gets it: alone.
    steps.extend(workspace.products().map(lints_of_one_crate));
    steps.push(step("tests, the rules of the repository among them", [tests(&["--workspace"], has_nextest)]));
    steps.push(step("tests of what features add", [tests_of_features(workspace, has_nextest)]));
    steps.push(step(
        "doctests",
        [Call::new(["test", "--locked", "--workspace", "--doc", "--", "--skip", README])],
    ));
    steps.push(readme_examples(workspace));
    steps.push(json_number_features(has_nextest));
    let mut documentation = Call::new(["doc", "--locked", "--workspace", "--no-deps"]);
    documentation.environment.push(("RUSTDOCFLAGS", "-D warnings"));
    steps.push(step("documentation", [documentation]));
    steps
}

/// What rustdoc calls the examples of a file that a doc comment includes.
const README: &str = "README.md";

fn step(title: impl Into<String>, calls: impl IntoIterator<Item = Call>) -> Step {
    Step { title: title.into(), calls: calls.into_iter().collect() }
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

/// The products that have features, each with all of them: the tests of the whole workspace ran with the default ones.
fn tests_of_features(workspace: &Workspace, has_nextest: bool) -> Call {
    let featured = workspace.products().filter(|member| !member.features.is_empty());
    let mut selection: Vec<&str> = featured.flat_map(|member| ["--package", member.name.as_str()]).collect();
    selection.push("--all-features");
    tests(&selection, has_nextest)
}

fn readme_examples(workspace: &Workspace) -> Step {
    let packages = workspace.members.iter().filter(|member| member.compiles_readme());
    let selection = packages.flat_map(|member| ["--package", &member.name]);
    let arguments = ["test", "--locked", "--doc"].into_iter().chain(selection).chain(["--", README]);
    let mut call = Call::new(arguments);
    call.must_run_a_test = true;
    step("examples of the README", [call])
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
    fn nothing_changes_the_lock_file_or_the_flags_of_the_compiler() {
        for call in planned(true).iter().chain(&planned(false)).flat_map(|step| &step.calls) {
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
    fn what_features_add_is_tested_too() {
        let call = tests_of_features(&Workspace::load().unwrap(), true).to_string();
        assert!(call.ends_with("--package payments-core --package payments-hyper --all-features"), "{call}");
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
