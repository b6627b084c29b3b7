//! Commands in the root of the workspace.

use std::path::Path;

use anyhow::Context as _;
use xshell::Shell;
use xtask::cargo;

/// A shell whose current folder is the root of the workspace.
pub(crate) fn shell() -> anyhow::Result<Shell> {
    // If two clones share a target folder, this program may have been compiled in the other clone.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let shell = Shell::new()?;
    shell.change_dir(Path::new(&xtask).parent().context("xtask is a folder in the workspace")?);
    Ok(shell)
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
