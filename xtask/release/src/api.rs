//! The public API of each library as committed text, so that reviewers see every change to it.
//!
//! Each line is one item with its full path, as a user of the crate sees it. Items that need a feature are marked:
//! moving an item behind a feature breaks users without that feature, so it must change a line too. For auto traits such
//! as `Send`, only a missing implementation is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use xtask::{Package, READABLE_FORMATS};

use crate::workspace::{Workspace, cargo};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Write nothing, and fail if the public API differs from the committed text.
    #[arg(long)]
    check: bool,
}

/// The folder of the snapshots, from the root.
const FOLDER: &str = "tests/api";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    if options.check {
        return check(&workspace);
    }
    for member in workspace.libraries() {
        let (file, text) = (file(member), snapshot(&workspace, member)?);
        let changes = differences(&workspace.read(&file).unwrap_or_default(), &text).len();
        workspace.shell.write_file(&file, &text)?;
        println!("{file}: {changes} lines changed");
    }
    for path in obsolete_files(&workspace) {
        workspace.shell.remove_path(&path)?;
        println!("{path}: removed");
    }
    Ok(())
}

/// Fails if the public API differs from the committed text.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let mut findings = Vec::new();
    for member in workspace.libraries() {
        let file = file(member);
        let committed = workspace.read(&file).unwrap_or_default();
        let differences = differences(&committed, &snapshot(workspace, member)?);
        if !differences.is_empty() {
            findings.push(format!(
                "{file} differs from the public API of this commit:\n{}",
                differences.join("\n")
            ));
        }
    }
    let obsolete = obsolete_files(workspace);
    findings.extend(obsolete.iter().map(|path| format!("{path} belongs to no library")));
    ensure!(
        findings.is_empty(),
        "{}\nif you intended this, run `cargo xtask release api`, and commit what it writes together with the change",
        findings.join("\n")
    );
    println!("the public API of {} crates matches {FOLDER}", workspace.libraries().count());
    Ok(())
}

fn file(member: &Package) -> String {
    format!("{FOLDER}/{}.txt", member.name)
}

/// Files in the folder that no longer belong to a library, as paths from the root.
fn obsolete_files(workspace: &Workspace) -> Vec<String> {
    let paths = workspace.shell.read_dir(FOLDER).unwrap_or_default();
    let names = paths.iter().filter_map(|path| Some(format!("{FOLDER}/{}", path.file_name()?.to_str()?)));
    names.filter(|path| workspace.libraries().all(|member| file(member) != *path)).collect()
}

fn snapshot(workspace: &Workspace, member: &Package) -> anyhow::Result<String> {
    let all = lines(workspace, member, &["--all-features"])?;
    if member.features.is_empty() {
        return Ok(text(&all, &all, &all));
    }
    let without = lines(workspace, member, &["--no-default-features"])?;
    let has_default = member.features.get("default").is_some_and(|features| !features.is_empty());
    let by_default = if has_default { &lines(workspace, member, &[])? } else { &without };
    Ok(text(&without, by_default, &all))
}

/// The items of a crate that a user can name or use, one per line.
fn lines(workspace: &Workspace, member: &Package, features: &[&str]) -> anyhow::Result<Vec<String>> {
    let file = write_rustdoc_json(workspace, member, features)?;
    // The crate `public-api` does not check the format.
    must_be_readable(&serde_json::from_str(&workspace.shell.read_file(&file)?)?)?;
    // Blanket implementations are the same for every type.
    let api = public_api::Builder::from_rustdoc_json(&file).omit_blanket_impls(true).build()?;
    Ok(api.items().map(ToString::to_string).filter(|line| !is_noise(line)).collect())
}

/// Writes rustdoc's JSON for a crate to a file that the next call overwrites.
///
/// The format is unstable, so stable rustdoc writes it only with `RUSTC_BOOTSTRAP`. Only rustdoc gets that variable, so
/// what cargo compiles here is shared with all other tasks.
fn write_rustdoc_json(workspace: &Workspace, member: &Package, features: &[&str]) -> anyhow::Result<PathBuf> {
    let name = &member.name;
    let file = workspace.target.join("doc").join(format!("{}.json", name.replace('-', "_")));
    // A file from an earlier run must not be read as this one's.
    workspace.shell.remove_path(&file)?;
    let rustdoc = cargo(&workspace.shell, "rustdoc --quiet --locked --offline --lib --package")
        .arg(name)
        .args(features);
    let rustdoc =
        rustdoc.args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]);
    rustdoc
        .env("RUSTDOC", rustdoc_wrapper(workspace)?)
        .run()
        .with_context(|| format!("rustdoc cannot document {name}: see above"))?;
    ensure!(file.is_file(), "rustdoc did not write {}", file.display());
    Ok(file)
}

