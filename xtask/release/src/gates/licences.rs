//! The licences of everything that users would build, crates that come in two versions, and where all of them come from.

use anyhow::ensure;

use super::{Commit, Verdict};
use crate::workspace::cargo;

/// What is allowed, and the exceptions with their reasons.
const RULES: &str = "xtask/release/deny.toml";

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let shell = &workspace.shell;
    // Without them it would go by rules of its own.
    workspace.read(RULES)?;
    ensure!(
        cargo(shell, ["deny", "--version"]).ignore_stdout().ignore_stderr().run().is_ok(),
        "cargo-deny is not installed: cargo install --locked cargo-deny"
    );
    let call = ["deny", "--locked", "--offline", "--config", RULES, "check", "--deny", "unmatched-skip"];
    let asked = cargo(shell, call).args(["licenses", "bans", "sources"]).run();
    ensure!(
        asked.is_ok(),
        "its words are above: take another dependency or version, or allow it in {RULES} with the reason. If it cannot \
         find a crate, that was never built here: cargo fetch --locked"
    );
    // Nobody should take silence for safety.
    Ok(Verdict::Passed(format!(
        "advisories need the network and are not asked: cargo deny --config {RULES} check advisories"
    )))
}
