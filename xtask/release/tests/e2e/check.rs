//! `check`: every gate, one table, and no trace.

use crate::world::World;

#[test]
fn every_gate_that_fails_is_listed_and_nothing_is_left_behind() {
    let Some(world) = World::prepared() else { return };
    world.registry.plant("chain-b", "0.2.0", true);
    world.registry.plant("chain-c", "0.0.1", false);
    world.put_program("rustdoc", "exit 1");
    let before = world.state();
    // By publishing too: nothing that is red is published.
    let said = world.release_with(crate::world::PUBLISH, &[("RED", "unit-tests")]).fails(&[
        "3 of 13 gates refuse this commit",
        "the step unit-tests finds a fault",
        "chain-b 0.2.0 is taken, yanked",
        // It may as well be ours, in a clone without its tags.
        "chain-c: the registry has versions of it",
        "git fetch --tags",
    ]);
    let (_, table) = said.text.split_once("── the gates of 0.2.0").unwrap();
    let failed: Vec<_> = table.lines().filter(|line| line.trim_start().starts_with("FAILED")).collect();
    assert_eq!(failed.len(), 3, "{table}");
    for title in ["cargo xtask test", "tag and versions are free", "the public API is the committed one"] {
        assert!(failed.iter().any(|line| line.contains(title)), "{table}");
    }
    assert_eq!(world.state(), before);
    assert!(world.registry.puts().is_empty());
}

/// What cargo is asked that has to be installed.
pub(crate) const TOOLS: [&str; 3] = ["deny", "hack", "semver-checks"];

#[test]
fn a_tool_that_is_missing_is_named_and_its_gates_fail() {
    let Some(world) = World::new() else { return };
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.release("prepare minor --execute").succeeds(&[]);
    for tool in TOOLS {
        world.put_program(&format!("cargo-{tool}"), "exit 1");
    }
    let said = world.publish().fails(&["4 of 13 gates refuse this commit"]);
    for tool in TOOLS {
        said.must_say(&format!("cargo-{tool} is not installed: cargo install --locked cargo-{tool}"));
    }
    assert_eq!(world.git("tag --list"), "v0.1.0");
    assert!(world.registry.puts().is_empty());
}

#[test]
fn what_a_tool_refuses_fails_its_gate() {
    let Some(world) = World::new() else { return };
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.release("prepare minor --execute").succeeds(&[]);
    for tool in TOOLS {
        world.put_program(&format!("cargo-{tool}"), "[ \"$2\" = --version ]");
    }
    world.publish().fails(&["4 of 13 gates refuse this commit", "0.2.0 breaks what was built with 0.1.0"]);
}

#[test]
fn a_commit_that_is_no_version_is_refused() {
    let Some(world) = World::new() else { return };
    world.publish().fails(&["words under `Unreleased`"]);
    world.release("prepare minor --execute").succeeds(&[]);
    world.replace("crates/chain-a/src/lib.rs", "first", "very first");
    world.commit_all("More");
    world.publish().fails(&["0.2.0 was prepared by an earlier commit"]);
    assert!(world.registry.puts().is_empty());
}

#[test]
fn a_platform_that_cargo_is_told_to_build_for_is_refused_at_once() {
    let Some(world) = World::prepared() else { return };
    let verbs = ["check --registry local", "api", crate::world::PUBLISH];
    let words =
        |platform: &str| format!("cargo is configured to build for {platform}, and a release is checked");
    for verb in verbs {
        let said = world.release_with(verb, &[("CARGO_BUILD_TARGET", "some-platform")]);
        said.fails(&[&words("\"some-platform\""), "CARGO_BUILD_TARGET"]);
    }
    world.configure_cargo("[build]\ntarget = [\"some-platform\"]\n");
    for verb in verbs {
        world.release(verb).fails(&[&words("[\"some-platform\"]"), "`build.target`"]);
    }
    assert_eq!(world.steps(), "");
    assert_eq!(world.git("status --porcelain"), "");
}

#[test]
fn a_file_that_is_in_no_commit_is_found_in_a_package_although_the_tree_is_clean() {
    let Some(world) = World::new() else { return };
    let include = "include = [\"/src/**/*.rs\", \"/LICENSE-*\"]\nkeywords = ";
    world.replace("crates/chain-a/Cargo.toml", "keywords = ", include);
    world.commit_all("Include");
    world.release("prepare minor --execute").succeeds(&[]);
    std::fs::write(world.root().join(".git/info/exclude"), "notes.rs\n").unwrap();
    world.write("crates/chain-a/src/notes.rs", "// A secret.\n");
    assert_eq!(world.git("status --porcelain"), "");
    world
        .check_only("each package holds what belongs into it")
        .fails(&["crates/chain-a: src/notes.rs is in its package, and git ignores it"]);
}
