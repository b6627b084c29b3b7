//! Rules about what source code may say: most of them are about what is deliberately absent.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::visit::{self, Visit};

use super::Finding;
use super::source::{SourceFile, is_test_only, line};
use super::workspace::{Member, Workspace};

/// Ways out of the process that payments-model has no business with. `std::net::IpAddr` is data and stays allowed.
const IO: &[&str] = &[
    "bytes",
    "http",
    "hyper",
    "io",
    "std::env",
    "std::fs",
    "std::io",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::os",
    "std::process",
    "std::thread",
    "tokio",
];

/// What writing JSON into memory takes: the trait, and what its functions return.
const WRITES_INTO_MEMORY: &[&str] =
    &["std::io", "std::io::self", "std::io::Result", "std::io::Write", "io::Result", "io::Write"];

/// What would tie payments-core to one HTTP stack or one runtime, or let it do the sending itself.
const RUNTIME: &[&str] = &[
    "futures",
    "hyper",
    "hyper_rustls",
    "hyper_util",
    "rustls",
    "std::env",
    "std::fs",
    "std::io",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::process",
    "std::thread",
    "tokio",
    "tokio_rustls",
];

/// What the blocking client pauses with between two attempts of a lookup.
const PAUSE: &[&str] = &["std::thread::sleep"];

/// Types that make a `static` into state that two clients of one process would share.
const SHARED_STATE: &[&str] = &[
    "Atomic",
    "Cell",
    "LazyCell",
    "LazyLock",
    "LocalKey",
    "Mutex",
    "OnceCell",
    "OnceLock",
    "RefCell",
    "RwLock",
    "UnsafeCell",
];

/// Files that may hold global state, each with its reason.
const MAY_HOLD_GLOBAL_STATE: &[(&str, &str)] = &[
    (
        "crates/payments-conformance/src/contract.rs",
        "the memory of a process is one, so contracts that measure it are checked alone",
    ),
    (
        "crates/payments-ureq/src/attempt.rs",
        "ureq passes nothing of its caller's to a connection, which finds its call by the thread while the call lasts",
    ),
];

/// `lib.rs` is what a reader opens first: an essay, the list of modules and the re-exports.
pub(super) fn libraries_open_with_an_essay_and_hold_no_code(
    workspace: &Workspace,
) -> anyhow::Result<Vec<Finding>> {
    let libraries = workspace.products().filter(|member| member.has_library).flat_map(|member| {
        let path = format!("{}/src/lib.rs", member.folder);
        member.sources.iter().filter(move |file| file.path == path)
    });
    Ok(libraries.flat_map(not_an_essay).collect())
}

/// payments-model never does I/O and names no HTTP type.
pub(super) fn model_names_no_io(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let why = "payments-model does no I/O and knows no HTTP";
    Ok(names(workspace.member("payments-model")?, IO, WRITES_INTO_MEMORY, why))
}

/// payments-core never names an HTTP stack or a runtime, and opens no socket of its own.
pub(super) fn core_names_no_runtime(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let why = "payments-core does no I/O and has no runtime";
    Ok(names(workspace.member("payments-core")?, RUNTIME, PAUSE, why))
}

/// Two clients in one process share nothing that their owner did not hand to both.
pub(super) fn no_global_state(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let files = workspace.products().flat_map(Member::product_sources);
    let files = files.filter(|file| !listed(MAY_HOLD_GLOBAL_STATE, file));
    Ok(files.flat_map(global_state).collect())
}

fn listed(list: &[(&str, &str)], file: &SourceFile) -> bool {
    list.iter().any(|(path, _)| *path == file.path)
}

fn at(file: &SourceFile, line: usize) -> String {
    format!("{}:{line}", file.path)
}

fn not_an_essay(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !file.text.starts_with("//!") {
        findings.push(Finding::new(
            &file.path,
            "open with `//!` and say what the crate is and what it does not do",
        ));
    }
    code_in_library(&file.syntax().items, file, &mut findings);
    findings
}

fn code_in_library(items: &[syn::Item], file: &SourceFile, findings: &mut Vec<Finding>) {
    for item in items {
        match item {
            syn::Item::Use(_) | syn::Item::ExternCrate(_) => {}
            syn::Item::Mod(module) if is_test_only(&module.attrs) => {}
            syn::Item::Mod(module) => {
                let inside = module.content.as_ref().map_or(&[][..], |(_, items)| items);
                code_in_library(inside, file, findings);
            }
            other => {
                let place = at(file, first_line(other.to_token_stream()));
                findings.push(Finding::new(
                    place,
                    "move this into a module named after it; lib.rs only lists and re-exports",
                ));
            }
        }
    }
}

fn first_line(tokens: TokenStream) -> usize {
    tokens.into_iter().next().map_or(1, |token| line(token.span()))
}

fn names(member: &Member, forbidden: &[&str], allowed: &[&str], why: &str) -> Vec<Finding> {
    member.product_sources().flat_map(|file| forbidden_names(file, forbidden, allowed, why)).collect()
}

