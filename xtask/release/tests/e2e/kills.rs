//! `publish` killed between any two of its steps, as by a power cut, and run again.

use std::process::Stdio;

use crate::fixture::CRATES;
use crate::registry::Fault;
use crate::world::{PUBLISH, World};

/// Calls that leave git, the registry and the tree as they are: between two of them there is nothing to be cut.
const READS: &[&str] = &[
    "git status",
    "git symbolic-ref",
    "git rev-parse",
    "git cat-file",
    "git show",
    "git ls-tree",
    "git ls-remote",
    "git remote get-url",
    // Objects alone, and no reference.
    "git fetch --quiet --no-tags --no-write-fetch-head",
    "git merge-base",
    "git verify-tag",
    // A commit that nothing names.
    "git commit-tree",
    "git verify-commit",
    "git push --atomic --dry-run",
    "git tag --no-column --list",
    "git ls-files",
    "git -c core.quotePath=false ls-files",
    "cargo --version",
    "cargo -V",
    "cargo metadata",
    "cargo config get",
    "cargo build",
    "cargo deny",
    "cargo doc",
    "cargo hack",
    "cargo semver-checks",
    "cargo package",
    "cargo rustdoc",
    "cargo xtask test",
];

/// The calls that are none of these, by their first two words.
fn changes(calls: &str) -> Vec<String> {
    let is_read = |call: &&str| !READS.iter().any(|read| call.starts_with(read));
    let first_two = |call: &str| call.split(' ').take(2).collect::<Vec<_>>().join(" ");
    calls.lines().filter(is_read).map(first_two).collect()
}

#[test]
fn killed_as_soon_as_the_tag_is_signed_it_is_finished_by_a_second_run() {
    let Some(world) = World::prepared() else { return };
    let branch = world.origin("refs/heads/main");
    world.put_counting_programs();
    world.release_with(PUBLISH, &[("KILL", "after:git tag --sign")]).must_be_killed();
    // There was nothing before it that could have been cut.
    assert_eq!(changes(&world.calls()), ["git tag"], "{}", world.calls());
    assert_eq!(world.origin("refs/heads/main"), branch);
    assert!(world.registry.puts().is_empty());

    world.forget_calls();
    world.publish().succeeds(&["every gate was passed, and this goes on", "- The chain holds."]);
    world.must_be_released();
    // The next test cuts before and after each of these.
    assert_eq!(changes(&world.calls()), ["cargo publish", "git push"], "{}", world.calls());
}

#[test]
fn killed_before_or_after_publishing_or_pushing_it_is_finished_by_a_second_run() {
    let Some(world) = World::signed() else { return };
    let start = world.save();
    world.put_counting_programs();
    for cut in ["before:cargo publish", "after:cargo publish", "before:git push", "after:git push"] {
        world.restore(&start);
        world.release_with(PUBLISH, &[("KILL", cut)]).must_be_killed();
        world.publish().succeeds(&["- The chain holds."]);
        world.must_be_released();
    }
}

#[test]
fn killed_alone_it_is_run_again_beside_the_cargo_that_it_has_left() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-a", 1, Fault::KillAlone);
    let mut command = world.release_command(PUBLISH, &[]);
    // Nobody waits for the words of the cargo that is left.
    let mut first = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    world.registry.may_kill(first.id());
    assert!(!first.wait().unwrap().success());
    world.publish().succeeds(&["- The chain holds."]);
    world.must_be_released();
}

#[test]
fn killed_at_any_upload_it_is_finished_by_a_second_run() {
    let Some(world) = World::signed() else { return };
    let start = world.save();
    // Before the upload of a crate nothing is other than after the one before it.
    let after_each = (1..).zip(CRATES).map(|(number, name)| (name, Fault::KillAfter, number));
    for (name, fault, taken) in std::iter::once((CRATES[0], Fault::KillBefore, 0)).chain(after_each) {
        world.restore(&start);
        world.registry.arm(name, 1, fault);
        world.publish().must_be_killed();
        assert_eq!(world.registry.taken(), CRATES[..taken]);
        world.publish().succeeds(&["every gate was passed, and this goes on", "pushed main and v0.2.0"]);
        world.must_be_released();
    }
}
