//! The workspace according to `cargo metadata`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use semver::Version;
use serde_json::Value;
use xshell::{Cmd, Shell};

/// What is released: everything under `crates/`, with one version.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its current folder is the root.
    pub(crate) shell: Shell,
    /// The target folder.
    pub(crate) target: PathBuf,
    pub(crate) version: Version,
    pub(crate) members: Vec<Member>,
}

/// One package of the workspace.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// The path from the root, such as `crates/payments-core`.
    pub(crate) folder: String,
    /// The package's object in `cargo metadata`.
    pub(crate) package: Value,
}

impl Workspace {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let shell = Shell::new()?;
        let metadata = cargo(&shell, "metadata --locked --no-deps --format-version 1").read()?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        let folder = |key: &str| {
            metadata[key].as_str().map(PathBuf::from).with_context(|| format!("cargo metadata has no {key}"))
        };
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        shell.change_dir(&root);
        let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let members = packages.iter().map(|package| Member::read(&root, package));
        let manifest: toml_edit::DocumentMut = shell.read_file("Cargo.toml")?.parse()?;
        let version = manifest["workspace"]["package"]["version"].as_str();
        let version = version.context("Cargo.toml has no version under [workspace.package]")?.parse()?;
        let members = members.collect::<anyhow::Result<Vec<_>>>()?;
        let workspace = Self { shell, target, version, members };
        ensure!(workspace.crates().count() > 0, "nothing to release: there is no crate under crates/");
        Ok(workspace)
    }

    /// The members that users get.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_crate())
    }

    /// The crates with a library.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = &Member> {
        self.crates().filter(|member| member.has_target("lib"))
    }

    /// A value of cargo's configuration. Stable cargo prints it only with `RUSTC_BOOTSTRAP`; this call builds nothing.
    pub(crate) fn configured(&self, key: &str) -> Option<Value> {
        let call = format!("config get -Z unstable-options --format json-value {key}");
        let printed = cargo(&self.shell, &call).env("RUSTC_BOOTSTRAP", "1").ignore_stderr().read().ok()?;
        serde_json::from_str(&printed).ok()
    }

    /// Fails if cargo is configured to build for a platform, which also changes where it puts its output.
    pub(crate) fn must_build_for_this_machine(&self) -> anyhow::Result<()> {
        let platform = self.configured("build.target");
        ensure!(
            platform.is_none(),
            "cargo is configured to build for {}, and a release must be checked without `build.target`: remove it from \
             cargo's configuration (or CARGO_BUILD_TARGET from the environment) for this command",
            platform.unwrap_or_default()
        );
        Ok(())
    }

    /// The text of a file in the repository.
    pub(crate) fn read(&self, path: &str) -> anyhow::Result<String> {
        self.shell.read_file(path).with_context(|| format!("cannot read {path}"))
    }

    /// `--package NAME` for each crate.
    pub(crate) fn selection(&self) -> impl Iterator<Item = &str> {
        self.crates().flat_map(|member| ["--package", &member.name])
    }
}

impl Member {
    fn read(root: &Path, package: &Value) -> anyhow::Result<Self> {
        let manifest = package["manifest_path"].as_str().map(Path::new).and_then(Path::parent);
        let folder = manifest.and_then(|folder| folder.strip_prefix(root).ok()).and_then(Path::to_str);
        Ok(Self {
            name: package["name"]
                .as_str()
                .context("cargo metadata lists a package without a name")?
                .to_owned(),
            folder: folder.context("cargo metadata lists a package outside the workspace")?.to_owned(),
            package: package.clone(),
        })
    }

    /// The path of its manifest from the root.
    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// A text in its metadata, empty if there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.package[key].as_str().unwrap_or_default()
    }

    pub(crate) fn is_crate(&self) -> bool {
        self.folder.starts_with("crates/")
    }

    pub(crate) fn has_target(&self, kind: &str) -> bool {
        let mut targets = self.package["targets"].as_array().into_iter().flatten();
        targets.any(|target| target["kind"][0] == kind)
    }

    pub(crate) fn features(&self) -> impl Iterator<Item = &String> {
        self.package["features"].as_object().into_iter().flat_map(serde_json::Map::keys)
    }
}

/// A cargo command without registry tokens in its environment, because it runs tests and build scripts.
///
/// `cargo run` sets variables about the package that it runs. Some build scripts watch those variables and would run again
/// whenever a person and this program call cargo in turn, so this removes them too.
pub(crate) fn cargo<'a>(shell: &'a Shell, call: &str) -> Cmd<'a> {
    program(shell, "cargo").args(call.split(' '))
}

pub(crate) fn program(shell: &Shell, name: impl AsRef<Path>) -> Cmd<'_> {
    const SET_BY_CARGO_RUN: [&str; 4] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let names =
        names.filter(|name| is_token(name) || SET_BY_CARGO_RUN.iter().any(|prefix| name.starts_with(prefix)));
    names.fold(shell.cmd(name.as_ref()).quiet(), Cmd::env_remove)
}

/// `CARGO_REGISTRY_TOKEN`, or `CARGO_REGISTRIES_NAME_TOKEN`.
fn is_token(name: &str) -> bool {
    name.starts_with("CARGO_REGISTR") && name.ends_with("_TOKEN")
}
