//! What is in each package: the code, the README, the licences, and else only what its manifest names.
//!
//! What is published can be read by everybody for ever, so a file gets in because a person has named it and not because
//! it lay there. `include` in a crate's manifest is that list. It may name a file by its whole path, or all sources and
//! chapters by a pattern; what a pattern takes in is judged here by its kind, so that a new module needs no new line and
//! a key, a dump or a fixture beside it does.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use toml_edit::DocumentMut;

use super::{Commit, Verdict};
use crate::git::Git;
use crate::package;
use crate::workspace::{Member, Workspace};

/// What cargo adds by itself.
const OF_CARGO: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];

const README: &str = "README.md";

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let licences = licences(workspace)?;
    let packages = package::pack_tree(commit)?;
    let mut findings = Vec::new();
    for (member, package) in workspace.crates().zip(&packages) {
        let files = package.files()?;
        let expected = Expected::read(workspace, member)?;
        let found = expected.compare(&files, &licences);
        findings.extend(found.into_iter().map(|finding| format!("{}: {finding}", member.folder)));
        // `include` does not know what git ignores. A clean tree has them too, and only cargo would refuse, after the tag.
        let ignored = Git::new(&workspace.shell).ignored_files(&member.folder)?;
        let packed = |path: &&String| {
            path.strip_prefix(&member.folder)
                .and_then(|path| path.strip_prefix('/'))
                .is_some_and(|path| files.contains_key(path))
        };
        findings.extend(ignored.iter().filter(packed).map(|path| {
            format!("{path} is in its package, and git ignores it, so it is in no commit: move it elsewhere")
        }));
        findings.extend(too_large(member, package.bytes.len()));
    }
    let total = packages.iter().map(|package| package.bytes.len()).sum::<usize>().div_ceil(1024);
    Ok(Verdict::of(findings, format!("{total} KiB in {} packages", packages.len())))
}

/// A text that lies in the root and, as a copy, in every package, by its name.
///
/// A link in the place of the copy would be a line of text where a checkout has no links, as on Windows, and cargo would
/// pack that line.
type Licences = BTreeMap<String, Vec<u8>>;

fn licences(workspace: &Workspace) -> anyhow::Result<Licences> {
    let mut licences = Licences::new();
    for entry in std::fs::read_dir(&workspace.root)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if name.starts_with("LICENSE") {
            let text = workspace.read(&name)?;
            licences.insert(name, text.into_bytes());
        }
    }
    ensure!(!licences.is_empty(), "the root has no file whose name begins with LICENSE");
    Ok(licences)
}

/// What a crate's manifest lets into its package.
struct Expected {
    /// Whole paths.
    named: Vec<String>,
}

impl Expected {
    fn read(workspace: &Workspace, member: &Member) -> anyhow::Result<Self> {
        let manifest = format!("{}/Cargo.toml", member.folder);
        let manifest: DocumentMut = workspace.read(&manifest)?.parse().context(manifest)?;
        let include = manifest["package"].get("include").and_then(|include| include.as_array());
        let patterns = include.into_iter().flatten().filter_map(|pattern| pattern.as_str());
        let named = patterns.filter(|pattern| !pattern.contains(['*', '?', '[', '!']));
        Ok(Self { named: named.map(|path| path.trim_start_matches('/').to_owned()).collect() })
    }

    fn compare(&self, files: &BTreeMap<String, Vec<u8>>, licences: &Licences) -> Vec<String> {
        let mut findings = Vec::new();
        let strays = files.keys().filter(|path| !self.takes(path) && !licences.contains_key(*path));
        let strays: Vec<_> = strays.map(String::as_str).collect();
        if !strays.is_empty() {
            findings.push(format!(
                "nobody has named what is in its package: {}. What belongs there is written with its whole path under \
                 `include` in the manifest; for the rest let `include` take sources alone",
                strays.join(", ")
            ));
        }
        for named in self.named.iter().filter(|named| !files.contains_key(*named)) {
            findings.push(format!("`include` names {named}, and the package has no file of that name"));
        }
        if !files.contains_key(README) {
            findings.push("its package has no README.md: readme = \"../../README.md\"".to_owned());
        }
        for (name, text) in licences {
            match files.get(name) {
                None => {
                    findings.push(format!("its package has no {name}: copy it here and add it to `include`"));
                }
                Some(copy) if copy != text => {
                    findings.push(format!("{name} in its package is not the one in the root: copy it here"));
                }
                Some(_) => {}
            }
        }
        findings
    }

