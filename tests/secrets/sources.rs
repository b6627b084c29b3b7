//! Reads the public types of the libraries from their sources and from the snapshots of their public API.

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

/// Structs and enums, each as `crate::Name`, without those that have no field, because they show only constants. Every `pub` type
/// is public, because the lint `unreachable_pub` is denied.
///
/// The sources show a new type at once. The committed snapshots also show types that macros define.
pub(super) fn public_types() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for library in libraries() {
        let mut found = Found::default();
        for file in files_of(&library) {
            found.read(&file);
        }
        assert!(!found.public.is_empty(), "no sources found for {library}");
        let snapshot = root().join("tests/api").join(format!("{library}.txt"));
        found.public.extend(fs::read_to_string(snapshot).unwrap().lines().filter_map(type_in_snapshot));
        found.public.retain(|name| !found.without_fields.contains(name));
        all.extend(found.public.iter().map(|name| format!("{}::{name}", library.replace('-', "_"))));
    }
    all
}

/// The name of the struct or enum in a line such as `#[non_exhaustive] pub enum payments_core::TransportErrorKind`.
fn type_in_snapshot(line: &str) -> Option<String> {
    let (_, path) = line.split_once("pub struct ").or_else(|| line.split_once("pub enum "))?;
    let path = path.split(['<', '(', ' ']).next()?;
    path.rsplit("::").next().map(str::to_owned)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The public types that hold a secret: those with a wiped buffer or text as a field, or with another such type. A name in a
/// field means the type of that name in the same file, otherwise in the same crate.
pub(super) fn holders_of_secrets() -> BTreeSet<String> {
    let all = libraries().into_iter().map(|library| {
        let mut found = Found::default();
        for file in files_of(&library) {
            found.read(&file);
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
    without_fields: BTreeSet<String>,
    types: Vec<Type>,
    files: usize,
}

/// A type or an alias of one.
struct Type {
    file: usize,
    name: String,
    /// The names in the types of its fields.
    fields: BTreeSet<String>,
}

impl Found {
    fn read(&mut self, file: &Path) {
        self.files += 1;
        self.visit_file(&syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap());
    }

    /// The public types of this crate that hold a secret. `other_holders` are those of the other crates.
    fn holders(&self, other_holders: &BTreeSet<String>) -> BTreeSet<String> {
        let mut holders: BTreeSet<usize> = self.all_named("ApiKey").into_iter().collect();
        loop {
            let holds = |file: usize, name: &String| {
                let in_crate = self.all_named(name);
                let in_file: Vec<_> =
                    in_crate.iter().copied().filter(|at| self.types[*at].file == file).collect();
                let meant = if in_file.is_empty() { in_crate } else { in_file };
                meant.iter().any(|at| holders.contains(at))
                    || meant.is_empty() && other_holders.contains(name)
            };
            let more = self.types.iter().enumerate().filter(|(at, own)| {
                !holders.contains(at) && own.fields.iter().any(|field| holds(own.file, field))
            });
            let more: Vec<_> = more.map(|(at, _)| at).collect();
            if more.is_empty() {
                let names = holders.into_iter().map(|at| self.types[at].name.clone());
                return names.filter(|name| self.public.contains(name)).collect();
            }
            holders.extend(more);
        }
    }

    fn all_named(&self, name: &str) -> Vec<usize> {
        (0..self.types.len()).filter(|at| self.types[*at].name == name).collect()
    }

    fn add_type(&mut self, name: &syn::Ident, fields: BTreeSet<String>) {
        self.types.push(Type { file: self.files, name: name.to_string(), fields });
    }

    fn add<'ast>(
        &mut self,
        visibility: &syn::Visibility,
        name: &syn::Ident,
        attributes: &[syn::Attribute],
        fields: impl Iterator<Item = &'ast syn::Field>,
    ) {
        let mut fields = fields.peekable();
        if matches!(visibility, syn::Visibility::Public(_)) && !is_unnameable(attributes) {
            self.public.insert(name.to_string());
            if fields.peek().is_none() {
                self.without_fields.insert(name.to_string());
            }
        }
        let mut names = Names::default();
        fields.for_each(|field| names.visit_type(&field.ty));
        self.add_type(name, names.0);
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.vis, &item.ident, &item.attrs, item.fields.iter());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let fields = item.variants.iter().flat_map(|variant| &variant.fields);
        self.add(&item.vis, &item.ident, &item.attrs, fields);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        let mut names = Names::default();
        names.visit_type(&item.ty);
        self.add_type(&item.ident, names.0);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A test module has no public types.
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }
}

/// Whether an attribute allows `unnameable_types`, so that no user can name the type. The lint is denied everywhere else.
fn is_unnameable(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.tokens.clone().into_iter().any(|token| token.to_string() == "unnameable_types")
    })
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.0.insert(segment.ident.to_string());
        visit::visit_path_segment(self, segment);
    }
}
