//! Rules about dependencies: which crates may depend on which, which must be absent, and how large a tree may be.

use std::collections::BTreeSet;

use super::Finding;
use super::workspace::{Workspace, cargo, shell};

/// Which of our own crates each crate may depend on. A new crate needs a row in this table.
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

/// The maximum number of crates in payments-core's tree with its default features, including payments-core.
const CORE_BUDGET: usize = 25;

/// The maximum number of crates in payments-hyper's tree with its default features, including payments-hyper.
const HYPER_BUDGET: usize = 65;

/// Dependencies between our crates follow the table, so that you can read a lower crate without the higher ones.
pub(super) fn arrows_point_down(workspace: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let ours: BTreeSet<_> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let findings = workspace.products().flat_map(|member| {
        let dependencies = member.normal_dependencies().filter(|name| ours.contains(name));
        upward_arrows(&member.name, dependencies, ARROWS)
            .into_iter()
            .map(|advice| Finding::new(format!("{}/Cargo.toml", member.folder), advice))
    });
    Ok(findings.collect())
}

/// payments-model depends on nothing that is about HTTP.
pub(super) fn model_tree_has_no_http(_: &Workspace) -> anyhow::Result<Vec<Finding>> {
    absent("payments-model", &["bytes", "http", "hyper", "mio", "rustls", "socket2", "tokio"])
}

/// No feature of payments-core brings an HTTP stack or a runtime.
pub(super) fn core_tree_has_no_runtime(_: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let absent_crates = [
        "async-std",
        "futures",
        "hyper",
        "hyper-util",
        "mio",
        "reqwest",
        "rustls",
        "smol",
        "socket2",
        "tokio",
        "ureq",
    ];
    absent("payments-core", &absent_crates)
}

pub(super) fn core_tree_is_within_budget(_: &Workspace) -> anyhow::Result<Vec<Finding>> {
    within_budget("payments-core", CORE_BUDGET)
}

pub(super) fn hyper_tree_is_within_budget(_: &Workspace) -> anyhow::Result<Vec<Finding>> {
    within_budget("payments-hyper", HYPER_BUDGET)
}

/// hyper-rustls uses rustls 0.23. A second version would mean two TLS stacks and two sets of root certificates.
pub(super) fn rustls_is_one_version(_: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let tree = tree("payments-hyper", &["--all-features"])?;
    let versions: Vec<_> = tree.iter().filter(|package| package.name == "rustls").collect();
    let findings = match versions.as_slice() {
        [rustls] if rustls.version.starts_with("0.23.") => Vec::new(),
        _ => vec![Finding::new(
            "crates/payments-hyper",
            format!("its tree must contain rustls 0.23 and no other version, and contains {versions:?}"),
        )],
    };
    Ok(findings)
}

/// Cargo unifies features across a user's whole build, and these two change how every crate in it reads numbers.
pub(super) fn serde_json_number_features_stay_off(_: &Workspace) -> anyhow::Result<Vec<Finding>> {
    let shell = shell()?;
    let arguments =
        ["tree", "--locked", "--workspace", "--edges", "features", "--prefix", "none", "--format", "{p}|{f}"];
    let findings = forbidden_number_features(&cargo(&shell, arguments).read()?);
    Ok(findings.into_iter().map(|advice| Finding::new("Cargo.toml", advice)).collect())
}

fn upward_arrows<'a>(
    name: &str,
    dependencies: impl Iterator<Item = &'a str>,
    arrows: &[(&str, &[&str])],
) -> Vec<String> {
    let Some((_, allowed)) = arrows.iter().find(|(from, _)| *from == name) else {
        return vec![format!("{name} is not in ARROWS: add it in xtask/tests/tidy/dependencies.rs")];
    };
    dependencies
        .filter(|dependency| !allowed.contains(dependency))
        .map(|dependency| format!("{name} must not depend on {dependency}: arrows point down"))
        .collect()
}

