//! Whose types a user of a crate sees besides ours: a new major version of such a crate is a new major version of ours.
//!
//! What may be shown stands in each crate's manifest. `cargo xtask tidy` asks the same of the source, and each of the two
//! sees what the other cannot. Here it is the compiler that says what a name means: an alias, a re-export of a
//! re-export, an implementation that a macro has derived. There it is every line of the source, also those for another
//! operating system, on any toolchain and with the place.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::Value;

use super::{Commit, Verdict};
use crate::api;
use crate::rustdoc::{self, Features, Items, Rustdoc};
use crate::workspace::Member;

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let rustdoc = Rustdoc::new(&commit.workspace)?;
    let mut findings = Vec::new();
    let mut everything = BTreeSet::new();
    for member in commit.workspace.libraries() {
        let description = rustdoc.describe(member, Features::All, Items::Documented)?;
        let own = member.name.replace('-', "_");
        let mut shown = foreign_crates(&api::lines(&description)?, &own);
        shown.extend(reexports(&rustdoc::read(&description)?)?);
        match allowed(member) {
            Some(allowed) => findings.extend(compare(member, &allowed, &shown)),
            None => findings.push(format!(
                "{}: does not say whose types it may show: [package.metadata.release] shows = {:?}",
                member.folder,
                shown.iter().map(|shown| &shown.name).collect::<BTreeSet<_>>()
            )),
        }
        everything.extend(shown.into_iter().map(|shown| shown.name));
    }
    let figure = everything.into_iter().collect::<Vec<_>>().join(", ");
    Ok(Verdict::of(findings, figure))
}

/// A foreign crate in sight, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    name: String,
    place: String,
}

/// Crates whose types users know as those of another.
const KNOWN_AS: [(&str, &str); 4] =
    [("alloc", "std"), ("core", "std"), ("proc_macro", "std"), ("serde_core", "serde")];

fn known_as(name: &str) -> &str {
    KNOWN_AS.iter().find(|(hidden, _)| *hidden == name).map_or(name, |(_, known)| known)
}

/// What `[package.metadata.release]` allows.
fn allowed(member: &Member) -> Option<BTreeSet<String>> {
    let allowed = member.package["metadata"]["release"]["shows"].as_array()?;
    Some(allowed.iter().filter_map(Value::as_str).map(|name| name.replace('-', "_")).collect())
}

fn compare(member: &Member, allowed: &BTreeSet<String>, shown: &BTreeSet<Shown>) -> Vec<String> {
    let folder = &member.folder;
    let mut findings = Vec::new();
    let names: BTreeSet<_> = shown.iter().map(|shown| shown.name.as_str()).collect();
    for name in names.iter().filter(|name| !allowed.contains(**name)) {
        let places: Vec<_> = shown.iter().filter(|shown| shown.name == *name).collect();
        let first = &places[0].place;
        findings.push(format!(
            "{folder}: shows {name}, whose next major version must not become ours: hide it, or move it into a module \
             `{PROMISES_NOTHING}`. Lines that show it: {}, and the first is\n{first}",
            places.len()
        ));
    }
    // It could come into sight again without anybody's notice.
    for name in allowed.iter().filter(|name| !names.contains(name.as_str())) {
        findings.push(format!("{folder}: may show {name} and does not: take it out of `shows`"));
    }
    findings
}

/// A module of this name promises nothing and so may show anything.
const PROMISES_NOTHING: &str = "unversioned";

/// The crates besides `own` and the standard library that the lines of a public API name.
fn foreign_crates(lines: &[String], own: &str) -> BTreeSet<Shown> {
    let promising = lines.iter().filter(|line| !is_in_unversioned(line, own));
    let shown = promising.flat_map(|line| {
        paths(line).map(|path| Shown { name: crate_of(path).to_owned(), place: line.clone() })
    });
    shown.filter(|shown| shown.name != own && shown.name != "std").collect()
}

/// The paths of more than one part in a line, each beginning with the name of a crate.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|char: char| !(char.is_alphanumeric() || char == '_' || char == ':'));
    // What begins with a capital is a parameter, and its part of a trait; what begins with a colon goes on from a type.
    words.filter(|word| {
        word.contains("::") && word.starts_with(|char: char| char.is_lowercase() || char == '_')
    })
}

fn crate_of(path: &str) -> &str {
    known_as(path.split(':').next().unwrap_or(path))
}

