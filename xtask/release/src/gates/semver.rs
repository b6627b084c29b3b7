//! No release breaks the build of whoever may take it without asking: the version says how much has changed since the last
//! one, and cargo-semver-checks compares the two.
//!
//! Both versions are described here and handed to it, so that they are built from their own lock files and nothing is
//! asked of a network. It knows what breaks by the rules of a registry: below 1.0.0 the second number is the one that
//! may break. Types in signatures it does not compare, nor a crate with fewer features than all; those are in the text
//! of the public API. A feature that is gone, and another major version of a crate whose types are shown, are in neither, and
//! are looked for here: both stand in the manifest alone. So is a crate that is gone, which no tool is ever asked about.

use std::collections::BTreeSet;
use std::process::Output;

use anyhow::{Context as _, bail};
use semver::{Comparator, Version, VersionReq};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::{Commit, Verdict};
use crate::git::{self, CHECKED, Git};
use crate::package::output_folder;
use crate::rustdoc::{Features, Items, Rustdoc};
use crate::workspace::{Member, Workspace, cargo};

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let git = Git::new(&workspace.shell);
    git.must_know_every_release()?;
    let releases = git.releases()?;
    let Some(last) = releases.before(&workspace.version) else {
        return Ok(first_release(&releases.other_tags));
    };
    let tag = git::tag_of(last);
    must_be_installed(&workspace.shell)?;
    let old = checked_out(workspace, &tag)?;
    let comparison = Comparison {
        last: last.clone(),
        was: Rustdoc::new(&old)?,
        is: Rustdoc::new(workspace)?,
        shell: &workspace.shell,
    };
    let mut findings = Vec::new();
    let mut new = Vec::new();
    for member in workspace.libraries() {
        match old.libraries().find(|was| was.name == member.name) {
            Some(was) => {
                // Of a crate that cannot be compared nothing is known, and what the others have must be seen too.
                let compared = comparison.of(was, member);
                findings.extend(compared.unwrap_or_else(|error| Some(format!("{error:#}"))));
            }
            None => new.push(member.name.as_str()),
        }
    }
    let may_break = may_break(last, &workspace.version);
    let mut gone = Vec::new();
    for was in old.crates() {
        match workspace.crates().find(|member| member.name == was.name) {
            Some(_) if may_break => {}
            Some(member) => findings.extend(breaks_in_the_manifest(was, member)),
            None if may_break => gone.push(was.name.as_str()),
            None => findings.push(dropped(&was.name, last, &workspace.version)),
        }
    }
    Ok(Verdict::of(findings, figure(&tag, workspace.libraries().count(), &new, &gone)))
}

/// Nothing was released, or nothing that could be told to be a release: then somebody should know that.
fn first_release(other_tags: &[String]) -> Verdict {
    if other_tags.is_empty() {
        return Verdict::Passed("the first release, so there is nothing to compare with".to_owned());
    }
    Verdict::NotChecked(format!(
        "nothing was compared: {} name versions, and no release is among them, since a release has an annotated tag that \
         says `{CHECKED}`. If one of them is a release, sign its tag again with that line",
        other_tags.join(", ")
    ))
}

fn figure(tag: &str, count: usize, new: &[&str], gone: &[&str]) -> String {
    let named = |what: &str, names: &[&str]| match names {
        [] => String::new(),
        names => format!("; {what} since then: {}", names.join(", ")),
    };
    format!("{} crates against {tag}{}{}", count - new.len(), named("new", new), named("gone", gone))
}

/// What is said of a crate that users have and would get no further version of.
fn dropped(name: &str, last: &Version, version: &Version) -> String {
    let breaking = if last.major == 0 { "minor" } else { "major" };
    format!(
        "{name} was released with {last}, and {version} has no such crate: put it back under crates/, or prepare a version \
         that may break (prepare {breaking}) and say in the changelog what takes its place. What is on the registry stays"
    )
}

/// Whether nobody gets this version without asking for it, who has the other.
fn may_break(last: &Version, version: &Version) -> bool {
    let first = |version: &Version| match (version.major, version.minor) {
        (0, 0) => (0, 0, version.patch),
        (0, minor) => (0, minor, 0),
        (major, _) => (major, 0, 0),
    };
    first(last) != first(version)
}

