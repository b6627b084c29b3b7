//! The workspace according to cargo and git.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use semver::Version;
use xshell::{Cmd, Shell};
use xtask::{Metadata, Package};

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
    pub(crate) crates: Vec<Package>,
}

impl Workspace {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let shell = Shell::new()?;
        let metadata = Metadata::read(&shell)?;
        shell.change_dir(metadata.workspace_root);
        let crates: Vec<_> = metadata.packages.into_iter().filter(Package::is_published).collect();
        let first = crates.first().context("nothing to release: every package has publish = false")?;
        let version = first.version.parse()?;
        if let Some(other) = crates.iter().find(|other| other.version != first.version) {
            bail!(
                "{} has another version than {version}: set version.workspace = true in its manifest",
                other.name
            );
        }
        let target = metadata.target_directory;
        Ok(Self { target, registry: "crates-io".to_owned(), version, crates, shell })
    }

    /// The crates with a library.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Package> {
        self.crates.iter().filter(|member| member.has_library())
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
    pub(crate) fn crates_at(&self, commit: &str) -> impl Iterator<Item = &Package> {
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
    names.filter(|name| is_token(name)).fold(xtask::cargo(shell, call), Cmd::env_remove)
}
