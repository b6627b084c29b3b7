//! The rule about which foreign crates a user of ours can see: another crate's new version must not be our new version.
//!
//! Read from the source: on any toolchain, in no time, with the place, and also what is compiled for another operating
//! system. `unreachable_pub` is refused, so what says `pub` is public, and what a signature names is a path or comes
//! from a `use` of the same file. What a name means when it goes through an alias or a macro is known to the compiler
//! alone: `cargo xtask release check` asks that of rustdoc, with the same list.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens as _;
use syn::visit::{self, Visit};

use super::{Finding, Report};
use crate::source::{SourceFile, is_test_only, line};
use crate::workspace::Workspace;

/// Modules that promise nothing and so may show anything.
const PROMISES_NOTHING: &str = "unversioned";

/// Signatures name only the crates that the manifest's `shows` lists, outside a module `unversioned`.
pub(super) fn public_api_shows_only_allowed_crates(workspace: &Workspace) -> anyhow::Result<Report> {
    let mut findings = Vec::new();
    for member in workspace.products().filter(|member| member.has_library) {
        let Some(shown) = &member.shows else {
            let advice = "say which foreign crates it may show: [package.metadata.release] shows = []";
            findings.push(Finding::new(format!("{}/Cargo.toml", member.folder), advice));
            continue;
        };
        let hidden = member.normal_dependencies().filter(|name| !shown.iter().any(|shown| shown == name));
        let hidden: BTreeSet<_> = hidden.map(|name| name.replace('-', "_")).collect();
        let files: Vec<_> = member.product_sources().filter(|file| !promises_nothing(&file.path)).collect();
        findings.extend(shown_crates(&files, &hidden));
    }
    Ok(findings.into())
}

fn promises_nothing(path: &str) -> bool {
    path.split('/').any(|part| part.trim_end_matches(".rs") == PROMISES_NOTHING)
}

/// The places where one of the crates in `hidden` is in sight of a user.
fn shown_crates(files: &[&SourceFile], hidden: &BTreeSet<String>) -> Vec<Finding> {
    let files: Vec<_> = files.iter().map(|file| (&file.path, file.production())).collect();
    let mut public_types = PublicTypes::default();
    for (_, syntax) in &files {
        public_types.visit_file(syntax);
    }
    let mut findings = Vec::new();
    for (path, syntax) in &files {
        let mut imports = BTreeMap::new();
        for item in &syntax.items {
            match item {
                syn::Item::Use(item) => collect_imports(&item.tree, None, &mut imports),
                // In its file, a module hides the crate of the same name.
                syn::Item::Mod(item) => {
                    imports.insert(item.ident.to_string(), "self".to_owned());
                }
                _ => {}
            }
        }
        let mut exposed =
            Exposed { path, hidden, imports, public_types: &public_types.names, findings: Vec::new() };
        exposed.visit_file(syntax);
        findings.append(&mut exposed.findings);
    }
    findings
}

/// Which crate each imported name comes from.
fn collect_imports(tree: &syn::UseTree, first: Option<&syn::Ident>, imports: &mut BTreeMap<String, String>) {
    match tree {
        syn::UseTree::Path(path) => collect_imports(&path.tree, first.or(Some(&path.ident)), imports),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                collect_imports(tree, first, imports);
            }
        }
        syn::UseTree::Name(name) => {
            imports.insert(name.ident.to_string(), first.unwrap_or(&name.ident).to_string());
        }
        syn::UseTree::Rename(name) => {
            imports.insert(name.rename.to_string(), first.unwrap_or(&name.ident).to_string());
        }
        syn::UseTree::Glob(_) => {}
    }
}

/// Names of the types that a user can have in hand: only their impls are in a user's sight.
#[derive(Default)]
struct PublicTypes {
    names: BTreeSet<String>,
}

impl PublicTypes {
    fn add(&mut self, visibility: &syn::Visibility, name: &syn::Ident) {
        if is_public(visibility) {
            self.names.insert(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for PublicTypes {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.vis, &item.ident);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.add(&item.vis, &item.ident);
    }
}

/// Walks signatures and never bodies, and reports every path that leads into a hidden crate.
struct Exposed<'a> {
    path: &'a str,
    hidden: &'a BTreeSet<String>,
    imports: BTreeMap<String, String>,
    public_types: &'a BTreeSet<String>,
    findings: Vec<Finding>,
}

impl Exposed<'_> {
    fn report(&mut self, name: &str, at: proc_macro2::Span) {
        let advice = format!("hide {name} from users: its next version must not become ours");
        self.findings.push(Finding::new(format!("{}:{}", self.path, line(at)), advice));
    }
}

