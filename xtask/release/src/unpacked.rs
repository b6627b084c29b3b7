//! A workspace of the packages alone, as somebody has them who has nothing else of this repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use xshell::Shell;

use crate::package::{Package, output_folder, shared_builds};
use crate::workspace::{Workspace, cargo, program};

/// Packages that are unpacked where nothing of this repository is beside them, each of which finds the others as if they
/// were on crates.io already.
#[derive(Debug)]
pub(crate) struct Unpacked<'a> {
    workspace: &'a Workspace,
    shell: Shell,
    root: PathBuf,
    members: Vec<String>,
    /// Where each package finds the others.
    patches: String,
}

impl<'a> Unpacked<'a> {
    /// Unpacks them into a folder of the target folder: what is built in it has the same path each time, and so is built
    /// in place of what the last run has built.
    pub(crate) fn new(workspace: &'a Workspace, packages: &[Package]) -> anyhow::Result<Self> {
        let root = output_folder(workspace).join("unpacked");
        if root.exists() {
            std::fs::remove_dir_all(&root).with_context(|| format!("cannot empty {}", root.display()))?;
        }
        std::fs::create_dir_all(&root)?;
        let mut patches = String::from("[patch.crates-io]\n");
        let mut members = Vec::new();
        for package in packages {
            let folder = package.unpack(&root)?;
            let folder =
                folder.strip_prefix(&root).ok().and_then(Path::to_str).context("a folder elsewhere")?;
            writeln!(patches, "{} = {{ path = {folder:?} }}", package.name)?;
            members.push(folder.to_owned());
        }
        // What is depended on is what this commit was tested with.
        std::fs::copy(workspace.root.join("Cargo.lock"), root.join("Cargo.lock"))?;
        let shell = Shell::new()?;
        shell.change_dir(&root);
        let unpacked = Self { workspace, shell, root, members, patches };
        unpacked.describe()?;
        Ok(unpacked)
    }

    /// Adds a package of one's own, with its files by their paths.
    pub(crate) fn add(&mut self, folder: &str, files: &[(String, String)]) -> anyhow::Result<()> {
        for (path, text) in files {
            self.write(&format!("{folder}/{path}"), text)?;
        }
        self.members.push(folder.to_owned());
        self.describe()
    }

    /// Calls cargo there. What it needs of other crates has to be on this machine.
    pub(crate) fn cargo(&self, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
        let (verb, rest) = arguments.split_first().context("cargo needs a verb")?;
        let call = [*verb, "--offline", "--quiet"].into_iter().chain(rest.iter().copied());
        let cargo = cargo(&self.shell, call).envs(shared_builds(self.workspace)?);
        Ok(cargo.envs(environment.iter().copied()).run()?)
    }

    /// A program that was built there.
    pub(crate) fn built(&self, name: &str) -> xshell::Cmd<'_> {
        let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        program(&self.shell, output_folder(self.workspace).join("debug").join(name))
    }

    fn describe(&self) -> anyhow::Result<()> {
        let Self { members, patches, .. } = self;
        self.write(
            "Cargo.toml",
            &format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n{patches}"),
        )
    }

    fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a folder"))?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
