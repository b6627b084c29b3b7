//! Rules about documents: they exist, they name the command that CI runs, and the tests that they name exist.

use std::collections::BTreeSet;

use super::Finding;
use super::decisions;
use super::workspace::{Workspace, has_extension};

const INVARIANT: &str = "**Architecture Invariant:**";

/// The command that checks everything, as the README names it.
const TEST_COMMAND: &str = "cargo xtask test";

pub(super) fn documents_exist(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "docs/decisions.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ];
    let missing = documents.into_iter().filter(|path| !workspace.files.iter().any(|file| file == path));
    Ok(missing.map(|path| Finding::new(path, "this document is missing: write it")).collect())
}

/// An example that is never compiled soon stops working.
pub(super) fn examples_of_documents_are_compiled(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let compiled = workspace.read("tests/lib.rs")?;
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| is_for_users(path)) {
        let is_compiled = compiled.contains(&format!("#[doc = include_str!(\"../{path}\")]"));
        if !is_compiled && workspace.read(path)?.contains("\n```rust") {
            findings.push(Finding::new(path, "its examples are not compiled: include it in tests/lib.rs"));
        }
    }
    Ok(findings)
}

/// Whether this is the README, a crate's README or a guide.
fn is_for_users(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match folder {
        "docs" => has_extension(name, "md"),
        _ => name == "README.md" && (folder.is_empty() || folder.starts_with("crates/")),
    }
}

/// The README names the command that CI runs.
pub(super) fn one_command_tests_everything(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in ["README.md", ".ci/run"] {
        if !workspace.read(path)?.contains(TEST_COMMAND) {
            findings.push(Finding::new(
                path,
                format!("does not name `{TEST_COMMAND}`, the command that checks everything: add it"),
            ));
        }
    }
    Ok(findings)
}

/// Every link in a document points to an existing file or folder.
pub(super) fn links_lead_somewhere(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in workspace.files.iter().filter(|path| has_extension(path, "md")) {
        let folder = workspace.root.join(path).parent().expect("a file is in a folder").to_owned();
        let text = workspace.read(path)?;
        let broken = local_links(&text).into_iter().filter(|(_, target)| !folder.join(target).exists());
        findings.extend(broken.map(|(line, target)| {
            Finding::new(format!("{path}:{line}"), format!("{target} does not exist: fix the link"))
        }));
    }
    Ok(findings)
}

/// A newcomer does not find a member that the code map leaves out.
pub(super) fn code_map_names_every_member(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let map = workspace.read("ARCHITECTURE.md")?;
    let missing = workspace
        .members
        .iter()
        .filter(|member| !map.contains(&member.name) && !map.contains(&member.folder));
    let findings = missing.map(|member| {
        Finding::new(
            "ARCHITECTURE.md",
            format!("the code map does not name {}: say what it is for", member.folder),
        )
    });
    Ok(findings.collect())
}

/// Every invariant names the test that checks it.
pub(super) fn invariants_name_their_tests(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let tests: BTreeSet<_> = workspace
        .members
        .iter()
        .flat_map(|member| &member.sources)
        .flat_map(decisions::test_functions)
        .map(|function| function.name)
        .collect();
    let main = workspace.read("xtask/tests/tidy/main.rs")?;
    let is_test = |path: &str| match path.strip_prefix("tidy::") {
        Some(rule) => main.lines().any(|line| line.trim_end_matches(',').ends_with(&format!("::{rule}"))),
        None => path.rsplit("::").next().is_some_and(|name| tests.contains(name)),
    };
    Ok(unchecked_invariants(&workspace.read("ARCHITECTURE.md")?, is_test))
}

/// The targets of Markdown links within the repository, with their lines.
fn local_links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', ' ', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains(':') {
                links.push((index + 1, target));
            }
        }
    }
    links
}

fn unchecked_invariants(text: &str, is_test: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines: Vec<_> = text.lines().collect();
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| line.starts_with(INVARIANT)) {
        let place = format!("ARCHITECTURE.md:{}", index + 1);
        let paragraph =
            lines[index..].split(|line| line.trim().is_empty()).next().unwrap_or_default().join(" ");
        let names = marker(&paragraph);
        if names.is_empty() {
            findings.push(Finding::new(
                &place,
                "name the test that checks this, at the end: (checked by `tidy::name`)",
            ));
        }
        for name in names.into_iter().filter(|name| !is_test(name)) {
            findings.push(Finding::new(
                &place,
                format!("there is no test {name}: name the test that checks this"),
            ));
        }
    }
    if !text.contains(INVARIANT) {
        findings.push(Finding::new(
            "ARCHITECTURE.md",
            format!("has no invariant: write each as a paragraph that begins with {INVARIANT}"),
        ));
    }
    findings
}

/// The names in a final ``(checked by `a`, `b`)``.
fn marker(paragraph: &str) -> Vec<&str> {
    let text = paragraph.trim_end().trim_end_matches('.');
    let Some((_, names)) = text.rsplit_once("(checked by ") else {
        return Vec::new();
    };
    let Some(names) = names.strip_suffix(')') else {
        return Vec::new();
    };
    names.split('`').skip(1).step_by(2).collect()
}

mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        unchecked_invariants(text, |name| name == "tidy::known").len()
    }

    #[test]
    fn an_invariant_with_a_known_test_passes() {
        assert_eq!(findings("**Architecture Invariant:** x is absent. (checked by `tidy::known`)"), 0);
        assert_eq!(
            findings(
                "**Architecture Invariant:** x\nis absent (checked by `tidy::known`,\n`tidy::known`).\n\nOther."
            ),
            0
        );
    }

    #[test]
    fn an_invariant_without_a_test_is_found() {
        assert_eq!(findings("**Architecture Invariant:** x is absent."), 1);
        assert_eq!(findings("**Architecture Invariant:** x is absent. (checked by `tidy::gone`)"), 1);
        assert_eq!(findings("**Architecture Invariant:** x (checked by `tidy::known`) and y."), 1);
        assert_eq!(findings("No invariants at all."), 1);
    }

    #[test]
    fn only_links_within_the_repository_are_checked() {
        let text = "[a](src/a.rs) [b](https://example.com/b)\n[c](#c) [d](docs/d.md#part) `a[i](x)`";
        assert_eq!(local_links(text), [(1, "src/a.rs"), (2, "docs/d.md"), (2, "x")]);
    }

    #[test]
    fn readme_lists_what_the_interface_does_not_offer_d42() {
        let readme = Workspace::load().and_then(|workspace| workspace.read("README.md")).unwrap();
        let (_, missing) =
            readme.split_once("does not offer").expect("the README has a chapter on what is missing");
        let missing = missing
            .split("\n## ")
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        for word in ["capture", "refund", "token creation", "list", "webhooks"] {
            assert!(missing.contains(word), "{word}");
        }
    }
}
