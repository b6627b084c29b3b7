//! `prepare`: the commit that makes a version. It asks no network, and publishes nothing.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::{Context as _, anyhow, ensure};
use semver::Version;
use similar::{ChangeTag, TextDiff};
use toml_edit::DocumentMut;
use xshell::cmd;

use crate::changelog;
use crate::flags::Prepare;
use crate::git::Git;
use crate::snippets;
use crate::version::Bump;
use crate::workspace::{Workspace, cargo};

pub(crate) fn run(asked: &Prepare) -> anyhow::Result<()> {
    let bump = Bump::read(&asked.bump)?;
    let workspace = Workspace::load()?;
    let git = Git::new(&workspace.shell);
    git.must_be_on_the_branch()?;
    git.must_be_clean().map_err(|error| {
        anyhow!(
            "{error}\n(if it is only what a `prepare` that was cut off has left: git reset --hard, which destroys every \
             other change too)"
        )
    })?;

    let (old, log) = (&workspace.version, workspace.read(changelog::FILE)?);
    let is_released = changelog::notes(&log, old).is_some();
    let new = bump.apply(old, is_released)?;
    let edits = edits(&workspace, &log, &new)?;

    println!("{old} -> {new}");
    for (path, text) in &edits {
        println!("\n{path}");
        print!("{}", changed_lines(&workspace.read(path)?, text));
    }
    for line in left_as_it_is(&workspace, &edits, &new)? {
        println!("{line}");
    }
    println!("\nCargo.lock\n  the versions of the {} members", workspace.members.len());
    if !asked.execute {
        println!(
            "\nNothing was changed. To write this and commit it: cargo xtask release prepare {new} --execute"
        );
        return Ok(());
    }
    let written = write(&workspace, &edits, &new);
    if written.is_err() {
        // The tree was clean, so everything that differs now is this run's.
        cmd!(workspace.shell, "git reset --quiet --hard HEAD")
            .quiet()
            .run()
            .context("and what was written could not be taken back: git reset --hard HEAD")?;
    }
    written?;
    git.must_be_clean().with_context(|| {
        format!(
            "{new} is committed, and something else has changed files since then. Put them back as the commit has them \
             (git restore . and remove what is new) and go on with `check`; or take the commit back as well (git reset \
             --hard HEAD^) and prepare it again"
        )
    })?;
    println!("\ncommitted. Next: cargo xtask release check");
    Ok(())
}

/// The new text of each file that changes, by its path.
fn edits(workspace: &Workspace, log: &str, new: &Version) -> anyhow::Result<BTreeMap<String, String>> {
    let old = &workspace.version;
    let crates: Vec<_> = workspace.crates().map(|member| member.name.as_str()).collect();
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let today = today.split('T').next().unwrap_or_default();

    let mut edits = BTreeMap::new();
    edits.insert("Cargo.toml".to_owned(), raise(&workspace.read("Cargo.toml")?, &crates, new)?);
    edits.insert(changelog::FILE.to_owned(), changelog::roll(log, new, today)?);
    for path in documents(workspace)? {
        let text = snippets::update(&workspace.read(&path)?, &crates, old, new);
        edits.insert(path, text);
    }
    let mut unchanged = Vec::new();
    for (path, text) in &edits {
        if workspace.read(path)? == *text {
            unchanged.push(path.clone());
        }
    }
    edits.retain(|path, _| !unchanged.contains(path));
    Ok(edits)
}

/// What is written for people, except the changelog: there an old version stays what it is.
fn documents(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let listed = cmd!(workspace.shell, "git -c core.quotePath=false ls-files -- *.md").quiet().read()?;
    // A link is another name of a document that is listed itself.
    let is_own = |path: &&str| *path != changelog::FILE && !workspace.root.join(path).is_symlink();
    Ok(listed.lines().filter(is_own).map(str::to_owned).collect())
}

