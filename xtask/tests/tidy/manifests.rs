//! Rules about `Cargo.toml` files. They read lines, not TOML: they require one spelling, so that a diff shows every exception.

use super::workspace::{Workspace, is_product};

/// Every package takes version, edition, minimum Rust version, license and lints from the root manifest, and a crate's folder
/// is `crates/<package name>`.
pub(super) fn manifests_inherit_from_the_workspace(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for member in &workspace.members {
        let lines = missing_lines(&workspace.read(&member.manifest()), is_product(member));
        findings
            .extend(lines.iter().map(|line| format!("{}: has no line `{line}`: add it", member.manifest())));
        if is_product(member) && member.folder != format!("crates/{}", member.name) {
            findings.push(format!("{0}: rename the folder to crates/{1}", member.folder, member.name));
        }
    }
    findings
}

fn missing_lines(manifest: &str, is_product: bool) -> Vec<&'static str> {
    const INHERITED: [&str; 6] = [
        "description = \"",
        "version.workspace = true",
        "edition.workspace = true",
        "rust-version.workspace = true",
        "license.workspace = true",
        "[lints]\nworkspace = true\n",
    ];
    let publish = if is_product { "publish.workspace = true" } else { "publish = false" };
    let has = |line: &str| manifest.contains(&format!("\n{line}"));
    INHERITED.into_iter().chain([publish]).filter(|line| !has(line)).collect()
}

/// The list of members is the shortest map of the workspace, so each line has a comment about its member.
pub(super) fn members_are_described_in_the_root_manifest(workspace: &Workspace) -> Vec<String> {
    let manifest = workspace.read("Cargo.toml");
    let (_, members) = manifest.split_once("\nmembers = [\n").unwrap();
    let members = members.split("\n]").next().unwrap().lines();
    let undescribed =
        members.filter(|line| line.split_once("# ").is_none_or(|(_, comment)| comment.is_empty()));
    undescribed.map(|line| format!("Cargo.toml: add a comment about the member{line}")).collect()
}

#[test]
fn each_value_that_is_not_inherited_is_found() {
    let good = "\ndescription = \"A.\"\nversion.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
        license.workspace = true\npublish = false\n\n[lints]\nworkspace = true\n";
    assert_eq!(missing_lines(good, false), [""; 0]);
    assert_eq!(missing_lines(good, true), ["publish.workspace = true"]);
    assert_eq!(missing_lines("", true).len(), 7);
}
