//! A parsed Rust file: the paths that its code names, with their lines, without comments, strings and tests.

use std::cell::OnceCell;
use std::fmt;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens as _;

/// A Rust file of the workspace. It is parsed when a rule first needs it; most rules need none.
pub(super) struct SourceFile {
    /// The path from the root of the workspace.
    pub(super) path: String,
    pub(super) text: String,
    syntax: OnceCell<syn::File>,
}

impl SourceFile {
    pub(super) fn new(path: &str, text: String) -> Self {
        Self { path: path.to_owned(), text, syntax: OnceCell::new() }
    }

    pub(super) fn syntax(&self) -> &syn::File {
        self.syntax.get_or_init(|| {
            syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{} is not Rust: {error}", self.path))
        })
    }

    /// Whether the file contains only tests, according to its name: `src/amount/tests.rs`, `src/tests/amount.rs`.
    pub(super) fn is_only_tests(&self) -> bool {
        let in_source = self.path.split_once("/src/").map_or(self.path.as_str(), |(_, rest)| rest);
        in_source.split('/').any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"))
    }

    /// The file without the items under `#[cfg(test)]`.
    pub(super) fn production(&self) -> syn::File {
        let mut file = self.syntax().clone();
        remove_tests(&mut file.items);
        file
    }

    /// Every path that production code names, in order.
    pub(super) fn production_paths(&self) -> Vec<NamedPath> {
        paths(self.production().into_token_stream())
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, text, syntax: _ } = self;
        f.debug_struct("SourceFile").field("path", path).field("bytes", &text.len()).finish_non_exhaustive()
    }
}

/// A path as the source spells it; `use std::{fs, io}` names `std::fs` and `std::io`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

impl NamedPath {
    /// Whether the path equals `path` or continues it: `std::io::Error` starts with `std::io`.
    pub(super) fn starts_with(&self, path: &str) -> bool {
        let mut segments = self.segments.iter();
        path.split("::").all(|expected| segments.next().is_some_and(|segment| segment == expected))
    }
}

impl fmt::Display for NamedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.segments.join("::"))
    }
}

/// The line of a span, counted from one.
pub(super) fn line(span: Span) -> usize {
    span.start().line
}

/// Whether the attributes contain `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
pub(super) fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.to_token_stream().to_string().replace(' ', "");
        condition == "#[cfg(test)]" || condition.starts_with("#[cfg(all(test,")
    })
}

/// Every path in a stream of tokens. It reads tokens because a parser does not look inside macro calls.
fn paths(tokens: TokenStream) -> Vec<NamedPath> {
    let mut found = Vec::new();
    collect_paths(tokens, &[], &mut found);
    found
}

fn collect_paths(tokens: TokenStream, prefix: &[String], found: &mut Vec<NamedPath>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let first = match token {
            TokenTree::Group(group) => {
                // The braces of a `use` continue a path; the loop below handles those.
                collect_paths(group.stream(), prefix, found);
                continue;
            }
            TokenTree::Punct(punct) if punct.as_char() == '*' && !prefix.is_empty() => {
                let segments = [prefix, &["*".to_owned()]].concat();
                found.push(NamedPath { segments, line: line(punct.span()) });
                continue;
            }
            TokenTree::Ident(ident) => ident,
            TokenTree::Punct(_) | TokenTree::Literal(_) => continue,
        };

        let mut path =
            NamedPath { segments: [prefix, &[first.to_string()]].concat(), line: line(first.span()) };
        while tokens.next_if(is_colon).is_some() && tokens.next_if(is_colon).is_some() {
            match tokens.next_if(|token| !matches!(token, TokenTree::Punct(punct) if punct.as_char() == '<'))
            {
                Some(TokenTree::Ident(segment)) => path.segments.push(segment.to_string()),
                Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => path.segments.push("*".to_owned()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    collect_paths(group.stream(), &path.segments, found);
                    break;
                }
                _ => break,
            }
        }
        found.push(path);
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

fn remove_tests(items: &mut Vec<syn::Item>) {
    items.retain(|item| !is_test_only(attributes(item)));
    for item in items {
        match item {
            syn::Item::Mod(module) => {
                if let Some((_, items)) = &mut module.content {
                    remove_tests(items);
                }
            }
            syn::Item::Impl(block) => block.items.retain(|item| match item {
                syn::ImplItem::Fn(function) => !is_test_only(&function.attrs),
                _ => true,
            }),
            _ => {}
        }
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let file = SourceFile::new("crates/a/src/b.rs", text.to_owned());
        file.production_paths().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_use_with_braces_names_every_path_in_it() {
        let found = named("use std::{fs, io::{self, Read}};");
        for path in ["std::fs", "std::io::self", "std::io::Read"] {
            assert!(found.iter().any(|name| name == path), "{path} in {found:?}");
        }
        assert!(named("use std::io::*;").iter().any(|name| name == "std::io::*"));
    }

    #[test]
    fn a_path_inside_a_macro_is_named() {
        let found = named("fn f() { assert!(hyper::rt::yes(), \"tokio::no\"); }");
        assert!(found.iter().any(|name| name == "hyper::rt::yes"), "{found:?}");
        assert!(!found.iter().any(|name| name.contains("tokio")), "{found:?}");
    }

    #[test]
    fn comments_docs_and_tests_name_nothing() {
        let text =
            "/// See tokio::time.\n// hyper::Error\nfn f() {}\n#[cfg(test)]\nmod tests { use tokio::time; }";
        assert!(!named(text).iter().any(|name| name.contains("tokio") || name.contains("hyper")));
    }

    #[test]
    fn a_path_is_matched_by_whole_segments_and_has_its_line() {
        let file = SourceFile::new("a.rs", "\nuse std::io_like::Error;\nuse std::io;".to_owned());
        let lines: Vec<_> = file
            .production_paths()
            .iter()
            .filter(|path| path.starts_with("std::io"))
            .map(|path| path.line)
            .collect();
        assert_eq!(lines, [3]);
    }

    #[test]
    fn files_with_only_tests_are_known_by_their_names() {
        let only_tests = |path: &str| SourceFile::new(path, String::new()).is_only_tests();
        assert!(only_tests("crates/a/src/amount/tests.rs"));
        assert!(only_tests("crates/a/src/tests/amount.rs"));
        assert!(!only_tests("crates/a/src/amount.rs"));
        assert!(!only_tests("tests/src/lib.rs"));
    }
}
