//! The numbered decisions of `docs/decisions.md`, and the tests whose names end in their numbers:
//! `html_200_is_unknown_d08`, `only_100_is_success_d05_d07`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;

use super::Finding;
use super::source::{SourceFile, line};
use super::workspace::Workspace;

const DECISIONS: &str = "docs/decisions.md";

/// Every numbered decision has a test with its number, and every number in a test's name is a decision's.
pub(super) fn decisions_have_tests(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let listed = listed(&workspace.read(DECISIONS)?);
    let tests: Vec<_> =
        workspace.members.iter().flat_map(|member| &member.sources).flat_map(test_functions).collect();
    let untested = listed.iter().filter(|number| !tests.iter().any(|test| test.numbers().contains(number)));
    let untested = untested.map(|number| {
        Finding::new(
            DECISIONS,
            format!("decision {number} has no test: write one whose name ends in _d{number:02}"),
        )
    });
    let unknown = tests.iter().flat_map(|test| {
        let numbers = test.numbers().into_iter().filter(|number| !listed.contains(number));
        numbers.map(move |number| {
            let advice =
                format!("there is no decision {number}: fix the test's name, or add it to {DECISIONS}");
            Finding::new(format!("{}:{}", test.path, test.line), advice)
        })
    });
    let mut findings: Vec<_> = untested.chain(unknown).collect();
    if listed.is_empty() {
        findings
            .push(Finding::new(DECISIONS, "no decision was found: write each as a table row `| 8 | ...`"));
    }
    Ok(findings)
}

/// The numbers in the first columns of the tables.
fn listed(decisions: &str) -> Vec<u8> {
    let rows = decisions.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    rows.filter_map(|(number, _)| number.parse().ok()).collect()
}

/// A test function and its location.
#[derive(Clone, Debug)]
pub(super) struct TestFunction {
    pub(super) name: String,
    path: String,
    line: usize,
}

impl TestFunction {
    /// The decision numbers at the end of the name.
    fn numbers(&self) -> Vec<u8> {
        let number = |word: &str| word.strip_prefix('d').filter(|digits| digits.len() == 2)?.parse().ok();
        self.name.rsplit('_').map_while(number).collect()
    }
}

/// The tests in a file, including those inside macros such as `proptest!`.
///
/// In the cross-crate tests every function counts: a behaviour is a plain function there, and a macro makes it a test of
/// each transport.
pub(super) fn test_functions(file: &SourceFile) -> Vec<TestFunction> {
    let counts_all = file.path.strip_prefix("tests/").is_some_and(|name| !name.contains('/'));
    let mut found = Vec::new();
    collect_tests(file.syntax().to_token_stream(), counts_all, &file.path, &mut found);
    found
}

fn collect_tests(tokens: TokenStream, counts_all: bool, path: &str, found: &mut Vec<TestFunction>) {
    let mut is_test = false;
    let mut after_fn = false;
    let mut after_hash = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) if after_hash => is_test |= names_test(&group.stream()),
            TokenTree::Group(group) => {
                collect_tests(group.stream(), counts_all, path, found);
                // An item's attributes apply up to its closing brace.
                is_test &= group.delimiter() != proc_macro2::Delimiter::Brace;
            }
            TokenTree::Ident(word) if after_fn => {
                if is_test || counts_all {
                    found.push(TestFunction {
                        name: word.to_string(),
                        path: path.to_owned(),
                        line: line(word.span()),
                    });
                }
                after_fn = false;
            }
            TokenTree::Ident(word) => after_fn = word == "fn",
            TokenTree::Punct(punct) => {
                after_hash = punct.as_char() == '#';
                is_test &= punct.as_char() != ';';
                continue;
            }
            TokenTree::Literal(_) => {}
        }
        after_hash = false;
    }
}

/// Whether an attribute is `test`, `tokio::test` or similar. `cfg(test)` is not.
fn names_test(attribute: &TokenStream) -> bool {
    let path: Vec<_> =
        attribute.clone().into_iter().take_while(|token| !matches!(token, TokenTree::Group(_))).collect();
    matches!(path.last(), Some(TokenTree::Ident(name)) if name == "test")
}

mod tests {
    use super::*;

    fn names(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile::new(path, text.to_owned());
        test_functions(&file).into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn only_rows_with_a_number_are_decisions() {
        assert_eq!(
            listed("| # | |\n|---|---|\n| 5 | M | a |\n| 12 | b |\n5 | no\n| `Unknown` | c |"),
            [5, 12]
        );
    }

    #[test]
    fn a_name_ends_with_its_decisions() {
        let numbers =
            |name: &str| TestFunction { name: name.to_owned(), path: String::new(), line: 1 }.numbers();
        assert_eq!(numbers("html_200_is_unknown_d08"), [8]);
        assert_eq!(numbers("only_100_is_success_d05_d07"), [7, 5]);
        assert_eq!(numbers("card08_is_d100_and_d8_or_dd"), [0; 0]);
        assert_eq!(numbers("d08_comes_first"), [0; 0]);
    }

    #[test]
    fn other_functions_are_not_tests() {
        let text = "#[cfg(test)] mod tests {\n fn helper() {}\n #[test] fn a() {}\n\
                    #[tokio::test(flavor = \"x\")] async fn b() {}\n #[inline] fn c() {}\n}";
        assert_eq!(names("crates/a/src/b.rs", text), ["a", "b"]);
    }

    #[test]
    fn tests_inside_macros_are_found() {
        let text =
            "proptest! { #![config(1)] #[test] fn a(x in 0..1) { body(); } #[test] #[ignore] fn b() {} }";
        assert_eq!(names("crates/a/src/b.rs", text), ["a", "b"]);
    }

    #[test]
    fn every_function_of_the_cross_crate_tests_counts() {
        let text = "pub async fn close_is_unknown_d03() {}";
        assert_eq!(names("tests/behaviour.rs", text), ["close_is_unknown_d03"]);
        assert_eq!(names("tests/canary/src/a.rs", text), [""; 0]);
    }
}
