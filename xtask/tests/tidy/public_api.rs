//! A rule about the foreign crates in the public API: a breaking version of such a crate would force one here.

use super::Finding;
use super::workspace::Workspace;

/// A module of this name promises no stability, so it may show any crate.
const UNVERSIONED: &str = "::unversioned";

/// Outside a module `unversioned`, the committed API names only the crates that `shows` in the manifest lists.
pub(super) fn public_api_shows_only_allowed_crates(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for member in workspace.products().filter(|member| member.has_library) {
        let Some(shows) = &member.shows else {
            let advice = "does not list the foreign crates that its API may show: add [package.metadata.release] shows = []";
            findings.push(Finding::new(format!("{}/Cargo.toml", member.folder), advice));
            continue;
        };
        let mut allowed = vec!["alloc".to_owned(), "core".to_owned(), "std".to_owned()];
        allowed.extend(shows.iter().chain([&member.name]).map(|name| name.replace('-', "_")));
        if allowed.iter().any(|name| name == "serde") {
            // serde_core defines serde's traits.
            allowed.push("serde_core".to_owned());
        }
        let path = format!("tests/api/{}.txt", member.name);
        let api = workspace.read(&path)?;
        let foreign = foreign_crates(&api, &allowed).into_iter().map(|(line, name)| {
            let advice = format!(
                "the public API shows {name}, so its next breaking version would force one here: hide it from users"
            );
            Finding::new(format!("{path}:{line}"), advice)
        });
        findings.extend(foreign);
    }
    Ok(findings)
}

/// The foreign crates that a public API names, with their lines.
fn foreign_crates<'a>(api: &'a str, allowed: &[String]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (line, number) in api.lines().zip(1..).filter(|(line, _)| !line.contains(UNVERSIONED)) {
        let is_part_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let paths = line.split(|c| !is_part_of_path(c)).filter_map(|path| path.split_once("::"));
        // Type parameters and `Self` begin with a capital letter.
        let crates = paths.map(|(first, _)| first).filter(|first| first.starts_with(char::is_lowercase));
        found.extend(crates.filter(|name| !allowed.iter().any(|own| own == name)).map(|name| (number, name)));
    }
    found
}

mod tests {
    use super::*;

    #[test]
    fn a_foreign_crate_in_a_signature_is_found() {
        let allowed = ["core", "ours"].map(str::to_owned);
        let found = |line| foreign_crates(line, &allowed).len();
        assert_eq!(found("pub fn ours::f(core::option::Option<hyper::Client>) -> rustls::Error"), 2);
        assert_eq!(found("impl core::convert::From<rustls::Error> for ours::A"), 1);
        assert_eq!(found("pub fn ours::A<T>::f(self) -> T::Output"), 0);
        assert_eq!(found("pub use ours::unversioned::Client (hyper::Client)"), 0);
    }
}
