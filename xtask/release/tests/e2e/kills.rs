//! `publish` is killed between two of its steps, as by a power failure, and run again.

use std::process::Stdio;

use crate::fixture::CRATES;
use crate::registry::Fault;
use crate::world::{PUBLISH, World};

/// Commands that change neither git, the registry nor the tree: killing `publish` between two of them makes no difference.
const READS: &[&str] = &[
    "git status",
    "git symbolic-ref",
    "git rev-parse",
    "git cat-file",
    "git show",
    "git ls-tree",
    "git ls-remote",
    "git remote get-url",
    // Fetches objects, but changes no reference.
    "git fetch --quiet --no-tags --no-write-fetch-head",
    "git merge-base",
    "git verify-tag",
    // Creates a commit that no reference names.
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

/// The first two words of all other commands.
fn changes(calls: &str) -> Vec<String> {
    let is_read = |call: &&str| !READS.iter().any(|read| call.starts_with(read));
    let first_two = |call: &str| call.split(' ').take(2).collect::<Vec<_>>().join(" ");
    calls.lines().filter(is_read).map(first_two).collect()
}

#[test]
fn after_a_kill_once_the_tag_is_signed_a_second_run_finishes() {
    let Some(world) = World::prepared() else { return };
    let branch = world.origin("refs/heads/main");
    world.put_logging_programs();
    world.release_with(PUBLISH, &[("KILL", "after:git tag --sign")]).must_be_killed();
    // Signing the tag is the first change.
    assert_eq!(changes(&world.calls()), ["git tag"], "{}", world.calls());
    assert_eq!(world.origin("refs/heads/main"), branch);
    assert!(world.registry.uploads().is_empty());

    world.clear_calls();
    world.publish().succeeds(&["every gate has passed: continuing", "- The chain holds."]);
    world.must_be_released();
    // The next test kills before and after each of these.
    assert_eq!(changes(&world.calls()), ["cargo publish", "git push"], "{}", world.calls());
}

#[test]
fn after_a_kill_around_upload_or_push_a_second_run_finishes() {
    let Some(world) = World::signed() else { return };
    let start = world.save();
    world.put_logging_programs();
    for moment in ["before:cargo publish", "after:cargo publish", "before:git push", "after:git push"] {
        world.restore(&start);
        world.release_with(PUBLISH, &[("KILL", moment)]).must_be_killed();
        world.publish().succeeds(&["- The chain holds."]);
        world.must_be_released();
    }
}

#[test]
fn a_second_run_finishes_while_the_killed_runs_cargo_is_still_running() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-a", 1, Fault::KillAlone);
    let mut command = world.release_command(PUBLISH, &[]);
    // The cargo that keeps running holds these open, so they must not be pipes that this test reads.
    let mut first = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    world.registry.set_kill_target(first.id());
    assert!(!first.wait().unwrap().success());
    world.publish().succeeds(&["- The chain holds."]);
    world.must_be_released();
}

#[test]
fn after_a_kill_at_any_upload_a_second_run_finishes() {
    let Some(world) = World::signed() else { return };
    let start = world.save();
    // The moment before an upload is the same as the moment after the previous one.
    let after_each = (1..).zip(CRATES).map(|(number, name)| (name, Fault::KillAfter, number));
    for (name, fault, published) in std::iter::once((CRATES[0], Fault::KillBefore, 0)).chain(after_each) {
        world.restore(&start);
        world.registry.arm(name, 1, fault);
        world.publish().must_be_killed();
        assert_eq!(world.registry.published(), CRATES[..published]);
        world.publish().succeeds(&["every gate has passed: continuing", "pushed main and v0.2.0"]);
        world.must_be_released();
    }
}