    fn takes(&self, path: &str) -> bool {
        let is_everywhere = OF_CARGO.contains(&path) || path == README;
        is_everywhere || is_source(path) || self.named.iter().any(|named| named == path)
    }
}

/// A source, or a chapter of its documentation.
fn is_source(path: &str) -> bool {
    let Some((folder, name)) = path.split_once('/') else {
        return false;
    };
    match name.rsplit_once('.') {
        Some((_, "rs")) => ["src", "docs"].contains(&folder),
        Some((_, "md")) => folder == "docs",
        _ => false,
    }
}

/// A package that has outgrown what its manifest allows holds something that nobody has looked at.
fn too_large(member: &Member, bytes: usize) -> Option<String> {
    let Some(most) = member.package["metadata"]["release"]["max-kib"].as_u64() else {
        return Some(format!("{}: set max-kib under [package.metadata.release]", member.folder));
    };
    let kib = bytes.div_ceil(1024) as u64;
    let folder = &member.folder;
    (kib > most).then(|| {
        format!(
            "{folder}: its package has {kib} KiB, and max-kib is {most}: see what it has gained \
             (cargo package --list --package {}), then raise max-kib under [package.metadata.release] or leave that out",
            member.name
        )
    })
}

#[cfg(test)]
mod tests {
    use semver::Version;
    use serde_json::json;

    use super::*;

    fn compare(named: &[&str], files: &[&str]) -> Vec<String> {
        let texts =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), b"text".to_vec())).collect();
        let named = named.iter().map(ToString::to_string).collect();
        Expected { named }.compare(&texts(files), &texts(&["LICENSE-APACHE", "LICENSE-MIT"]))
    }

    const ALWAYS: [&str; 5] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];

    #[test]
    fn sources_and_what_is_named_are_taken() {
        let more = ["src/a/b.rs", "docs/a.md", "docs/a/b.rs", "openapi.json", ".cargo_vcs_info.json"];
        assert_eq!(compare(&["openapi.json"], &[&ALWAYS, more.as_slice()].concat()), [""; 0]);
    }

    #[test]
    fn what_nobody_has_named_is_found() {
        for stray in [
            ".env",
            "src/key.pem",
            "src/dump.json",
            "tests/a.rs",
            "docs/a.sqlite",
            "examples/a.rs",
            "src/.rs.swp",
            "notes.md",
            "build.rs",
        ] {
            let found = compare(&[], &[&ALWAYS, [stray].as_slice()].concat());
            assert_eq!(found.len(), 1, "{stray}");
            assert!(found[0].contains(&format!(" in its package: {stray}. What belongs")), "{found:?}");
        }
    }

    #[test]
    fn what_must_be_there_is_missed() {
        assert_eq!(
            compare(&["openapi.json"], &ALWAYS),
            ["`include` names openapi.json, and the package has no file of that name"]
        );
        for (index, name) in ALWAYS.iter().enumerate().skip(1).take(3) {
            let mut files = ALWAYS.to_vec();
            files.remove(index);
            let found = compare(&[], &files);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(&format!("its package has no {name}: ")), "{found:?}");
        }
    }

    #[test]
    fn a_copy_that_differs_is_found() {
        let licences = [("LICENSE-MIT".to_owned(), b"text".to_vec())].into();
        let files = [("LICENSE-MIT", b"../../LICENSE-MIT".as_slice()), ("README.md", b"")];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_vec())).into();
        let found = Expected { named: Vec::new() }.compare(&files, &licences);
        assert_eq!(found, ["LICENSE-MIT in its package is not the one in the root: copy it here"]);
    }

    #[test]
    fn a_package_may_weigh_what_its_manifest_says() {
        let member = |metadata| Member {
            name: "a".to_owned(),
            version: Version::new(0, 1, 0),
            folder: "crates/a".to_owned(),
            package: json!({ "metadata": metadata }),
        };
        let release = json!({"release": {"max-kib": 2}});
        assert_eq!(too_large(&member(release.clone()), 2048), None);
        assert!(too_large(&member(release), 2049).unwrap().contains("has 3 KiB, and max-kib is 2: see"));
        assert_eq!(
            too_large(&member(json!(null)), 1).unwrap(),
            "crates/a: set max-kib under [package.metadata.release]"
        );
    }
}
