//! The public API of each library as text, committed, so that a change of it is seen where it is reviewed.
//!
//! A line is one item with its full path, as a user of the crate sees it. What only some features bring is marked, so
//! that moving an item behind a feature, which breaks the build of whoever does not have it, changes a line too. Of the
//! traits that the compiler implements by itself only the absence is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::package;
use crate::workspace::{Member, Workspace, cargo};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Write nothing, and fail if the public API is not the committed one.
    #[arg(long)]
    check: bool,
}

/// The folder of the snapshots, from the root.
const FOLDER: &str = "tests/api";

const ADVICE: &str = "cargo xtask release api, and commit what it writes together with the change";

/// What the library `public-api` reads. Formats 58 and 59 only added what may be absent.
const READABLE: RangeInclusive<u64> = 57..=59;

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    workspace.must_build_for_this_machine()?;
    if options.check {
        let findings = findings(&workspace)?;
        ensure!(findings.is_empty(), "{}", findings.join("\n"));
        println!("the public API of {} crates is the committed one", workspace.libraries().count());
        return Ok(());
    }
    for member in workspace.libraries() {
        let (file, text) = (file(member), snapshot(&workspace, member)?);
        let changes = differences(&workspace.read(&file).unwrap_or_default(), &text).len();
        workspace.shell.write_file(&file, &text)?;
        println!("{file}: {changes} lines changed");
    }
    for left in left_over(&workspace) {
        workspace.shell.remove_path(&left)?;
        println!("{left}: removed");
    }
    Ok(())
}

/// What is not as it was committed.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut findings = Vec::new();
    for member in workspace.libraries() {
        let file = file(member);
        let Ok(committed) = workspace.read(&file) else {
            findings.push(format!("{file} is not there: {ADVICE}"));
            continue;
        };
        let differences = differences(&committed, &snapshot(workspace, member)?);
        if !differences.is_empty() {
            findings.push(format!(
                "{file} is not the public API of this commit:\n{}\nif that is meant, {ADVICE}",
                differences.join("\n")
            ));
        }
    }
    findings
        .extend(left_over(workspace).iter().map(|left| format!("{left} is of no library here: {ADVICE}")));
    Ok(findings)
}

fn file(member: &Member) -> String {
    format!("{FOLDER}/{}.txt", member.name)
}

/// Files in the folder that belong to no library any more, as paths from the root.
fn left_over(workspace: &Workspace) -> Vec<String> {
    let paths = workspace.shell.read_dir(FOLDER).unwrap_or_default();
    let names = paths.iter().filter_map(|path| Some(format!("{FOLDER}/{}", path.file_name()?.to_str()?)));
    names.filter(|path| workspace.libraries().all(|member| file(member) != *path)).collect()
}

fn snapshot(workspace: &Workspace, member: &Member) -> anyhow::Result<String> {
    let all = lines(workspace, member, &["--all-features"])?;
    if member.features().next().is_none() {
        return Ok(text(&all, &all, &all));
    }
    let without = lines(workspace, member, &["--no-default-features"])?;
    let has_default =
        member.package["features"]["default"].as_array().is_some_and(|features| !features.is_empty());
    let by_default = if has_default { &lines(workspace, member, &[])? } else { &without };
    Ok(text(&without, by_default, &all))
}

/// The items of a crate that a user can name or use, one in a line.
fn lines(workspace: &Workspace, member: &Member, features: &[&str]) -> anyhow::Result<Vec<String>> {
    let description = describe(workspace, member, features)?;
    // The library does not ask for the format by itself.
    must_be_readable(&serde_json::from_str(&workspace.shell.read_file(&description)?)?)?;
    // Blanket implementations are the same for every type.
    let api = public_api::Builder::from_rustdoc_json(&description).omit_blanket_impls(true).build()?;
    Ok(api.items().map(ToString::to_string).filter(|line| !is_noise(line)).collect())
}

