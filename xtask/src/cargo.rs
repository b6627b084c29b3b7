//! Calls of cargo, and what it knows of the workspace.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;
use xshell::{Cmd, Shell};

/// A shell whose current folder is the root of the workspace.
pub(crate) fn shell() -> anyhow::Result<Shell> {
    // Where two clones share a target folder, the folder that this program was compiled in may be the other clone's.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let shell = Shell::new()?;
    shell.change_dir(Path::new(&xtask).parent().context("xtask is a folder in the workspace")?);
    Ok(shell)
}

/// A call of cargo as a person would make it in the root of the workspace.
///
/// `cargo run` describes the package it runs in the environment. Build scripts that watch those variables (ring's
/// does) would be run again whenever a person's call and a task's call alternate, so they are taken out.
pub(crate) fn cargo<'a>(shell: &'a Shell, call: &str) -> Cmd<'a> {
    const ABOUT_THE_CALLER: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names = names.filter(|name| ABOUT_THE_CALLER.iter().any(|prefix| name.starts_with(prefix)));
    names.fold(shell.cmd("cargo").args(call.split(' ')).quiet(), Cmd::env_remove)
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// From the root, such as `crates/payments-core`.
    pub(crate) folder: String,
    /// Without `default` and those that begin with an underscore, which are internal.
    pub(crate) features: Vec<String>,
    pub(crate) has_library: bool,
    pub(crate) is_published: bool,
}

pub(crate) fn packages(shell: &Shell) -> anyhow::Result<Vec<Package>> {
    let metadata = metadata(shell)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages.iter().map(|package| Package::read(package, &shell.current_dir())).collect()
}

/// Where cargo puts what it builds.
pub(crate) fn target(shell: &Shell) -> anyhow::Result<PathBuf> {
    let metadata = metadata(shell)?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target folder")?.into())
}

fn metadata(shell: &Shell) -> anyhow::Result<Value> {
    let text = cargo(shell, "metadata --locked --no-deps --format-version 1").read()?;
    serde_json::from_str(&text).context("cargo metadata is not JSON")
}

impl Package {
    fn read(package: &Value, root: &Path) -> anyhow::Result<Self> {
        let manifest = package["manifest_path"].as_str().map(Path::new).and_then(Path::parent);
        let folder = manifest.and_then(|folder| folder.strip_prefix(root).ok()).and_then(Path::to_str);
        let features = package["features"].as_object().context("a package without a table of features")?;
        let features = features.keys().filter(|name| *name != "default" && !name.starts_with('_'));
        let mut kinds = package["targets"].as_array().into_iter().flatten().map(|target| &target["kind"][0]);
        Ok(Self {
            name: package["name"].as_str().context("a package without a name")?.to_owned(),
            folder: folder.context("a package outside of the workspace")?.to_owned(),
            features: features.cloned().collect(),
            has_library: kinds.any(|kind| kind == "lib"),
            is_published: package["publish"].is_null(),
        })
    }
}
