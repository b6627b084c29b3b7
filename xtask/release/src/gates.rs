//! The gates of a release. Each checks one property of this commit, and returns a useful figure, or what is wrong and how
//! to fix it.
//!
//! A gate changes nothing and does not depend on other gates. A gate that cannot run has failed.

use anyhow::{Context as _, bail, ensure};
use semver::{Version, VersionReq};
use serde_json::Value;
use xshell::Cmd;

use crate::check::Commit;
use crate::git::{BRANCH, CHECKED, Git, tag_of};
use crate::workspace::{Member, Workspace, cargo};
use crate::{api, changelog, consumer, contents, package};

/// A title, which says what must be true, and the check.
pub(crate) type Gate = (&'static str, fn(&Commit) -> anyhow::Result<String>);

/// All gates, cheap ones first.
pub(crate) const GATES: &[Gate] = &[
    ("a clean tree on the version's commit", version_commit),
    ("one version, and dependencies that can be published", one_version),
    ("tag and versions are free", free),
    ("each crate's page on the registry is complete", registry_page),
    ("the public API matches tests/api", public_api),
    ("the version fits the changes since the last release", compatible_version),
    ("licenses, advisories, duplicates and sources of dependencies", dependencies),
    ("every combination of features compiles", features),
    ("the declared Rust version is enough", rust_version),
    ("each package contains only the intended files", contents::check),
    ("each package builds from its own files alone", builds_alone),
    ("the README works with the packages alone", consumer::check),
    ("cargo xtask test", tests),
];

/// Fails with all findings, if there are any.
pub(crate) fn must_be_empty(findings: &[String]) -> anyhow::Result<()> {
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(())
}

/// Only the commit that `prepare` created is released: no changelog mentions later changes. `publish` checks this at every
/// start, also when it continues.
pub(crate) fn version_commit(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let (git, version) = (Git(&workspace.shell), &workspace.version);
    // A release that has begun continues from its tag, even if the branch has moved on.
    if !git.is_tagged(&tag_of(version))? {
        git.must_be_on_the_branch()?;
    }
    git.must_be_clean()?;
    let has_section = |text: &str| changelog::notes(text, version).is_some();
    let (file, text) = (changelog::FILE, workspace.read(changelog::FILE)?);
    ensure!(
        has_section(&text),
        "{file} has no section for {version}: create it with cargo xtask release prepare VERSION --execute"
    );
    ensure!(
        !changelog::has_unreleased(&text),
        "{file} has entries under `Unreleased`, which belong to no version yet: prepare the next version"
    );
    ensure!(
        !git.is_merge(),
        "this is a merge, and the changelog of {version} does not mention what it merges: prepare the version on {BRANCH}"
    );
    ensure!(
        !git.file_at("HEAD^", file).is_some_and(|text| has_section(&text)),
        "{version} was prepared by an earlier commit, and later changes belong to no version. If nothing is pushed yet, \
         squash the two commits (git reset --soft HEAD^, git commit --amend); otherwise describe the later changes under \
         `Unreleased`, and prepare the next version"
    );
    Ok(format!("{version} at {}", &git.head()?[..12]))
}

/// All crates have one version, and depend on each other in a way that can be published.
fn one_version(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let names: Vec<_> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let findings =
        workspace.members.iter().flat_map(|member| version_errors(member, &names, &workspace.version));
    must_be_empty(&findings.collect::<Vec<_>>())?;
    Ok(format!("{} crates, all {}", workspace.crates().count(), workspace.version))
}

fn version_errors(member: &Member, siblings: &[&str], version: &Version) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |finding: String| findings.push(format!("{}: {finding}", member.folder));
    let own = member.package["version"].as_str().unwrap_or_default();
    if own != version.to_string() {
        find(format!("has the version {own}, and the workspace has {version}: set version.workspace = true"));
    }
    let is_published = member.package["publish"] != Value::Array(Vec::new());
    match (member.is_crate(), is_published) {
        (false, true) => find("is not under crates/, so it must have publish = false".to_owned()),
        (true, false) => find("is under crates/, so it must not have publish = false".to_owned()),
        _ => {}
    }
    for dependency in member.package["dependencies"].as_array().into_iter().flatten() {
        let name = dependency["name"].as_str().unwrap_or_default();
        let requirement = dependency["req"].as_str().unwrap_or_default();
        if !member.is_crate() || !siblings.contains(&name) {
            continue;
        }
        if dependency["kind"] == "dev" {
            if requirement != "*" {
                find(format!(
                    "the dev-dependency {name} has a version, so neither crate can be packed before the other is \
                     published: give only its path"
                ));
            }
        } else if !VersionReq::parse(requirement).is_ok_and(|wanted| begins_at(&wanted, version)) {
            find(format!("depends on {name} {requirement}: require {version}, which is released with it"));
        }
    }
    findings
}

