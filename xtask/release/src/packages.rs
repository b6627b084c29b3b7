//! The packages as users get them: their sizes and files, and whether they work without the rest of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::workspace::{Workspace, cargo};

/// Builds each package with all features from only its own files.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<()> {
    let package = cargo(&workspace.shell, "package --locked --offline --quiet --all-features --registry");
    let built =
        in_release_folder(package.arg(&workspace.registry).args(workspace.selection()), workspace).run();
    built.context("a package does not build: see above. If dependencies are missing: cargo fetch --locked")
}

/// Packs every crate, checks what is in the packages, and compiles the documents' examples with only these packages.
pub(crate) fn run() -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let shell = &workspace.shell;
    let package = cargo(shell, "package --locked --offline --quiet --allow-dirty --no-verify --registry");
    in_release_folder(package.arg(&workspace.registry).args(workspace.selection()), &workspace).run()?;

    let folder = workspace.target.join("payments-release");
    let reader = folder.join("reader");
    shell.remove_path(&reader)?;
    shell.create_dir(&reader)?;
    let (mut findings, mut patches) = (Vec::new(), String::new());
    for member in &workspace.crates {
        let name = &member.name;
        let file = folder.join("package").join(format!("{name}-{}.crate", workspace.version));
        let kib = fs::metadata(&file)?.len().div_ceil(1024);
        let most = member.metadata["release"]["max-kib"].as_u64().unwrap_or_default();
        if kib > most {
            findings.push(format!(
                "{name}: its package has {kib} KiB, and max-kib under [package.metadata.release] is {most}: see what was \
                 added (cargo package --list --package {name}), then remove it or raise the limit"
            ));
        }
        let files = cmd!(shell, "tar --list --gzip --file {file}").quiet().read()?;
        let files: Vec<_> = files.lines().filter_map(|path| Some(path.split_once('/')?.1)).collect();
        let manifest = workspace.read(&member.manifest())?;
        findings
            .extend(wrong_files(&files, &manifest).into_iter().map(|finding| format!("{name}: {finding}")));
        // The files in an archive all have one old time, so cargo would not notice that one has changed.
        cmd!(shell, "tar --extract --touch --gzip --file {file} --directory {reader}").quiet().run()?;
        writeln!(patches, "{name} = {{ path = \"{name}-{}\" }}", workspace.version)?;
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));

    let (mut dependencies, mut library) = (BTreeMap::new(), "#![cfg(doctest)]\n".to_owned());
    for path in workspace.git("ls-files README.md crates/*/README.md docs/*.md")?.lines() {
        let text = workspace.read(path)?;
        if text.contains("\n```rust") {
            follow(&text, &mut dependencies).with_context(|| path.to_owned())?;
            let file = shell.current_dir().join(path).display().to_string();
            writeln!(
                library,
                "#[doc = include_str!({file:?})]\nmod {} {{}}",
                path.replace(['/', '.', '-'], "_").to_lowercase()
            )?;
        }
    }
    let mut manifest = "[package]\nname = \"reader\"\nedition = \"2024\"\n\n[dependencies]\n".to_owned();
    let (root, lock_file) = (workspace.read("Cargo.toml")?, workspace.read("Cargo.lock")?);
    for (name, features) in &dependencies {
        // Cargo.lock has one entry for each version, the newest last.
        let entry = format!("name = \"{name}\"\nversion = \"");
        let versions = lock_file.split("[[package]]\n").filter_map(|package| package.strip_prefix(&entry));
        let newest = versions.last().and_then(|version| version.split('"').next());
        let version = newest.with_context(|| format!("Cargo.lock has no package {name}"))?;
        let has_defaults = !features.contains(NO_DEFAULTS);
        let features: Vec<_> = features.iter().filter(|feature| *feature != NO_DEFAULTS).collect();
        writeln!(
            manifest,
            "{name} = {{ version = \"{version}\", default-features = {has_defaults}, features = {features:?} }}"
        )?;
    }
    let members = workspace.crates.iter().map(|member| format!("{}-{}", member.name, workspace.version));
    let members: Vec<_> = members.collect();
    writeln!(manifest, "\n[workspace]\nmembers = {members:?}\n\n[patch.crates-io]\n{patches}")?;
    // With the same profiles, cargo shares what it has built of other crates.
    let (_, profiles) = root.split_once("\n[profile.").context("the root manifest has no profiles")?;
    writeln!(manifest, "[profile.{profiles}")?;
    let reader_shell = Shell::new()?;
    reader_shell.change_dir(&reader);
    reader_shell.write_file("Cargo.toml", manifest)?;
    reader_shell.write_file("src/lib.rs", library)?;
    reader_shell.write_file("Cargo.lock", lock_file)?;
    // The reader's dependencies are built with the examples. All packages together would have other features, and be built twice.
    let others = workspace.crates.iter().filter(|member| !dependencies.contains_key(&member.name));
    let others: Vec<_> = others.flat_map(|member| ["--package", &member.name]).collect();
    let build = cargo(&reader_shell, "build --quiet --offline").args(others);
    in_release_folder(build, &workspace).run().context("a package does not build alone: see above")?;
    let test = cargo(&reader_shell, "test --quiet --offline --package reader --doc");
    let tested = in_release_folder(test, &workspace).run();
    tested.context("the documents' examples do not work with the packages alone: see above")
}

