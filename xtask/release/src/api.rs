//! The public API of each library crate as text, committed, so that a change of it is seen where it is reviewed.
//!
//! A line is one item with its full path, as a user of the crate sees it. What only some features bring is marked, so
//! that moving an item behind a feature, which breaks the build of whoever does not have it, changes a line too. Of the
//! traits that the compiler implements by itself only the absence is listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::flags::Api;
use crate::rustdoc::{self, Features, Items, Rustdoc};
use crate::workspace::{Member, Workspace};

/// The folder of the snapshots, from the root.
const FOLDER: &str = "tests/api";

pub(crate) fn run(asked: &Api) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    workspace.must_build_for_this_machine()?;
    if !asked.check {
        return write(&workspace);
    }
    let findings = findings(&workspace)?;
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    println!("the public API of {} crates is the committed one", workspace.libraries().count());
    Ok(())
}

/// Writes every snapshot anew.
fn write(workspace: &Workspace) -> anyhow::Result<()> {
    let rustdoc = Rustdoc::new(workspace)?;
    for member in workspace.libraries() {
        let text = snapshot(&rustdoc, member)?;
        let file = file(member);
        let changes = differences(&workspace.read(&file).unwrap_or_default(), &text).len();
        workspace.shell.write_file(&file, &text)?;
        println!("{file}: {changes} lines changed");
    }
    for left in left_over(workspace)? {
        workspace.shell.remove_path(&left)?;
        println!("{left}: removed");
    }
    Ok(())
}

/// What is not as it was committed.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let rustdoc = Rustdoc::new(workspace)?;
    let mut findings = Vec::new();
    for member in workspace.libraries() {
        let file = file(member);
        let Ok(committed) = workspace.read(&file) else {
            findings.push(format!("{file} is not there: {ADVICE}"));
            continue;
        };
        let differences = differences(&committed, &snapshot(&rustdoc, member)?);
        if !differences.is_empty() {
            findings.push(format!(
                "{file} is not the public API of this commit:\n{}\nif that is meant, {ADVICE}",
                differences.join("\n")
            ));
        }
    }
    for left in left_over(workspace)? {
        findings.push(format!("{left} is of no library here: {ADVICE}"));
    }
    Ok(findings)
}

const ADVICE: &str = "cargo xtask release api, and commit what it writes together with the change";

fn file(member: &Member) -> String {
    format!("{FOLDER}/{}.txt", member.name)
}

/// Files in the folder that belong to no library any more, as paths from the root.
fn left_over(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let folder = workspace.root.join(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let names = workspace.shell.read_dir(folder)?.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        Some(format!("{FOLDER}/{name}"))
    });
    let is_known = |path: &String| workspace.libraries().any(|member| file(member) == *path);
    Ok(names.filter(|path| !is_known(path)).collect())
}

fn snapshot(rustdoc: &Rustdoc<'_>, member: &Member) -> anyhow::Result<String> {
    let with = |features| lines(&rustdoc.describe(member, features, Items::Documented)?);
    let all = with(Features::All)?;
    if !member.has_features() {
        return Ok(text(&all, &all, &all));
    }
    let without = with(Features::None)?;
    let by_default = if member.has_default_features() { &with(Features::Default)? } else { &without };
    Ok(text(&without, by_default, &all))
}

/// The items of a description that a user can name or use, one in a line.
pub(crate) fn lines(description: &Path) -> anyhow::Result<Vec<String>> {
    // The library does not ask for the format by itself.
    rustdoc::read(description)?;
    let api = public_api::Builder::from_rustdoc_json(description)
        // They are the same for every type.
        .omit_blanket_impls(true)
        .build()
        .with_context(|| format!("public-api cannot read {}", description.display()))?;
    Ok(api.items().map(ToString::to_string).filter(|line| !is_noise(line)).collect())
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
    let Some((before, _)) = line.split_once(" for ") else {
        return false;
    };
    let Some((head, name)) = before.rsplit_once(' ') else {
        return false;
    };
    let is_given = !line.contains(" where ") && head.starts_with("impl") && AUTOMATIC.contains(&name);
    is_given || OF_THE_COMPILER.contains(&name.trim_start_matches('!'))
}

/// The snapshot: the lines with all features, marked where fewer features do not have them.
fn text(without: &[String], by_default: &[String], all: &[String]) -> String {
    let is_in = |lines: &[String], line: &String| lines.contains(line);
    let mut text = String::new();
    let mut add = |mark: &str, line: &String| {
        text.push_str(mark);
        text.push_str(line);
        text.push('\n');
    };
    for line in all {
        let mark = match (is_in(without, line), is_in(by_default, line)) {
            (true, true) => "",
            (false, true) => "[default features] ",
            (_, false) => "[more features] ",
        };
        add(mark, line);
    }
    let fewer: Vec<_> = without.iter().chain(by_default).filter(|line| !is_in(all, line)).collect();
    for line in fewer.iter().collect::<BTreeSet<_>>() {
        add("[fewer features] ", line);
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
}
