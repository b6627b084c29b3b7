//! `prepare`: creates the commit of a version. It uses no network and publishes nothing.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::{Context as _, bail, ensure};
use semver::{Prerelease, Version};
use toml_edit::{DocumentMut, Item};
use xshell::cmd;

use crate::changelog;
use crate::git::Git;
use crate::workspace::{Workspace, cargo};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// `major`, `minor`, `patch`, or a version such as 1.4.0.
    bump: String,
    /// Write the changes and commit them.
    #[arg(long)]
    execute: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let git = Git(&workspace.shell);
    git.must_be_on_the_branch()?;
    git.must_be_clean().context("if an interrupted `prepare` has left these changes: git reset --hard")?;

    let (old, log) = (&workspace.version, workspace.read(changelog::FILE)?);
    let new = bump(&options.bump, old, changelog::notes(&log, old).is_some())?;
    let edits = edits(&workspace, &log, &new)?;
    println!("{old} -> {new}");
    for (path, text) in &edits {
        println!("\n{path}");
        let before = workspace.read(path)?;
        let only_in = |text: &str, other: &str, mark: &str| {
            let lines = text.lines().filter(|line| !other.lines().any(|other| other == *line));
            lines.for_each(|line| println!("  {mark}{line}"));
        };
        only_in(&before, text, "-");
        only_in(text, &before, "+");
    }
    println!("\nCargo.lock\n  the versions of the {} members", workspace.members.len());
    if old != &new {
        show_remaining_lines(old, &workspace, &edits)?;
    }
    if !options.execute {
        println!("\nNothing was changed. To commit it: cargo xtask release prepare {new} --execute");
        return Ok(());
    }
    if let Err(error) = write(&workspace, &edits, &new) {
        // The tree was clean, so this run has made every change.
        cmd!(workspace.shell, "git reset --quiet --hard HEAD").quiet().run()?;
        return Err(error);
    }
    git.must_be_clean().with_context(|| {
        format!(
            "{new} is committed, but something else has changed files since. Restore them (git restore .) and continue \
             with `check`, or remove the commit (git reset --hard HEAD^) and prepare the version again"
        )
    })?;
    println!("\ncommitted. Next: cargo xtask release check");
    Ok(())
}

fn bump(bump: &str, old: &Version, is_released: bool) -> anyhow::Result<Version> {
    let is_pre_release = !old.pre.is_empty();
    let mut new = Version { pre: Prerelease::EMPTY, ..old.clone() };
    match bump {
        // A pre-release becomes the version that it precedes.
        "major" if is_pre_release && (new.minor, new.patch) == (0, 0) => {}
        "minor" if is_pre_release && new.patch == 0 => {}
        "patch" if is_pre_release => {}
        "major" => new = Version::new(new.major + 1, 0, 0),
        "minor" => new = Version::new(new.major, new.minor + 1, 0),
        "patch" => new.patch += 1,
        version => match version.parse() {
            Ok(version) => new = version,
            Err(_) => {
                bail!("{version} is not `major`, `minor`, `patch` or a version such as 1.4.0")
            }
        },
    }
    ensure!(
        new.build.is_empty(),
        "{new} has build metadata, which a release must not have: remove `+` and what follows it"
    );
    // The first release may have the version that is already in Cargo.toml.
    let is_greater = if is_released { new > *old } else { new >= *old };
    ensure!(is_greater, "{new} is not greater than {old}, the version in Cargo.toml: choose a greater one");
    Ok(new)
}

/// The new text of each changed file, by path.
fn edits(workspace: &Workspace, log: &str, new: &Version) -> anyhow::Result<BTreeMap<String, String>> {
    let crates: Vec<_> = workspace.crates().map(|member| member.name.as_str()).collect();
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let log = changelog::release_unreleased(log, new, today.split('T').next().unwrap_or_default())?;
    let manifest = raise(&workspace.read("Cargo.toml")?, &crates, new)?;
    let mut edits = BTreeMap::from([("Cargo.toml".to_owned(), manifest), (changelog::FILE.to_owned(), log)]);
    for path in documents(workspace)? {
        let text = with_version(&workspace.read(&path)?, &crates, &workspace.version, new);
        edits.insert(path, text);
    }
    edits.retain(|path, text| workspace.read(path).is_ok_and(|before| before != *text));
    Ok(edits)
}

/// All documents except the changelog, whose old versions must not change.
fn documents(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let listed = cmd!(workspace.shell, "git -c core.quotePath=false ls-files -- *.md").quiet().read()?;
    let root = workspace.shell.current_dir();
    let is_own = |path: &&str| *path != changelog::FILE && !root.join(path).is_symlink();
    Ok(listed.lines().filter(is_own).map(str::to_owned).collect())
}

/// The document with the new version in the lines that readers paste. Before the first release those lines name a path.
pub(crate) fn with_version(text: &str, crates: &[&str], old: &Version, new: &Version) -> String {
    crates.iter().fold(text.to_owned(), |text, name| {
        let plain = |version: &Version| format!("\n{name} = \"{version}\"");
        let table = |version: &Version| format!("\n{name} = {{ version = \"{version}\"");
        let added = |version: &Version| format!(" {name}@{version}");
        let path = format!("\n{name} = {{ path = \"crates/{name}\"");
        text.replace(&format!("{path} }}"), &plain(new))
            .replace(&path, &table(new))
            .replace(&plain(old), &plain(new))
            .replace(&table(old), &table(new))
            .replace(&added(old), &added(new))
    })
}

