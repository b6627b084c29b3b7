//! What a registry shows of a crate before anybody reads its code, and what crates.io refuses an upload for, found here
//! and not after half of the crates are published.

use serde_json::Value;
use toml_edit::DocumentMut;

use super::{Commit, Verdict};
use crate::workspace::{Member, Workspace};

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let manifest: DocumentMut = workspace.read("Cargo.toml")?.parse()?;
    let repository = manifest["workspace"]["package"].get("repository").and_then(|address| address.as_str());
    let mut findings: Vec<_> = address_of_the_source(repository, workspace).into_iter().collect();
    for member in workspace.crates() {
        let has_file = |path: &str| workspace.root.join(&member.folder).join(path).is_file();
        findings.extend(of_one_crate(member, has_file));
    }
    Ok(Verdict::of(findings, String::new()))
}

/// Said once: there is one repository, and one line to write.
fn address_of_the_source(repository: Option<&str>, workspace: &Workspace) -> Option<String> {
    let Some(repository) = repository else {
        return Some(
            "nothing says where the source is: set `repository` under [workspace.package] in Cargo.toml to the address \
             that it will have in public, and `repository.workspace = true` in each crate. Without it the links of the \
             README lead nowhere on the registry"
                .to_owned(),
        );
    };
    let differs = |member: &&Member| member.package["repository"] != repository;
    let others: Vec<_> = workspace.crates().filter(differs).map(|member| member.name.as_str()).collect();
    let others = others.join(", ");
    (!others.is_empty()).then(|| format!("{others}: write `repository.workspace = true` under [package]"))
}

fn of_one_crate(member: &Member, has_file: impl Fn(&str) -> bool) -> Vec<String> {
    let package = &member.package;
    let text = |key: &str| package[key].as_str().unwrap_or_default().trim();
    let mut findings = Vec::new();
    let mut find = |finding: &str| findings.push(format!("{}: {finding}", member.folder));
    match text("description").chars().count() {
        0 => find("has no description: say in one sentence what it is for"),
        1..=1000 => {}
        _ => find("has a description of more than 1000 characters, which crates.io refuses"),
    }
    if text("license").is_empty() {
        find("has no license: license.workspace = true");
    }
    let readme = text("readme");
    if readme.is_empty() || !has_file(readme) {
        find("has no readme that is there: its page would be empty");
    }
    if text("rust_version").is_empty() {
        find("does not say which Rust it needs: rust-version.workspace = true");
    }
    for (key, is_good) in [("keywords", is_keyword as fn(&str) -> bool), ("categories", is_category)] {
        let words: Vec<_> = package[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if words.is_empty() || words.len() > 5 {
            find(&format!("has {} {key}, and from one to five are taken", words.len()));
        }
        for word in words.iter().filter(|word| !is_good(word)) {
            find(&format!("crates.io does not take {word:?} among its {key}"));
        }
    }
    if package["metadata"]["docs"]["rs"]["all-features"] != true {
        find(
            "docs.rs would leave out what needs a feature: all-features = true under [package.metadata.docs.rs]",
        );
    }
    findings
}

/// As crates.io wants it.
fn is_keyword(word: &str) -> bool {
    let is_inside = |character: char| character.is_ascii_alphanumeric() || "_-+".contains(character);
    word.len() <= 20
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word.chars().all(is_inside)
}

/// Whether it looks like one. Which there are is in no tool: crates.io leaves an unknown one out and says so.
fn is_category(slug: &str) -> bool {
    let is_inside = |character: char| character.is_ascii_lowercase() || character == '-';
    slug.split("::").all(|part| !part.is_empty() && part.chars().all(is_inside))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use semver::Version;
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "description": "Counts.",
            "license": "MIT",
            "readme": "README.md",
            "rust_version": "1.91",
            "repository": "https://example.com/a",
            "keywords": ["exact-money"],
            "categories": ["web-programming::http-client"],
            "metadata": {"docs": {"rs": {"all-features": true}}},
        })
    }

    fn member(package: Value) -> Member {
        let (name, folder) = ("a".to_owned(), "crates/a".to_owned());
        Member { name, version: Version::new(0, 1, 0), folder, package }
    }

    fn found(key: &str, value: Value) -> Vec<String> {
        let mut package = good();
        package[key] = value;
        of_one_crate(&member(package), |path| path == "README.md")
    }

    #[test]
    fn what_is_complete_is_taken() {
        assert_eq!(found("license", json!("MIT OR Apache-2.0")), [""; 0]);
    }

    #[test]
    fn each_thing_that_is_missing_is_named() {
        for key in ["description", "license", "readme", "rust_version", "keywords", "categories", "metadata"]
        {
            assert_eq!(found(key, Value::Null).len(), 1, "{key}");
        }
        assert_eq!(found("readme", json!("../README.md")).len(), 1);
        assert_eq!(found("description", json!("a".repeat(1001))).len(), 1);
    }

    #[test]
    fn what_crates_io_would_refuse_is_found_before() {
        for bad in ["a keyword", "", "-a", "a-word-that-is-too-long", "naïve"] {
            assert_eq!(found("keywords", json!([bad])).len(), 1, "{bad}");
        }
        assert_eq!(
            found("keywords", json!(["a", "b", "c", "d", "e", "f"])),
            ["crates/a: has 6 keywords, and from one to five are taken"]
        );
        assert_eq!(
            found("categories", json!(["Finance"])),
            ["crates/a: crates.io does not take \"Finance\" among its categories"]
        );
    }

    #[test]
    fn an_address_that_nobody_has_set_is_said_once() {
        let workspace = |repository: Value| {
            let mut package = good();
            package["repository"] = repository;
            Workspace {
                shell: xshell::Shell::new().unwrap(),
                root: Path::new("").to_owned(),
                target: Path::new("").to_owned(),
                version: Version::new(0, 1, 0),
                members: vec![member(package.clone()), member(package)],
            }
        };
        let missing = address_of_the_source(None, &workspace(Value::Null)).unwrap();
        assert!(missing.starts_with("nothing says where the source is: set `repository`"), "{missing}");
        let address = Some("https://example.com/a");
        assert_eq!(address_of_the_source(address, &workspace(json!("https://example.com/a"))), None);
        assert_eq!(
            address_of_the_source(address, &workspace(Value::Null)).unwrap(),
            "a, a: write `repository.workspace = true` under [package]"
        );
    }
}
