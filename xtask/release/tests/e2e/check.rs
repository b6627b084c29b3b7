//! `check`: runs every gate, prints one table, and changes nothing.

use crate::world::World;

#[test]
fn every_failed_gate_is_listed_and_nothing_changes() {
    let Some(world) = World::prepared() else { return };
    world.registry.add_version("chain-b", "0.2.0", true);
    world.registry.add_version("chain-c", "0.0.1", false);
    world.put_program("rustdoc", "exit 1");
    let before = world.state();
    // `publish` runs the same gates, and must not publish after a failure.
    let output = world.release_with(crate::world::PUBLISH, &[("FAIL", "unit-tests")]).fails(&[
        "3 of 13 gates failed",
        "the step unit-tests failed",
        "chain-b 0.2.0 is already on the registry, yanked",
        // The crate may be ours, in a clone without the tags.
        "chain-c: the registry has versions of it",
        "git fetch --tags",
    ]);
    let (_, table) = output.text.split_once("── the gates of 0.2.0").unwrap();
    let failed: Vec<_> = table.lines().filter(|line| line.trim_start().starts_with("FAILED")).collect();
    assert_eq!(failed.len(), 3, "{table}");
    for title in ["cargo xtask test", "tag and versions are free", "the public API matches tests/api"] {
        assert!(failed.iter().any(|line| line.contains(title)), "{table}");
    }
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

/// The cargo subcommands that must be installed.
pub(crate) const TOOLS: [&str; 3] = ["deny", "hack", "semver-checks"];

#[test]
fn a_missing_tool_is_named_and_its_gates_fail() {
    let Some(world) = World::new() else { return };
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.release("prepare minor --execute").succeeds(&[]);
    for tool in TOOLS {
        world.put_program(&format!("cargo-{tool}"), "exit 1");
    }
    let output = world.publish().fails(&["4 of 13 gates failed"]);
    for tool in TOOLS {
        output.must_contain(&format!("cargo-{tool} is not installed: cargo install --locked cargo-{tool}"));
    }
    assert_eq!(world.git("tag --list"), "v0.1.0");
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_failing_tool_fails_its_gate() {
    let Some(world) = World::new() else { return };
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.release("prepare minor --execute").succeeds(&[]);
    for tool in TOOLS {
        world.put_program(&format!("cargo-{tool}"), "[ \"$2\" = --version ]");
    }
    world.publish().fails(&["4 of 13 gates failed", "0.2.0 breaks programs that use 0.1.0"]);
}

#[test]
fn only_the_commit_of_a_version_is_released() {
    let Some(world) = World::new() else { return };
    world.publish().fails(&["entries under `Unreleased`"]);
    world.release("prepare minor --execute").succeeds(&[]);
    world.replace("crates/chain-a/src/lib.rs", "first", "very first");
    world.commit_all("More");
    world.publish().fails(&["0.2.0 was prepared by an earlier commit"]);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_configured_build_target_is_refused_at_once() {
    let Some(world) = World::prepared() else { return };
    let verbs = ["check --registry local", "api", crate::world::PUBLISH];
    let message = |platform: &str| {
        format!("cargo is configured to build for {platform}, and a release must be checked")
    };
    for verb in verbs {
        let output = world.release_with(verb, &[("CARGO_BUILD_TARGET", "some-platform")]);
        output.fails(&[&message("\"some-platform\""), "CARGO_BUILD_TARGET"]);
    }
    world.configure_cargo("[build]\ntarget = [\"some-platform\"]\n");
    for verb in verbs {
        world.release(verb).fails(&[&message("[\"some-platform\"]"), "`build.target`"]);
    }
    assert_eq!(world.steps(), "");
    assert_eq!(world.git("status --porcelain"), "");
}

#[test]
fn an_ignored_file_in_a_package_is_found_although_the_tree_is_clean() {
    let Some(world) = World::new() else { return };
    let include = "include = [\"/src/**/*.rs\", \"/LICENSE-*\"]\nkeywords = ";
    world.replace("crates/chain-a/Cargo.toml", "keywords = ", include);
    world.commit_all("Include");
    world.release("prepare minor --execute").succeeds(&[]);
    std::fs::write(world.root().join(".git/info/exclude"), "notes.rs\n").unwrap();
    world.write("crates/chain-a/src/notes.rs", "// A secret.\n");
    assert_eq!(world.git("status --porcelain"), "");
    world
        .check_only("each package contains only the intended files")
        .fails(&["crates/chain-a: src/notes.rs is in its package, but git ignores it"]);
}
