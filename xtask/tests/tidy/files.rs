//! Rules about every committed file.

use super::workspace::{Workspace, has_extension, lines_with};

/// A file that names a folder of one machine works only on that machine.
pub(super) fn files_name_no_machine(workspace: &Workspace) -> Vec<String> {
    find(workspace, |_, line| names_machine(line), "names a folder of one machine: use a path from the root")
}

/// Readers have only the repository, so it contains everything that it points to. A ticket's number tells them nothing.
pub(super) fn files_point_to_nothing_outside(workspace: &Workspace) -> Vec<String> {
    let mut findings = find(
        workspace,
        |_, line| names_ticket(line),
        "names a ticket by its number: say what it is about instead",
    );
    // Rust sources contain such paths as hostile test input, and the compiler checks the real ones.
    let leaves = |path: &str, line: &str| !has_extension(path, "rs") && leaves_repository(path, line);
    findings.extend(find(workspace, leaves, "names a path above the root of the repository: remove it"));
    findings
}

/// Only its own folder is in a crate's package, so a source that includes another file does not compile there.
pub(super) fn sources_include_only_their_package(workspace: &Workspace) -> Vec<String> {
    find(
        workspace,
        leaves_package,
        "includes a file outside of its package: a test of that file belongs into `tests`",
    )
}

fn leaves_package(path: &str, line: &str) -> bool {
    let source = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    line.contains("include_")
        && source.is_some_and(|(_, path)| path.starts_with("src/") && leaves_repository(path, line))
}

fn find(workspace: &Workspace, is_wrong: impl Fn(&str, &str) -> bool, advice: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| path.as_str() != file!()) {
        // A file that is not UTF-8 is data.
        let text = std::fs::read_to_string(workspace.root.join(path)).unwrap_or_default();
        let lines = lines_with(&text, |line| is_wrong(path, line));
        findings.extend(lines.iter().map(|number| format!("{path}:{number}: {advice}")));
    }
    findings
}

/// Whether the line has an absolute path of somebody's machine. `src/work/` and `example.com/home/` are not absolute.
fn names_machine(line: &str) -> bool {
    let continues = |before: char| before.is_ascii_alphanumeric() || "._-~}/".contains(before);
    ["/home/", "/root/", "/tmp/", "/Users/", "/work/"]
        .iter()
        .any(|folder| line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(continues)))
}

/// Whether the line has `issue 12` or `issue #12`.
fn names_ticket(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let mut after = line.split("issue ").skip(1);
    after.any(|rest| rest.trim_start_matches('#').starts_with(|first: char| first.is_ascii_digit()))
}

fn leaves_repository(path: &str, line: &str) -> bool {
    line.contains(&"../".repeat(path.matches('/').count() + 1))
}

#[test]
fn what_is_outside_the_repository_is_found() {
    assert!(names_machine("read(\"/home/ada/key\")") && names_machine("cd /tmp/x"));
    assert!(!names_machine("src/work/a.rs https://example.com/home/ $HOME/tmp/a ../tmp/b"));
    assert!(names_ticket("see issue 12") && names_ticket("See Issue #3."));
    assert!(!names_ticket("this issue 's") && !names_ticket("no issue"));
    assert!(leaves_repository("README.md", "see ../other/file"));
    assert!(leaves_repository("crates/a/Cargo.toml", "readme = \"../../../README.md\""));
    assert!(!leaves_repository("crates/a/Cargo.toml", "readme = \"../../README.md\""));
    let line = "include_str!(\"../../../docs/a.md\")";
    assert!(leaves_package("crates/a/src/b.rs", line) && leaves_package("crates/a/src/b/c.rs", line));
    assert!(!leaves_package("crates/a/src/b/c/d.rs", line) && !leaves_package("crates/a/tests/a/b.rs", line));
}
