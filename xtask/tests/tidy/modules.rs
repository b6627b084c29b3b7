//! Rules about the source files of the crates: what each knows, and what must not be in it.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::workspace::{Workspace, lines_with};

/// The most files of one crate that may use each other in a circle.
const LARGEST_CIRCLE: usize = 3;

/// Files that may have global state, each with its reason.
const MAY_HAVE_GLOBAL_STATE: &[(&str, &str)] = &[
    ("crates/payments-cli/src/stderr.rs", "a process has one stderr, and only one thread may write there"),
    (
        "crates/payments-conformance/src/contract.rs",
        "all threads share the process's memory, so a contract that measures it runs alone",
    ),
    (
        "crates/payments-core/src/transport/system_sleep.rs",
        "all sleeps of a process share one thread, and a forked process must know that it has not its parent's",
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

/// A module knows only what is below it, so that you can read the lower one alone.
pub(super) fn circles_of_modules_are_small(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for member in workspace.products() {
        let sources = workspace.product_sources(member).into_iter().map(|path| {
            let name = path.split_once("/src/").unwrap().1;
            (name, workspace.read(path))
        });
        for circle in circles(sources).into_iter().filter(|circle| circle.len() > LARGEST_CIRCLE) {
            let (count, files) = (circle.len(), circle.into_iter().collect::<Vec<_>>().join(", "));
            findings.push(format!(
                "{}: {count} files use each other in a circle, and at most {LARGEST_CIRCLE} may: move what they share below \
                 them: {files}",
                member.folder
            ));
        }
    }
    findings
}

/// The largest sets of files that all use each other, directly or through others.
fn circles<'a>(sources: impl Iterator<Item = (&'a str, String)>) -> BTreeSet<BTreeSet<String>> {
    let (mut files, mut uses) = (BTreeMap::new(), Vec::new());
    for (path, text) in sources {
        let module = path.trim_end_matches(".rs").trim_end_matches("mod").trim_end_matches('/');
        let module = if ["lib", "main"].contains(&module) { "" } else { module };
        let module: Vec<_> = module.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        files.insert(module.clone(), path.to_owned());
        uses.extend(Uses::of(module, path, &text).items);
    }
    // A re-export is a name for something in another file, so a module that uses it uses that file.
    let names: BTreeMap<_, _> = uses.iter().map(|item| (item.name.clone(), item.path.clone())).collect();
    let resolve = |path: &[String]| {
        let mut path = path.to_owned();
        for _ in 0..8 {
            let known = (1..=path.len()).find_map(|length| Some((length, names.get(&path[..length])?)));
            let Some((length, target)) = known else { break };
            path = [target, &path[length..]].concat();
        }
        (0..=path.len()).rev().find_map(|length| files.get(&path[..length]).cloned())
    };
    let mut reached: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in uses.iter().filter(|item| !item.is_re_export) {
        if let (Some(from), Some(to)) = (files.get(&item.module), resolve(&item.path)) {
            reached.entry(from.clone()).or_default().insert(to);
        }
    }
    for middle in files.values() {
        let beyond = reached.get(middle).cloned().unwrap_or_default();
        for from in reached.values_mut().filter(|from| from.contains(middle)) {
            from.extend(beyond.iter().cloned());
        }
    }
    let is_mutual = |a: &String, b: &String| {
        reached[a].contains(b) && reached.get(b).is_some_and(|from| from.contains(a))
    };
    let circle = |a: &String| reached[a].iter().filter(|b| is_mutual(a, b)).cloned().collect::<BTreeSet<_>>();
    reached.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

/// The `use` items and paths of one file, without its tests.
struct Uses {
    module: Vec<String>,
    items: Vec<Use>,
    /// The other paths in the code.
    paths: Vec<Vec<String>>,
}

struct Use {
    module: Vec<String>,
    /// The path that the module gives to what it uses.
    name: Vec<String>,
    /// The path from the root of the crate.
    path: Vec<String>,
    is_re_export: bool,
}

impl Uses {
    fn of(module: Vec<String>, path: &str, text: &str) -> Self {
        let mut found = Self { module, items: Vec::new(), paths: Vec::new() };
        found.visit_file(&syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}")));
        found
    }

    fn add_tree(&mut self, tree: &syn::UseTree, mut path: Vec<String>, is_re_export: bool) {
        match tree {
            syn::UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.add_tree(&part.tree, path, is_re_export);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_tree(tree, path.clone(), is_re_export));
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = path.last().cloned().unwrap_or_default();
                self.add(&path, last, is_re_export);
            }
            syn::UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.add(&path, name.ident.to_string(), is_re_export);
            }
            syn::UseTree::Rename(rename) => {
                path.push(rename.ident.to_string());
                self.add(&path, rename.rename.to_string(), is_re_export);
            }
            syn::UseTree::Glob(_) => self.add(&path, "*".to_owned(), is_re_export),
        }
    }

    fn add(&mut self, path: &[String], name: String, is_re_export: bool) {
        let mut target = self.module.clone();
        for part in path {
            match part.as_str() {
                "crate" => target.clear(),
                "super" => drop(target.pop()),
                "self" => {}
                part => target.push(part.to_owned()),
            }
        }
        let name = [&self.module[..], &[name]].concat();
        if name != target {
            self.items.push(Use { module: self.module.clone(), name, path: target, is_re_export });
        }
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_re_export = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_tree(&item.tree, Vec::new(), is_re_export);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let path_segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // Without more it is the path in `pub(crate)`.
        if path_segments.len() > 1 && ["crate", "super"].contains(&path_segments[0].as_str()) {
            self.add(&path_segments, String::new(), false);
        }
        self.paths.push(path_segments);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }
}

