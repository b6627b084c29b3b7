//! The gates of a release: each is one question about this commit, answered with a figure that is worth seeing, or with
//! what is wrong and what to do about it.
//!
//! A gate changes nothing and needs none of the others to have passed. One that cannot be asked has not been passed.

use anyhow::{Context as _, bail, ensure};
use semver::{Version, VersionReq};
use serde_json::Value;
use xshell::Cmd;

use crate::check::Commit;
use crate::git::{BRANCH, CHECKED, Git, tag_of};
use crate::workspace::{Member, Workspace, cargo};
use crate::{api, changelog, consumer, contents, package};

/// A title, which says what must be true, and the question.
pub(crate) type Gate = (&'static str, fn(&Commit) -> anyhow::Result<String>);

/// All of them, cheap ones first.
pub(crate) const GATES: &[Gate] = &[
    ("a clean tree on the commit of its version", version_commit),
    ("one version, and dependencies that can be published", one_version),
    ("tag and versions are free", free),
    ("what a registry shows of each crate", shown),
    ("the public API is the committed one", public_api),
    ("the version says what has changed since the last", compared),
    ("licences, advisories, duplicates and sources of dependencies", dependencies),
    ("every combination of features compiles", features),
    ("the declared Rust version is enough", rust_version),
    ("each package holds what belongs into it", contents::check),
    ("each package builds from its own files alone", builds_alone),
    ("the README works with the packages alone", consumer::check),
    ("cargo xtask test", tests),
];

/// Fails with everything that was found.
pub(crate) fn nothing_in(findings: &[String]) -> anyhow::Result<()> {
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(())
}

/// The commit that made the version is the one that is released: what came after it is in no changelog. `publish` asks
/// this at every start, after an earlier run too.
pub(crate) fn version_commit(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let (git, version) = (Git(&workspace.shell), &workspace.version);
    // A release that has begun is of its tag, wherever the branch has gone since.
    if !git.is_tagged(&tag_of(version))? {
        git.must_be_on_the_branch()?;
    }
    git.must_be_clean()?;
    let has_section = |text: &str| changelog::notes(text, version).is_some();
    let (file, text) = (changelog::FILE, workspace.read(changelog::FILE)?);
    ensure!(has_section(&text), "{file} has no section for {version}: cargo xtask release prepare --execute");
    ensure!(
        !changelog::has_unreleased(&text),
        "{file} has words under `Unreleased`, which are in no version: prepare the next one"
    );
    ensure!(
        !git.is_merge(),
        "a merge brings in what the changelog of {version} does not know of: prepare the version on {BRANCH} itself"
    );
    ensure!(
        !git.file_at("HEAD^", file).is_some_and(|text| has_section(&text)),
        "{version} was prepared by an earlier commit, and what came after it is in no version. If nothing is pushed \
         yet, make one commit of the two (git reset --soft HEAD^, git commit --amend); else say under `Unreleased` what \
         came, and prepare the next version"
    );
    Ok(format!("{version} at {}", &git.head()?[..12]))
}

/// Siblings must name each other in the way in which they can be published.
fn one_version(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let names: Vec<_> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let findings = workspace.members.iter().flat_map(|member| misfits(member, &names, &workspace.version));
    nothing_in(&findings.collect::<Vec<_>>())?;
    Ok(format!("{} crates, all {}", workspace.crates().count(), workspace.version))
}

fn misfits(member: &Member, siblings: &[&str], version: &Version) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |finding: String| findings.push(format!("{}: {finding}", member.folder));
    let own = member.package["version"].as_str().unwrap_or_default();
    if own != version.to_string() {
        find(format!("has the version {own}, and the workspace {version}: version.workspace = true"));
    }
    let is_published = member.package["publish"] != Value::Array(Vec::new());
    match (member.is_crate(), is_published) {
        (false, true) => find("is no crate for users: publish = false".to_owned()),
        (true, false) => find("is under crates/ and has publish = false".to_owned()),
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
                    "the dev-dependency {name} has a version, so that neither can be packed before the other is \
                     published: name its path alone"
                ));
            }
        } else if !VersionReq::parse(requirement).is_ok_and(|wanted| begins_at(&wanted, version)) {
            find(format!("depends on {name} {requirement}, and {version} is what is released with it"));
        }
    }
    findings
}

