//! Whether each package builds, and is documented, from its own files alone: a text that the code includes and the
//! package leaves out is noticed nowhere else.

use anyhow::Context as _;

use super::{Commit, Verdict};
use crate::package;
use crate::unpacked::Unpacked;

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    package::verify(commit).context(
        "not every package builds alone: what its code includes has to be taken in by `include` in its manifest",
    )?;
    let unpacked = Unpacked::new(workspace, &package::pack_tree(commit)?)?;
    let documented = unpacked
        .cargo(&["doc", "--workspace", "--no-deps", "--all-features"], &[("RUSTDOCFLAGS", "-D warnings")]);
    documented.context("the packages build, and cannot be documented: the words of rustdoc are above")?;
    Ok(Verdict::Passed(String::new()))
}