/// payments-model never does I/O. Its dependencies have no HTTP type that it could name.
pub(super) fn model_names_no_io(workspace: &Workspace) -> Vec<String> {
    no_io(workspace, "payments-model", &[])
}

/// payments-core does no I/O, and its dependencies have no runtime. Its blocking client sleeps between two attempts of a lookup, and
/// its clock has a thread in each process, which it tells from a forked one by a file in `/proc`.
pub(super) fn core_names_no_runtime(workspace: &Workspace) -> Vec<String> {
    let allowed = ["std::fs::read", "std::process::id", "std::thread::Builder", "std::thread::sleep"];
    no_io(workspace, "payments-core", &allowed)
}

fn no_io(workspace: &Workspace, name: &str, allowed: &[&str]) -> Vec<String> {
    let member = workspace.products().find(|member| member.name == name).unwrap();
    let mut findings = Vec::new();
    for path in workspace.product_sources(member) {
        let found = io(path, &workspace.read(path)).into_iter().filter(|io| !allowed.contains(&io.as_str()));
        findings.extend(found.map(|io| format!("{path}: names {io}, and {name} does no I/O: remove it")));
    }
    findings
}

/// The paths that do I/O or need a thread. `std::net::IpAddr` is data, and `std::io::Write` may write into memory.
fn io(path: &str, text: &str) -> Vec<String> {
    const MODULES: [&str; 5] = ["env", "fs", "os", "process", "thread"];
    const ITEMS: [&str; 7] =
        ["TcpListener", "TcpStream", "ToSocketAddrs", "UdpSocket", "stderr", "stdin", "stdout"];
    let found = Uses::of(Vec::new(), path, text);
    let paths = found.items.into_iter().map(|item| item.path).chain(found.paths);
    let is_io = |path: &Vec<String>| match path.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => {
            let words = [first].into_iter().filter(|first| *first != "std").chain(rest);
            let mut words = words.map(String::as_str);
            let is_in_std =
                ["std", "io", "net"].contains(&first.as_str()) || MODULES.contains(&first.as_str());
            is_in_std && words.any(|word| MODULES.contains(&word) || ITEMS.contains(&word))
        }
        _ => false,
    };
    paths.filter(is_io).map(|path| path.join("::")).collect()
}

/// Readers open `lib.rs` first: it has an essay, the list of modules and the re-exports.
pub(super) fn libraries_open_with_an_essay_and_hold_no_code(workspace: &Workspace) -> Vec<String> {
    let libraries = workspace.products().filter(|member| member.has_library());
    let paths = libraries.map(|member| format!("{}/src/lib.rs", member.folder));
    let wrong = paths.filter(|path| !is_essay(&workspace.read(path)));
    let advice = "begin with `//!`, then only list modules and re-exports: move other items into a module";
    wrong.map(|path| format!("{path}: {advice}")).collect()
}

