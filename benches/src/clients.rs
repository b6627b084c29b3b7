//! The clients that are compared: programs in a workspace of their own, whose dependencies are in nobody else's tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// This SDK among them.
pub(crate) const OURS: &str = "payments";

/// Whether they are compared, or why not: they are release builds, which takes minutes, and so a debug build has no time for
/// them.
pub(crate) fn are_compared() -> Result<(), &'static str> {
    if cfg!(debug_assertions) {
        Err("only a release build of the benchmarks builds the clients")
    } else {
        Ok(())
    }
}

/// Builds this client as its users would, and gives the program.
pub(crate) fn build(name: &str) -> anyhow::Result<PathBuf> {
    let target = target_folder()?;
    let package = format!("bench-{name}");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--locked", "--quiet", "--package", &package, "--manifest-path"])
        .arg(workspace().join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .context("cargo cannot be run")?;
    ensure!(status.success(), "the client {name} cannot be built");
    Ok(target.join("release").join(format!("{package}{}", std::env::consts::EXE_SUFFIX)))
}

/// The workspace of the clients.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Beside the build of this program.
fn target_folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    let folder =
        program.parent().and_then(Path::parent).context("a program is in a folder of a target folder")?;
    Ok(folder.join("clients"))
}
