//! `prepare`: creates the commit of a version. It uses no network and publishes nothing.

use std::time::SystemTime;

use anyhow::{Context as _, bail, ensure};
use semver::{Prerelease, Version};
use toml_edit::{DocumentMut, Item};
use xshell::cmd;

use crate::changelog;
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
    workspace.must_be_clean().context("if an interrupted `prepare` has left these changes: git restore .")?;
    let (old, log) = (&workspace.version, workspace.read(changelog::FILE)?);
    let new = bump(&options.bump, old, changelog::notes(&log, old).is_some())?;
    let manifest = raise(&workspace, &workspace.read("Cargo.toml")?, &new)?;
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let log = changelog::release_unreleased(&log, &new, today.split('T').next().unwrap_or_default())?;

    println!("{old} -> {new}\n\n{}", changelog::notes(&log, &new).unwrap_or_default());
    // A person must decide about each of these lines, because an example may show an old version on purpose.
    let (old, path) = (old.to_string(), "path = \"crates/");
    let others = format!(":!{}", changelog::FILE);
    let lines = cmd!(
        workspace.shell,
        "git grep --line-number --fixed-strings -e {old} -e {path} -e 'Before the first release' -- *.md {others}"
    );
    let lines = lines.quiet().ignore_status().read()?;
    if !lines.is_empty() {
        println!("\nthese lines name {old} or a checkout: check whether they still should\n{lines}");
    }
    if !options.execute {
        println!("\nNothing was changed. To commit it: cargo xtask release prepare {new} --execute");
        return Ok(());
    }
    workspace.shell.write_file("Cargo.toml", manifest)?;
    workspace.shell.write_file(changelog::FILE, log)?;
    // This updates only the members' versions: no dependency may change in this commit.
    let update = cargo(&workspace.shell, "update --workspace --offline --quiet").run();
    update.context("cannot update Cargo.lock: see above, then git restore . to start again")?;
    let message = format!("Release {new}");
    cmd!(workspace.shell, "git commit --quiet --all --message {message}").quiet().run()?;
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
        version => match version.parse::<Version>() {
            Ok(version) if version.build.is_empty() => new = version,
            _ => bail!("{version} is not `major`, `minor`, `patch` or a version such as 1.4.0"),
        },
    }
    // The first release may have the version that is already in Cargo.toml.
    let is_greater = if is_released { new > *old } else { new >= *old };
    ensure!(is_greater, "{new} is not greater than {old}, the version in Cargo.toml: choose a greater one");
    Ok(new)
}

/// The root manifest with every version raised.
fn raise(workspace: &Workspace, manifest: &str, new: &Version) -> anyhow::Result<String> {
    let mut manifest: DocumentMut = manifest.parse()?;
    let put = |version: &mut Item, text: String| {
        let version = version.as_value_mut()?;
        let decor = version.decor().clone();
        *version = text.into();
        *version.decor_mut() = decor;
        Some(())
    };
    let root = &mut manifest["workspace"];
    put(&mut root["package"]["version"], new.to_string())
        .context("Cargo.toml has no version under [workspace.package]")?;
    let dependencies = root["dependencies"].as_table_like_mut();
    let dependencies = dependencies.context("Cargo.toml has no [workspace.dependencies]")?;
    let is_ours = |name: &str| workspace.crates.iter().any(|member| member.name == name);
    for (name, dependency) in dependencies.iter_mut().filter(|(name, _)| is_ours(name)) {
        // Exactly this one: the crates use hidden items of each other, which change in any version.
        let raised = dependency.get_mut("version").and_then(|version| put(version, format!("={new}")));
        raised.with_context(|| format!("Cargo.toml: {name} has a path but no version: add it"))?;
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(to: &str, current: &str) -> String {
        let next = bump(to, &Version::parse(current).unwrap(), true);
        next.map_or_else(|error| error.to_string(), |version| version.to_string())
    }

    #[test]
    fn a_version_grows_and_its_later_parts_restart_at_zero() {
        assert_eq!(["major", "minor", "patch"].map(|to| next(to, "1.2.3")), ["2.0.0", "1.3.0", "1.2.4"]);
        assert_eq!(next("2.0.0-rc.1", "1.9.9"), "2.0.0-rc.1");
        for version in ["1.2.3", "1.2.2", "1.2.3-rc.1", "0.9.0"] {
            assert!(next(version, "1.2.3").contains("is not greater than 1.2.3"), "{version}");
        }
        assert!(next("1.2.4+nightly", "1.2.3").contains("is not `major`"));
        let current = Version::new(0, 1, 0);
        assert_eq!(bump("0.1.0", &current, false).unwrap(), current, "the first release");
    }

    #[test]
    fn a_pre_release_becomes_its_version() {
        assert_eq!(["major", "minor"].map(|to| next(to, "2.0.0-rc.1")), ["2.0.0", "2.0.0"]);
        assert_eq!(["minor", "patch"].map(|to| next(to, "2.0.1-rc.1")), ["2.1.0", "2.0.1"]);
    }
}