/// Whether the requirement excludes older versions: only crates of the same release are tested together.
fn begins_at(wanted: &VersionReq, version: &Version) -> bool {
    let [only] = wanted.comparators.as_slice() else { return false };
    let is_same = (only.major, only.minor, only.patch, &only.pre)
        == (version.major, Some(version.minor), Some(version.patch), &version.pre);
    is_same && wanted.matches(version)
}

/// A version can be published only once, even if it is yanked later. A crate with versions that git does not know may
/// belong to somebody else.
fn free(commit: &Commit) -> anyhow::Result<String> {
    let Commit { workspace, registry } = commit;
    let (git, version) = (Git(&workspace.shell), &workspace.version);
    let tag = tag_of(version);
    git.is_tagged(&tag)?;
    git.must_be_pushable(&tag)?;
    let (releases, _) = git.releases()?;
    let packages = package::pack(workspace, registry, &[])?;
    let (mut findings, mut ours) = (Vec::new(), Vec::new());
    for (member, package) in workspace.crates().zip(&packages) {
        let name = &member.name;
        let versions = registry.versions(name)?;
        if let Some(taken) = versions.iter().find(|published| published.is(version)) {
            // The package names the commit that it was packed from, so this is our release. If its tag was lost, `publish`
            // signs it again.
            if taken.checksum == package.checksum && !taken.yanked {
                ours.push(name.as_str());
            } else {
                let yanked = if taken.yanked { ", yanked" } else { "" };
                findings.push(format!(
                    "{name} {version} is already on the registry{yanked}: prepare another version"
                ));
            }
        } else if !versions.is_empty() {
            let was_released = |release: &&Version| {
                let has_crate = || git.file_at(&tag_of(release), &member.manifest()).is_some();
                versions.iter().any(|published| published.is(release)) && has_crate()
            };
            if releases.iter().find(was_released).is_none() {
                findings.push(format!(
                    "{name}: the registry has versions of it, and git has no release with them. If the crate is ours, \
                     fetch the tags (git fetch --tags); if it was published without this command, sign a tag that \
                     contains `{CHECKED}`. If it is somebody else's, rename our crate"
                ));
            }
        }
    }
    must_be_empty(&findings)?;
    Ok(match ours.as_slice() {
        [] => format!("{tag}, not on {}", registry.index),
        ours => format!("an earlier run has published {}", ours.join(", ")),
    })
}

/// Checks what a crate's page shows, and what crates.io requires of an upload: otherwise an upload could fail after half
/// of the crates are published.
fn registry_page(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let mut findings = Vec::new();
    if workspace.crates().any(|member| member.text("repository").is_empty()) {
        findings.push(
            "no `repository` is set, so the README's links would be broken on the registry: set it under \
             [workspace.package] in Cargo.toml to the public address of the source, and `repository.workspace = true` \
             in each crate"
                .to_owned(),
        );
    }
    findings.extend(workspace.crates().flat_map(missing_on_page));
    must_be_empty(&findings)?;
    Ok(String::new())
}

fn missing_on_page(member: &Member) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |finding: &str| findings.push(format!("{}: {finding}", member.folder));
    match member.text("description").chars().count() {
        0 => find("has no description: say in one sentence what it is for"),
        1..=1000 => {}
        _ => find("has a description of more than 1000 characters, which crates.io refuses: shorten it"),
    }
    for (key, line) in [("license", "license"), ("rust_version", "rust-version"), ("readme", "readme")] {
        if member.text(key).is_empty() {
            find(&format!("has no {line} in its manifest: add it"));
        }
    }
    for key in ["keywords", "categories"] {
        let words = member.package[key].as_array().map_or(0, Vec::len);
        if !(1..=5).contains(&words) {
            find(&format!("has {words} {key}, and must have one to five"));
        }
    }
    // The rule of crates.io. It ignores unknown categories with a warning, so they are not checked here.
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-+".contains(letter);
    for word in member.package["keywords"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if word.len() > 20 || !word.starts_with(char::is_alphanumeric) || !word.chars().all(is_allowed) {
            find(&format!(
                "has the keyword {word:?}, which crates.io refuses: use up to 20 letters, digits, `_`, `-` and `+`, \
                 beginning with a letter or digit"
            ));
        }
    }
    if member.package["metadata"]["docs"]["rs"]["all-features"] != true {
        find(
            "docs.rs would leave out items that need a feature: set all-features = true under [package.metadata.docs.rs]",
        );
    }
    findings
}

