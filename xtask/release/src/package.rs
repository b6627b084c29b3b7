//! The `.crate` files of the crates, as cargo makes them: the same bytes each time for the same commit.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use flate2::read::GzDecoder;
use tar::Archive;
use toml_edit::{DocumentMut, Item};

use crate::checksum::Checksum;
use crate::gates::Commit;
use crate::workspace::{Workspace, cargo};

/// One crate, packed.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) checksum: Checksum,
    /// What a registry is sent.
    pub(crate) bytes: Vec<u8>,
    /// The folder that everything in it is under: the name and the version.
    folder: String,
}

/// Packs every crate of this commit, without building them. Cargo refuses what is not committed.
pub(crate) fn pack(commit: &Commit) -> anyhow::Result<Vec<Package>> {
    run_cargo(commit, &["--no-verify", "--quiet"])?;
    read(&commit.workspace)
}

/// The same of what lies in the tree, committed or not: a gate judges that, and a clean tree is another gate's question.
pub(crate) fn pack_tree(commit: &Commit) -> anyhow::Result<Vec<Package>> {
    run_cargo(commit, &["--no-verify", "--quiet", "--allow-dirty"])?;
    read(&commit.workspace)
}

/// Packs what lies in the tree and builds each package, with all its features, from its own files alone.
pub(crate) fn verify(commit: &Commit) -> anyhow::Result<()> {
    run_cargo(commit, &["--quiet", "--allow-dirty", "--all-features"])
}

fn run_cargo(commit: &Commit, arguments: &[&str]) -> anyhow::Result<()> {
    let workspace = &commit.workspace;
    // All together: a crate alone cannot be packed as long as a sibling that it depends on is unpublished.
    let crates = workspace.crates().flat_map(|member| ["--package", &member.name]);
    let call = ["package", "--locked", "--offline"].into_iter().chain(commit.registry.cargo_arguments());
    let call = call.chain(crates).chain(arguments.iter().copied());
    let cargo = cargo(&workspace.shell, call).envs(shared_builds(workspace)?);
    cargo.run().context(
        "cargo could not pack the crates: its words are above. If it cannot find another crate, that was never built on \
         this machine: cargo fetch --locked",
    )
}

/// The environment in which cargo builds packages with the dependencies that the workspace was built with, instead of all
/// of them once more, and leaves what comes of it in a folder apart: a program, or a page of documentation, has the same
/// name there and here.
///
/// A package does not have the workspace's profiles, and debug information is part of what tells two builds apart.
pub(crate) fn shared_builds(workspace: &Workspace) -> anyhow::Result<Vec<(&'static str, String)>> {
    let path = |path: &Path| path.to_str().map(str::to_owned).context("a target folder that is not UTF-8");
    let mut environment = vec![
        ("CARGO_TARGET_DIR", path(&output_folder(workspace))?),
        ("CARGO_BUILD_BUILD_DIR", path(&workspace.target)?),
    ];
    // What the workspace itself was built with, then, whatever its manifest says.
    if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_some() {
        return Ok(environment);
    }
    let manifest: DocumentMut = workspace.read("Cargo.toml")?.parse()?;
    let profile = manifest.get("profile").and_then(|profiles| profiles.get("dev"));
    if let Some(debug) = profile.and_then(|profile| profile.get("debug")).and_then(Item::as_value) {
        let debug = debug.as_str().map_or_else(|| debug.to_string().trim().to_owned(), str::to_owned);
        environment.push(("CARGO_PROFILE_DEV_DEBUG", debug));
    }
    Ok(environment)
}

/// Where packages, and what is built from them, are put.
pub(crate) fn output_folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("payments-release")
}

fn read(workspace: &Workspace) -> anyhow::Result<Vec<Package>> {
    workspace.crates().map(|member| Package::read(workspace, &member.name)).collect()
}

impl Package {
    fn read(workspace: &Workspace, name: &str) -> anyhow::Result<Self> {
        let folder = format!("{name}-{}", workspace.version);
        let file = output_folder(workspace).join("package").join(format!("{folder}.crate"));
        let bytes =
            std::fs::read(&file).with_context(|| format!("cargo has packed no {}", file.display()))?;
        Ok(Self { name: name.to_owned(), checksum: Checksum::of(&bytes), bytes, folder })
    }

    /// What is in it, by its path.
    pub(crate) fn files(&self) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        let mut archive = Archive::new(GzDecoder::new(self.bytes.as_slice()));
        let mut files = BTreeMap::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            let path = path.strip_prefix(&self.folder).ok().and_then(Path::to_str);
            let path = path.with_context(|| format!("{}: a file outside its own folder", self.folder))?;
            ensure!(entry.header().entry_type().is_file(), "{}: {path} is no plain file", self.folder);
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            files.insert(path.to_owned(), bytes);
        }
        Ok(files)
    }

    /// Writes its files under `parent`, and tells in which folder.
    ///
    /// They are written as new files. Those in the archive are all as old as each other, so that cargo would take one
    /// that has changed for the one that it has built.
    pub(crate) fn unpack(&self, parent: &Path) -> anyhow::Result<PathBuf> {
        let folder = parent.join(&self.folder);
        for (path, bytes) in self.files()? {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().expect("a file is in a folder"))?;
            std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    use super::*;

    fn package(entries: &[(&str, EntryType)]) -> Package {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, kind) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(4);
            builder.append_data(&mut header, path, b"text".as_slice()).unwrap();
        }
        let bytes = builder.into_inner().unwrap().finish().unwrap();
        let (name, folder) = ("a".to_owned(), "a-0.1.0".to_owned());
        Package { name, checksum: Checksum::of(&bytes), bytes, folder }
    }

    #[test]
    fn its_files_are_named_by_their_path_in_it() {
        let package = package(&[
            ("a-0.1.0/Cargo.toml", EntryType::Regular),
            ("a-0.1.0/src/lib.rs", EntryType::Regular),
        ]);
        let files = package.files().unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["Cargo.toml", "src/lib.rs"]);
        let parent = tempfile::tempdir().unwrap();
        let folder = package.unpack(parent.path()).unwrap();
        assert_eq!(std::fs::read(folder.join("src/lib.rs")).unwrap(), b"text");
    }

    #[test]
    fn what_is_no_plain_file_or_outside_is_an_error() {
        let outside = package(&[("b-0.1.0/Cargo.toml", EntryType::Regular)]).files().unwrap_err();
        assert_eq!(outside.to_string(), "a-0.1.0: a file outside its own folder");
        let link = package(&[("a-0.1.0/LICENSE-MIT", EntryType::Symlink)]).files().unwrap_err();
        assert_eq!(link.to_string(), "a-0.1.0: LICENSE-MIT is no plain file");
    }
}
