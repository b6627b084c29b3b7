//! Rules about documents: they exist, their links, tests and commands exist, and every decision has a test.

use std::collections::BTreeSet;
use std::fs;

use super::workspace::{Workspace, has_extension, lines_with};

const INVARIANT: &str = "**Architecture Invariant:**";

pub(super) fn documents_exist(workspace: &Workspace) -> Vec<String> {
    let documents = "README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs/decisions.md LICENSE-MIT \
                     LICENSE-APACHE";
    let missing = documents.split(' ').filter(|path| !workspace.files.iter().any(|file| file == path));
    missing.map(|path| format!("{path}: this document is missing: write it")).collect()
}

/// An example that is never compiled soon stops working. One that is too wide for a page is not read.
pub(super) fn examples_of_documents_are_compiled(workspace: &Workspace) -> Vec<String> {
    let compiled = workspace.read("tests/lib.rs");
    let is_for_users = |path: &&String| match path.rsplit_once('/') {
        Some(("docs", name)) => has_extension(name, "md"),
        Some((folder, name)) => folder.starts_with("crates/") && name == "README.md",
        None => *path == "README.md",
    };
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(is_for_users) {
        let text = workspace.read(path);
        let mut examples = text.split("\n```rust").skip(1).map(|rest| rest.split("\n```").next().unwrap());
        let is_wide = |line: &str| line.chars().count() > WIDEST_LINE;
        if let Some(line) = examples.clone().flat_map(str::lines).find(|line| is_wide(line)) {
            findings.push(format!("{path}: break this line after at most {WIDEST_LINE} characters: {line}"));
        }
        if examples.next().is_some() && !compiled.contains(&format!("include_str!(\"../{path}\")")) {
            findings.push(format!("{path}: its examples are not compiled: include it in tests/lib.rs"));
        }
    }
    findings
}

const WIDEST_LINE: usize = 100;

/// A pattern that matches no file leaves out code that was moved, and nobody notices.
pub(super) fn mutated_files_exist(workspace: &Workspace) -> Vec<String> {
    let listed = workspace.read(".cargo/mutants.toml");
    let patterns = listed.split('"').filter(|text| text.starts_with("crates/"));
    let matches = |pattern: &str, path: &str| match pattern.split_once('*') {
        Some((folder, end)) => {
            path.strip_prefix(folder).is_some_and(|name| name.ends_with(end) && !name.contains('/'))
        }
        None => path == pattern,
    };
    let lost = patterns.filter(|pattern| !workspace.files.iter().any(|path| matches(pattern, path)));
    lost.map(|pattern| format!(".cargo/mutants.toml: {pattern} matches no file: name where its code is"))
        .collect()
}

/// The README names the command that CI runs.
pub(super) fn one_command_tests_everything(workspace: &Workspace) -> Vec<String> {
    let command = "cargo xtask test";
    let silent = ["README.md", ".ci/run"].into_iter().filter(|path| !workspace.read(path).contains(command));
    silent.map(|path| format!("{path}: does not name `{command}`, which checks everything: add it")).collect()
}

/// Every link in a document points to an existing file or folder, and to a heading of it.
pub(super) fn links_lead_somewhere(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| has_extension(path, "md")) {
        let file = workspace.root.join(path);
        let is_broken = |target: &str| {
            let (name, anchor) = target.split_once('#').unwrap_or((target, ""));
            // A chapter of rustdoc has several files.
            let anchor = if name.is_empty() && path.contains("/docs/") { "" } else { anchor };
            let target = if name.is_empty() { file.clone() } else { file.parent().unwrap().join(name) };
            let has_heading = |text: String| text.lines().any(|line| is_heading(line, anchor));
            !target.exists() || !anchor.is_empty() && !fs::read_to_string(target).is_ok_and(has_heading)
        };
        let broken = lines_with(&workspace.read(path), |line| local_links(line).any(is_broken));
        findings.extend(broken.iter().map(|number| format!("{path}:{number}: a link has no target: fix it")));
    }
    findings
}