fn public_api(commit: &Commit) -> anyhow::Result<String> {
    must_be_empty(&api::findings(&commit.workspace)?)?;
    Ok(String::new())
}

/// cargo-semver-checks compares the public API and the features with the last release. It does not see a removed crate, so
/// this gate also compares the lists of crates.
fn compatible_version(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let git = Git(&workspace.shell);
    git.must_know_every_release()?;
    let (releases, others) = git.releases()?;
    let Some(last) = releases.iter().rfind(|release| **release < workspace.version) else {
        ensure!(
            others.is_empty(),
            "nothing was compared: the tags {} name versions, but none is a release, which has an annotated tag that \
             contains `{CHECKED}`. If one of them is a release, sign its tag again with that line; otherwise delete the tag",
            others.join(", ")
        );
        return Ok("first release, nothing to compare with".to_owned());
    };
    let tag = tag_of(last);
    let was_released = |member: &&Member| git.file_at(&tag, &member.manifest()).is_some();
    let old: Vec<_> = workspace.libraries().filter(was_released).map(|member| member.name.as_str()).collect();
    let check = tool(workspace, "semver-checks")?.args(["--color", "never", "--baseline-rev", &tag]);
    let check = check.args(old.iter().flat_map(|name| ["--package", name])).run();
    check.with_context(|| {
        format!(
            "{} breaks programs that use {last}: see above, and undo the change or prepare a version that may break",
            workspace.version
        )
    })?;

    let folders = git.folders_at(&tag, "crates/")?;
    let is_gone = |folder: &&String| workspace.crates().all(|member| member.folder != **folder);
    let gone: Vec<_> =
        folders.iter().filter(is_gone).map(|folder| folder.trim_start_matches("crates/")).collect();
    if let [first, ..] = gone.as_slice()
        && !may_break(last, &workspace.version)
    {
        let breaking = if last.major == 0 { "minor" } else { "major" };
        bail!(
            "{first} was released with {last}, and {} has no such crate: restore it under crates/, or prepare a version \
             that may break (prepare {breaking}) and name the replacement in the changelog. The published versions stay \
             on the registry",
            workspace.version
        );
    }
    let gone = if gone.is_empty() { String::new() } else { format!("; removed: {}", gone.join(", ")) };
    Ok(format!("{} crates compared with {tag}{gone}", old.len()))
}

/// Whether cargo never updates from the last version to this one automatically.
fn may_break(last: &Version, version: &Version) -> bool {
    !VersionReq::parse(&format!("^{last}")).is_ok_and(|compatible| compatible.matches(version))
}

fn dependencies(commit: &Commit) -> anyhow::Result<String> {
    const RULES: &str = "xtask/release/deny.toml";

    // Without this file cargo-deny would use its defaults.
    commit.workspace.read(RULES)?;
    let deny = tool(&commit.workspace, "deny")?.args(["--locked", "--config", RULES, "check"]);
    deny.args(["--deny", "unmatched-skip"]).run().with_context(|| {
        format!(
            "see above: use another dependency or version, or add an exception with its reason to {RULES}"
        )
    })?;
    Ok(String::new())
}

fn features(commit: &Commit) -> anyhow::Result<String> {
    hack(commit, &["--feature-powerset"])
}

fn rust_version(commit: &Commit) -> anyhow::Result<String> {
    hack(commit, &["--all-features", "--rust-version"])
}

/// Compiles each crate, in a target folder of its own: another Rust version would rebuild the shared one.
fn hack(commit: &Commit, options: &[&str]) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let check = tool(workspace, "hack")?.args(["check", "--locked", "--quiet"]).args(options);
    let check =
        check.args(workspace.selection()).env("CARGO_TARGET_DIR", package::folder(workspace).join("hack"));
    check.run().context("a crate does not compile: see above for the crate and its features")?;
    Ok(String::new())
}

fn builds_alone(commit: &Commit) -> anyhow::Result<String> {
    package::verify(&commit.workspace, &commit.registry)?;
    Ok(String::new())
}

fn tests(commit: &Commit) -> anyhow::Result<String> {
    // With `--complete`, a step that this machine would skip fails instead.
    cargo(&commit.workspace.shell, "xtask test --complete")
        .run()
        .context("see above for the step that failed")?;
    Ok(String::new())
}

