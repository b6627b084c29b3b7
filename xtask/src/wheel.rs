//! The `payments` command as a Python wheel, for `pip install payments-cli`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use xshell::{Shell, cmd};

use crate::cargo;

/// Builds the wheel for this machine and returns its path.
pub(crate) fn build(shell: &Shell, profile: &str) -> anyhow::Result<PathBuf> {
    let folder = cargo::target(shell)?.join("wheel");
    let maturin = Environment::create(shell, &folder.join("maturin"))?;
    maturin.install(shell, &["--require-hashes", "--requirement", "tests/wheel/requirements.txt"])?;
    let (maturin, wheels) = (maturin.program("maturin"), folder.join(profile));
    // A wheel of an earlier version would be found too.
    shell.remove_path(&wheels)?;
    let manifest = "crates/payments-cli/Cargo.toml";
    cmd!(shell, "{maturin} build --locked --profile {profile} --manifest-path {manifest} --out {wheels}")
        .run()?;
    shell.read_dir(&wheels)?.pop().context("maturin wrote no wheel")
}

/// A virtual environment of Python.
pub(crate) struct Environment(PathBuf);

impl Environment {
    /// Creates it, or completes what an interrupted run left.
    pub(crate) fn create(shell: &Shell, folder: &Path) -> anyhow::Result<Self> {
        cmd!(shell, "python3 -m venv {folder}").run()?;
        Ok(Self(folder.to_owned()))
    }

    pub(crate) fn install(&self, shell: &Shell, arguments: &[&str]) -> anyhow::Result<()> {
        let python = self.program("python");
        Ok(cmd!(shell, "{python} -m pip install --quiet --disable-pip-version-check {arguments...}").run()?)
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }
}