/// Whether this line is the heading that GitHub gives this anchor.
fn is_heading(line: &str, anchor: &str) -> bool {
    let words = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    line.starts_with('#')
        && words.chars().filter(|it| it.is_alphanumeric() || "-_".contains(*it)).eq(anchor.chars())
}

/// The targets of Markdown links within the repository.
fn local_links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.is_empty() && !target.contains(':'))
}

/// A newcomer does not find a member that the code map leaves out. A folder with a slash at its end stands for the members in it.
pub(super) fn code_map_names_every_member(workspace: &Workspace) -> Vec<String> {
    let map = workspace.read("ARCHITECTURE.md");
    let is_named = |folder: &str| {
        let around = folder.rsplit_once('/').map_or("", |(around, _)| around);
        [format!("`{folder}`"), format!("`{folder}/"), format!("`{around}/`")]
            .iter()
            .any(|it| map.contains(it))
    };
    let missing = workspace.members.iter().filter(|member| !is_named(&member.folder));
    missing.map(|member| format!("ARCHITECTURE.md: the code map does not name {}", member.folder)).collect()
}

/// Every invariant names the tool or test that checks it.
pub(super) fn invariants_name_their_tests(workspace: &Workspace) -> Vec<String> {
    let rules = workspace.read("xtask/tests/tidy/main.rs");
    let tests = functions(workspace);
    let is_check = |name: &str| match name.split_once("::") {
        Some(("tidy", rule)) => rules.contains(&format!("::{rule},\n")),
        Some((_, test)) => tests.iter().any(|(_, _, name)| name == test),
        None => workspace.files.iter().any(|path| path == name),
    };
    unchecked_invariants(&workspace.read("ARCHITECTURE.md"), is_check)
}

/// The invariants that do not end in ``(checked by `a`, `b`)`` with known names.
fn unchecked_invariants(text: &str, is_check: impl Fn(&str) -> bool) -> Vec<String> {
    let invariants: Vec<_> =
        text.split("\n\n").filter(|paragraph| paragraph.starts_with(INVARIANT)).collect();
    let is_unchecked = |invariant: &&&str| {
        let text = invariant.trim_end().replace('\n', " ");
        let names = text.strip_suffix(").").and_then(|text| text.rsplit_once("(checked by "));
        let names: Vec<_> = names.map_or("", |(_, names)| names).split('`').skip(1).step_by(2).collect();
        names.is_empty() || !names.into_iter().all(&is_check)
    };
    let unchecked = invariants.iter().filter(is_unchecked).map(|invariant| {
        format!("ARCHITECTURE.md: end this with the test or file that checks it, (checked by `tidy::name`): {invariant}")
    });
    let none =
        invariants.is_empty().then(|| format!("ARCHITECTURE.md: no paragraph begins with {INVARIANT}"));
    unchecked.chain(none).collect()
}

/// Every numbered decision has a test whose name ends in its number, such as `html_200_is_unknown_d08`, and every number at
/// the end of a test's name is a decision's.
pub(super) fn decisions_have_tests(workspace: &Workspace) -> Vec<String> {
    let decisions = workspace.read("docs/decisions.md");
    let rows = decisions.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let listed: BTreeSet<u8> = rows.filter_map(|(number, _)| number.parse().ok()).collect();
    let (mut tested, mut findings) = (BTreeSet::new(), Vec::new());
    for (path, line, name) in functions(workspace) {
        for number in numbers(&name) {
            tested.insert(number);
            if !listed.contains(&number) {
                findings.push(format!(
                    "{path}:{line}: there is no decision {number}: fix the test's name, or add it"
                ));
            }
        }
    }
    let untested = listed.difference(&tested);
    let write = "write one whose name ends in its number";
    findings
        .extend(untested.map(|number| format!("docs/decisions.md: decision {number} has no test: {write}")));
    if listed.is_empty() {
        findings.push(
            "docs/decisions.md: no decision was found: write each as a table row `| 8 | ...`".to_owned(),
        );
    }
    findings
}

