//! What `cargo xtask test` checks, each of its steps as a gate: formatting, lints of each crate with each combination of its
//! features, tests, documentation, and the rules of the repository with their budgets of dependencies.

use anyhow::{Context as _, ensure};

use super::{Gate, Verdict};
use crate::workspace::{Workspace, cargo};

pub(super) fn gates(workspace: &Workspace) -> anyhow::Result<Vec<Gate>> {
    let listed = cargo(&workspace.shell, ["xtask", "test", "--list"]).read();
    let listed = listed.context("cargo xtask test --list does not name its steps")?;
    let titles: Vec<_> = listed.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    ensure!(!titles.is_empty(), "cargo xtask test --list names no step");
    Ok(titles.into_iter().map(gate).collect())
}

fn gate(title: String) -> Gate {
    let only = title.clone();
    Gate::new(title, move |commit| {
        // A step that is skipped on this machine would be a gate that nobody passed through.
        cargo(&commit.workspace.shell, ["xtask", "test", "--complete", "--only", &only])
            .run()
            .context("its words are above")?;
        Ok(Verdict::Passed(String::new()))
    })
}
