//! The public API is the one whose text was committed, so each change of it was seen by whoever read the change.

use super::{Commit, Verdict};
use crate::api;

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let count = workspace.libraries().count();
    Ok(Verdict::of(
        api::findings(workspace)?,
        format!("{count} crates, each with none and all of its features"),
    ))
}