/// What was there and is not: the library, a feature by its name, a feature that was on by default, and the major version of a crate
/// whose types are shown.
fn breaks_in_the_manifest(was: &Member, is: &Member) -> Vec<String> {
    let (name, version) = (&is.name, &is.version);
    let mut findings = Vec::new();
    let mut find = |what: String| {
        findings.push(format!("{name} {version} {what}: undo it, or prepare a version that may break"));
    };
    if was.has_library() && !is.has_library() {
        find("has no library any more".to_owned());
    }
    let known = features(is);
    for feature in features(was).difference(&known) {
        find(format!("has no feature {feature} any more"));
    }
    let by_default = default_features(is);
    for feature in default_features(was).intersection(&known).filter(|feature| !by_default.contains(*feature))
    {
        find(format!("has the feature {feature} no more by default"));
    }
    for shown in is.package["metadata"]["release"]["shows"].as_array().into_iter().flatten() {
        let shown = shown.as_str().unwrap_or_default();
        if let (Some(old), Some(new)) = (requirement(was, shown), requirement(is, shown))
            && compatible_part(&old) != compatible_part(&new)
        {
            find(format!("shows types of {shown} {new}, and those that were shown are of {shown} {old}"));
        }
    }
    findings
}

/// Those that a user can name; what begins with an underscore is our own.
fn features(member: &Member) -> BTreeSet<&str> {
    let features = member.package["features"].as_object().into_iter().flat_map(|features| features.keys());
    features.map(String::as_str).filter(|feature| !feature.starts_with('_')).collect()
}

/// Those that are on unless a user says otherwise, with what they switch on.
fn default_features(member: &Member) -> BTreeSet<&str> {
    let mut on = BTreeSet::new();
    let mut left = vec!["default"];
    while let Some(feature) = left.pop() {
        if let Some(more) = member.package["features"][feature].as_array()
            && on.insert(feature)
        {
            left.extend(more.iter().filter_map(Value::as_str));
        }
    }
    on
}

/// What a manifest asks of a crate that is no sibling.
fn requirement(member: &Member, name: &str) -> Option<VersionReq> {
    let dependencies = member.package["dependencies"].as_array()?;
    let own = dependencies.iter().find(|dependency| {
        dependency["name"] == name && dependency["kind"].is_null() && dependency["path"].is_null()
    });
    own?["req"].as_str()?.parse().ok()
}

/// The numbers that two requirements have in common if one crate can satisfy both.
fn compatible_part(requirement: &VersionReq) -> Vec<(u64, Option<u64>)> {
    let part = |wanted: &Comparator| (wanted.major, wanted.minor.filter(|_| wanted.major == 0));
    requirement.comparators.iter().map(part).collect()
}

fn must_be_installed(shell: &Shell) -> anyhow::Result<()> {
    let version = cargo(shell, ["semver-checks", "--version"]).ignore_stdout().ignore_stderr();
    version
        .run()
        .ok()
        .context("cargo-semver-checks is not installed: cargo install --locked cargo-semver-checks")
}

/// The workspace as it was released, in a folder of its own, built where this one is.
fn checked_out(workspace: &Workspace, tag: &str) -> anyhow::Result<Workspace> {
    let folder = output_folder(workspace).join(tag);
    workspace.shell.remove_path(&folder)?;
    let root = &workspace.root;
    cmd!(
        workspace.shell,
        "git -c advice.detachedHead=false clone --quiet --shared --branch {tag} {root} {folder}"
    )
    .quiet()
    .run()?;
    let shell = Shell::new()?;
    shell.change_dir(&folder);
    shell.set_var("CARGO_TARGET_DIR", &workspace.target);
    Workspace::load_in(shell).with_context(|| format!("cargo cannot read the workspace of {tag}"))
}

/// Of each crate as it was released and as it is.
struct Comparison<'a> {
    last: Version,
    was: Rustdoc<'a>,
    is: Rustdoc<'a>,
    shell: &'a Shell,
}

impl Comparison<'_> {
    /// What the tool says against a crate.
    fn of(&self, was: &Member, is: &Member) -> anyhow::Result<Option<String>> {
        let described = self.was.describe(was, Features::All, Items::All);
        let described = described.with_context(|| format!("{} is not known as it was released", was.name))?;
        // The next description is written in the same place.
        let baseline = described.with_extension("released.json");
        self.shell.copy_file(&described, &baseline)?;
        let current = self.is.describe(is, Features::All, Items::All)?;
        let call = cargo(self.shell, ["semver-checks", "--color", "never"]);
        let call = call.arg("--baseline-rustdoc").arg(&baseline).arg("--current-rustdoc").arg(&current);
        judge(is, &self.last, &call.ignore_status().output()?)
    }
}

/// The tool's exit status where it has compared, and found that the version may stand.
const CONFORMS: i32 = 0;

/// And where the version may not.
const BREAKS: i32 = 100;