/// The lines of documents that name the old version and are not changed, under a heading: a person has to see whether they
/// should be.
fn left_as_it_is(
    workspace: &Workspace,
    edits: &BTreeMap<String, String>,
    new: &Version,
) -> anyhow::Result<Vec<String>> {
    let old = &workspace.version;
    let mut left = Vec::new();
    if old == new {
        return Ok(left);
    }
    for path in documents(workspace)? {
        let text = edits.get(&path).cloned().map_or_else(|| workspace.read(&path), Ok)?;
        let lines = snippets::lines_that_name(&text, old).into_iter();
        left.extend(lines.map(|(number, line)| format!("  {path}:{number}: {}", line.trim())));
    }
    if !left.is_empty() {
        left.insert(0, format!("\nthese lines name {old} and stay as they are: see whether they should"));
    }
    Ok(left)
}

/// The lines that change, as they are and as they would be.
fn changed_lines(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changes.map(|change| format!("  {}{change}", change.tag())).collect::<Vec<_>>().concat()
}

/// The root manifest with the version of everything in it raised.
fn raise(manifest: &str, crates: &[&str], new: &Version) -> anyhow::Result<String> {
    let mut manifest: DocumentMut = manifest.parse()?;
    let workspace = &mut manifest["workspace"];
    let version = workspace["package"]["version"].as_value_mut();
    let version = version.context("Cargo.toml: no version under [workspace.package]")?;
    snippets::put(version, new.to_string());
    let dependencies = workspace["dependencies"].as_table_like_mut();
    let dependencies = dependencies.context("Cargo.toml has no [workspace.dependencies]")?;
    for (name, dependency) in dependencies.iter_mut() {
        if !crates.contains(&name.get()) {
            continue;
        }
        let version = dependency.get_mut("version").and_then(toml_edit::Item::as_value_mut);
        let version =
            version.with_context(|| format!("Cargo.toml: {} has no version beside its path", name.get()))?;
        snippets::put(version, new.to_string());
    }
    Ok(manifest.to_string())
}

fn write(workspace: &Workspace, edits: &BTreeMap<String, String>, new: &Version) -> anyhow::Result<()> {
    for (path, text) in edits {
        std::fs::write(workspace.root.join(path), text).with_context(|| format!("cannot write {path}"))?;
    }
    // Only the versions of the members: nothing of the tree below them may change in this commit.
    cargo(&workspace.shell, ["update", "--workspace", "--offline", "--quiet"]).run().context("Cargo.lock")?;
    let again = Workspace::load()?;
    ensure!(
        again.members.iter().all(|member| member.version == *new),
        "a member does not take its version from the workspace: version.workspace = true"
    );
    let message = format!("Release {new}");
    // No hook runs: one that changes files would make another commit of this than was shown, or leave a tree that no gate
    // takes, and what a hook looks for `check` asks of the commit. `--no-verify` would leave half of them.
    let commit =
        cmd!(workspace.shell, "git -c core.hooksPath=/dev/null commit --quiet --all --message {message}");
    Ok(commit.quiet().run()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_keeps_everything_but_its_versions() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"   # for all\nedition = \"2024\"\n\n\
            [workspace.dependencies]\na = { path = \"crates/a\", version = \"0.1.0\", default-features = false }\n\
            b = { version = \"0.1.0\" }\n";
        let expected = manifest
            .replace("\"0.1.0\"   #", "\"0.2.0\"   #")
            .replace("version = \"0.1.0\", default", "version = \"0.2.0\", default");
        assert_eq!(raise(manifest, &["a"], &Version::new(0, 2, 0)).unwrap(), expected);
    }

    #[test]
    fn what_changes_is_shown_as_it_is_and_as_it_would_be() {
        assert_eq!(changed_lines("a\nb = 1\nc\n", "a\nb = 2\nc\nd\n"), "  -b = 1\n  +b = 2\n  +d\n");
    }

    #[test]
    fn a_sibling_without_a_version_is_named() {
        let manifest =
            "[workspace.package]\nversion = \"0.1.0\"\n[workspace.dependencies]\na = { path = \"a\" }\n";
        let error = raise(manifest, &["a"], &Version::new(0, 2, 0)).unwrap_err();
        assert_eq!(error.to_string(), "Cargo.toml: a has no version beside its path");
    }
}