/// A cargo subcommand that must be installed.
fn tool<'a>(workspace: &'a Workspace, name: &str) -> anyhow::Result<Cmd<'a>> {
    let version = cargo(&workspace.shell, name).arg("--version").ignore_stdout().ignore_stderr();
    version
        .run()
        .ok()
        .with_context(|| format!("cargo-{name} is not installed: cargo install --locked cargo-{name}"))?;
    Ok(cargo(&workspace.shell, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn member(folder: &str, package: Value) -> Member {
        Member { name: "a".to_owned(), folder: folder.to_owned(), package }
    }

    fn found(folder: &str, publish: &Value, dependency: &Value) -> Vec<String> {
        let package = json!({"version": "0.2.0", "publish": publish, "dependencies": [dependency]});
        version_errors(&member(folder, package), &["a", "b"], &Version::new(0, 2, 0))
    }

    #[test]
    fn dependencies_between_crates_require_the_released_version() {
        let depends = |requirement: &str| {
            found("crates/a", &Value::Null, &json!({"name": "b", "req": requirement, "kind": null}))
        };
        for good in ["^0.2.0", "=0.2.0"] {
            assert_eq!(depends(good), [""; 0]);
        }
        for bad in ["*", "^0.1.0", "^0.2", ">=0.1, <0.3", "^0.2.1", "<=0.2.1"] {
            let expected = format!("crates/a: depends on b {bad}: require 0.2.0, which is released with it");
            assert_eq!(depends(bad), [expected]);
        }
        let other = json!({"name": "other", "req": "*", "kind": null});
        assert_eq!(found("crates/a", &Value::Null, &other), [""; 0]);
    }

    #[test]
    fn dev_dependencies_between_crates_have_only_a_path() {
        let depends = |requirement: &str| {
            found("crates/a", &Value::Null, &json!({"name": "b", "req": requirement, "kind": "dev"}))
        };
        assert_eq!(depends("*"), [""; 0]);
        assert!(depends("^0.2.0")[0].contains("give only its path"));
    }

    #[test]
    fn only_packages_under_crates_are_published() {
        let none = json!({"name": "other", "req": "*", "kind": null});
        assert_eq!(
            found("crates/a", &json!([]), &none),
            ["crates/a: is under crates/, so it must not have publish = false"]
        );
        assert_eq!(
            found("tests", &Value::Null, &none),
            ["tests: is not under crates/, so it must have publish = false"]
        );
        assert_eq!(found("tests", &json!([]), &none), [""; 0]);
    }

    #[test]
    fn a_different_version_is_found() {
        let package = json!({"version": "0.1.0", "dependencies": []});
        let found = version_errors(&member("crates/a", package), &[], &Version::new(0, 2, 0));
        assert!(found[0].contains("has the version 0.1.0"), "{found:?}");
    }

    #[test]
    fn each_missing_part_of_a_page_is_found() {
        let good = json!({
            "description": "Counts.",
            "license": "MIT",
            "readme": "README.md",
            "rust_version": "1.91",
            "keywords": ["exact-money"],
            "categories": ["web-programming::http-client"],
            "metadata": {"docs": {"rs": {"all-features": true}}},
        });
        assert_eq!(missing_on_page(&member("crates/a", good.clone())), [""; 0]);
        for (key, bad, words) in [
            ("description", json!(""), "has no description"),
            ("description", json!("a".repeat(1001)), "more than 1000 characters"),
            ("license", Value::Null, "has no license"),
            ("readme", Value::Null, "has no readme"),
            ("rust_version", Value::Null, "has no rust-version"),
            ("keywords", json!([]), "has 0 keywords"),
            ("keywords", json!(["a", "b", "c", "d", "e", "f"]), "has 6 keywords"),
            ("keywords", json!(["two words"]), "the keyword \"two words\", which crates.io refuses"),
            ("keywords", json!(["-a"]), "the keyword \"-a\", which crates.io refuses"),
            ("keywords", json!(["a".repeat(21)]), "which crates.io refuses"),
            ("categories", json!([]), "has 0 categories"),
            ("metadata", Value::Null, "docs.rs would leave out"),
        ] {
            let mut package = good.clone();
            package[key] = bad;
            let found = missing_on_page(&member("crates/a", package));
            assert!(found.len() == 1 && found[0].contains(words), "{key}: {found:?}");
        }
    }

    #[test]
    fn versions_that_may_break_follow_cargos_rule() {
        let may = |last: &str, version: &str| may_break(&last.parse().unwrap(), &version.parse().unwrap());
        assert!(
            may("0.1.9", "0.2.0") && may("1.9.9", "2.0.0") && may("0.0.1", "0.0.2") && may("0.9.0", "1.0.0")
        );
        assert!(!may("0.1.0", "0.1.1") && !may("1.0.0", "1.1.0") && !may("1.0.0", "1.0.1"));
    }
}