/// Whether the item itself is in the module that promises nothing; one that only names it promises all the same.
fn is_in_unversioned(line: &str, own: &str) -> bool {
    let (_, item) = line.split_once(" for ").filter(|_| line.starts_with("impl")).unwrap_or(("", line));
    let unversioned = format!("{own}::{PROMISES_NOTHING}");
    paths(item).next().is_some_and(|path| {
        path.strip_prefix(&unversioned).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// The crates whose items are exported as they are, of which a line of the public API says only the new name.
fn reexports(description: &Value) -> anyhow::Result<BTreeSet<Shown>> {
    let items = description["index"].as_object().context("rustdoc's JSON has no index")?;
    let mut shown = BTreeSet::new();
    for item in items.values() {
        let reexport = &item["inner"]["use"];
        // What is in the index is of this crate.
        if reexport.is_null()
            || item["visibility"] != "public"
            || items.contains_key(&reexport["id"].to_string())
        {
            continue;
        }
        let source = reexport["source"].as_str().unwrap_or_default();
        let origin = &description["paths"][&reexport["id"].to_string()]["crate_id"];
        let name = description["external_crates"][&origin.to_string()]["name"].as_str();
        let name = known_as(name.unwrap_or_else(|| crate_of(source)));
        if name != "std" {
            shown.insert(Shown { name: name.to_owned(), place: format!("pub use {source}") });
        }
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use semver::Version;
    use serde_json::json;

    use super::*;

    fn names(line: &str) -> Vec<String> {
        foreign_crates(&[line.to_owned()], "ours").into_iter().map(|shown| shown.name).collect()
    }

    #[test]
    fn the_crates_of_all_names_in_a_line_are_found() {
        assert_eq!(
            names(
                "pub fn ours::A<T>::f(&self, http::request::Request<bytes::bytes::Bytes>) -> core::option::Option<T::Item>"
            ),
            ["bytes", "http"]
        );
        assert_eq!(names("impl<T: hyper::Body> core::convert::From<T> for ours::A"), ["hyper"]);
        assert_eq!(
            names("pub ours::A::b: alloc::boxed::Box<(dyn tower::Service + core::marker::Send)>"),
            ["tower"]
        );
        assert_eq!(names("pub type ours::A::B = <T as serde_core::ser::Serializer>::Ok"), ["serde"]);
        assert_eq!(names("pub fn ours::f<'a>(&'a str, Self::B, ours::http::C) -> u32"), [""; 0]);
    }

    #[test]
    fn what_promises_nothing_may_show_anything() {
        for free in [
            "pub fn ours::unversioned::f(hyper::Body)",
            "pub type ours::unversioned::A = hyper::Body",
            "impl hyper::Service<u8> for ours::unversioned::A",
        ] {
            assert_eq!(names(free), [""; 0], "{free}");
        }
        for bound in [
            "pub fn ours::f(ours::unversioned::A, hyper::Body)",
            "impl core::convert::From<hyper::Body> for ours::A",
            "pub fn ours::unversioned_f(hyper::Body)",
        ] {
            assert_eq!(names(bound), ["hyper"], "{bound}");
        }
    }

    #[test]
    fn a_reexport_shows_where_it_comes_from() {
        let description = json!({
            "index": {
                "1": {"visibility": "public", "inner": {"use": {"source": "hyper::Body", "id": 10}}},
                "2": {"visibility": "crate", "inner": {"use": {"source": "tokio::spawn", "id": 11}}},
                "3": {"visibility": "public", "inner": {"use": {"source": "self::own", "id": 4}}},
                "4": {"visibility": "public", "inner": {"function": {}}},
                "5": {"visibility": "public", "inner": {"use": {"source": "core::fmt", "id": 12}}},
                "6": {"visibility": "public", "inner": {"use": {"source": "rustls::Error", "id": null}}},
            },
            "paths": {"10": {"crate_id": 7, "path": ["http_body", "Body"]}, "12": {"crate_id": 1}},
            "external_crates": {"7": {"name": "http_body"}, "1": {"name": "core"}},
        });
        let names: Vec<_> = reexports(&description).unwrap().into_iter().map(|shown| shown.name).collect();
        assert_eq!(names, ["http_body", "rustls"]);
    }

    #[test]
    fn the_list_says_what_is_shown_and_no_more() {
        let member = |metadata: Value| Member {
            name: "ours".to_owned(),
            version: Version::new(0, 1, 0),
            folder: "crates/ours".to_owned(),
            package: json!({"metadata": metadata}),
        };
        assert_eq!(allowed(&member(Value::Null)), None);
        let member = member(json!({"release": {"shows": ["http", "bytes-utils"]}}));
        let allowed = allowed(&member).unwrap();
        let shown = |names: &[&str]| {
            let shown =
                |name: &&str| Shown { name: (*name).to_owned(), place: format!("pub fn f({name}::A)") };
            compare(&member, &allowed, &names.iter().map(shown).collect())
        };
        assert_eq!(shown(&["http", "bytes_utils"]), [""; 0]);
        assert_eq!(
            shown(&["http"]),
            ["crates/ours: may show bytes_utils and does not: take it out of `shows`"]
        );
        let found = shown(&["http", "bytes_utils", "hyper"]);
        assert!(found.len() == 1 && found[0].contains("shows hyper, "), "{found:?}");
        assert!(found[0].ends_with("\npub fn f(hyper::A)"), "{found:?}");
    }
}