/// What is wrong with the files of a package. A published file is public forever, so it is a source, a chapter of the
/// documentation, a help text or a license, or the manifest names it in full: a key or a dump next to them is found.
fn wrong_files(files: &[&str], manifest: &str) -> Vec<String> {
    let added_by_cargo = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];
    let is_named = |path: &str| path == "README.md" || manifest.contains(&format!("\"/{path}\""));
    let is_source = |path: &str| match (path.split_once('/'), path.rsplit_once('.')) {
        (Some(("src" | "docs", _)), Some((_, "rs" | "md"))) => true,
        (Some(("src", name)), Some((_, "txt"))) => name.starts_with("help/"),
        _ => path.starts_with("LICENSE-"),
    };
    let is_expected = |path: &str| is_named(path) || is_source(path) || added_by_cargo.contains(&path);
    let unexpected = files.iter().filter(|path| !is_expected(path));
    let mut findings: Vec<_> = unexpected
        .map(|path| format!("its package has {path}: if it belongs there, add its full path to `include`"))
        .collect();
    // Copies, not symbolic links: a checkout on Windows turns a link into a file with a path.
    let needed = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];
    let missing = needed.iter().filter(|path| !files.contains(path));
    findings.extend(missing.map(|path| format!("its package has no {path}: add it")));
    findings
}

/// Stands among the features of a dependency.
const NO_DEFAULTS: &str = "--no-default-features";

/// Adds the dependencies of the document's `cargo add` lines.
fn follow(text: &str, dependencies: &mut BTreeMap<String, BTreeSet<String>>) -> anyhow::Result<()> {
    for call in text.lines().filter_map(|line| line.strip_prefix("$ cargo add ")) {
        let (call, _comment) = call.split_once(" #").unwrap_or((call, ""));
        let (call, features) = call.trim_end().split_once(" --features ").unwrap_or((call, ""));
        let (options, names): (Vec<_>, Vec<_>) =
            call.split_whitespace().partition(|word| word.starts_with('-'));
        ensure!(
            options.iter().all(|option| ["--dev", NO_DEFAULTS].contains(option)),
            "cannot follow `cargo add {call}`: use only --dev, {NO_DEFAULTS} and --features"
        );
        for name in names {
            let known: &mut BTreeSet<_> = dependencies.entry(name.to_owned()).or_default();
            known.extend(
                options.iter().filter(|option| **option == NO_DEFAULTS).map(|option| (*option).to_owned()),
            );
            known.extend(features.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned));
        }
    }
    Ok(())
}

/// Shares built dependencies with the workspace, but writes programs and packages to a separate folder.
///
/// A package does not have the workspace's profiles, so this sets the same debug information: otherwise cargo would build
/// the dependencies again.
fn in_release_folder<'a>(cargo: Cmd<'a>, workspace: &Workspace) -> Cmd<'a> {
    let debug = std::env::var("CARGO_PROFILE_DEV_DEBUG").unwrap_or_else(|_| "line-tables-only".to_owned());
    cargo
        .env("CARGO_TARGET_DIR", workspace.target.join("payments-release"))
        .env("CARGO_BUILD_BUILD_DIR", &workspace.target)
        .env("CARGO_PROFILE_DEV_DEBUG", debug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sources_and_named_files_are_packed() {
        let always = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];
        let found =
            |path| wrong_files(&[&always[..], &[path]].concat(), "include = [\"/openapi.json\"]").len();
        for expected in ["src/a/b.rs", "docs/a.md", "src/help/a.txt", "openapi.json", ".cargo_vcs_info.json"]
        {
            assert_eq!(found(expected), 0, "{expected}");
        }
        for unexpected in [".env", "src/key.pem", "docs/a.sqlite", "tests/a.rs", "src/.rs.swp", "page.html"] {
            assert_eq!(found(unexpected), 1, "{unexpected}");
        }
        assert_eq!(
            wrong_files(&["src/lib.rs", "README.md", "LICENSE-MIT"], ""),
            ["its package has no LICENSE-APACHE: add it"]
        );
    }

    #[test]
    fn dependencies_of_several_lines_are_combined() {
        let mut found = BTreeMap::new();
        let lines = "$ cargo add a b    # or c\n$ cargo add --dev a --features x,y\n$ cargo build\n$ cargo add c --no-default-features\n";
        follow(lines, &mut found).unwrap();
        assert_eq!(format!("{found:?}"), r#"{"a": {"x", "y"}, "b": {}, "c": {"--no-default-features"}}"#);
        let error = follow("$ cargo add a --git b\n", &mut found).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot follow `cargo add a --git b`: use only --dev, --no-default-features and --features"
        );
    }
}