/// The paths that lead into something forbidden, but for those that are allowed as a whole.
fn forbidden_names(file: &SourceFile, forbidden: &[&str], allowed: &[&str], why: &str) -> Vec<Finding> {
    let paths = file.production_paths();
    // A single word is a variable or a field as often as a crate; a crate is of use only with something behind it.
    let paths = paths.iter().filter(|path| path.segments.len() > 1);
    let paths = paths.filter(|path| forbidden.iter().any(|name| path.starts_with(name)));
    let paths = paths.filter(|path| !allowed.contains(&path.to_string().as_str()));
    paths.map(|path| Finding::new(at(file, path.line), format!("do not name {path}: {why}"))).collect()
}

fn global_state(file: &SourceFile) -> Vec<Finding> {
    let mut statics = Statics { file, findings: Vec::new() };
    statics.visit_file(&file.production());
    statics.findings
}

struct Statics<'a> {
    file: &'a SourceFile,
    findings: Vec<Finding>,
}

impl Statics<'_> {
    fn report(&mut self, line: usize) {
        let advice = "keep this in a value that its user owns: no crate shares state across a whole process";
        self.findings.push(Finding::new(at(self.file, line), advice));
    }
}

impl<'ast> Visit<'ast> for Statics<'_> {
    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        let mut words = Vec::new();
        identifiers(item.ty.to_token_stream(), &mut words);
        let is_shared = |word: &String| SHARED_STATE.contains(&word.as_str()) || word.starts_with("Atomic");
        if matches!(item.mutability, syn::StaticMutability::Mut(_)) || words.iter().any(is_shared) {
            self.report(line(item.ident.span()));
        }
        visit::visit_item_static(self, item);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        if let Some(name) = invocation.path.segments.last()
            && name.ident == "thread_local"
        {
            self.report(line(name.ident.span()));
        }
    }
}

fn identifiers(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(word) => words.push(word.to_string()),
            proc_macro2::TokenTree::Group(group) => identifiers(group.stream(), words),
            _ => {}
        }
    }
}

mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile::new("crates/a/src/lib.rs", text.to_owned())
    }

    fn count(findings: &[Finding]) -> usize {
        findings.len()
    }

    #[test]
    fn an_essay_with_modules_and_exports_is_a_library() {
        let text = "//! What it is.\n#![deny(x)]\nmod a;\npub mod b { pub use crate::a::C; }\npub use a::A;\n\
                    #[cfg(doctest)]\n#[doc = \"\"]\nmod readme {}\n";
        assert_eq!(not_an_essay(&file(text)), []);
    }

    #[test]
    fn code_or_silence_in_a_library_is_found() {
        assert_eq!(count(&not_an_essay(&file("mod a;"))), 1);
        let findings = not_an_essay(&file("//! It.\n\nmod a;\npub struct B;\nmod c { fn d() {} }"));
        let places: Vec<_> = findings.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["crates/a/src/lib.rs:4", "crates/a/src/lib.rs:5"]);
    }

    #[test]
    fn input_and_output_are_found_and_an_address_is_not() {
        let found = |text: &str| count(&forbidden_names(&file(text), IO, &[], "why"));
        assert_eq!(found("use std::net::{IpAddr, Ipv4Addr}; fn f(http: u8) -> u8 { http }"), 0);
        assert_eq!(found("use std::net::{IpAddr, TcpStream};"), 1);
        assert_eq!(found("fn f() -> std::io::Result<()> { Ok(()) }"), 1);
        assert_eq!(found("use http::Request;"), 1);
        assert_eq!(found("/// Not an http::Request.\nfn f() {}"), 0);
    }

    #[test]
    fn a_writer_into_memory_is_no_output() {
        let found = |text: &str| count(&forbidden_names(&file(text), IO, WRITES_INTO_MEMORY, "why"));
        assert_eq!(
            found("use std::io; impl io::Write for A { fn flush(&mut self) -> io::Result<()> {} }"),
            0
        );
        assert_eq!(found("use std::io::{self, Write};"), 0);
        assert_eq!(found("use std::io; fn f() { io::stdout() }"), 1);
        assert_eq!(found("use std::io::{Read, stderr};"), 2);
    }

    #[test]
    fn a_runtime_is_found_outside_tests_only() {
        let found = |text: &str| count(&forbidden_names(&file(text), RUNTIME, &[], "why"));
        assert_eq!(found("#[cfg(test)] mod tests { use tokio::time; }"), 0);
        assert_eq!(found("async fn f() { tokio::time::sleep(d).await; }"), 1);
        assert_eq!(found("fn f() { select! { _ = hyper::rt::x() => {} } }"), 1);
    }

    #[test]
    fn shared_state_is_found_and_a_table_is_not() {
        let found = |text: &str| count(&global_state(&file(text)));
        assert_eq!(found("static NAMES: &[&str] = &[]; const ONE: u8 = 1;"), 0);
        assert_eq!(found("static COUNT: AtomicUsize = AtomicUsize::new(0);"), 1);
        assert_eq!(found("static mut COUNT: usize = 0;"), 1);
        assert_eq!(found("fn f() { static ONCE: std::sync::OnceLock<u8> = std::sync::OnceLock::new(); }"), 1);
        assert_eq!(found("thread_local! { static X: u8 = 1; }"), 1);
        assert_eq!(found("#[cfg(test)] mod tests { static COUNT: AtomicUsize = AtomicUsize::new(0); }"), 0);
    }
}
