//! Rules about `Cargo.toml` files: one version, one edition, one set of lints, and a description of each member.
//!
//! These rules read manifests as lines, not as TOML: they require one spelling, so that a diff shows every exception.

use super::Finding;
use super::workspace::Workspace;

/// Every package takes version, edition, minimum Rust version, license and lints from the root manifest.
pub(super) fn manifests_inherit_from_the_workspace(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let findings = workspace.members.iter().flat_map(|member| {
        inheritance(&member.manifest, member.is_product())
            .into_iter()
            .map(|advice| Finding::new(format!("{}/Cargo.toml", member.folder), advice))
    });
    Ok(findings.collect())
}

/// A crate's folder is `crates/<package name>`.
pub(super) fn folders_are_named_as_their_packages(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let findings = workspace.products().filter(|member| member.folder != format!("crates/{}", member.name));
    let findings = findings.map(|member| {
        Finding::new(
            &member.folder,
            format!("contains the package {0}: rename the folder to crates/{0}", member.name),
        )
    });
    Ok(findings.collect())
}

/// The list of members is the shortest map of the workspace, so each line has a comment about its member.
pub(super) fn members_are_described_in_the_root_manifest(
    workspace: &Workspace,
) -> anyhow::Result<Vec<Finding>> {
    let findings = undescribed_members(&workspace.manifest).into_iter().map(|member| {
        Finding::new(
            "Cargo.toml",
            format!("the member {member} has no description: add a comment on its line"),
        )
    });
    Ok(findings.collect())
}

fn inheritance(manifest: &str, is_product: bool) -> Vec<String> {
    let publish = if is_product { "publish.workspace = true" } else { "publish = false" };
    let package = section(manifest, "package");
    let mut advice: Vec<_> = ["version", "edition", "rust-version", "license"]
        .map(|key| format!("{key}.workspace = true"))
        .into_iter()
        .chain([publish.to_owned()])
        .filter(|line| !package.contains(&line.as_str()))
        .map(|line| format!("has no line `{line}` under [package]: add it"))
        .collect();
    let description = package.iter().find_map(|line| line.strip_prefix("description = "));
    if description.is_none_or(|text| text.trim_matches('"').trim().is_empty()) {
        advice.push("has no `description` under [package]: add one sentence".to_owned());
    }
    if section(manifest, "lints") != ["workspace = true"] {
        advice.push("must have only `workspace = true` under [lints]".to_owned());
    }
    advice
}

/// The lines of one table, without comments and empty lines.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let header = format!("[{name}]");
    let lines = manifest.lines().map(str::trim).skip_while(|line| *line != header).skip(1);
    lines
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

fn undescribed_members(root_manifest: &str) -> Vec<&str> {
    let members = root_manifest.lines().map(str::trim).skip_while(|line| *line != "members = [").skip(1);
    members
        .take_while(|line| *line != "]")
        .filter(|line| !line.starts_with('#'))
        .filter(|line| line.split_once('#').is_none_or(|(_, comment)| comment.trim().is_empty()))
        .collect()
}

mod tests {
    use super::*;

    const GOOD: &str = r#"
[package]
name = "a"
description = "A crate."
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true

[lints]
workspace = true
"#;

    #[test]
    fn a_manifest_that_inherits_everything_passes() {
        assert_eq!(inheritance(GOOD, true), [""; 0]);
    }

    #[test]
    fn each_value_that_is_not_inherited_is_found() {
        assert_eq!(inheritance(&GOOD.replace("A crate.", ""), true).len(), 1);
        let own_version = GOOD.replace("version.workspace = true", "version = \"1.0.0\"");
        let advice = inheritance(&own_version, true);
        assert!(advice.iter().any(|line| line.contains("`version.workspace = true`")), "{advice:?}");
        assert_eq!(inheritance(&GOOD.replace("[lints]\nworkspace = true", ""), true).len(), 1);
        assert_eq!(inheritance("", true).len(), 7);
    }

    #[test]
    fn a_package_outside_crates_is_never_published() {
        assert_eq!(inheritance(GOOD, false), ["has no line `publish = false` under [package]: add it"]);
    }

    #[test]
    fn a_member_without_a_comment_is_found() {
        let manifest = "[workspace]\nmembers = [\n    \"a\", # the first\n    \"b\",\n    \"c\", #\n]\n";
        assert_eq!(undescribed_members(manifest), ["\"b\",", "\"c\", #"]);
    }
}