impl<'ast> Visit<'ast> for Exposed<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first() {
            let first_name = first.ident.to_string();
            let from = self.imports.get(&first_name).unwrap_or(&first_name);
            if self.hidden.contains(from) {
                let spelled = path.to_token_stream().to_string().replace(' ', "");
                self.report(&spelled, first.ident.span());
            }
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_public(&item.vis) {
            return;
        }
        let mut exported = BTreeMap::new();
        collect_imports(&item.tree, None, &mut exported);
        for (name, from) in exported {
            if self.hidden.contains(self.imports.get(&from).unwrap_or(&from)) {
                self.report(&format!("{from}::{name}"), item.use_token.span);
            }
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_public(&item.vis) {
            self.visit_signature(&item.sig);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if is_public(&item.vis) {
            self.visit_generics(&item.generics);
            for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
                self.visit_type(&field.ty);
            }
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if is_public(&item.vis) {
            visit::visit_item_enum(self, item);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_public(&item.vis) {
            visit::visit_item_trait(self, item);
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if is_public(&item.vis) {
            visit::visit_item_type(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if is_public(&item.vis) {
            self.visit_type(&item.ty);
        }
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        if is_public(&item.vis) {
            self.visit_type(&item.ty);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != PROMISES_NOTHING && !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(of) = item.self_ty.as_ref() else {
            return;
        };
        let of_public_type =
            of.path.segments.last().is_some_and(|name| self.public_types.contains(&name.ident.to_string()));
        if !of_public_type {
            return;
        }
        if item.trait_.is_some() {
            visit::visit_item_impl(self, item);
            return;
        }
        self.visit_generics(&item.generics);
        for inner in &item.items {
            match inner {
                syn::ImplItem::Fn(function) if is_public(&function.vis) => {
                    self.visit_signature(&function.sig);
                }
                syn::ImplItem::Const(constant) if is_public(&constant.vis) => self.visit_type(&constant.ty),
                _ => {}
            }
        }
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}

    fn visit_expr(&mut self, _: &'ast syn::Expr) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    /// Calling a macro shows nothing by itself.
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let file = SourceFile::new("a.rs", text.to_owned());
        let hidden = ["hyper", "rustls"].map(str::to_owned).into();
        shown_crates(&[&file], &hidden).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn what_is_hidden_may_be_used_in_private() {
        let text = "use hyper::Request;\n\
                    pub struct A { inner: hyper::Client, pub size: usize }\n\
                    pub struct B(Request);\n\
                    impl A { fn f(&self) -> Request { loop {} } pub fn g(&self) { let x: hyper::Client; } }\n\
                    pub(crate) fn h() -> hyper::Client { loop {} }\n\
                    struct C;\n\
                    impl hyper::Service for C { fn call(&self) -> hyper::Client { loop {} } }\n\
                    hyper::private! { static D: u8; }\n\
                    pub mod unversioned { pub use hyper::Client; }\n";
        assert_eq!(lines(text), [""; 0]);
    }

    #[test]
    fn every_way_of_showing_is_found() {
        let shown = [
            "pub fn f() -> hyper::Client { loop {} }",
            "pub struct A { pub inner: hyper::Client }",
            "pub struct A<T: hyper::Service>(T);",
            "pub enum A { B(rustls::Error) }",
            "pub trait A { fn f(&self, x: &hyper::Client); }",
            "pub trait A: hyper::Service {}",
            "pub type A = Vec<hyper::Client>;",
            "pub const A: Option<hyper::Client> = None;",
            "pub use hyper::Client;",
            "pub struct A; impl From<rustls::Error> for A { fn from(e: u8) -> A { A } }",
            "pub struct A; impl hyper::Service for A {}",
            "pub struct A; impl A { pub fn f(self) -> impl hyper::Service { 1 } }",
        ];
        for text in shown {
            assert!(!lines(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_imported_or_renamed_name_is_followed() {
        assert_eq!(lines("use hyper::{self, Client as Inner};\n\npub fn f(x: Inner) {}"), ["a.rs:3"]);
        assert_eq!(lines("use rustls::{ClientConfig};\npub fn f(x: Option<ClientConfig>) {}"), ["a.rs:2"]);
        assert_eq!(lines("use crate::Client;\npub fn f(x: Client) {}"), [""; 0]);
    }

    #[test]
    fn a_module_with_the_name_of_a_crate_is_not_the_crate() {
        assert_eq!(lines("mod hyper;\npub use hyper::Client;\npub fn f(x: hyper::Client) {}"), [""; 0]);
        assert_eq!(lines("mod other;\npub use hyper::Client;"), ["a.rs:2"]);
    }
}