/// Lets rustdoc describe a crate as JSON, in a file that the next call overwrites.
///
/// The form is not stable yet, so a stable toolchain refuses, unless it is told to behave as a nightly one. That is told to
/// rustdoc alone: what cargo compiles on the way is the same as in any other task and is shared with it.
fn describe(workspace: &Workspace, member: &Member, features: &[&str]) -> anyhow::Result<PathBuf> {
    let name = &member.name;
    let file = workspace.target.join("doc").join(format!("{}.json", name.replace('-', "_")));
    // What an earlier run has left must not pass for the answer.
    workspace.shell.remove_path(&file)?;
    let rustdoc = cargo(&workspace.shell, "rustdoc --quiet --locked --offline --lib --package")
        .arg(name)
        .args(features);
    let rustdoc =
        rustdoc.args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]);
    rustdoc
        .env("RUSTDOC", stand_in(workspace)?)
        .run()
        .with_context(|| format!("rustdoc cannot describe {name}"))?;
    ensure!(file.is_file(), "rustdoc has written no {}", file.display());
    Ok(file)
}

/// Stands in for rustdoc.
fn stand_in(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    const PROGRAM: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

    let path = package::folder(workspace).join("rustdoc");
    // Not while another run may be executing it.
    if fs::read_to_string(&path).is_ok_and(|text| text == PROGRAM) {
        return Ok(path);
    }
    workspace.shell.write_file(&path, PROGRAM)?;
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
        READABLE.contains(&format),
        "not checked: rustdoc format {format}, and formats {} to {} are read here. Take a toolchain that writes one of them \
         (rustup toolchain install 1.95, and RUSTUP_TOOLCHAIN=1.95), or raise public-api in xtask/release/Cargo.toml and \
         READABLE in xtask/release/src/api.rs",
        READABLE.start(),
        READABLE.end()
    );
    Ok(())
}

/// The traits that the compiler implements by itself, and which a user can name.
const AUTOMATIC: [&str; 5] = [
    "core::marker::Send",
    "core::marker::Sync",
    "core::marker::Unpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

/// Traits of the compiler's own, which differ from one version of it to the next.
const OF_THE_COMPILER: [&str; 3] =
    ["core::marker::Freeze", "core::marker::UnsafeUnpin", "core::marker::StructuralPartialEq"];

fn is_noise(line: &str) -> bool {
    // Parameters of the type may stand before the trait.
    let Some((head, name)) = line.split_once(" for ").and_then(|(before, _)| before.rsplit_once(' ')) else {
        return false;
    };
    let is_given = !line.contains(" where ") && head.starts_with("impl") && AUTOMATIC.contains(&name);
    is_given || OF_THE_COMPILER.contains(&name.trim_start_matches('!'))
}

/// The snapshot: the lines with all features, marked where fewer features do not have them.
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

/// The lines that are in one of the texts alone, or more often in one of them.
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
    fn a_changed_line_is_shown_as_it_was_and_as_it_is() {
        assert_eq!(differences("a\nb\nb\nc\n", "b\na\nc\nd\n"), ["- b", "+ d"]);
        assert_eq!(differences("a\nb\n", "b\na\n"), [""; 0]);
        assert_eq!(differences("", "pub mod a\n"), ["+ pub mod a"]);
    }

    #[test]
    fn what_needs_features_is_marked() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let text = text(&lines("a gone"), &lines("a b"), &lines("a b c"));
        assert_eq!(text, "a\n[default features] b\n[more features] c\n[fewer features] gone\n");
    }

    #[test]
    fn of_automatic_traits_the_absence_is_listed() {
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
    fn a_form_that_is_not_known_is_not_guessed_at() {
        for format in [57, 59] {
            must_be_readable(&json!({ "format_version": format })).unwrap();
        }
        for format in [56, 60] {
            let error = must_be_readable(&json!({ "format_version": format })).unwrap_err().to_string();
            assert!(error.contains(&format!("rustdoc format {format},")), "{error}");
        }
        assert!(must_be_readable(&json!({})).is_err());
    }
}
