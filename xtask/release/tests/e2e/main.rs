//! Tests of the release program with a workspace like ours, a bare `origin`, an SSH key, a registry on loopback that can
//! fail, and real cargo and git. They use no network. The gates' tools are scripts of the test.

#![cfg(unix)]
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "tests")]

mod registry;
mod world;

use registry::Fault;
use world::{CRATES, PUBLISH, World};

#[test]
fn prepare_commits_the_version_and_the_changelog() {
    let Some(world) = World::new() else { return };
    let before = world.state();
    world.release("prepare minor").succeeds(&[
        "0.1.0 -> 0.2.0",
        "- The chain holds.",
        "README.md:5:chain-c = \"0.1.0\"",
    ]);
    assert_eq!(world.state(), before);

    world.release("prepare minor --execute").succeeds(&["committed"]);
    assert_eq!(world.git("log -1 --format=%s"), "Release 0.2.0");
    assert_eq!(world.git("status --porcelain"), "");
    let manifest = world.read("Cargo.toml");
    assert!(manifest.contains("version = \"0.2.0\" # one for all"), "{manifest}");
    assert!(manifest.contains("chain-c = { path = \"crates/chain-c\", version = \"=0.2.0\" }"), "{manifest}");
    assert!(manifest.contains("other = \"0.1.0\""), "{manifest}");
    assert!(world.read("CHANGELOG.md").contains("## [Unreleased]\n\n## [0.2.0] - 20"));
    assert!(world.read("Cargo.lock").contains("name = \"chain-a\"\nversion = \"0.2.0\""));
    world.release("prepare minor --execute").fails(&["has no entry under"]);
}

