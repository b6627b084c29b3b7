//! The `.crate` files that cargo creates: the same bytes each time for the same commit.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use xshell::{Cmd, cmd};

use crate::index::Registry;
use crate::workspace::{Workspace, cargo};

/// A packed crate.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The SHA-256 in the index's notation.
    pub(crate) checksum: String,
    pub(crate) size: usize,
    file: PathBuf,
}

/// Packs every crate without building it. Without `--allow-dirty` cargo refuses files that are not committed.
pub(crate) fn pack(
    workspace: &Workspace,
    registry: &Registry,
    options: &[&str],
) -> anyhow::Result<Vec<Package>> {
    run_cargo(workspace, registry, &[&["--no-verify"], options].concat())?;
    workspace.crates().map(|member| Package::read(workspace, &member.name)).collect()
}

/// Packs every crate, and builds each package with all features from only its own files.
pub(crate) fn verify(workspace: &Workspace, registry: &Registry) -> anyhow::Result<()> {
    run_cargo(workspace, registry, &["--all-features"])
}

fn run_cargo(workspace: &Workspace, registry: &Registry, options: &[&str]) -> anyhow::Result<()> {
    // All crates at once: one crate cannot be packed alone until the crates that it depends on are published.
    let package =
        cargo(&workspace.shell, "package --locked --offline --quiet --registry").arg(&registry.name);
    let package = in_release_folder(package.args(workspace.selection()).args(options), workspace);
    package.run().context(
        "cargo cannot pack or build the crates: see above. If dependencies are missing: cargo fetch --locked",
    )
}

/// Shares built dependencies with the workspace, but writes programs and packages to a separate folder.
///
/// A package does not have the workspace's profiles, so this sets the same debug information: otherwise cargo would build
/// the dependencies again.
pub(crate) fn in_release_folder<'a>(cargo: Cmd<'a>, workspace: &Workspace) -> Cmd<'a> {
    let debug = std::env::var("CARGO_PROFILE_DEV_DEBUG").unwrap_or_else(|_| "line-tables-only".to_owned());
    cargo
        .env("CARGO_TARGET_DIR", folder(workspace))
        .env("CARGO_BUILD_BUILD_DIR", &workspace.target)
        .env("CARGO_PROFILE_DEV_DEBUG", debug)
}

/// The folder for packages and everything built from them.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("payments-release")
}

impl Package {
    fn read(workspace: &Workspace, name: &str) -> anyhow::Result<Self> {
        let file = folder(workspace).join("package").join(format!("{name}-{}.crate", workspace.version));
        let bytes = fs::read(&file).with_context(|| format!("cargo did not pack {}", file.display()))?;
        let mut checksum = String::new();
        for byte in Sha256::digest(&bytes) {
            write!(checksum, "{byte:02x}")?;
        }
        Ok(Self { name: name.to_owned(), checksum, size: bytes.len(), file })
    }

    /// The paths of its files, without their common folder.
    pub(crate) fn files(&self, workspace: &Workspace) -> anyhow::Result<Vec<String>> {
        let file = &self.file;
        let listed = cmd!(workspace.shell, "tar --list --gzip --file {file}").quiet().read()?;
        Ok(listed.lines().filter_map(|path| Some(path.split_once('/')?.1.to_owned())).collect())
    }

    /// Unpacks it into a folder, with new modification times. The files in an archive all have the same old time, so cargo
    /// would not notice that a file has changed since the last build.
    pub(crate) fn unpack(&self, workspace: &Workspace, parent: &PathBuf) -> anyhow::Result<()> {
        let file = &self.file;
        Ok(cmd!(workspace.shell, "tar --extract --touch --gzip --file {file} --directory {parent}")
            .quiet()
            .run()?)
    }
}
