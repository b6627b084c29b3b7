//! The `.crate` files of the crates, as cargo makes them: the same bytes each time for the same commit.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use xshell::{Cmd, cmd};

use crate::index::Registry;
use crate::workspace::{Workspace, cargo};

/// One crate, packed.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// SHA-256, as the index writes it.
    pub(crate) checksum: String,
    pub(crate) size: usize,
    file: PathBuf,
}

/// Packs every crate, without building them. Without `--allow-dirty` cargo refuses what is not committed.
pub(crate) fn pack(
    workspace: &Workspace,
    registry: &Registry,
    options: &[&str],
) -> anyhow::Result<Vec<Package>> {
    run_cargo(workspace, registry, &[&["--no-verify"], options].concat())?;
    workspace.crates().map(|member| Package::read(workspace, &member.name)).collect()
}

/// Packs every crate and builds each package, with all its features, from its own files alone.
pub(crate) fn verify(workspace: &Workspace, registry: &Registry) -> anyhow::Result<()> {
    run_cargo(workspace, registry, &["--all-features"])
}

fn run_cargo(workspace: &Workspace, registry: &Registry, options: &[&str]) -> anyhow::Result<()> {
    // All together: a crate alone cannot be packed as long as a sibling that it depends on is not published.
    let package =
        cargo(&workspace.shell, "package --locked --offline --quiet --registry").arg(&registry.name);
    let package = apart(package.args(workspace.selection()).args(options), workspace);
    package.run().context("cargo cannot pack the crates. If it finds no other crate: cargo fetch --locked")
}

/// Builds with the dependencies that the workspace was built with, and leaves programs and pages in a folder apart.
///
/// A package does not have the workspace's profiles, and debug information is part of what tells two builds apart.
pub(crate) fn apart<'a>(cargo: Cmd<'a>, workspace: &Workspace) -> Cmd<'a> {
    let debug = std::env::var("CARGO_PROFILE_DEV_DEBUG").unwrap_or_else(|_| "line-tables-only".to_owned());
    cargo
        .env("CARGO_TARGET_DIR", folder(workspace))
        .env("CARGO_BUILD_BUILD_DIR", &workspace.target)
        .env("CARGO_PROFILE_DEV_DEBUG", debug)
}

/// Where packages, and what is built from them, are put.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("payments-release")
}

impl Package {
    fn read(workspace: &Workspace, name: &str) -> anyhow::Result<Self> {
        let file = folder(workspace).join("package").join(format!("{name}-{}.crate", workspace.version));
        let bytes = fs::read(&file).with_context(|| format!("cargo has packed no {}", file.display()))?;
        let mut checksum = String::new();
        for byte in Sha256::digest(&bytes) {
            write!(checksum, "{byte:02x}")?;
        }
        Ok(Self { name: name.to_owned(), checksum, size: bytes.len(), file })
    }

    /// Its files, without the folder that all of them are in.
    pub(crate) fn files(&self, workspace: &Workspace) -> anyhow::Result<Vec<String>> {
        let file = &self.file;
        let listed = cmd!(workspace.shell, "tar --list --gzip --file {file}").quiet().read()?;
        Ok(listed.lines().filter_map(|path| Some(path.split_once('/')?.1.to_owned())).collect())
    }

    /// Unpacks it into a folder, as new files: those in the archive are all as old as each other, and cargo would take a
    /// changed one for the one that it has built.
    pub(crate) fn unpack(&self, workspace: &Workspace, parent: &PathBuf) -> anyhow::Result<()> {
        let file = &self.file;
        Ok(cmd!(workspace.shell, "tar --extract --touch --gzip --file {file} --directory {parent}")
            .quiet()
            .run()?)
    }
}
