use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

/// A build of one package into an empty folder, which is gone with this value.
pub(super) struct CleanBuild {
    target: TempDir,
    time: Duration,
}

impl CleanBuild {
    /// Builds the package of this workspace with a profile of cargo. Nothing is fetched: what is missing is an error.
    pub(super) fn of(workspace: &Path, package: &str, profile: &str) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        // Beside the build of this program, because a folder for temporary files may be in memory.
        let beside = program.parent().context("a program is in a folder")?;
        let target = tempfile::Builder::new().prefix("clean-").tempdir_in(beside)?;
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--profile", profile, "--locked", "--offline", "--quiet", "--jobs", "2"]);
        cargo.args(["--package", package, "--manifest-path"]).arg(workspace.join("Cargo.toml"));
        cargo.env("CARGO_TARGET_DIR", target.path());
        // What users have, but stripped, whatever the profile of the workspace says.
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        // A cache of builds would make this the time of a copy.
        for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"] {
            cargo.env_remove(name);
        }
        let started = Instant::now();
        let status = cargo.status().context("cargo cannot be run")?;
        let time = started.elapsed();
        ensure!(status.success(), "{package} cannot be built");
        Ok(Self { target, time })
    }

    /// How long it took.
    pub(super) fn seconds(&self) -> f64 {
        self.time.as_secs_f64()
    }

    /// The size of a program of a release build, in millions of bytes.
    pub(super) fn program_mb(&self, name: &str) -> anyhow::Result<f64> {
        let file = self.target.path().join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let size = std::fs::metadata(&file).with_context(|| format!("no {}", file.display()))?.len();
        Ok(f64::from(u32::try_from(size)?) / 1e6)
    }
}
