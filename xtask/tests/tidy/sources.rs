//! Rules about source code. Most of them require that something is absent.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::visit::{self, Visit};

use super::Finding;
use super::source::{SourceFile, is_test_only, line};
use super::workspace::{Member, Workspace};

/// I/O and HTTP, which payments-model must not name. `std::net::IpAddr` is data, so it is allowed.
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

/// The parts of `std::io` that code needs to write JSON into memory.
const WRITES_INTO_MEMORY: &[&str] =
    &["std::io", "std::io::self", "std::io::Result", "std::io::Write", "io::Result", "io::Write"];

/// Paths that would tie payments-core to one HTTP stack or runtime, or let it do I/O.
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

/// The blocking client sleeps between two attempts of a lookup, and an `io::Error` may contain another error.
const ALLOWED_IN_CORE: &[&str] = &["std::io::Error", "std::thread::sleep"];

/// Types that make a `static` shared state between two clients in one process.
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

/// Files that may have global state, each with its reason.
const MAY_HAVE_GLOBAL_STATE: &[(&str, &str)] = &[
    (
        "crates/payments-conformance/src/contract.rs",
        "all threads share the process's memory, so a contract that measures it runs alone",
    ),
    (
        "crates/payments-journal/src/sqlite_store/owners.rs",
        "SQLite's table of locks belongs to the process, so a forked one must know that its parent had a store open",
    ),
    (
        "crates/payments-ureq/src/attempt.rs",
        "ureq passes no data from a call to its connection, so a connection finds its call through the thread",
    ),
];

/// Readers open `lib.rs` first: it has an essay, the list of modules and the re-exports.
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
    let why = "payments-model does no I/O and names no HTTP type";
    Ok(names(workspace.member("payments-model")?, IO, WRITES_INTO_MEMORY, why))
}

/// payments-core names no HTTP stack and no runtime, and opens no socket.
pub(super) fn core_names_no_runtime(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let why = "payments-core does no I/O and has no runtime";
    Ok(names(workspace.member("payments-core")?, RUNTIME, ALLOWED_IN_CORE, why))
}

/// Two clients in one process share only what their owner passes to both.
pub(super) fn no_global_state(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let files = workspace.products().flat_map(Member::product_sources);
    let files = files.filter(|file| MAY_HAVE_GLOBAL_STATE.iter().all(|(path, _)| *path != file.path));
    Ok(files.flat_map(global_state).collect())
}

fn at(file: &SourceFile, line: usize) -> String {
    format!("{}:{line}", file.path)
}

fn not_an_essay(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !file.text.starts_with("//!") {
        findings.push(Finding::new(
            &file.path,
            "has no documentation at the top: begin with `//!`, and say what the crate is and what it does not do",
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
                    "lib.rs only lists modules and re-exports: move this item into a module",
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

/// The paths that start with a forbidden path, without those that are allowed in full.
fn forbidden_names(file: &SourceFile, forbidden: &[&str], allowed: &[&str], why: &str) -> Vec<Finding> {
    let paths = file.production_paths();
    // A single word may be a variable or a field, and code uses a crate only through a longer path.
    let paths = paths.iter().filter(|path| path.segments.len() > 1);
    let paths = paths.filter(|path| forbidden.iter().any(|name| path.starts_with(name)));
    let paths = paths.filter(|path| !allowed.contains(&path.to_string().as_str()));
    paths
        .map(|path| Finding::new(at(file, path.line), format!("names {path}, and {why}: remove it")))
        .collect()
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
        let advice =
            "global state: no crate shares state across a process, so keep it in a value that its user owns";
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

    #[test]
    fn a_library_may_have_an_essay_modules_and_exports() {
        let text = "//! What it is.\n#![deny(x)]\nmod a;\npub mod b { pub use crate::a::C; }\npub use a::A;\n\
                    #[cfg(doctest)]\n#[doc = \"\"]\nmod readme {}\n";
        assert_eq!(not_an_essay(&file(text)), []);
    }

    #[test]
    fn a_library_with_code_or_without_an_essay_is_found() {
        assert_eq!(not_an_essay(&file("mod a;")).len(), 1);
        let findings = not_an_essay(&file("//! It.\n\nmod a;\npub struct B;\nmod c { fn d() {} }"));
        let places: Vec<_> = findings.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["crates/a/src/lib.rs:4", "crates/a/src/lib.rs:5"]);
    }

    #[test]
    fn io_is_found_and_an_address_is_not() {
        let found = |text: &str| forbidden_names(&file(text), IO, &[], "why").len();
        assert_eq!(found("use std::net::{IpAddr, Ipv4Addr}; fn f(http: u8) -> u8 { http }"), 0);
        assert_eq!(found("use std::net::{IpAddr, TcpStream};"), 1);
        assert_eq!(found("fn f() -> std::io::Result<()> { Ok(()) }"), 1);
        assert_eq!(found("use http::Request;"), 1);
        assert_eq!(found("/// Not an http::Request.\nfn f() {}"), 0);
    }

    #[test]
    fn writing_into_memory_is_not_io() {
        let found = |text: &str| forbidden_names(&file(text), IO, WRITES_INTO_MEMORY, "why").len();
        assert_eq!(
            found("use std::io; impl io::Write for A { fn flush(&mut self) -> io::Result<()> {} }"),
            0
        );
        assert_eq!(found("use std::io::{self, Write};"), 0);
        assert_eq!(found("use std::io; fn f() { io::stdout() }"), 1);
        assert_eq!(found("use std::io::{Read, stderr};"), 2);
    }

    #[test]
    fn a_runtime_is_found_only_outside_tests() {
        let found = |text: &str| forbidden_names(&file(text), RUNTIME, &[], "why").len();
        assert_eq!(found("#[cfg(test)] mod tests { use tokio::time; }"), 0);
        assert_eq!(found("async fn f() { tokio::time::sleep(d).await; }"), 1);
        assert_eq!(found("fn f() { select! { _ = hyper::rt::x() => {} } }"), 1);
    }

    #[test]
    fn shared_state_is_found_and_a_table_is_not() {
        let found = |text: &str| global_state(&file(text)).len();
        assert_eq!(found("static NAMES: &[&str] = &[]; const ONE: u8 = 1;"), 0);
        assert_eq!(found("static COUNT: AtomicUsize = AtomicUsize::new(0);"), 1);
        assert_eq!(found("static mut COUNT: usize = 0;"), 1);
        assert_eq!(found("fn f() { static ONCE: std::sync::OnceLock<u8> = std::sync::OnceLock::new(); }"), 1);
        assert_eq!(found("thread_local! { static X: u8 = 1; }"), 1);
        assert_eq!(found("#[cfg(test)] mod tests { static COUNT: AtomicUsize = AtomicUsize::new(0); }"), 0);
    }
}