/// The decision numbers at the end of a test's name.
fn numbers(name: &str) -> Vec<u8> {
    let number = |word: &str| word.strip_prefix('d').filter(|digits| digits.len() == 2)?.parse().ok();
    name.rsplit('_').map_while(number).collect()
}

/// Every function whose attributes make it a test, and in `tests/` every function, with its path and line: a behaviour is a
/// plain function there, and a macro makes it a test of each transport.
fn functions(workspace: &Workspace) -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for path in workspace.files.iter().filter(|path| has_extension(path, "rs")) {
        let counts_all = path.strip_prefix("tests/").is_some_and(|name| !name.contains("/src/"));
        found.extend(tests(&workspace.read(path), counts_all).map(|(line, name)| (path.clone(), line, name)));
    }
    found
}

fn tests(text: &str, counts_all: bool) -> impl Iterator<Item = (usize, String)> {
    let mut is_test = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let line = line.trim();
        is_test |= line.starts_with("#[") && line.split(['[', ']', '(']).any(|word| word.ends_with("test"));
        let (before, after) = line.split_once("fn ")?;
        let is_declaration = before
            .split(' ')
            .all(|word| ["", "pub", "pub(crate)", "async"].contains(&word) || word.starts_with("#["));
        let counts = is_declaration && (std::mem::take(&mut is_test) || counts_all);
        let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        counts.then(|| (number, name.to_owned()))
    })
}

#[test]
fn readme_lists_what_the_interface_does_not_offer_d42() {
    let readme = Workspace::load().read("README.md");
    let (_, chapter) = readme.split_once("does not offer\n").unwrap();
    let chapter = chapter.split("\n## ").next().unwrap().replace('\n', " ");
    for word in ["capture", "refund", "token creation", "list", "webhooks"] {
        assert!(chapter.contains(word), "{word}");
    }
}

#[test]
fn an_invariant_without_a_check_is_found() {
    let found =
        |text: &str| unchecked_invariants(&format!("{INVARIANT} {text}"), |name| name == "tidy::known").len();
    assert_eq!(found("x\nis absent (checked by `tidy::known`,\n`tidy::known`).\n\nOther."), 0);
    for text in ["x.", "x (checked by `tidy::gone`).", "x (checked by `tidy::known`) and y."] {
        assert_eq!(found(text), 1, "{text}");
    }
    assert_eq!(unchecked_invariants("None at all.", |_| true).len(), 1);
}

#[test]
fn only_links_within_the_repository_are_checked() {
    let line = "[a](src/a.rs) [b](https://example.com/b) [c](#c) [d](docs/d.md#part)";
    assert_eq!(local_links(line).collect::<Vec<_>>(), ["src/a.rs", "#c", "docs/d.md#part"]);
    assert!(is_heading("## After `Unknown`", "after-unknown"));
    assert!(!is_heading("After `Unknown`", "after-unknown") && !is_heading("## After", "after-unknown"));
}

#[test]
fn tests_are_found_and_a_name_ends_with_its_decisions() {
    let text = "#[cfg(test)]\nmod a {\nfn helper() {}\n#[test]\nfn a() {}\n#[tokio::test(flavor = \"x\")]\n\
                async fn b() {}\n#[inline]\nfn c() {}\n// a fn of\n#[test] fn d() {}\n";
    let names = |all| tests(text, all).map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(names(false), ["a", "b", "d"]);
    assert_eq!(names(true), ["helper", "a", "b", "c", "d"]);
    assert_eq!(numbers("html_200_is_unknown_d08"), [8]);
    assert_eq!(numbers("only_100_is_success_d05_d07"), [7, 5]);
    assert_eq!(numbers("card08_is_d100_and_d8_or_dd"), [0; 0]);
}