#[test]
fn nothing_changes_without_execute() {
    let Some(world) = World::prepared() else { return };
    let before = world.state();
    world.release("publish --registry local").succeeds(&[
        "9 of 9 gates passed",
        "Nothing was changed",
        "publish chain-a 0.2.0",
        "sign the tag v0.2.0",
    ]);
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn an_interrupted_release_continues_with_the_rest() {
    let Some(world) = World::prepared() else { return };
    // The first response is lost, and the second upload is refused.
    world.registry.arm("chain-b", 1, Fault::LoseResponse);
    world.registry.arm("chain-c", usize::MAX, Fault::Busy);
    world.release(PUBLISH).fails(&["cargo could not publish everything", "Published crates stay published"]);
    world.release(PUBLISH).fails(&["got 503"]);
    assert_eq!(world.registry.published(), ["chain-a", "chain-b"]);
    assert_eq!(world.git("tag --list"), "", "signed before everything is published");

    world.registry.arm("chain-c", 0, Fault::Busy);
    world.release(PUBLISH).succeeds(&[
        "publishing chain-c, chain-cli",
        "v0.2.0 is released.",
        "- The chain holds.",
    ]);
    world.must_be_released();

    // Nothing is left to do, and nothing is asked again.
    world.fail_gate("cargo-xtask");
    let before = world.state();
    world.release(PUBLISH).succeeds(&["v0.2.0 is released."]);
    assert_eq!(world.state(), before);
    world.must_be_released();
}

#[test]
fn a_version_that_is_there_already_is_not_uploaded() {
    let Some(world) = World::prepared() else { return };
    world.registry.add_version("chain-a", "0.2.0");
    // Another version of a crate says nothing about this one.
    world.registry.add_version("chain-b", "0.1.0");
    world
        .release("publish --registry local")
        .succeeds(&["there already: chain-a 0.2.0", "  publish chain-b 0.2.0"]);
    world.release(PUBLISH).succeeds(&["publishing chain-b, chain-c, chain-cli", "v0.2.0 is released."]);
    assert_eq!(world.registry.published(), &CRATES[1..]);
    assert_eq!(world.registry.uploads().len(), 3);
}

#[test]
fn a_lagging_index_delays_the_release_and_only_uploads_have_the_token() {
    let Some(world) = World::prepared() else { return };
    world.put_program("cargo-xtask", "! env | grep --quiet CARGO_REGISTRIES_LOCAL_TOKEN");
    world.registry.lag("chain-a", 3);
    world.release(PUBLISH).succeeds(&["v0.2.0 is released."]);
    world.must_be_released();
    let uploads = world.registry.uploads();
    assert_eq!(uploads.len(), CRATES.len(), "nothing is uploaded twice");
    assert!(uploads.iter().all(|upload| upload.token == world::TOKEN));
}

#[test]
fn publish_tries_again_and_finds_an_upload_with_a_lost_response_although_the_index_lags() {
    let Some(world) = World::prepared() else { return };
    world.registry.arm("chain-b", 1, Fault::LoseResponse);
    world.registry.lag("chain-b", 2);
    world.registry.arm("chain-c", 1, Fault::Busy);
    world.release(&format!("{PUBLISH} --patience 60")).succeeds(&[
        "trying again in 1 s",
        "is already uploaded",
        "got 503",
        "v0.2.0 is released.",
    ]);
    world.must_be_released();
}

#[test]
fn a_registry_that_cannot_be_asked_is_not_an_empty_one() {
    let Some(world) = World::prepared() else { return };
    world.registry.fail_index();
    world.release(PUBLISH).fails(&["cannot ask the registry local for chain-a@0.2.0"]);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_failed_gate_publishes_nothing_and_every_gate_is_listed() {
    let Some(world) = World::prepared() else { return };
    // Neither a candidate nor a later version is the last release before 0.2.0.
    for tag in ["v0.1.0", "v0.1.0-rc.1", "v0.2.0-rc.1", "v0.10.0"] {
        world.git(&format!("tag {tag} HEAD^"));
    }
    for program in ["cargo-xtask", "cargo-deny", "cargo-semver-checks", "cargo-hack", "rustdoc"] {
        world.fail_gate(program);
    }
    world.release(PUBLISH).fails(&[
        "6 of 9 gates failed",
        "FAILED",
        "breaks programs that use v0.1.0:",
        "see above for the step that failed",
        "rustdoc cannot document chain-a",
    ]);
    assert!(!world.git("tag --list").lines().any(|tag| tag == "v0.2.0"));
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_crate_in_another_folder_is_compared_with_the_last_release() {
    let Some(world) = World::new() else { return };
    world.git("tag v0.1.0");
    world.git("push --quiet origin v0.1.0");
    world.git("mv crates/chain-a crates/first");
    world.write("Cargo.toml", &world.read("Cargo.toml").replace("crates/chain-a", "crates/first"));
    world.git("commit --quiet --all --message Move");
    world.release("prepare minor --execute").succeeds(&[]);
    world.put_program("cargo-semver-checks", "echo compared: $*");
    let check = world.release("check --registry local");
    check.must_contain("compared: semver-checks --color never --baseline-rev v0.1.0 ");
    check.must_contain(" --package chain-a ");
}

#[test]
fn a_missing_tool_fails_its_gates() {
    let Some(world) = World::prepared() else { return };
    for tool in ["deny", "hack", "semver-checks"] {
        world.put_program(&format!("cargo-{tool}"), "exit 1");
    }
    let output = world.release("check --registry local").fails(&["4 of 9 gates failed"]);
    for tool in ["deny", "hack", "semver-checks"] {
        output.must_contain(&format!("cargo-{tool} is not installed: cargo install --locked cargo-{tool}"));
    }
    world.release("check --only unknown").fails(&["there is no gate \"unknown\"", "cargo xtask test"]);
}

#[test]
fn only_the_clean_commit_of_a_version_is_published() {
    let Some(world) = World::new() else { return };
    world.release(PUBLISH).fails(&["has entries under `Unreleased`"]);
    world.release("prepare minor --execute").succeeds(&[]);
    world.write("crates/chain-a/src/lib.rs", "//! Changed.\n");
    world.release(PUBLISH).fails(&["the tree is not clean", "crates/chain-a/src/lib.rs"]);
    world.git("commit --quiet --all --message More");
    world.release(PUBLISH).fails(&["0.2.0 was prepared by an earlier commit"]);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_commit_that_is_amended_while_the_gates_run_is_not_published() {
    let Some(world) = World::prepared() else { return };
    world.put_program("cargo-xtask", "git commit --quiet --allow-empty --amend --message Other");
    world.release(PUBLISH).fails(&["is not the commit that was checked"]);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn without_a_key_or_against_another_branch_of_origin_nothing_is_published() {
    let Some(world) = World::prepared() else { return };
    world.git("config user.signingkey ../missing");
    world.release(PUBLISH).fails(&["git cannot sign"]);
    world.git("config --unset user.signingkey");
    world.push_as_somebody_else();
    world.release(PUBLISH).fails(&["origin would refuse this commit as main"]);
    world.git("tag --annotate --message By-hand v0.2.0");
    world.release(PUBLISH).fails(&["the tag v0.2.0", "its signature cannot be verified"]);
    assert!(world.registry.uploads().is_empty());
}