/// Whether no older version would do: crates of one release are tested together, and only together.
fn begins_at(wanted: &VersionReq, version: &Version) -> bool {
    let [only] = wanted.comparators.as_slice() else { return false };
    let is_same = (only.major, only.minor, only.patch, &only.pre)
        == (version.major, Some(version.minor), Some(version.patch), &version.pre);
    is_same && wanted.matches(version)
}

/// No version is ever published twice, a yanked one is taken for ever, and a crate that has versions of which git knows
/// nothing is somebody else's.
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
            // Its bytes name the commit that they were packed from. The tag may have been lost since, and is signed again.
            if taken.checksum == package.checksum && !taken.yanked {
                ours.push(name.as_str());
            } else {
                let yanked = if taken.yanked { ", yanked" } else { "" };
                findings.push(format!("{name} {version} is taken{yanked}: prepare another version"));
            }
        } else if !versions.is_empty() {
            let was_released = |release: &&Version| {
                let has_crate = || git.file_at(&tag_of(release), &member.manifest()).is_some();
                versions.iter().any(|published| published.is(release)) && has_crate()
            };
            if releases.iter().find(was_released).is_none() {
                findings.push(format!(
                    "{name}: the registry has versions of it and git has no release of them. If it is ours, the tags are \
                     not here (git fetch --tags), or it was published without this command and nobody signed a tag \
                     that says `{CHECKED}`; else it is somebody else's crate, and needs another name"
                ));
            }
        }
    }
    nothing_in(&findings)?;
    Ok(match ours.as_slice() {
        [] => format!("{tag}, not on {}", registry.index),
        ours => format!("begun by an earlier run: {} are ours already", ours.join(", ")),
    })
}

/// What stands on a crate's page before anybody reads its code, and what crates.io refuses an upload for: found here and
/// not after half of the crates are published.
fn shown(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let mut findings = Vec::new();
    if workspace.crates().any(|member| member.text("repository").is_empty()) {
        findings.push(
            "nothing says where the source is: set `repository` under [workspace.package] in Cargo.toml to the address \
             that it will have in public, and `repository.workspace = true` in each crate. Without it the links of the \
             README lead nowhere on the registry"
                .to_owned(),
        );
    }
    findings.extend(workspace.crates().flat_map(missing_on_the_page));
    nothing_in(&findings)?;
    Ok(String::new())
}

fn missing_on_the_page(member: &Member) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |finding: &str| findings.push(format!("{}: {finding}", member.folder));
    match member.text("description").chars().count() {
        0 => find("has no description: say in one sentence what it is for"),
        1..=1000 => {}
        _ => find("has a description of more than 1000 characters, which crates.io refuses"),
    }
    for (key, line) in [("license", "license"), ("rust_version", "rust-version"), ("readme", "readme")] {
        if member.text(key).is_empty() {
            find(&format!("has no {line} in its manifest"));
        }
    }
    for key in ["keywords", "categories"] {
        let words = member.package[key].as_array().map_or(0, Vec::len);
        if !(1..=5).contains(&words) {
            find(&format!("has {words} {key}, and from one to five are taken"));
        }
    }
    // As crates.io wants it. Which categories there are is in no tool: it leaves an unknown one out and says so.
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "_-+".contains(letter);
    for word in member.package["keywords"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if word.len() > 20 || !word.starts_with(char::is_alphanumeric) || !word.chars().all(is_inside) {
            find(&format!("crates.io does not take {word:?} among its keywords"));
        }
    }
    if member.package["metadata"]["docs"]["rs"]["all-features"] != true {
        find(
            "docs.rs would leave out what needs a feature: all-features = true under [package.metadata.docs.rs]",
        );
    }
    findings
}

fn public_api(commit: &Commit) -> anyhow::Result<String> {
    nothing_in(&api::findings(&commit.workspace)?)?;
    Ok(String::new())
}

