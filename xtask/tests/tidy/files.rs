//! Rules about every committed file.

use super::Finding;
use super::workspace::{Workspace, has_extension};

/// A file that names a folder of one machine works only on that machine.
pub(super) fn files_name_no_machine(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| path.as_str() != file!()) {
        // A file that is not UTF-8 is data.
        let Ok(text) = std::fs::read_to_string(workspace.root.join(path)) else {
            continue;
        };
        for (line, folder) in machine_paths(&text) {
            let advice = format!(
                "names {folder}, a folder of one machine: use a path from the root, or a temporary folder"
            );
            findings.push(Finding::new(format!("{path}:{line}"), advice));
        }
    }
    Ok(findings)
}

/// Readers have only the repository, so it must contain everything that it points to. A ticket's number tells them nothing.
pub(super) fn files_point_to_nothing_outside(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| path.as_str() != file!()) {
        let Ok(text) = std::fs::read_to_string(workspace.root.join(path)) else {
            continue;
        };
        for line in ticket_numbers(&text) {
            let advice = "names a ticket by its number: say what the ticket is about instead";
            findings.push(Finding::new(format!("{path}:{line}"), advice));
        }
        // Rust sources contain such paths as hostile test input, and the compiler checks the real ones.
        if !has_extension(path, "rs") {
            for line in paths_that_leave(path, &text) {
                let advice =
                    "names a path above the root of the repository, which others do not have: remove it";
                findings.push(Finding::new(format!("{path}:{line}"), advice));
            }
        }
    }
    Ok(findings)
}

/// The lines, counted from one, with an absolute path of somebody's machine.
fn machine_paths(text: &str) -> Vec<(usize, &'static str)> {
    const FOLDERS: [&str; 5] = ["/home/", "/root/", "/tmp/", "/Users/", "/work/"];
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in FOLDERS {
            let starts_a_path = |at: usize| {
                // `src/work/` and `example.com/home/` are not absolute paths.
                !line[..at]
                    .ends_with(|before: char| before.is_ascii_alphanumeric() || "._-~}/".contains(before))
            };
            if line.match_indices(folder).any(|(at, _)| starts_a_path(at)) {
                found.push((index + 1, folder));
            }
        }
    }
    found
}

/// The lines, counted from one, that contain `issue 12` or `issue #12`.
fn ticket_numbers(text: &str) -> Vec<usize> {
    let names_ticket = |line: &str| {
        let line = line.to_ascii_lowercase();
        let mut after = line.split("issue ").skip(1);
        after.any(|rest| rest.trim_start_matches('#').starts_with(|first: char| first.is_ascii_digit()))
    };
    text.lines().enumerate().filter(|(_, line)| names_ticket(line)).map(|(index, _)| index + 1).collect()
}

/// The lines, counted from one, with a path that leaves the repository from the folder of the file at `path`.
fn paths_that_leave(path: &str, text: &str) -> Vec<usize> {
    let depth = path.matches('/').count();
    let leaves = |line: &str| line.contains(&"../".repeat(depth + 1));
    text.lines().enumerate().filter(|(_, line)| leaves(line)).map(|(index, _)| index + 1).collect()
}

mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(machine_paths("a\nread(\"/home/ada/key\")"), [(2, "/home/")]);
        assert_eq!(machine_paths("cd /tmp/x && ls /root/y"), [(1, "/root/"), (1, "/tmp/")]);
    }

    #[test]
    fn a_path_of_the_repository_or_in_a_url_is_not() {
        assert_eq!(machine_paths("src/work/a.rs https://example.com/home/ $HOME/tmp/a ../tmp/b"), []);
    }

    #[test]
    fn a_ticket_is_found_by_its_number() {
        assert_eq!(ticket_numbers("see issue 12\nSee Issue #3.\nthis issue 's\nno issue"), [1, 2]);
    }

    #[test]
    fn a_path_above_the_root_is_found() {
        assert_eq!(paths_that_leave("README.md", "a\nsee ../other/file"), [2]);
        assert_eq!(paths_that_leave("crates/a/Cargo.toml", "readme = \"../../README.md\""), [0; 0]);
        assert_eq!(paths_that_leave("crates/a/Cargo.toml", "readme = \"../../../README.md\""), [1]);
    }
}
