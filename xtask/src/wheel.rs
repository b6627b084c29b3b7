//! The `payments` command as a Python wheel, for `pip install payments-cli`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use xshell::{Shell, cmd};
use xtask::{Metadata, as_from_a_shell};

/// Builds the wheel for this machine. Returns the environment with the program that has built it, and its path.
pub(crate) fn build(shell: &Shell, profile: &str) -> anyhow::Result<(Environment, PathBuf)> {
    let target = Metadata::read(shell)?.target_directory;
    let folder = target.join("wheel");
    let maturin = Environment::create(shell, &folder.join("python"))?;
    maturin.install(shell, &["--require-hashes", "--requirement", "tests/wheel/requirements.txt"])?;
    let (program, wheels) = (maturin.program("maturin"), folder.join(profile));
    // A wheel of an earlier version would be found too.
    shell.remove_path(&wheels)?;
    let manifest = "crates/payments-cli/Cargo.toml";
    let build =
        cmd!(shell, "{program} build --locked --profile {profile} --manifest-path {manifest} --out {wheels}");
    as_from_a_shell(build)
        // It shares what is compiled, and replaces no program that a test starts.
        .env("CARGO_BUILD_BUILD_DIR", &target)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .run()?;
    Ok((maturin, shell.read_dir(&wheels)?.pop().context("maturin wrote no wheel")?))
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
        // Python compiles what is used.
        let options = ["--quiet", "--disable-pip-version-check", "--no-compile"];
        Ok(cmd!(shell, "{python} -m pip install {options...} {arguments...}").run()?)
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }
}
