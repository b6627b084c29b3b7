//! The repository's rules as tests, each with a message that says what to do. Run them with `cargo xtask tidy`.
//!
//! A rule is a function in one of the modules below. The list in this file makes it a test of the same name. The
//! invariants in `ARCHITECTURE.md` name these tests.

#![allow(clippy::unwrap_used, clippy::unnecessary_wraps, reason = "every rule has the signature of the list")]

mod decisions;
mod dependencies;
mod documents;
mod files;
mod manifests;
mod public_api;
mod source;
mod sources;
mod workspace;

use std::fmt;

use workspace::Workspace;

macro_rules! rules {
    ($($module:ident :: $rule:ident,)*) => {
        $(
            #[test]
            fn $rule() {
                let findings = Workspace::load().and_then(|workspace| $module::$rule(&workspace));
                let findings = findings.unwrap_or_else(|error| panic!("cannot check this rule: {error:#}"));
                let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
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
    public_api::public_api_shows_only_allowed_crates,
    files::files_name_no_machine,
    files::files_point_to_nothing_outside,
    documents::documents_exist,
    documents::examples_of_documents_are_compiled,
    documents::one_command_tests_everything,
    documents::links_lead_somewhere,
    documents::code_map_names_every_member,
    documents::invariants_name_their_tests,
    decisions::decisions_have_tests,
}

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// A path from the root, and the line if the finding has one.
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
