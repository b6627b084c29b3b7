//! Whether the Rust that the crates ask for is enough to build them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use semver::Version;
use serde_json::Value;
use xshell::{Shell, cmd};

use super::{Commit, Verdict};
use crate::workspace::{Workspace, cargo, program};

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let declared = workspace.crates().find_map(|member| member.package["rust_version"].as_str());
    let declared = declared.context("no crate says which Rust it needs: rust-version.workspace = true")?;
    let metadata = ["metadata", "--locked", "--all-features", "--format-version", "1"];
    let metadata: Value = serde_json::from_str(&cargo(&workspace.shell, metadata).read()?)?;
    let findings = newer(&metadata, workspace, &version(declared)?);
    if !findings.is_empty() {
        return Ok(Verdict::Failed(findings));
    }
    let Some(toolchain) = toolchain(&workspace.shell, declared) else {
        return Ok(Verdict::NotChecked(format!(
            "every dependency says that Rust {declared} will do, and it is not here to be tried: rustup toolchain \
             install {declared} --profile minimal"
        )));
    };
    for member in workspace.crates() {
        // In a folder of its own, so that what another compiler has built stays.
        let call = ["run", &toolchain, "cargo", "check", "--locked", "--quiet", "--package", &member.name];
        let check = program(&workspace.shell, "rustup").args(call).arg("--all-features");
        let check = check.env("CARGO_TARGET_DIR", workspace.target.join("rust-version"));
        check.run().with_context(|| format!("{} does not build with {toolchain}: see above", member.name))?;
    }
    Ok(Verdict::Passed(format!("tried with {toolchain}")))
}

/// What users would build that asks for a newer Rust.
fn newer(metadata: &Value, workspace: &Workspace, declared: &Version) -> Vec<String> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = array(&metadata["packages"]);
    let packages: BTreeMap<_, _> = packages.iter().map(|package| (text(&package["id"]), package)).collect();
    let nodes = array(&metadata["resolve"]["nodes"]);
    let nodes: BTreeMap<_, _> = nodes.iter().map(|node| (text(&node["id"]), node)).collect();

    let mut reached = BTreeSet::new();
    let mut left: Vec<_> = workspace.crates().map(|member| text(&member.package["id"])).collect();
    while let Some(id) = left.pop() {
        let dependencies = nodes.get(&id).map(|node| array(&node["deps"])).unwrap_or_default();
        if reached.insert(id) {
            let is_built = |kind: &Value| kind["kind"] != "dev";
            let built =
                dependencies.iter().filter(|dependency| array(&dependency["dep_kinds"]).iter().any(is_built));
            left.extend(built.map(|dependency| text(&dependency["pkg"])));
        }
    }
    let built = reached.iter().filter_map(|id| packages.get(id));
    let mut findings = Vec::new();
    for package in built {
        let wanted = package["rust_version"].as_str().and_then(|wanted| version(wanted).ok());
        if let Some(wanted) = wanted.filter(|wanted| wanted > declared) {
            findings.push(format!(
                "{} {} needs Rust {wanted}, and {declared} is what our crates say: depend on an older one (cargo update \
                 --package {} --precise …), or raise rust-version under [workspace.package]",
                text(&package["name"]),
                text(&package["version"]),
                text(&package["name"]),
            ));
        }
    }
    findings
}

/// A Rust version may be written without its last number.
fn version(text: &str) -> anyhow::Result<Version> {
    let missing = 2_usize.saturating_sub(text.matches('.').count());
    Ok(format!("{text}{}", ".0".repeat(missing)).parse()?)
}

/// A toolchain of that version, if rustup has one.
fn toolchain(shell: &Shell, declared: &str) -> Option<String> {
    let listed = cmd!(shell, "rustup toolchain list").quiet().ignore_stderr().read().ok()?;
    let is_it = |name: &&str| {
        let rest = name.strip_prefix(declared);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    listed.lines().filter_map(|line| line.split_whitespace().next()).find(is_it).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workspace::Member;

    #[test]
    fn only_what_users_build_is_asked() {
        let package = |name: &str, rust: Option<&str>| json!({"id": name, "name": name, "version": "1.0.0", "rust_version": rust});
        let needs = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("a", Some("1.91")), package("old", Some("1.91.0")), package("new", Some("1.92")),
                package("build", Some("1.93.1")), package("dev", Some("1.94")), package("silent", None),
            ],
            "resolve": {"nodes": [
                {"id": "a", "deps": [needs("old", Value::Null), needs("dev", json!("dev"))]},
                {"id": "old", "deps": [needs("new", Value::Null), needs("build", json!("build")), needs("silent", Value::Null)]},
                {"id": "new", "deps": [needs("old", Value::Null)]},
            ]},
        });
        let member = Member {
            name: "a".to_owned(),
            version: Version::new(0, 1, 0),
            folder: "crates/a".to_owned(),
            package: package("a", None),
        };
        let (root, target) = (std::path::PathBuf::new(), std::path::PathBuf::new());
        let shell = Shell::new().unwrap();
        let workspace =
            Workspace { shell, root, target, version: Version::new(0, 1, 0), members: vec![member] };
        let found = newer(&metadata, &workspace, &version("1.91").unwrap());
        let begin: Vec<_> = found.iter().map(|finding| finding.split_once(", and").unwrap().0).collect();
        assert_eq!(begin, ["build 1.0.0 needs Rust 1.93.1", "new 1.0.0 needs Rust 1.92.0"]);
    }

    #[test]
    fn a_version_of_rust_may_be_short() {
        assert_eq!(version("1.91").unwrap(), Version::new(1, 91, 0));
        assert_eq!(version("1.91.1").unwrap(), Version::new(1, 91, 1));
        assert!(version("new").is_err());
    }
}