/// A script that runs rustdoc with `RUSTC_BOOTSTRAP`.
fn rustdoc_wrapper(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    const PROGRAM: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

    let path = workspace.target.join("payments-release").join("rustdoc");
    // Another run may be executing the script, so it is not written again.
    if !fs::read_to_string(&path).is_ok_and(|text| text == PROGRAM) {
        workspace.shell.write_file(&path, PROGRAM)?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(path)
}

fn must_be_readable(description: &Value) -> anyhow::Result<()> {
    let Some(format) = description["format_version"].as_u64() else {
        bail!("rustdoc's JSON does not name its format");
    };
    ensure!(
        READABLE_FORMATS.contains(&format),
        "the public API was not checked: this rustdoc writes format {format}, and only formats {} to {} can be read. Use a \
         toolchain that writes one of them (rustup toolchain install 1.95, then set RUSTUP_TOOLCHAIN=1.95), or upgrade \
         public-api in xtask/release/Cargo.toml and READABLE_FORMATS in xtask/src/lib.rs",
        READABLE_FORMATS.start(),
        READABLE_FORMATS.end()
    );
    Ok(())
}

/// Auto traits that a user can name.
const AUTO_TRAITS: [&str; 5] = [
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

/// Internal traits of the compiler, which differ between its versions.
const COMPILER_TRAITS: [&str; 3] =
    ["core::marker::Freeze", "core::marker::UnsafeUnpin", "core::marker::StructuralPartialEq"];

fn is_noise(line: &str) -> bool {
    // Type parameters may come before the trait.
    let Some((head, name)) = line.split_once(" for ").and_then(|(before, _)| before.rsplit_once(' ')) else {
        return false;
    };
    let is_unconditional =
        !line.contains(" where ") && head.starts_with("impl") && AUTO_TRAITS.contains(&name);
    is_unconditional || COMPILER_TRAITS.contains(&name.trim_start_matches('!'))
}

/// The snapshot: the lines with all features, marked if they are missing with fewer features.
fn text(without: &[String], by_default: &[String], all: &[String]) -> String {
    let mut text = String::new();
    for line in all {
        text += match (without.contains(line), by_default.contains(line)) {
            (true, true) => "",
            (false, true) => "[default features] ",
            (_, false) => "[more features] ",
        };
        text += line;
        text += "\n";
    }
    let fewer = without.iter().chain(by_default).filter(|line| !all.contains(line));
    for line in fewer.collect::<BTreeSet<_>>() {
        text += "[fewer features] ";
        text += line;
        text += "\n";
    }
    text
}

/// The lines that only one of the texts contains, or contains more often.
fn differences(old: &str, new: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    old.lines().for_each(|line| *counts.entry(line).or_default() -= 1);
    new.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let changed = counts.into_iter().filter(|(_, count)| *count != 0);
    changed.map(|(line, count)| format!("{} {line}", if count < 0 { '-' } else { '+' })).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_changed_line_is_shown_before_and_after() {
        assert_eq!(differences("a\nb\nb\nc\n", "b\na\nc\nd\n"), ["- b", "+ d"]);
        assert_eq!(differences("a\nb\n", "b\na\n"), [""; 0]);
        assert_eq!(differences("", "pub mod a\n"), ["+ pub mod a"]);
    }

    #[test]
    fn items_that_need_features_are_marked() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let text = text(&lines("a gone"), &lines("a b"), &lines("a b c"));
        assert_eq!(text, "a\n[default features] b\n[more features] c\n[fewer features] gone\n");
    }

    #[test]
    fn only_missing_auto_traits_are_listed() {
        for noise in [
            "impl core::marker::Send for a::B",
            "impl<'a> core::marker::Sync for a::B<'a>",
            "impl core::marker::Freeze for a::B",
            "impl !core::marker::Freeze for a::B",
            "impl<T> core::marker::Freeze for a::B<T> where T: core::marker::Freeze",
            "impl core::marker::StructuralPartialEq for a::B",
        ] {
            assert!(is_noise(noise), "{noise}");
        }
        for kept in [
            "pub mod a",
            "impl a::B",
            "impl core::marker::Copy for a::B",
            "impl !core::marker::Send for a::B",
            "impl<T> core::marker::Send for a::B<T> where T: core::marker::Send",
            "pub fn a::f(impl for<'a> core::ops::function::Fn(&'a str))",
        ] {
            assert!(!is_noise(kept), "{kept}");
        }
    }

    #[test]
    fn an_unknown_format_is_refused() {
        for format in [57, 59] {
            must_be_readable(&json!({ "format_version": format })).unwrap();
        }
        for format in [56, 60] {
            let error = must_be_readable(&json!({ "format_version": format })).unwrap_err().to_string();
            assert!(error.contains(&format!("this rustdoc writes format {format},")), "{error}");
        }
        assert!(must_be_readable(&json!({})).is_err());
    }
}
