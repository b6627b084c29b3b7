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
    let said = world.release_with(crate::world::PUBLISH, &[("RED", "formatting unit-tests")]).fails(&[
        "6 of ",
        "gates refuse this commit",
        "chain-b 0.2.0 is taken, yanked",
        // It may as well be ours, in a clone without its tags.
        "chain-c: the registry has versions of it",
        "git fetch --tags",
    ]);
    let (_, table) = said.text.split_once("── the gates of 0.2.0").unwrap();
    let failed: Vec<_> = table.lines().filter(|line| line.trim_start().starts_with("FAILED")).collect();
    assert_eq!(failed.len(), 6, "{table}");
    for title in
        ["formatting", "unit-tests", "tag and versions are free", "the public API is the committed one"]
    {
        assert!(failed.iter().any(|line| line.contains(title)), "{table}");
    }
    assert_eq!(world.state(), before);
    assert!(world.registry.puts().is_empty());
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
    let verbs =
        ["check --registry local", "check --registry local --only formatting", "api", crate::world::PUBLISH];
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
fn steps_that_cannot_be_listed_are_a_gate_that_fails() {
    let Some(world) = World::new() else { return };
    world.replace("xtask/src/main.rs", "\"--list\"", "\"--enumerate\"");
    world.commit_all("Rename");
    world.release("prepare minor --execute").succeeds(&[]);
    world.check_only("cargo xtask test").fails(&["the gates of 0.2.0", "cargo xtask test --list"]);
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
    let mut gate = world.release_command("check --registry local --only", &[]);
    gate.arg("each package holds what belongs into it");
    world.run(gate).fails(&["crates/chain-a/src/notes.rs is in its package, and git ignores it"]);
}
