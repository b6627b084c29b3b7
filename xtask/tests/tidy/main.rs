//! The repository's rules that no other tool holds, each with a message that says what to do. Run them with
//! `cargo xtask tidy`.
//!
//! `cargo xtask release check` also runs cargo-deny, which checks licenses, advisories and duplicate dependencies.

#![allow(clippy::unwrap_used, reason = "tests")]

mod dependencies;
mod documents;
mod files;
mod manifests;
mod modules;
mod workspace;

use workspace::Workspace;

macro_rules! rules {
    ($($module:ident :: $rule:ident,)*) => {
        $(
            #[test]
            fn $rule() {
                let findings: Vec<String> = $module::$rule(&Workspace::load());
                assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
            }
        )*
    };
}

rules! {
    manifests::manifests_inherit_from_the_workspace,
    manifests::members_are_described_in_the_root_manifest,
    dependencies::arrows_point_down,
    dependencies::model_tree_has_no_http,
    dependencies::core_tree_has_no_runtime,
    dependencies::blocking_trees_have_no_runtime,
    dependencies::core_tree_is_within_budget,
    dependencies::hyper_tree_is_within_budget,
    dependencies::rustls_is_one_version,
    dependencies::serde_json_number_features_stay_off,
    dependencies::public_api_shows_only_allowed_crates,
    modules::circles_of_modules_are_small,
    modules::model_names_no_io,
    modules::core_names_no_runtime,
    modules::libraries_open_with_an_essay_and_hold_no_code,
    modules::no_global_state,
    files::files_name_no_machine,
    files::files_point_to_nothing_outside,
    files::sources_include_only_their_package,
    documents::documents_exist,
    documents::examples_of_documents_are_compiled,
    documents::mutated_files_exist,
    documents::one_command_tests_everything,
    documents::links_lead_somewhere,
    documents::code_map_names_every_member,
    documents::invariants_name_their_tests,
    documents::decisions_have_tests,
}
