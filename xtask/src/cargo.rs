//! Runs cargo, and reads the workspace's metadata.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;
use xshell::{Cmd, Shell};

/// A shell whose current folder is the root of the workspace.
pub(crate) fn shell() -> anyhow::Result<Shell> {
    // If two clones share a target folder, this program may have been compiled in the other clone.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let shell = Shell::new()?;
    shell.change_dir(Path::new(&xtask).parent().context("xtask is a folder in the workspace")?);
    Ok(shell)
}

/// A cargo command as a person would run it in the root of the workspace.
pub(crate) fn cargo<'a>(shell: &'a Shell, call: &str) -> Cmd<'a> {
    as_from_a_shell(shell.cmd("cargo").args(call.split(' ')).quiet())
}

/// A program that calls cargo, without the variables about this package that `cargo run` has set.
///
/// Some build scripts, such as ring's, watch those variables and would run again, and most dependencies with them, whenever a
/// person and a task call cargo in turn.
pub(crate) fn as_from_a_shell(program: Cmd<'_>) -> Cmd<'_> {
    const SET_BY_CARGO_RUN: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names = names.filter(|name| SET_BY_CARGO_RUN.iter().any(|prefix| name.starts_with(prefix)));
    names.fold(program, Cmd::env_remove)
}

/// Runs cargo once for each call, in order.
pub(crate) fn run_all(shell: &Shell, calls: &[impl AsRef<str>]) -> anyhow::Result<()> {
    for call in calls {
        println!("$ cargo {}", call.as_ref());
        cargo(shell, call.as_ref()).run()?;
    }
    Ok(())
}

pub(crate) fn has_nextest(shell: &Shell) -> bool {
    cargo(shell, "nextest --version").ignore_stdout().ignore_stderr().run().is_ok()
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The path from the root, such as `crates/payments-core`.
    pub(crate) folder: String,
    pub(crate) default_features: Vec<String>,
    /// Without internal features, whose names begin with an underscore.
    pub(crate) other_features: Vec<String>,
    pub(crate) has_library: bool,
    pub(crate) is_published: bool,
    /// The members that it is built with.
    pub(crate) members: Vec<String>,
    /// The members that only its tests are built with.
    pub(crate) members_of_tests: Vec<String>,
}

pub(crate) fn packages(shell: &Shell) -> anyhow::Result<Vec<Package>> {
    let metadata = metadata(shell)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages.iter().map(|package| Package::read(package, &shell.current_dir())).collect()
}

/// The target folder.
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
        let features =
            package["features"].as_object().context("cargo metadata lists a package without features")?;
        let default_features: Vec<_> = features
            .get("default")
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let is_other = |name: &&String| {
            *name != "default" && !name.starts_with('_') && !default_features.contains(&name.as_str())
        };
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let (of_tests, others): (Vec<_>, Vec<_>) = dependencies
            .filter(|dependency| dependency["path"].is_string())
            .partition(|dependency| dependency["kind"] == "dev");
        let names = |members: Vec<&Value>| {
            members.iter().filter_map(|member| member["name"].as_str()).map(str::to_owned).collect()
        };
        let mut kinds = package["targets"].as_array().into_iter().flatten().map(|target| &target["kind"][0]);
        Ok(Self {
            name: package["name"]
                .as_str()
                .context("cargo metadata lists a package without a name")?
                .to_owned(),
            folder: folder.context("cargo metadata lists a package outside the workspace")?.to_owned(),
            other_features: features.keys().filter(is_other).cloned().collect(),
            default_features: default_features.into_iter().map(str::to_owned).collect(),
            has_library: kinds.any(|kind| kind == "lib"),
            is_published: package["publish"].is_null(),
            members: names(others),
            members_of_tests: names(of_tests),
        })
    }
}