fn absent(name: &str, absent: &[&str]) -> anyhow::Result<Vec<Finding>> {
    let found: Vec<_> = tree(name, &["--all-features"])?
        .into_iter()
        .filter(|package| absent.contains(&package.name.as_str()))
        .map(|package| {
            let advice = format!(
                "must not depend on {0}: find what brings it in with `cargo tree -p {name} -i {0}`",
                package.name
            );
            Finding::new(format!("crates/{name}/Cargo.toml"), advice)
        })
        .collect();
    Ok(found)
}

fn within_budget(name: &str, budget: usize) -> anyhow::Result<Vec<Finding>> {
    let count = tree(name, &[])?.len();
    let finding = (count > budget).then(|| {
        let advice = format!(
            "its tree has {count} crates, and the limit is {budget}: remove a dependency or a feature"
        );
        Finding::new(format!("crates/{name}/Cargo.toml"), advice)
    });
    Ok(finding.into_iter().collect())
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
}

/// The packages in a user's build of one of our crates, including that crate.
fn tree(name: &str, features: &[&str]) -> anyhow::Result<BTreeSet<Package>> {
    let shell = shell()?;
    let arguments = ["tree", "--locked", "--package", name, "--edges", "normal", "--prefix", "none"];
    Ok(packages(&cargo(&shell, arguments.into_iter().chain(features.iter().copied())).read()?))
}

/// Reads lines such as `itoa v1.0.18 (*)`. Cargo prints a package once for each path to it.
fn packages(tree: &str) -> BTreeSet<Package> {
    let lines = tree.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter_map(|words| match words.as_slice() {
            [name, version, ..] => Some(Package {
                name: (*name).to_owned(),
                version: version.trim_start_matches('v').to_owned(),
            }),
            _ => None,
        })
        .collect()
}

fn forbidden_number_features(tree: &str) -> Vec<String> {
    let features: BTreeSet<_> = tree
        .lines()
        .filter(|line| line.starts_with("serde_json v"))
        .filter_map(|line| line.split_once('|'))
        .flat_map(|(_, features)| features.trim_end_matches(" (*)").split(','))
        .filter(|feature| ["arbitrary_precision", "float_roundtrip"].contains(feature))
        .collect();
    features
        .into_iter()
        .map(|feature| format!("a default feature enables serde_json's {feature}: find it with `cargo tree -e features -i serde_json`"))
        .collect()
}

mod tests {
    use super::*;

    #[test]
    fn an_arrow_that_points_up_is_found() {
        let arrows: &[(&str, &[&str])] = &[("low", &[]), ("high", &["low"])];
        assert_eq!(upward_arrows("high", ["low"].into_iter(), arrows), [""; 0]);
        assert_eq!(
            upward_arrows("low", ["high"].into_iter(), arrows),
            ["low must not depend on high: arrows point down"]
        );
        assert_eq!(upward_arrows("new", [].into_iter(), arrows).len(), 1);
    }

    #[test]
    fn the_table_has_no_cycle() {
        for (index, (name, allowed)) in ARROWS.iter().enumerate() {
            for lower in *allowed {
                let position = ARROWS.iter().position(|(other, _)| other == lower);
                assert!(position.is_some_and(|position| position < index), "move {lower} above {name}");
            }
        }
    }

    #[test]
    fn a_tree_counts_each_package_once_and_two_versions_as_two() {
        let tree = "a v0.1.0 (/somewhere/a)\nb v1.0.0\nb v1.0.0 (*)\nb v2.0.0\nc v1.0.0 (proc-macro)\n\n";
        assert_eq!(packages(tree).len(), 4);
    }

    #[test]
    fn a_number_feature_of_serde_json_is_found() {
        assert_eq!(
            forbidden_number_features("serde_json v1.0.1|raw_value,std (*)\nother v1.0.0|float_roundtrip"),
            [""; 0]
        );
        assert_eq!(forbidden_number_features("serde_json v1.0.1|arbitrary_precision,std").len(), 1);
        assert_eq!(forbidden_number_features("serde_json v1.0.1|float_roundtrip (*)").len(), 1);
    }
}
