//! Rules about dependencies: which crates may depend on which, which must be absent, and how large a tree may be.

use std::collections::BTreeSet;

use super::workspace::{Workspace, lines_with, print};

/// Which of our own crates each crate may depend on. A new crate needs a row, below the crates that it depends on.
const ARROWS: &[(&str, &[&str])] = &[
    ("payments-model", &[]),
    ("payments-core", &["payments-model"]),
    ("payments-hyper", &["payments-core", "payments-model"]),
    ("payments-reqwest", &["payments-core"]),
    ("payments-ureq", &["payments-core", "payments-model"]),
    ("payments-fake", &["payments-core", "payments-model"]),
    ("payments-conformance", &["payments-core"]),
    ("payments-sandbox", &["payments-core", "payments-fake", "payments-model"]),
    ("payments-journal", &["payments-core", "payments-model"]),
    (
        "payments-cli",
        &[
            "payments-core",
            "payments-fake",
            "payments-hyper",
            "payments-journal",
            "payments-model",
            "payments-sandbox",
        ],
    ),
];

/// Dependencies between our crates follow the table, so that you can read a lower crate without the higher ones.
pub(super) fn arrows_point_down(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for member in workspace.products() {
        let Some(position) = ARROWS.iter().position(|(name, _)| *name == member.name) else {
            findings.push(format!("xtask/tests/tidy/dependencies.rs: add {} to ARROWS", member.name));
            continue;
        };
        for dependency in &member.dependencies {
            let name = dependency.name.as_str();
            let is_ours =
                dependency.kind.is_none() && workspace.members.iter().any(|other| other.name == name);
            let is_below = ARROWS[..position].iter().any(|(lower, _)| *lower == name);
            if is_ours && !(is_below && ARROWS[position].1.contains(&name)) {
                findings.push(format!("{}: must not depend on {name}: arrows point down", member.manifest()));
            }
        }
    }
    findings
}

/// payments-model depends on nothing that is about HTTP.
pub(super) fn model_tree_has_no_http(_: &Workspace) -> Vec<String> {
    absent(
        "payments-model",
        " --all-features",
        &["bytes", "http", "hyper", "mio", "rustls", "socket2", "tokio"],
    )
}

/// No feature of payments-core brings an HTTP stack or a runtime.
pub(super) fn core_tree_has_no_runtime(_: &Workspace) -> Vec<String> {
    let stacks = ["hyper", "hyper-util", "reqwest", "rustls", "ureq"];
    absent("payments-core", " --all-features", &[RUNTIMES, &stacks].concat())
}

/// A program that charges with payments-ureq and keeps a journal in a file has no runtime.
pub(super) fn blocking_trees_have_no_runtime(_: &Workspace) -> Vec<String> {
    let journal = absent("payments-journal", " --no-default-features --features sqlite,tracing", RUNTIMES);
    journal.into_iter().chain(absent("payments-ureq", " --all-features", RUNTIMES)).collect()
}

const RUNTIMES: &[&str] = &["async-std", "futures", "mio", "smol", "socket2", "tokio"];

pub(super) fn core_tree_is_within_budget(_: &Workspace) -> Vec<String> {
    within_budget("payments-core", 25)
}

pub(super) fn hyper_tree_is_within_budget(_: &Workspace) -> Vec<String> {
    within_budget("payments-hyper", 65)
}

/// hyper-rustls uses rustls 0.23. A second version would mean two TLS stacks and two sets of root certificates.
pub(super) fn rustls_is_one_version(_: &Workspace) -> Vec<String> {
    let versions = tree("payments-hyper", " --all-features");
    let versions: Vec<_> = versions.iter().filter(|package| package.starts_with("rustls v")).collect();
    match versions.as_slice() {
        [rustls] if rustls.starts_with("rustls v0.23.") => Vec::new(),
        _ => vec![format!(
            "crates/payments-hyper: must have rustls 0.23 and no other version, and has {versions:?}"
        )],
    }
}

