//! The workspace: its members, and the files that git lists.

use std::path::{Path, PathBuf};
use std::process::Command;

use xshell::Shell;
use xtask::{Metadata, Package};

/// Everything that a rule may check.
pub(super) struct Workspace {
    pub(super) root: PathBuf,
    pub(super) members: Vec<Package>,
    /// The paths, from the root, of all files that are committed or that `git add --all` would add.
    pub(super) files: Vec<String>,
}

impl Workspace {
    pub(super) fn load() -> Self {
        let Metadata { workspace_root: root, packages: members, .. } =
            Metadata::read(&Shell::new().unwrap()).unwrap();
        // Without `-z`, git puts some paths in quotation marks.
        let files = print("git", "ls-files -z --cached --others --exclude-standard --deduplicate");
        // Git lists a deleted file until the deletion is staged.
        let files = files.split('\0').filter(|path| root.join(path).is_file()).map(str::to_owned).collect();
        Self { root, members, files }
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path))
            .unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
    }

    /// The members that users get, unlike `tests` and `xtask`.
    pub(super) fn products(&self) -> impl Iterator<Item = &Package> {
        self.members.iter().filter(|member| is_product(member))
    }

    /// The paths of the member's sources that users compile: `src` without the files that contain only tests.
    pub(super) fn product_sources(&self, member: &Package) -> Vec<&str> {
        let prefix = format!("{}/src/", member.folder);
        let sources = self.files.iter().filter(|path| path.starts_with(&prefix) && has_extension(path, "rs"));
        sources.map(String::as_str).filter(|path| !is_test(&path[prefix.len()..])).collect()
    }
}

pub(super) fn is_product(member: &Package) -> bool {
    member.folder.starts_with("crates/")
}

pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// What a program prints in the root of the workspace.
pub(super) fn print(program: &str, arguments: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let output = Command::new(program).args(arguments.split(' ')).current_dir(root).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of a text that satisfy the condition, counted from one.
pub(super) fn lines_with(text: &str, condition: impl Fn(&str) -> bool) -> Vec<usize> {
    text.lines().zip(1..).filter(|(line, _)| condition(line)).map(|(_, number)| number).collect()
}

/// Whether a path in `src` contains only tests.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| ["tests", "tests.rs"].contains(&part))
}

#[test]
fn only_a_module_called_tests_is_no_product() {
    for (path, expected) in [
        ("a/tests.rs", true),
        ("tests.rs", true),
        ("tests/b.rs", true),
        ("contract_tests.rs", false),
        ("a/tests_of_b.rs", false),
    ] {
        assert_eq!(is_test(path), expected, "{path}");
    }
}
