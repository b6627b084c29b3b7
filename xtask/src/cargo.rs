//! Runs cargo, and reads the workspace's metadata.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use xshell::{Cmd, Shell};

/// A cargo command as a person would run it in the current folder of the shell.
pub fn cargo<'a>(shell: &'a Shell, call: &str) -> Cmd<'a> {
    as_from_a_shell(shell.cmd("cargo").args(call.split(' ')).quiet())
}

/// A program that calls cargo, without the variables about this package that `cargo run` has set.
///
/// Some build scripts, such as ring's, watch those variables and would run again, and most dependencies with them, whenever a
/// person and a task call cargo in turn.
pub fn as_from_a_shell(program: Cmd<'_>) -> Cmd<'_> {
    const SET_BY_CARGO_RUN: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names = names.filter(|name| SET_BY_CARGO_RUN.iter().any(|prefix| name.starts_with(prefix)));
    names.fold(program, Cmd::env_remove)
}

/// What `cargo metadata` prints about the workspace.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Metadata {
    /// The members.
    pub packages: Vec<Package>,
    /// The root of the workspace.
    pub workspace_root: PathBuf,
    /// The target folder.
    pub target_directory: PathBuf,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The path of its folder from the root, such as `crates/payments-core`.
    #[serde(rename = "manifest_path")]
    pub folder: String,
    /// The registries that it may be published to. `None` stands for all, an empty list for none.
    publish: Option<Vec<String>>,
    /// Its features, each with what it enables.
    pub features: BTreeMap<String, Vec<String>>,
    /// Everything that it depends on.
    pub dependencies: Vec<Dependency>,
    /// What is compiled of it.
    pub targets: Vec<Target>,
    /// The table `[package.metadata]`.
    pub metadata: Value,
    /// Everything else in its manifest.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// A dependency of a package.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// `dev` or `build`, or `None` for what a user's program contains.
    pub kind: Option<String>,
    /// Its folder, if it is a member.
    pub path: Option<PathBuf>,
}

/// A library, program, example or test of a package.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Target {
    /// Its kinds, such as `lib`.
    pub kind: Vec<String>,
}

impl Metadata {
    /// Runs cargo in the current folder of the shell.
    ///
    /// # Errors
    ///
    /// If cargo fails.
    pub fn read(shell: &Shell) -> anyhow::Result<Self> {
        let text = cargo(shell, "metadata --locked --no-deps --format-version 1").read()?;
        let mut metadata: Self = serde_json::from_str(&text).context("cannot read cargo metadata")?;
        for package in &mut metadata.packages {
            let folder = Path::new(&package.folder).parent().context("a manifest is in a folder")?;
            package.folder = folder.strip_prefix(&metadata.workspace_root)?.display().to_string();
        }
        Ok(metadata)
    }
}

impl Package {
    /// The path of its manifest from the root.
    pub fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// Whether it has a library.
    pub fn has_library(&self) -> bool {
        self.targets.iter().any(|target| target.kind[0] == "lib")
    }

    /// Whether it may be published.
    pub fn is_published(&self) -> bool {
        self.publish.is_none()
    }
}