/// Cargo unifies features across a user's whole build, and these two change how every crate in it reads numbers.
pub(super) fn serde_json_number_features_stay_off(_: &Workspace) -> Vec<String> {
    let tree = print("cargo", "tree --locked --workspace --edges features --prefix none --format {p}|{f}");
    let is_set = |feature: &&str| {
        let mut features = tree.lines().filter(|line| line.starts_with("serde_json v"));
        features.any(|line| line.split(['|', ',', ' ']).any(|word| word == *feature))
    };
    let features = ["arbitrary_precision", "float_roundtrip"].into_iter().filter(is_set);
    let find = "find it with `cargo tree -e features -i serde_json`";
    features.map(|feature| format!("Cargo.toml: something enables serde_json's {feature}: {find}")).collect()
}

/// Outside a module named `unversioned`, which promises no stability, the committed API names only the crates that `shows` in
/// the manifest lists: a breaking version of such a crate forces one here.
pub(super) fn public_api_shows_only_allowed_crates(workspace: &Workspace) -> Vec<String> {
    let mut findings = Vec::new();
    for member in workspace.products().filter(|member| member.has_library()) {
        let shows = member.metadata["release"]["shows"].as_array().unwrap_or_else(|| {
            panic!("{}: add [package.metadata.release] shows = []", member.manifest());
        });
        let shows = shows.iter().map(|name| name.as_str().unwrap());
        let mut allowed: Vec<_> =
            shows.chain([member.name.as_str()]).map(|name| name.replace('-', "_")).collect();
        // serde_core defines serde's traits.
        let of_serde = allowed.iter().any(|name| name == "serde").then_some("serde_core");
        allowed.extend(["alloc", "core", "std"].into_iter().chain(of_serde).map(str::to_owned));
        let path = format!("tests/api/{}.txt", member.name);
        for number in lines_with(&workspace.read(&path), |line| shows_others(line, &allowed)) {
            findings
                .push(format!("{path}:{number}: the public API shows a foreign crate: hide it from users"));
        }
    }
    findings
}

fn shows_others(line: &str, allowed: &[String]) -> bool {
    let paths = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    // Type parameters and `Self` begin with a capital letter.
    let mut crates = paths.filter_map(|path| path.split_once("::")).map(|(first, _)| first);
    !line.contains("::unversioned")
        && crates
            .any(|first| first.starts_with(char::is_lowercase) && !allowed.iter().any(|name| name == first))
}

fn absent(name: &str, features: &str, absent: &[&str]) -> Vec<String> {
    let tree = tree(name, features);
    let found = tree.iter().filter(|package| absent.contains(&package.split(' ').next().unwrap()));
    found
        .map(|package| {
            format!("crates/{name}/Cargo.toml: must not bring in {package}: see `cargo tree{features}`")
        })
        .collect()
}

fn within_budget(name: &str, budget: usize) -> Vec<String> {
    let count = tree(name, "").len();
    let advice = "remove a dependency or a feature";
    let finding =
        format!("crates/{name}/Cargo.toml: its tree has {count} crates, and the limit is {budget}: {advice}");
    (count > budget).then_some(finding).into_iter().collect()
}

/// The packages in a user's build of one of our crates, including that crate, such as `itoa v1.0.18`.
fn tree(name: &str, features: &str) -> BTreeSet<String> {
    let tree =
        print("cargo", &format!("tree --locked --package {name} --edges normal --prefix none{features}"));
    // Cargo prints a package once for each path to it.
    tree.lines().map(|line| line.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_foreign_crate_in_a_signature_is_found() {
    let allowed = ["core", "ours"].map(str::to_owned);
    assert!(shows_others("pub fn ours::f(core::option::Option<hyper::Client>)", &allowed));
    assert!(shows_others("impl core::convert::From<rustls::Error> for ours::A", &allowed));
    assert!(!shows_others("pub fn ours::A<T>::f(self) -> T::Output", &allowed));
    assert!(!shows_others("pub use ours::unversioned::Client (hyper::Client)", &allowed));
}
