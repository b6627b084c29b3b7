//! Rules about every committed file, whatever its language.

use super::{Finding, Report};
use crate::workspace::Workspace;

/// A file that names a folder of one machine works on that machine alone.
pub(super) fn files_name_no_machine(workspace: &Workspace) -> anyhow::Result<Report> {
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| path.as_str() != file!()) {
        // What is not UTF-8 is data, and data names no paths that anything follows.
        let Ok(text) = std::fs::read_to_string(workspace.root.join(path)) else {
            continue;
        };
        for (line, folder) in machine_paths(&text) {
            let advice = format!(
                "do not name the folder {folder} of one machine: use a path from the root, or a temporary one"
            );
            findings.push(Finding::new(format!("{path}:{line}"), advice));
        }
    }
    Ok(findings.into())
}

/// Lines (from one) that hold an absolute path of somebody's machine.
fn machine_paths(text: &str) -> Vec<(usize, &'static str)> {
    const FOLDERS: [&str; 5] = ["/home/", "/root/", "/tmp/", "/Users/", "/work/"];
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for folder in FOLDERS {
            let starts_a_path = |at: usize| {
                // `src/work/` and `example.com/home/` are no paths from a root.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found() {
        assert_eq!(machine_paths("a\nread(\"/home/ada/key\")"), [(2, "/home/")]);
        assert_eq!(
            machine_paths("cd /tmp/x && ls /root/y"),
            [(1, "/root/"), (1, "/tmp/")]
        );
    }

    #[test]
    fn a_path_of_the_repository_or_of_a_url_is_not() {
        assert_eq!(
            machine_paths("src/work/a.rs https://example.com/home/ $HOME/tmp/a ../tmp/b"),
            []
        );
    }
}
