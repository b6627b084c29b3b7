//! One version everywhere, and siblings that name each other in the way in which they can be published.

use semver::{Version, VersionReq};
use serde_json::Value;

use super::{Commit, Verdict};
use crate::workspace::Member;

pub(super) fn check(commit: &Commit) -> Verdict {
    let workspace = &commit.workspace;
    let names: Vec<_> = workspace.members.iter().map(|member| member.name.as_str()).collect();
    let findings = workspace.members.iter().flat_map(|member| findings(member, &names, &workspace.version));
    let count = workspace.crates().count();
    Verdict::of(findings.collect(), format!("{count} crates, all {}", workspace.version))
}

fn findings(member: &Member, siblings: &[&str], version: &Version) -> Vec<String> {
    let mut findings = Vec::new();
    let mut find = |finding: String| findings.push(format!("{}: {finding}", member.folder));
    if member.version != *version {
        find(format!(
            "has the version {}, and the workspace {version}: version.workspace = true",
            member.version
        ));
    }
    let is_published = member.package["publish"] != Value::Array(Vec::new());
    if is_published != member.is_crate() {
        find(if is_published {
            "is no crate for users: publish = false".to_owned()
        } else {
            "is under crates/ and has publish = false".to_owned()
        });
    }
    for dependency in member.package["dependencies"].as_array().into_iter().flatten() {
        let name = dependency["name"].as_str().unwrap_or_default();
        if !member.is_crate() || !siblings.contains(&name) {
            continue;
        }
        let requirement = dependency["req"].as_str().unwrap_or_default();
        let is_for_tests = dependency["kind"] == "dev";
        if is_for_tests && requirement != "*" {
            find(format!(
                "the dev-dependency {name} has a version, so that neither can be packed before the other is \
                 published: name its path alone"
            ));
        }
        if !is_for_tests && !VersionReq::parse(requirement).is_ok_and(|wanted| is_exactly(&wanted, version)) {
            find(format!("depends on {name} {requirement}, and {version} is what is released with it"));
        }
    }
    findings
}

/// Whether no older version would do: crates of one release are tested together, and only together.
fn is_exactly(wanted: &VersionReq, version: &Version) -> bool {
    let [only] = wanted.comparators.as_slice() else {
        return false;
    };
    let has_all_parts =
        only.minor == Some(version.minor) && only.patch == Some(version.patch) && only.pre == version.pre;
    only.major == version.major && has_all_parts && wanted.matches(version)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(folder: &str, publish: &Value, dependency: &Value) -> Vec<String> {
        let member = Member {
            name: "a".to_owned(),
            version: Version::new(0, 2, 0),
            folder: folder.to_owned(),
            package: json!({"publish": publish, "dependencies": [dependency]}),
        };
        findings(&member, &["a", "b"], &Version::new(0, 2, 0))
    }

    fn depends(requirement: &str, kind: &Value) -> Vec<String> {
        found("crates/a", &Value::Null, &json!({"name": "b", "req": requirement, "kind": kind}))
    }

    #[test]
    fn siblings_are_required_in_the_version_of_the_release() {
        for good in ["^0.2.0", "=0.2.0"] {
            assert_eq!(depends(good, &Value::Null), [""; 0]);
        }
        for bad in ["*", "^0.1.0", "^0.2", ">=0.1, <0.3", "^0.2.1", "<=0.2.1"] {
            let found = depends(bad, &Value::Null);
            assert_eq!(
                found,
                [format!("crates/a: depends on b {bad}, and 0.2.0 is what is released with it")]
            );
        }
        assert_eq!(
            found("crates/a", &Value::Null, &json!({"name": "other", "req": "*", "kind": null})),
            [""; 0]
        );
    }

    #[test]
    fn siblings_for_tests_are_named_by_path_alone() {
        assert_eq!(depends("*", &json!("dev")), [""; 0]);
        assert!(depends("^0.2.0", &json!("dev"))[0].contains("name its path alone"));
    }

    #[test]
    fn what_is_under_crates_is_published_and_nothing_else() {
        let none = json!({"name": "other", "req": "*", "kind": null});
        assert_eq!(
            found("crates/a", &json!([]), &none),
            ["crates/a: is under crates/ and has publish = false"]
        );
        assert_eq!(found("tests", &Value::Null, &none), ["tests: is no crate for users: publish = false"]);
        assert_eq!(found("tests", &json!([]), &none), [""; 0]);
    }

    #[test]
    fn another_version_is_found() {
        let mut member = Member {
            name: "a".to_owned(),
            version: Version::new(0, 1, 0),
            folder: "crates/a".to_owned(),
            package: json!({"dependencies": []}),
        };
        assert!(findings(&member, &[], &Version::new(0, 2, 0))[0].contains("has the version 0.1.0"));
        member.version = Version::new(0, 2, 0);
        assert_eq!(findings(&member, &[], &Version::new(0, 2, 0)), [""; 0]);
    }
}
