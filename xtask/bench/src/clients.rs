//! The clients that are compared: programs in a workspace of their own, whose dependencies are in nobody else's tree.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

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
    let package = format!("bench-{name}");
    let manifest = workspace().join("Cargo.toml");
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--locked", "--quiet", "--message-format=json-render-diagnostics"])
        .args(["--package", &package, "--manifest-path"])
        .arg(&manifest)
        .env("CARGO_TARGET_DIR", target_folder()?)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(
        built.status.success(),
        "the client {name} cannot be built; if it is the lock file that is out of date, because a product has other \
         dependencies now, `cargo update --workspace --manifest-path {}` mends it",
        manifest.display()
    );
    // Where it is depends on whether cargo was told to build for a target, and an old one may be where it would be otherwise.
    let messages = str::from_utf8(&built.stdout)?.lines().map(serde_json::from_str::<Value>);
    let mut programs = messages.filter_map(|message| message.ok()?["executable"].as_str().map(PathBuf::from));
    programs.next_back().with_context(|| format!("cargo names no program of {package}"))
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