/// Shows the lines of documents that still name the old version: a person must decide about each.
fn show_remaining_lines(
    old: &Version,
    workspace: &Workspace,
    edits: &BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for path in documents(workspace)? {
        let text = edits.get(&path).cloned().map_or_else(|| workspace.read(&path), Ok)?;
        let old = old.to_string();
        let named = text.lines().zip(1..).filter(|(line, _)| line.contains(&old));
        lines.extend(named.map(|(line, number)| format!("  {path}:{number}: {}", line.trim())));
    }
    if !lines.is_empty() {
        println!("\nthese lines still name {old}: check whether they should\n{}", lines.join("\n"));
    }
    Ok(())
}

/// The root manifest with every version raised.
fn raise(manifest: &str, crates: &[&str], new: &Version) -> anyhow::Result<String> {
    let mut manifest: DocumentMut = manifest.parse()?;
    let put = |version: &mut Item| {
        let version = version.as_value_mut()?;
        let decor = version.decor().clone();
        *version = new.to_string().into();
        *version.decor_mut() = decor;
        Some(())
    };
    let workspace = &mut manifest["workspace"];
    put(&mut workspace["package"]["version"])
        .context("Cargo.toml has no version under [workspace.package]")?;
    let dependencies = workspace["dependencies"].as_table_like_mut();
    let dependencies = dependencies.context("Cargo.toml has no [workspace.dependencies]")?;
    for (name, dependency) in dependencies.iter_mut().filter(|(name, _)| crates.contains(&name.get())) {
        dependency
            .get_mut("version")
            .and_then(put)
            .with_context(|| format!("Cargo.toml: {} has a path but no version: add it", name.get()))?;
    }
    Ok(manifest.to_string())
}

fn write(workspace: &Workspace, edits: &BTreeMap<String, String>, new: &Version) -> anyhow::Result<()> {
    for (path, text) in edits {
        workspace.shell.write_file(path, text)?;
    }
    // This updates only the members' versions: no dependency may change in this commit.
    let update = cargo(&workspace.shell, "update --workspace --offline --quiet").run();
    update.context("cannot update Cargo.lock: see above")?;
    let new_text = new.to_string();
    ensure!(
        Workspace::load()?.members.iter().all(|member| member.package["version"] == new_text),
        "a member does not inherit its version: set version.workspace = true in its manifest"
    );
    let message = format!("Release {new}");
    // A hook could change the commit, which must be exactly what was shown.
    let hooks = "core.hooksPath=/dev/null";
    Ok(cmd!(workspace.shell, "git -c {hooks} commit --quiet --all --message {message}").quiet().run()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(to: &str, current: &str) -> String {
        let next = bump(to, &Version::parse(current).unwrap(), true);
        next.map_or_else(|error| error.to_string(), |version| version.to_string())
    }

    #[test]
    fn later_parts_restart_at_zero() {
        assert_eq!(next("major", "1.2.3"), "2.0.0");
        assert_eq!(next("minor", "1.2.3"), "1.3.0");
        assert_eq!(next("patch", "1.2.3"), "1.2.4");
        assert_eq!(next("2.0.0-rc.1", "1.9.9"), "2.0.0-rc.1");
    }

    #[test]
    fn a_pre_release_becomes_its_version() {
        assert_eq!(next("major", "2.0.0-rc.1"), "2.0.0");
        assert_eq!(next("minor", "2.0.0-rc.1"), "2.0.0");
        assert_eq!(next("patch", "2.0.1-rc.1"), "2.0.1");
        assert_eq!(next("minor", "2.0.1-rc.1"), "2.1.0");
    }

    #[test]
    fn a_version_only_grows() {
        for version in ["1.2.3", "1.2.2", "1.2.3-rc.1", "0.9.0"] {
            let expected = format!(
                "{version} is not greater than 1.2.3, the version in Cargo.toml: choose a greater one"
            );
            assert_eq!(next(version, "1.2.3"), expected);
        }
        assert_eq!(
            next("1.2.4+nightly", "1.2.3"),
            "1.2.4+nightly has build metadata, which a release must not have: remove `+` and what follows it"
        );
        assert!(next("next", "1.2.3").starts_with("next is not `major`"));
        let current = Version::new(0, 1, 0);
        assert_eq!(bump("0.1.0", &current, false).unwrap(), current, "the first release");
    }

    #[test]
    fn only_versions_change_in_the_manifest() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"   # for all\nedition = \"2024\"\n\n\
            [workspace.dependencies]\na = { path = \"crates/a\", version = \"0.1.0\", default-features = false }\n\
            b = { version = \"0.1.0\" }\n";
        let expected = manifest
            .replace("\"0.1.0\"   #", "\"0.2.0\"   #")
            .replace("version = \"0.1.0\", default", "version = \"0.2.0\", default");
        assert_eq!(raise(manifest, &["a"], &Version::new(0, 2, 0)).unwrap(), expected);
        let error = raise(&manifest.replace(", version = \"0.1.0\"", ""), &["a"], &Version::new(0, 2, 0));
        assert_eq!(error.unwrap_err().to_string(), "Cargo.toml: a has a path but no version: add it");
    }

    #[test]
    fn lines_that_readers_paste_get_the_new_version() {
        let text = "x\na = \"0.1.0\"\na = { version = \"0.1.0\", features = [] }\n$ cargo add a@0.1.0\nb = \"0.1.0\"\n\
            a = { path = \"crates/a\" }\na = { path = \"crates/a\", features = [] }\na = { path = \"../a\" }\n";
        let expected = "x\na = \"0.2.0\"\na = { version = \"0.2.0\", features = [] }\n$ cargo add a@0.2.0\nb = \"0.1.0\"\n\
            a = \"0.2.0\"\na = { version = \"0.2.0\", features = [] }\na = { path = \"../a\" }\n";
        assert_eq!(with_version(text, &["a"], &Version::new(0, 1, 0), &Version::new(0, 2, 0)), expected);
    }
}
