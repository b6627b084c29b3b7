//! Which types the libraries make public, by what their sources and the snapshots of their public API say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Every product crate that is a library. The command has no public types.
fn libraries() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let libraries = folders.filter(|folder| folder.path().join("src/lib.rs").exists());
    libraries.map(|folder| folder.file_name().into_string().unwrap()).collect()
}

/// Structs and enums, each as its crate and its name. Whatever says `pub` is public: `unreachable_pub` is refused.
///
/// The sources have a new type at once, and the committed snapshots have what a macro makes, which sources do not show.
pub(super) fn public_types() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for library in libraries() {
        let mut found = Found::default();
        for file in files_of(&library) {
            found.visit_file(&syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap());
        }
        assert!(!found.public.is_empty(), "{library} has no sources here");
        let snapshot = root().join("release/api").join(format!("{library}.txt"));
        found.public.extend(fs::read_to_string(snapshot).unwrap().lines().filter_map(type_in_snapshot));
        all.extend(found.public.iter().map(|name| format!("{}::{name}", library.replace('-', "_"))));
    }
    all
}

/// The name of the struct or enum that a line such as `#[non_exhaustive] pub enum payments_core::TransportErrorKind` is of.
fn type_in_snapshot(line: &str) -> Option<String> {
    let (_, path) = line.split_once("pub struct ").or_else(|| line.split_once("pub enum "))?;
    let path = path.split(['<', '(', ' ']).next()?;
    path.rsplit("::").next().map(str::to_owned)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The public types that hold a secret as one, by the fields that they have: a wiped buffer or text, or another type that
/// does. A name means the type of its own crate, if that has one.
pub(super) fn holders_of_secrets() -> BTreeSet<String> {
    let all = libraries().into_iter().map(|library| {
        let mut found = Found::default();
        for file in files_of(&library) {
            found.visit_file(&syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap());
        }
        found
    });
    let all: Vec<_> = all.collect();
    let mut public: BTreeSet<String> = ["Zeroizing", "SecretBytes", "ApiKey"].map(str::to_owned).into();
    loop {
        let before = public.len();
        for found in &all {
            public.extend(found.holders(&public));
        }
        if public.len() == before {
            public.remove("Zeroizing");
            return public;
        }
    }
}

fn files_of(library: &str) -> Vec<PathBuf> {
    let mut folders = vec![root().join("crates").join(library).join("src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

#[derive(Default)]
struct Found {
    public: BTreeSet<String>,
    /// The names in the types of each type's fields.
    fields: Vec<(String, BTreeSet<String>)>,
}

impl Found {
    /// The public types of this crate that hold a secret, given those of the others that do.
    fn holders(&self, of_others: &BTreeSet<String>) -> BTreeSet<String> {
        let own: BTreeSet<&String> = self.fields.iter().map(|(name, _)| name).collect();
        let mut holders: BTreeSet<&String> = of_others.iter().filter(|name| !own.contains(name)).collect();
        holders.extend(self.fields.iter().map(|(name, _)| name).filter(|name| *name == "ApiKey"));
        loop {
            let is_new = |(name, fields): &&(String, BTreeSet<String>)| {
                !holders.contains(name) && fields.iter().any(|field| holders.contains(field))
            };
            let more: Vec<_> = self.fields.iter().filter(is_new).map(|(name, _)| name).collect();
            if more.is_empty() {
                let names = holders.into_iter().filter(|name| self.public.contains(*name));
                return names.cloned().collect();
            }
            holders.extend(more);
        }
    }

    fn add<'ast>(
        &mut self,
        visibility: &syn::Visibility,
        name: &syn::Ident,
        fields: impl Iterator<Item = &'ast syn::Field>,
    ) {
        if matches!(visibility, syn::Visibility::Public(_)) {
            self.public.insert(name.to_string());
        }
        let mut names = Names::default();
        fields.for_each(|field| names.visit_type(&field.ty));
        self.fields.push((name.to_string(), names.0));
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.vis, &item.ident, item.fields.iter());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.vis, &item.ident, item.variants.iter().flat_map(|variant| &variant.fields));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // Of a test's module nothing is public.
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.0.insert(segment.ident.to_string());
        visit::visit_path_segment(self, segment);
    }
}
