//! The contents of each package: the code, the README, the licenses, and other files only if the manifest names them.
//!
//! A published file is public forever, so it is included because somebody has listed it, not because it was in the folder.
//! The list is `include` in a crate's manifest. It names files by their full paths, and sources and chapters by patterns.
//! A file that only a pattern matches must be a source or a chapter: a new module needs no new line, but a key, a dump or
//! a fixture next to it does.

use std::collections::BTreeSet;

use anyhow::ensure;
use toml_edit::{Array, DocumentMut};

use crate::check::Commit;
use crate::gates::must_be_empty;
use crate::git::Git;
use crate::package::{self, Package};
use crate::workspace::{Member, Workspace};

/// Files that cargo adds to every package.
const ADDED_BY_CARGO: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];

pub(crate) fn check(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let packages = package::pack(workspace, &commit.registry, &["--allow-dirty"])?;
    let tracked = Git(&workspace.shell).files()?;
    let mut findings = Vec::new();
    for (member, package) in workspace.crates().zip(&packages) {
        let found = check_package(workspace, member, package, &tracked)?;
        findings.extend(found.into_iter().map(|finding| format!("{}: {finding}", member.folder)));
    }
    must_be_empty(&findings)?;
    let size: usize = packages.iter().map(|package| package.size).sum();
    Ok(format!("{} KiB in {} packages", size.div_ceil(1024), packages.len()))
}

fn check_package(
    workspace: &Workspace,
    member: &Member,
    package: &Package,
    tracked: &BTreeSet<String>,
) -> anyhow::Result<Vec<String>> {
    let manifest: DocumentMut = workspace.read(&member.manifest())?.parse()?;
    let include = manifest["package"].get("include").and_then(|include| include.as_array());
    let patterns = include.into_iter().flat_map(Array::iter).filter_map(|pattern| pattern.as_str());
    let named = patterns.filter(|pattern| !pattern.contains(['*', '?', '[', '!']));
    let named: Vec<_> = named.map(|path| path.trim_start_matches('/')).collect();

    let files = package.files(workspace)?;
    let is_untracked = |path: &str| !tracked.contains(&format!("{}/{path}", member.folder));
    let mut findings = check_files(&files, &named, is_untracked);
    // The crates have copies of the licenses, not symbolic links: a checkout on Windows turns a link into a text file with a
    // path, which cargo would pack.
    let licenses: Vec<_> = tracked.iter().filter(|path| path.starts_with("LICENSE")).collect();
    ensure!(!licenses.is_empty(), "the root has no file whose name begins with LICENSE: add the licenses");
    for license in licenses {
        if !files.contains(license) {
            findings.push(format!("its package has no {license}: copy it here and add it to `include`"));
        } else if workspace.read(license)? != workspace.read(&format!("{}/{license}", member.folder))? {
            findings.push(format!("{license} in its package differs from the one in the root: copy it here"));
        }
    }
    findings.extend(too_large(member, package.size));
    Ok(findings)
}

fn check_files(files: &[String], named: &[&str], is_untracked: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    let (mut unlisted, mut has_readme) = (Vec::new(), false);
    for path in files.iter().map(String::as_str).filter(|path| !ADDED_BY_CARGO.contains(path)) {
        if path == "README.md" {
            has_readme = true;
        } else if is_source(path) || path.starts_with("LICENSE") || named.contains(&path) {
            // `include` also matches files that git ignores. They can exist in a clean tree, and otherwise only cargo would
            // refuse them, after the tag is signed.
            if is_untracked(path) {
                findings.push(format!(
                    "{path} is in its package, but git ignores it, so no commit has it: move it elsewhere"
                ));
            }
        } else {
            unlisted.push(path);
        }
    }
    if !unlisted.is_empty() {
        findings.push(format!(
            "its package has files that its manifest does not name: {}. If a file belongs there, add its full path to \
             `include`; otherwise let `include` match only sources",
            unlisted.join(", ")
        ));
    }
    for named in named.iter().filter(|named| files.iter().all(|path| path != *named)) {
        findings.push(format!("`include` names {named}, which does not exist: fix the name or remove it"));
    }
    if !has_readme {
        findings.push("its package has no README.md: write one, and set readme = \"README.md\"".to_owned());
    }
    findings
}

/// Whether this is a source, a chapter of the documentation, or a help text of the command.
fn is_source(path: &str) -> bool {
    let folder = path.split('/').next().unwrap_or_default();
    match path.rsplit('/').next().and_then(|name| name.rsplit_once('.')) {
        Some((_, "rs")) => ["src", "docs"].contains(&folder),
        Some((_, "md")) => folder == "docs",
        Some((_, "txt")) => path.starts_with("src/help/"),
        _ => false,
    }
}

/// A package above its manifest's limit may contain something by mistake.
fn too_large(member: &Member, bytes: usize) -> Option<String> {
    let Some(most) = member.package["metadata"]["release"]["max-kib"].as_u64() else {
        return Some("has no size limit: set max-kib under [package.metadata.release]".to_owned());
    };
    let kib = bytes.div_ceil(1024) as u64;
    (kib > most).then(|| {
        format!(
            "its package has {kib} KiB, and max-kib is {most}: see what was added (cargo package --list --package {}), then \
             remove it, or raise max-kib under [package.metadata.release]",
            member.name
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALWAYS: [&str; 4] = ["Cargo.toml", "LICENSE-MIT", "README.md", "src/lib.rs"];

    fn found(named: &[&str], more: &[&str]) -> Vec<String> {
        let files: Vec<_> = ALWAYS.iter().chain(more).map(ToString::to_string).collect();
        check_files(&files, named, |_| false)
    }

    #[test]
    fn sources_and_named_files_are_accepted() {
        let more = [
            "src/a/b.rs",
            "docs/a.md",
            "docs/a/b.rs",
            "src/help/a.txt",
            "openapi.json",
            ".cargo_vcs_info.json",
        ];
        assert_eq!(found(&["openapi.json"], &more), [""; 0]);
    }

    #[test]
    fn a_file_that_the_manifest_does_not_name_is_found() {
        for unlisted in [
            ".env",
            "src/key.pem",
            "src/dump.json",
            "src/notes.txt",
            "tests/a.rs",
            "docs/a.sqlite",
            "examples/a.rs",
            "src/.rs.swp",
            "notes.md",
            "build.rs",
        ] {
            let found = found(&[], &[unlisted]);
            assert!(
                found.len() == 1 && found[0].contains(&format!(" does not name: {unlisted}. If")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_missing_file_is_found() {
        let missing = "`include` names openapi.json, which does not exist: fix the name or remove it";
        assert_eq!(found(&["openapi.json"], &[]), [missing]);
        let found = check_files(&["src/lib.rs".to_owned()], &[], |_| false);
        assert_eq!(found, ["its package has no README.md: write one, and set readme = \"README.md\""]);
    }

    #[test]
    fn a_package_has_the_size_limit_of_its_manifest() {
        let member = |metadata| Member {
            name: "a".to_owned(),
            folder: "crates/a".to_owned(),
            package: json!({ "metadata": metadata }),
        };
        let release = json!({"release": {"max-kib": 2}});
        assert_eq!(too_large(&member(release.clone()), 2048), None);
        assert!(too_large(&member(release), 2049).unwrap().contains("has 3 KiB, and max-kib is 2: see"));
        assert_eq!(
            too_large(&member(json!(null)), 1).unwrap(),
            "has no size limit: set max-kib under [package.metadata.release]"
        );
    }
}
