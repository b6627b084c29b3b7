//! The workspace as cargo describes it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use semver::Version;
use serde_json::Value;
use xshell::{Cmd, Shell};

/// What is released: everything under `crates/`, with one version.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Stands in the root.
    pub(crate) shell: Shell,
    pub(crate) root: PathBuf,
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
    /// The version under `[workspace.package]`.
    pub(crate) version: Version,
    /// Each member, in the order of its folder.
    pub(crate) members: Vec<Member>,
}

impl Workspace {
    /// The one that the working folder is in.
    pub(crate) fn load() -> anyhow::Result<Self> {
        Self::load_in(Shell::new()?)
    }

    /// The one that the shell stands in.
    pub(crate) fn load_in(shell: Shell) -> anyhow::Result<Self> {
        let metadata =
            cargo(&shell, ["metadata", "--locked", "--no-deps", "--format-version", "1"]).read()?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        let folder = |key: &str| {
            let folder = metadata[key].as_str().with_context(|| format!("cargo metadata has no {key}"))?;
            anyhow::Ok(PathBuf::from(folder))
        };
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        shell.change_dir(&root);

        let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let mut members = packages
            .iter()
            .map(|package| Member::read(&root, package))
            .collect::<anyhow::Result<Vec<_>>>()?;
        members.sort_by(|a, b| a.folder.cmp(&b.folder));

        let manifest: toml_edit::DocumentMut = shell.read_file("Cargo.toml")?.parse()?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let version = version.context("Cargo.toml: no version stands under [workspace.package]")?.parse()?;
        let workspace = Self { shell, root, target, version, members };
        ensure!(workspace.crates().count() > 0, "there is no crate under crates/, so nothing to release");
        Ok(workspace)
    }

    /// The members that users get.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_crate())
    }

    /// Those of them that other programs are built on.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Member> {
        self.crates().filter(|member| member.has_library())
    }

    /// What cargo's configuration says, in whichever of its places.
    pub(crate) fn configured(&self, key: &str) -> Option<Value> {
        let call = ["config", "get", "-Z", "unstable-options", "--format", "json-value", key];
        // The one question that cargo answers only so; nothing is built with it.
        let asked = cargo(&self.shell, call).env("RUSTC_BOOTSTRAP", "1").ignore_stderr().read().ok()?;
        serde_json::from_str(&asked).ok()
    }

    /// Fails if cargo would build for a platform that the configuration names: what the gates look for would lie in
    /// another folder, and might not run here.
    pub(crate) fn must_build_for_this_machine(&self) -> anyhow::Result<()> {
        let platform = self.configured("build.target");
        ensure!(
            platform.is_none(),
            "cargo is configured to build for {}, and a release is checked as it is built without `build.target`: take \
             that out of cargo's configuration (or CARGO_BUILD_TARGET out of the environment) as long as this takes",
            platform.unwrap_or_default()
        );
        Ok(())
    }

    /// The text of a file in the repository.
    pub(crate) fn read(&self, path: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(self.root.join(path)).with_context(|| format!("cannot read {path}"))
    }
}

/// One package of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) version: Version,
    /// A path from the root, such as `crates/payments-core`.
    pub(crate) folder: String,
    /// The package as `cargo metadata` describes it.
    pub(crate) package: Value,
}

impl Member {
    fn read(root: &Path, package: &Value) -> anyhow::Result<Self> {
        let text = |key: &str| package[key].as_str().with_context(|| format!("a package without {key}"));
        let folder = Path::new(text("manifest_path")?).parent().context("a manifest in no folder")?;
        let folder = folder.strip_prefix(root).context("a package outside the workspace")?;
        Ok(Self {
            name: text("name")?.to_owned(),
            version: text("version")?.parse()?,
            folder: folder.to_str().context("a folder whose name is not UTF-8")?.to_owned(),
            package: package.clone(),
        })
    }

    /// Whether users get it, as against tests, benchmarks and the project's own tasks.
    pub(crate) fn is_crate(&self) -> bool {
        self.folder.starts_with("crates/")
    }

    pub(crate) fn has_library(&self) -> bool {
        self.targets("lib").next().is_some()
    }

    /// Whether it is where the command of that name comes from.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        self.targets("bin").any(|target| target["name"] == name)
    }

    fn targets(&self, wanted: &str) -> impl Iterator<Item = &Value> {
        let targets = self.package["targets"].as_array().into_iter().flatten();
        targets.filter(move |target| {
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == wanted))
        })
    }

    pub(crate) fn has_features(&self) -> bool {
        self.package["features"].as_object().is_some_and(|features| !features.is_empty())
    }

    pub(crate) fn has_default_features(&self) -> bool {
        self.package["features"]["default"].as_array().is_some_and(|features| !features.is_empty())
    }
}

/// A `cargo` command as a person would call it in the root of the workspace.
pub(crate) fn cargo<'a>(shell: &'a Shell, arguments: impl IntoIterator<Item = &'a str>) -> Cmd<'a> {
    program(shell, "cargo").args(arguments)
}

/// A program as a person would call it in the root of the workspace.
///
/// `cargo run` describes the package it runs in the environment. Build scripts that watch those variables would be run
/// again whenever a person's call and this one alternate, so they are taken out. So are the tokens of registries: tests
/// and build scripts run under this, and none of them has any use for one.
pub(crate) fn program(shell: &Shell, path: impl AsRef<Path>) -> Cmd<'_> {
    const ABOUT_THE_CALLER: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let mut program = shell.cmd(path.as_ref()).quiet();
    for (name, _) in std::env::vars_os() {
        let is_known = name.to_str().is_some_and(|name| {
            is_token(name) || ABOUT_THE_CALLER.iter().any(|prefix| name.starts_with(prefix))
        });
        if is_known {
            program = program.env_remove(name);
        }
    }
    program
}

/// The same with the tokens of registries, for the one command that needs them.
pub(crate) fn cargo_with_tokens<'a>(
    shell: &'a Shell,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Cmd<'a> {
    let tokens = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_token));
    cargo(shell, arguments).envs(tokens)
}

/// `CARGO_REGISTRY_TOKEN`, or `CARGO_REGISTRIES_NAME_TOKEN`.
fn is_token(name: &str) -> bool {
    name.starts_with("CARGO_REGISTR") && name.ends_with("_TOKEN")
}