fn is_essay(text: &str) -> bool {
    fn is_list(items: &[syn::Item]) -> bool {
        items.iter().all(|item| match item {
            syn::Item::Use(_) => true,
            syn::Item::Mod(module) => {
                module.ident == "tests" || module.content.iter().all(|(_, items)| is_list(items))
            }
            _ => false,
        })
    }
    text.starts_with("//!") && is_list(&syn::parse_file(text).unwrap().items)
}

/// Two clients in one process share only what their owner passes to both.
pub(super) fn no_global_state(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for path in workspace.products().flat_map(|member| workspace.product_sources(member)) {
        if MAY_HAVE_GLOBAL_STATE.iter().all(|(file, _)| *file != path) {
            let text = workspace.read(path);
            let lines = lines_with(text.split("#[cfg(test)]\nmod ").next().unwrap(), is_global_state);
            findings.extend(
                lines.iter().map(|line| format!("{path}:{line}: global state: keep it in a value instead")),
            );
        }
    }
    findings
}

fn is_global_state(line: &str) -> bool {
    const SHARED: [&str; 7] = ["Atomic", "Cell<", "LazyLock<", "LocalKey<", "Mutex<", "OnceLock<", "RwLock<"];
    let line = line.trim_start();
    let is_static = line.split(' ').take(2).any(|word| word == "static");
    line.starts_with("thread_local!")
        || is_static && (line.contains("static mut ") || SHARED.iter().any(|word| line.contains(word)))
}

#[test]
fn a_circle_is_found_through_other_files_and_re_exports() {
    let found = |files: &[(&'static str, &str)]| {
        circles(files.iter().map(|(path, text)| (*path, (*text).to_owned())))
            .into_iter()
            .map(|circle| circle.len())
            .collect::<Vec<_>>()
    };
    let line = [
        ("lib.rs", "pub use a::A;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", ""),
    ];
    assert_eq!(found(&line), [0; 0]);
    let [lib, a, b, _] = line;
    assert_eq!(found(&[lib, a, b, ("c.rs", "use crate::{x::Y, A as B};")]), [3]);
    assert_eq!(found(&[lib, a, b, ("c.rs", "#[cfg(test)] mod tests { use crate::A; }")]), [0; 0]);
    assert_eq!(found(&[("a/mod.rs", "use b::B;"), ("a/b.rs", "use super::C;")]), [2]);
    assert_eq!(found(&[("a/mod.rs", "pub(crate) use b::B;"), ("a/b.rs", "use super::C;")]), [0; 0]);
}

#[test]
fn io_is_found_only_outside_tests() {
    let found = |text: &str| io("a.rs", text).len();
    assert_eq!(found("use std::{fs, net::{IpAddr, TcpStream}};"), 2);
    assert_eq!(found("fn f() { std::env::var(a); io::stdout(); thread::spawn(f); }"), 3);
    assert_eq!(
        found(
            "use std::net::IpAddr; use std::io::{self, Write}; fn f(thread: u8) -> io::Result<u8> { thread }"
        ),
        0
    );
    assert_eq!(found("/// Not std::fs.\nfn f() {}\n#[cfg(test)] mod tests { use std::fs; }"), 0);
}

#[test]
fn a_library_has_an_essay_modules_and_exports() {
    assert!(is_essay(
        "//! It.\nmod a;\npub mod b { pub use crate::a::C; }\npub use a::A;\n#[cfg(doctest)]\nmod c {}\n"
    ));
    for text in ["mod a;", "//! It.\nmod a;\npub struct B;", "//! It.\nmod c { fn d() {} }"] {
        assert!(!is_essay(text), "{text}");
    }
}

#[test]
fn shared_state_is_found_and_a_table_is_not() {
    for line in
        ["static A: AtomicUsize = AtomicUsize::new(0);", "    pub static mut A: u8 = 0;", "thread_local! {"]
    {
        assert!(is_global_state(line), "{line}");
    }
    assert!(is_global_state("static A: std::sync::OnceLock<u8> = OnceLock::new();"));
    assert!(
        !is_global_state("static NAMES: &[&str] = &[];") && !is_global_state("fn f(a: &'static Mutex<u8>) {")
    );
}