/// Types in signatures, features and what needs them are compared by cargo-semver-checks. A crate that is gone it is never
/// asked about.
fn compared(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let git = Git(&workspace.shell);
    git.must_know_every_release()?;
    let (releases, others) = git.releases()?;
    let Some(last) = releases.iter().rfind(|release| **release < workspace.version) else {
        ensure!(
            others.is_empty(),
            "nothing was compared: {} name versions, and no release is among them, since a release has an annotated tag \
             that says `{CHECKED}`. If one of them is a release, sign its tag again with that line; else delete it",
            others.join(", ")
        );
        return Ok("the first release, so there is nothing to compare with".to_owned());
    };
    let tag = tag_of(last);
    let was_released = |member: &&Member| git.file_at(&tag, &member.manifest()).is_some();
    let old: Vec<_> = workspace.libraries().filter(was_released).map(|member| member.name.as_str()).collect();
    let check = tool(workspace, "semver-checks")?.args(["--color", "never", "--baseline-rev", &tag]);
    let check = check.args(old.iter().flat_map(|name| ["--package", name])).run();
    check.with_context(|| format!("{} breaks what was built with {last}: see above", workspace.version))?;

    let folders = git.folders_at(&tag, "crates/")?;
    let is_gone = |folder: &&String| workspace.crates().all(|member| member.folder != **folder);
    let gone: Vec<_> =
        folders.iter().filter(is_gone).map(|folder| folder.trim_start_matches("crates/")).collect();
    if let [first, ..] = gone.as_slice()
        && !may_break(last, &workspace.version)
    {
        let breaking = if last.major == 0 { "minor" } else { "major" };
        bail!(
            "{first} was released with {last}, and {} has no such crate: put it back under crates/, or prepare a version \
             that may break (prepare {breaking}) and say in the changelog what takes its place. What is on the registry \
             stays",
            workspace.version
        );
    }
    let gone =
        if gone.is_empty() { String::new() } else { format!("; gone since then: {}", gone.join(", ")) };
    Ok(format!("{} crates against {tag}{gone}", old.len()))
}

/// Whether nobody gets this version without asking for it, who has the other.
fn may_break(last: &Version, version: &Version) -> bool {
    !VersionReq::parse(&format!("^{last}")).is_ok_and(|compatible| compatible.matches(version))
}

fn dependencies(commit: &Commit) -> anyhow::Result<String> {
    /// What is allowed, and the exceptions with their reasons.
    const RULES: &str = "xtask/release/deny.toml";

    // Without them it would go by rules of its own.
    commit.workspace.read(RULES)?;
    let deny = tool(&commit.workspace, "deny")?.args(["--locked", "--config", RULES, "check"]);
    deny.args(["--deny", "unmatched-skip"]).run().with_context(|| {
        format!("see above: take another dependency or version, or allow it in {RULES} with the reason")
    })?;
    Ok(String::new())
}

fn features(commit: &Commit) -> anyhow::Result<String> {
    hack(commit, &["--feature-powerset"])
}

fn rust_version(commit: &Commit) -> anyhow::Result<String> {
    hack(commit, &["--all-features", "--rust-version"])
}

/// Compiles each crate, in a folder where nothing is that another compiler has built.
fn hack(commit: &Commit, options: &[&str]) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let check = tool(workspace, "hack")?.args(["check", "--locked", "--quiet"]).args(options);
    let check =
        check.args(workspace.selection()).env("CARGO_TARGET_DIR", package::folder(workspace).join("hack"));
    check.run().context("a crate does not compile: see above")?;
    Ok(String::new())
}

fn builds_alone(commit: &Commit) -> anyhow::Result<String> {
    package::verify(&commit.workspace, &commit.registry)?;
    Ok(String::new())
}

fn tests(commit: &Commit) -> anyhow::Result<String> {
    // A step that is skipped on this machine would be one that nobody passed through.
    cargo(&commit.workspace.shell, "xtask test --complete").run().context("see above")?;
    Ok(String::new())
}

