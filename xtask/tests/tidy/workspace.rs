//! The workspace: its members, their manifests and sources, and the files that git lists.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;
use xshell::{Cmd, Shell, cmd};

use super::source::SourceFile;

/// Everything that a rule may check.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) root: PathBuf,
    /// The text of the root manifest.
    pub(super) manifest: String,
    /// Sorted by folder.
    pub(super) members: Vec<Member>,
    /// The paths, from the root, of all files that are committed or that `git add --all` would add.
    pub(super) files: Vec<String>,
}

impl Workspace {
    pub(super) fn load() -> anyhow::Result<Self> {
        let root = root();
        let shell = shell()?;
        let metadata =
            cargo(&shell, ["metadata", "--locked", "--no-deps", "--format-version", "1"]).read()?;
        let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata is not JSON")?;
        let files = cmd!(shell, "git ls-files --cached --others --exclude-standard --deduplicate")
            .quiet()
            .read()
            .context("the rules check committed files, and git cannot list them: run this in a git clone")?;
        // Git lists a deleted file until the deletion is staged.
        let files: Vec<_> =
            files.lines().filter(|path| root.join(path).is_file()).map(str::to_owned).collect();

        let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let mut members = packages
            .iter()
            .map(|package| Member::load(&root, package, &files))
            .collect::<anyhow::Result<Vec<_>>>()?;
        members.sort_by(|a, b| a.folder.cmp(&b.folder));
        keep_sources_in_innermost(&mut members);

        let manifest = read(&root, "Cargo.toml")?;
        Ok(Self { root, manifest, members, files })
    }

    /// The text of a committed file. An error names the path.
    pub(super) fn read(&self, path: &str) -> anyhow::Result<String> {
        read(&self.root, path)
    }

    pub(super) fn member(&self, name: &str) -> anyhow::Result<&Member> {
        self.members.iter().find(|member| member.name == name).with_context(|| {
            format!("the workspace has no package {name}: update the rules in xtask/tests/tidy")
        })
    }

    /// The members that users get, unlike `tests` and `xtask`.
    pub(super) fn products(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_product())
    }
}

/// One package of the workspace.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// The path from the root, such as `crates/payments-core`.
    pub(super) folder: String,
    /// The text of the package's manifest.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) has_library: bool,
    /// Foreign crates whose types its public API may show, from `[package.metadata.release]`.
    pub(super) shows: Option<Vec<String>>,
    /// Every Rust file of the package: `src`, `tests`, `examples`, `benches`.
    pub(super) sources: Vec<SourceFile>,
}

impl Member {
    fn load(root: &Path, package: &Value, files: &[String]) -> anyhow::Result<Self> {
        let text = |key: &str| {
            package[key].as_str().with_context(|| format!("cargo metadata lists a package without {key}"))
        };
        let manifest_path = Path::new(text("manifest_path")?);
        let folder = manifest_path.parent().and_then(|folder| folder.strip_prefix(root).ok());
        let folder = folder
            .and_then(Path::to_str)
            .context("cargo metadata lists a package outside the workspace")?
            .to_owned();

        let prefix = format!("{folder}/");
        let sources = files
            .iter()
            .filter(|path| path.starts_with(&prefix) && has_extension(path, "rs"))
            .map(|path| Ok(SourceFile::new(path, read(root, path)?)))
            .collect::<anyhow::Result<Vec<_>>>()?;

        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        Ok(Self {
            name: text("name")?.to_owned(),
            manifest: read(root, &format!("{folder}/Cargo.toml"))?,
            dependencies: list(&package["dependencies"])
                .iter()
                .map(Dependency::read)
                .collect::<anyhow::Result<_>>()?,
            has_library: list(&package["targets"])
                .iter()
                .any(|target| list(&target["kind"]).contains(&"lib".into())),
            shows: package["metadata"]["release"]["shows"]
                .as_array()
                .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            sources,
            folder,
        })
    }

    pub(super) fn is_product(&self) -> bool {
        self.folder.starts_with("crates/")
    }

    /// The sources that a user compiles: `src` without the files that contain only tests.
    pub(super) fn product_sources(&self) -> impl Iterator<Item = &SourceFile> {
        let prefix = format!("{}/src/", self.folder);
        self.sources.iter().filter(move |file| file.path.starts_with(&prefix) && !file.is_only_tests())
    }

    /// The names of the direct dependencies of a user's build, including optional ones.
    pub(super) fn normal_dependencies(&self) -> impl Iterator<Item = &str> {
        self.dependencies
            .iter()
            .filter(|dependency| dependency.normal)
            .map(|dependency| dependency.name.as_str())
    }
}

/// One line of a package's dependency tables.
#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// Neither a dev-dependency nor a build-dependency.
    pub(super) normal: bool,
}

impl Dependency {
    fn read(value: &Value) -> anyhow::Result<Self> {
        let name =
            value["name"].as_str().context("cargo metadata lists a dependency without a name")?.to_owned();
        Ok(Self { name, normal: value["kind"].is_null() })
    }
}

pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder in the workspace").to_owned()
}

/// A shell whose current folder is the root of the workspace.
pub(super) fn shell() -> anyhow::Result<Shell> {
    let shell = Shell::new()?;
    shell.change_dir(root());
    Ok(shell)
}

/// A cargo command in the root of the workspace.
pub(super) fn cargo<'a>(shell: &'a Shell, arguments: impl IntoIterator<Item = &'a str>) -> Cmd<'a> {
    cmd!(shell, "cargo").args(arguments).quiet()
}

/// A package such as `tests/canary` is inside another one. Its files belong only to the inner package.
fn keep_sources_in_innermost(members: &mut [Member]) {
    let folders: Vec<_> = members.iter().map(|member| format!("{}/", member.folder)).collect();
    for (member, folder) in members.iter_mut().zip(&folders) {
        let inner: Vec<_> =
            folders.iter().filter(|other| *other != folder && other.starts_with(folder)).collect();
        member.sources.retain(|file| !inner.iter().any(|inner| file.path.starts_with(*inner)));
    }
}

fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}
