//! The rules of the repository, each an ordinary test with a message that says what to do.
//!
//! A rule is a function in one of the modules below. The list in this file gives it its place in `cargo xtask tidy`
//! and makes the test `tidy::<name>`, which is what an invariant in `ARCHITECTURE.md` names.

#![allow(clippy::unnecessary_wraps, reason = "every rule has the signature that the list of rules asks for")]

mod dependencies;
mod documents;
mod files;
mod manifests;
mod public_api;
mod sources;

use std::fmt;

use anyhow::bail;

use crate::workspace::Workspace;

/// Checks every rule and prints one line for each, then what to do about those that do not hold.
pub(crate) fn run() -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let mut broken = 0;
    for rule in RULES {
        let report = (rule.check)(&workspace);
        let report =
            report.unwrap_or_else(|error| vec![Finding::new("not checked", format!("{error:#}"))].into());
        let Report { findings, figure } = report;
        let verdict = if findings.is_empty() { "ok    " } else { "BROKEN" };
        let figure = figure.map_or_else(String::new, |figure| format!(" ({figure})"));
        println!("{verdict} {}{figure}", rule.name);
        for finding in &findings {
            println!("         {finding}");
        }
        broken += usize::from(!findings.is_empty());
    }
    if broken > 0 {
        bail!("{broken} of {} rules of the repository do not hold", RULES.len());
    }
    println!("all {} rules of the repository hold", RULES.len());
    Ok(())
}

/// Whether `tidy::<name>` is a rule.
pub(crate) fn has_rule(name: &str) -> bool {
    RULES.iter().any(|rule| rule.name == name)
}

macro_rules! rules {
    ($($module:ident :: $rule:ident,)*) => {
        const RULES: &[Rule] = &[$(Rule { name: stringify!($rule), check: $module::$rule },)*];

        $(
            #[test]
            fn $rule() {
                let report = Workspace::load().and_then(|workspace| $module::$rule(&workspace));
                let report = report.unwrap_or_else(|error| panic!("{error:#}"));
                let findings: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
                assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
            }
        )*
    };
}

rules! {
    manifests::manifests_inherit_from_the_workspace,
    manifests::folders_are_named_as_their_packages,
    manifests::members_are_described_in_the_root_manifest,
    dependencies::arrows_point_down,
    dependencies::model_tree_has_no_http,
    dependencies::core_tree_has_no_runtime,
    dependencies::core_tree_is_within_budget,
    dependencies::hyper_tree_is_within_budget,
    dependencies::rustls_is_one_version,
    dependencies::serde_json_number_features_stay_off,
    sources::libraries_open_with_an_essay_and_hold_no_code,
    sources::model_names_no_io,
    sources::core_names_no_runtime,
    sources::no_global_state,
    sources::no_exit_but_by_returning,
    public_api::public_api_shows_only_allowed_crates,
    files::files_name_no_machine,
    files::files_point_to_nothing_outside,
    documents::documents_exist,
    documents::readme_examples_are_compiled,
    documents::one_command_tests_everything,
    documents::links_lead_somewhere,
    documents::code_map_names_every_member,
    documents::invariants_name_their_tests,
    documents::decisions_have_tests,
}

struct Rule {
    name: &'static str,
    check: fn(&Workspace) -> anyhow::Result<Report>,
}

/// What a rule has to say about the workspace.
#[derive(Debug, Default)]
struct Report {
    findings: Vec<Finding>,
    /// A measured value that is worth seeing even when the rule holds.
    figure: Option<String>,
}

impl From<Vec<Finding>> for Report {
    fn from(findings: Vec<Finding>) -> Self {
        Self { findings, figure: None }
    }
}

/// One place where a rule does not hold.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// A path from the root, with a line where there is one.
    place: String,
    /// What is wrong and what to do about it.
    advice: String,
}

impl Finding {
    fn new(place: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { place: place.into(), advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, advice } = self;
        write!(f, "{place}: {advice}")
    }
}