/// A subcommand of cargo that has to be installed.
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
        misfits(&member(folder, package), &["a", "b"], &Version::new(0, 2, 0))
    }

    #[test]
    fn siblings_are_required_in_the_version_of_the_release() {
        let depends = |requirement: &str| {
            found("crates/a", &Value::Null, &json!({"name": "b", "req": requirement, "kind": null}))
        };
        for good in ["^0.2.0", "=0.2.0"] {
            assert_eq!(depends(good), [""; 0]);
        }
        for bad in ["*", "^0.1.0", "^0.2", ">=0.1, <0.3", "^0.2.1", "<=0.2.1"] {
            let expected = format!("crates/a: depends on b {bad}, and 0.2.0 is what is released with it");
            assert_eq!(depends(bad), [expected]);
        }
        let other = json!({"name": "other", "req": "*", "kind": null});
        assert_eq!(found("crates/a", &Value::Null, &other), [""; 0]);
    }

    #[test]
    fn siblings_for_tests_are_named_by_path_alone() {
        let depends = |requirement: &str| {
            found("crates/a", &Value::Null, &json!({"name": "b", "req": requirement, "kind": "dev"}))
        };
        assert_eq!(depends("*"), [""; 0]);
        assert!(depends("^0.2.0")[0].contains("name its path alone"));
    }

    #[test]
    fn what_is_under_crates_is_published_and_nothing_else() {
        let none = json!({"name": "other", "req": "*", "kind": null});
        assert_eq!(
            found("crates/a", &json!([]), &none),
            ["crates/a: is under crates/ and has publish = false"]
        );
        assert_eq!(found("tests", &Value::Null, &none), ["tests: is no crate for users: publish = false"]);
        assert_eq!(found("tests", &json!([]), &none), [""; 0]);
    }

    #[test]
    fn another_version_is_found() {
        let package = json!({"version": "0.1.0", "dependencies": []});
        let found = misfits(&member("crates/a", package), &[], &Version::new(0, 2, 0));
        assert!(found[0].contains("has the version 0.1.0"), "{found:?}");
    }

    #[test]
    fn what_a_page_needs_is_missed() {
        let good = json!({
            "description": "Counts.",
            "license": "MIT",
            "readme": "README.md",
            "rust_version": "1.91",
            "keywords": ["exact-money"],
            "categories": ["web-programming::http-client"],
            "metadata": {"docs": {"rs": {"all-features": true}}},
        });
        assert_eq!(missing_on_the_page(&member("crates/a", good.clone())), [""; 0]);
        for (key, bad, words) in [
            ("description", json!(""), "has no description"),
            ("description", json!("a".repeat(1001)), "more than 1000 characters"),
            ("license", Value::Null, "has no license"),
            ("readme", Value::Null, "has no readme"),
            ("rust_version", Value::Null, "has no rust-version"),
            ("keywords", json!([]), "has 0 keywords"),
            ("keywords", json!(["a", "b", "c", "d", "e", "f"]), "has 6 keywords"),
            ("keywords", json!(["two words"]), "does not take \"two words\""),
            ("keywords", json!(["-a"]), "does not take \"-a\""),
            ("keywords", json!(["a".repeat(21)]), "does not take"),
            ("categories", json!([]), "has 0 categories"),
            ("metadata", Value::Null, "docs.rs would leave out"),
        ] {
            let mut package = good.clone();
            package[key] = bad;
            let found = missing_on_the_page(&member("crates/a", package));
            assert!(found.len() == 1 && found[0].contains(words), "{key}: {found:?}");
        }
    }

    #[test]
    fn which_versions_may_break_is_the_rule_of_a_registry() {
        let may = |last: &str, version: &str| may_break(&last.parse().unwrap(), &version.parse().unwrap());
        assert!(
            may("0.1.9", "0.2.0") && may("1.9.9", "2.0.0") && may("0.0.1", "0.0.2") && may("0.9.0", "1.0.0")
        );
        assert!(!may("0.1.0", "0.1.1") && !may("1.0.0", "1.1.0") && !may("1.0.0", "1.0.1"));
    }
}
