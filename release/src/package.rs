//! The `.crate` files of this commit, as cargo makes them: the same bytes each time.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::checksum::Checksum;
use crate::gates::Commit;
use crate::workspace::{Workspace, cargo};

/// One crate, packed.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    #[expect(dead_code, reason = "until the first gate that looks into it")]
    pub(crate) file: PathBuf,
    pub(crate) checksum: Checksum,
}

/// Packs every crate, without building them.
pub(crate) fn pack(commit: &Commit) -> anyhow::Result<Vec<Package>> {
    let workspace = &commit.workspace;
    run_cargo(commit, &["--no-verify", "--quiet"])?;
    workspace.crates().map(|member| Package::read(workspace, &member.name)).collect()
}

fn run_cargo(commit: &Commit, arguments: &[&str]) -> anyhow::Result<()> {
    let workspace = &commit.workspace;
    // All together: a crate alone cannot be packed as long as a sibling that it depends on is unpublished.
    let crates = workspace.crates().flat_map(|member| ["--package", &member.name]);
    let call = ["package", "--locked", "--offline"].into_iter().chain(commit.registry.cargo_arguments());
    let call = call.chain(crates).chain(arguments.iter().copied());
    cargo(&workspace.shell, call).run().context("cargo could not pack the crates")
}

impl Package {
    fn read(workspace: &Workspace, name: &str) -> anyhow::Result<Self> {
        let file = workspace.target.join("package").join(format!("{name}-{}.crate", workspace.version));
        let bytes =
            std::fs::read(&file).with_context(|| format!("cargo has packed no {}", file.display()))?;
        Ok(Self { name: name.to_owned(), checksum: Checksum::of(&bytes), file })
    }
}
