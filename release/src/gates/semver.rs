//! No release breaks the build of whoever may take it without asking: the version says how much has changed since the last
//! one, and cargo-semver-checks compares the two.
//!
//! Both versions are described here and handed to it, so that they are built from their own lock files and nothing is
//! asked of a network. It knows what breaks by the rules of a registry: below 1.0.0 the second number is the one that
//! may break. Types in signatures it does not compare, nor a crate with fewer features than all; those are in the text
//! of the public API.

use std::process::Output;

use anyhow::{Context as _, bail};
use semver::Version;
use xshell::{Shell, cmd};

use super::{Commit, Verdict};
use crate::git::{self, Git};
use crate::rustdoc::{Features, Items, Rustdoc};
use crate::workspace::{Member, Workspace, cargo};

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let Some(last) = Git::new(&workspace.shell).release_before(&workspace.version)? else {
        return Ok(Verdict::Passed("the first release, so there is nothing to compare with".to_owned()));
    };
    let tag = git::tag_of(&last);
    must_be_installed(&workspace.shell)?;
    let old = checked_out(workspace, &tag)?;
    let comparison =
        Comparison { last, was: Rustdoc::new(&old)?, is: Rustdoc::new(workspace)?, shell: &workspace.shell };
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
    Ok(Verdict::of(findings, figure(&tag, workspace.libraries().count(), &new)))
}

fn figure(tag: &str, count: usize, new: &[&str]) -> String {
    let compared = format!("{} crates against {tag}", count - new.len());
    if new.is_empty() { compared } else { format!("{compared}; new since then: {}", new.join(", ")) }
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
    let folder = workspace.target.join("payments-release").join(tag);
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

    #[test]
    fn a_new_crate_is_named() {
        assert_eq!(figure("v0.1.0", 7, &[]), "7 crates against v0.1.0");
        assert_eq!(figure("v0.1.0", 7, &["a", "b"]), "5 crates against v0.1.0; new since then: a, b");
    }
}
