//! What is in each package: the code, the README, the licences, and else only what its manifest names.
//!
//! What is published can be read by everybody for ever, so a file gets in because a person has named it and not because
//! it lay there. `include` in a crate's manifest is that list. It may name a file by its whole path, or all sources and
//! chapters by a pattern; what a pattern takes in is judged here by its kind, so that a new module needs no new line and
//! a key, a dump or a fixture beside it does.

use std::collections::BTreeSet;

use anyhow::ensure;
use toml_edit::{Array, DocumentMut};

use crate::check::Commit;
use crate::gates::nothing_in;
use crate::git::Git;
use crate::package::{self, Package};
use crate::workspace::{Member, Workspace};

/// What cargo adds by itself.
const OF_CARGO: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];

pub(crate) fn check(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let packages = package::pack(workspace, &commit.registry, &["--allow-dirty"])?;
    let tracked = Git(&workspace.shell).files()?;
    let mut findings = Vec::new();
    for (member, package) in workspace.crates().zip(&packages) {
        let found = in_one(workspace, member, package, &tracked)?;
        findings.extend(found.into_iter().map(|finding| format!("{}: {finding}", member.folder)));
    }
    nothing_in(&findings)?;
    let size: usize = packages.iter().map(|package| package.size).sum();
    Ok(format!("{} KiB in {} packages", size.div_ceil(1024), packages.len()))
}

fn in_one(
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
    let is_in_no_commit = |path: &str| !tracked.contains(&format!("{}/{path}", member.folder));
    let mut findings = misplaced(&files, &named, is_in_no_commit);
    // A link in the place of the copy would be a line of text where a checkout has no links, as on Windows, and cargo would
    // pack that line.
    let licences: Vec<_> = tracked.iter().filter(|path| path.starts_with("LICENSE")).collect();
    ensure!(!licences.is_empty(), "the root has no file whose name begins with LICENSE");
    for licence in licences {
        if !files.contains(licence) {
            findings.push(format!("its package has no {licence}: copy it here and add it to `include`"));
        } else if workspace.read(licence)? != workspace.read(&format!("{}/{licence}", member.folder))? {
            findings.push(format!("{licence} in its package is not the one in the root: copy it here"));
        }
    }
    findings.extend(too_large(member, package.size));
    Ok(findings)
}

fn misplaced(files: &[String], named: &[&str], is_in_no_commit: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    let (mut strays, mut has_readme) = (Vec::new(), false);
    for path in files.iter().map(String::as_str).filter(|path| !OF_CARGO.contains(path)) {
        if path == "README.md" {
            has_readme = true;
        } else if is_source(path) || path.starts_with("LICENSE") || named.contains(&path) {
            // `include` does not know what git ignores. A clean tree has it too, and only cargo would refuse, after the tag.
            if is_in_no_commit(path) {
                findings.push(format!(
                    "{path} is in its package, and git ignores it, so it is in no commit: move it elsewhere"
                ));
            }
        } else {
            strays.push(path);
        }
    }
    if !strays.is_empty() {
        findings.push(format!(
            "nobody has named what is in its package: {}. What belongs there is written with its whole path under \
             `include` in the manifest; for the rest let `include` take sources alone",
            strays.join(", ")
        ));
    }
    for named in named.iter().filter(|named| files.iter().all(|path| path != *named)) {
        findings.push(format!("`include` names {named}, and the package has no file of that name"));
    }
    if !has_readme {
        findings.push("its package has no README.md: write one, and set readme = \"README.md\"".to_owned());
    }
    findings
}

/// A source, a chapter of its documentation, or a text of the command's help.
fn is_source(path: &str) -> bool {
    let folder = path.split('/').next().unwrap_or_default();
    match path.rsplit('/').next().and_then(|name| name.rsplit_once('.')) {
        Some((_, "rs")) => ["src", "docs"].contains(&folder),
        Some((_, "md")) => folder == "docs",
        Some((_, "txt")) => path.starts_with("src/help/"),
        _ => false,
    }
}

/// A package that has outgrown what its manifest allows holds something that nobody has looked at.
fn too_large(member: &Member, bytes: usize) -> Option<String> {
    let Some(most) = member.package["metadata"]["release"]["max-kib"].as_u64() else {
        return Some("set max-kib under [package.metadata.release]".to_owned());
    };
    let kib = bytes.div_ceil(1024) as u64;
    (kib > most).then(|| {
        format!(
            "its package has {kib} KiB, and max-kib is {most}: see what it has gained (cargo package --list --package \
             {}), then raise max-kib under [package.metadata.release] or leave that out",
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
        misplaced(&files, named, |_| false)
    }

    #[test]
    fn sources_and_what_is_named_are_taken() {
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
    fn what_nobody_has_named_is_found() {
        for stray in [
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
            let found = found(&[], &[stray]);
            assert!(
                found.len() == 1 && found[0].contains(&format!(" in its package: {stray}. What")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_must_be_there_is_missed() {
        let missing = "`include` names openapi.json, and the package has no file of that name";
        assert_eq!(found(&["openapi.json"], &[]), [missing]);
        let found = misplaced(&["src/lib.rs".to_owned()], &[], |_| false);
        assert_eq!(found, ["its package has no README.md: write one, and set readme = \"README.md\""]);
    }

    #[test]
    fn a_package_may_weigh_what_its_manifest_says() {
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
            "set max-kib under [package.metadata.release]"
        );
    }
}
