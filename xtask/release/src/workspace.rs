//! The workspace according to cargo and git.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use semver::Version;
use serde_json::Value;
use xshell::{Cmd, Shell};

/// The branch that releases are made from.
pub(crate) const BRANCH: &str = "main";

/// What is released: every package that may be published, with one version.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its current folder is the root.
    pub(crate) shell: Shell,
    /// The target folder.
    pub(crate) target: PathBuf,
    /// The registry's name in cargo's configuration.
    pub(crate) registry: String,
    pub(crate) version: Version,
    pub(crate) crates: Vec<Crate>,
}

#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// The package's object in `cargo metadata`.
    pub(crate) package: Value,
}

impl Workspace {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let shell = Shell::new()?;
        let metadata = cargo(&shell, "metadata --locked --no-deps --format-version 1").read()?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        let text = |value: &Value, key: &str| {
            value[key].as_str().map(str::to_owned).with_context(|| format!("cargo metadata has no {key}"))
        };
        shell.change_dir(text(&metadata, "workspace_root")?);
        let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let published = packages.iter().filter(|package| package["publish"].is_null());
        let crates = published
            .map(|package| Ok(Crate { name: text(package, "name")?, package: package.clone() }))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let first = crates.first().context("nothing to release: every package has publish = false")?;
        let version = text(&first.package, "version")?;
        let other = crates.iter().find(|other| other.package["version"] != version);
        ensure!(
            other.is_none(),
            "{} has another version than {version}: set version.workspace = true in its manifest",
            other.map_or("", |other| &other.name)
        );
        let target = text(&metadata, "target_directory")?.into();
        Ok(Self { target, registry: "crates-io".to_owned(), version: version.parse()?, crates, shell })
    }

    /// The crates with a library.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(|member| {
            member.package["targets"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|target| target["kind"][0] == "lib")
        })
    }

    /// `--package NAME` for each crate.
    pub(crate) fn selection(&self) -> impl Iterator<Item = &str> {
        self.crates.iter().flat_map(|member| ["--package", &member.name])
    }

    /// The text of a file in the repository.
    pub(crate) fn read(&self, path: &str) -> anyhow::Result<String> {
        self.shell.read_file(path).with_context(|| format!("cannot read {path}"))
    }

    /// What git prints.
    pub(crate) fn git(&self, call: &str) -> anyhow::Result<String> {
        Ok(self.shell.cmd("git").args(call.split(' ')).quiet().read()?)
    }

    /// What git prints, or `None` if it fails.
    pub(crate) fn try_git(&self, call: &str) -> Option<String> {
        self.shell.cmd("git").args(call.split(' ')).quiet().ignore_stderr().read().ok()
    }

    /// The crates that a commit already has, maybe in other folders.
    pub(crate) fn crates_at(&self, commit: &str) -> impl Iterator<Item = &Crate> {
        self.libraries().filter(move |member| {
            let name = format!("^name.=.\"{}\"$", member.name);
            self.try_git(&format!("grep --quiet {name} {commit} -- *Cargo.toml")).is_some()
        })
    }

    /// Fails if this is another branch, or if any file is changed, added or untracked.
    pub(crate) fn must_be_clean(&self) -> anyhow::Result<()> {
        let branch = self.try_git("symbolic-ref --quiet --short HEAD").unwrap_or_default();
        ensure!(
            branch == BRANCH,
            "a release is made only from {BRANCH}, and this is {branch:?}: git switch {BRANCH}"
        );
        let status = self.git("status --porcelain --untracked-files=normal")?;
        ensure!(
            status.is_empty(),
            "the tree is not clean: commit, ignore or remove the files that git lists here\n{status}"
        );
        Ok(())
    }
}

/// A cargo command without registry tokens in its environment, because it runs tests and build scripts.
pub(crate) fn cargo<'a>(shell: &'a Shell, call: &str) -> Cmd<'a> {
    let is_token = |name: &str| name.starts_with("CARGO_REGISTR") && name.ends_with("_TOKEN");
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| is_token(name)).fold(cargo_with_token(shell, call), Cmd::env_remove)
}

/// A cargo command as a person would run it.
///
/// `cargo run` sets variables about the package that it runs. Some build scripts watch those variables and would run again
/// whenever a person and this program call cargo in turn, so this removes them.
pub(crate) fn cargo_with_token<'a>(shell: &'a Shell, call: &str) -> Cmd<'a> {
    const SET_BY_CARGO_RUN: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names = names.filter(|name| SET_BY_CARGO_RUN.iter().any(|prefix| name.starts_with(prefix)));
    names.fold(shell.cmd("cargo").args(call.split(' ')).quiet(), Cmd::env_remove)
}