/// That the tool cannot tell is an error: any other status is one with which it has compared nothing.
fn judge(member: &Member, last: &Version, output: &Output) -> anyhow::Result<Option<String>> {
    let words = String::from_utf8_lossy(&output.stdout);
    let (name, version, words) = (&member.name, &member.version, words.trim());
    match output.status.code() {
        Some(CONFORMS) => Ok(None),
        Some(BREAKS) => Ok(Some(format!(
            "{name} {version} breaks what was built with {last}: undo it, or prepare a version that may\n{words}"
        ))),
        _ => bail!(
            "cargo-semver-checks cannot compare {name} with {last}, so that nothing is known of it:\n{words}{}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use serde_json::Value;

    use super::*;

    fn judged(status: i32) -> anyhow::Result<Option<String>> {
        let member = Member {
            name: "a".to_owned(),
            version: Version::new(0, 1, 1),
            folder: "crates/a".to_owned(),
            package: Value::Null,
        };
        let output =
            Output { status: ExitStatus::from_raw(status), stdout: b"out".into(), stderr: b"err".into() };
        judge(&member, &Version::new(0, 1, 0), &output)
    }

    #[test]
    fn what_breaks_is_told_from_what_cannot_be_compared() {
        const EXITED: i32 = 256;
        assert_eq!(judged(0).unwrap(), None);
        let breaks = judged(100 * EXITED).unwrap().unwrap();
        assert!(
            breaks.starts_with("a 0.1.1 breaks what was built with 0.1.0") && breaks.ends_with("out"),
            "{breaks}"
        );
        for inconclusive in [EXITED, 2 * EXITED, 101 * EXITED, 9] {
            let error = judged(inconclusive).unwrap_err().to_string();
            assert!(error.contains("cannot compare a with 0.1.0") && error.ends_with("err"), "{error}");
        }
    }

    fn member(features: &Value, http: &str) -> Member {
        let package = serde_json::json!({
            "features": features,
            "metadata": {"release": {"shows": ["http", "sibling"]}},
            "dependencies": [
                {"name": "http", "req": http, "kind": null},
                {"name": "sibling", "req": http, "kind": null, "path": "/sibling"},
            ],
        });
        Member {
            name: "a".to_owned(),
            version: Version::new(0, 1, 1),
            folder: "crates/a".to_owned(),
            package,
        }
    }

    #[test]
    fn what_breaks_in_the_manifest_alone_is_found() {
        let features = |list: &[(&str, &[&str])]| list.iter().copied().collect::<Value>();
        let was =
            member(&features(&[("default", &["tls"]), ("tls", &["dep:rustls"]), ("extra", &[])]), "^1.3");
        let findings = |is: Member| {
            let found = breaks_in_the_manifest(&was, &is);
            found.iter().map(|found| found.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let same = features(&[("default", &["tls", "more"]), ("tls", &[]), ("extra", &[]), ("more", &[])]);
        assert_eq!(findings(member(&same, "^1.4")), [""; 0]);
        assert_eq!(
            findings(member(&features(&[("default", &["tls"]), ("tls", &[])]), "^1.3")),
            ["a 0.1.1 has no feature extra any more"]
        );
        let not_by_default = features(&[("default", &[]), ("tls", &[]), ("extra", &[])]);
        assert_eq!(
            findings(member(&not_by_default, "^1.3")),
            ["a 0.1.1 has the feature tls no more by default"]
        );
        assert_eq!(
            findings(member(&same, "^2.0")),
            ["a 0.1.1 shows types of http ^2.0, and those that were shown are of http ^1.3"]
        );
    }

    #[test]
    fn which_versions_may_break_is_the_rule_of_a_registry() {
        let may = |last: &str, version: &str| may_break(&last.parse().unwrap(), &version.parse().unwrap());
        assert!(
            may("0.1.9", "0.2.0") && may("1.9.9", "2.0.0") && may("0.0.1", "0.0.2") && may("0.9.0", "1.0.0")
        );
        assert!(!may("0.1.0", "0.1.1") && !may("1.0.0", "1.1.0") && !may("1.0.0", "1.0.1"));
    }

    #[test]
    fn a_library_that_is_gone_is_found() {
        let mut was = member(&Value::Null, "^1.3");
        let is = member(&Value::Null, "^1.3");
        was.package["targets"] = serde_json::json!([{"kind": ["lib"]}]);
        let found = breaks_in_the_manifest(&was, &is);
        assert!(found[0].starts_with("a 0.1.1 has no library any more: "), "{found:?}");
        assert_eq!(breaks_in_the_manifest(&is, &was), [""; 0]);
    }

    #[test]
    fn crates_that_are_new_or_gone_are_named() {
        assert_eq!(figure("v0.1.0", 7, &[], &[]), "7 crates against v0.1.0");
        assert_eq!(
            figure("v0.1.0", 7, &["a", "b"], &["c"]),
            "5 crates against v0.1.0; new since then: a, b; gone since then: c"
        );
    }

    #[test]
    fn a_crate_that_is_gone_asks_for_the_number_that_may_break() {
        let asked = |last: &str| dropped("a", &last.parse().unwrap(), &"1.2.4".parse().unwrap());
        assert!(asked("0.1.0").contains("(prepare minor)") && asked("1.2.3").contains("(prepare major)"));
    }
}
