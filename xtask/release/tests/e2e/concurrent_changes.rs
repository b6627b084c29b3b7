//! A release takes minutes or hours, and somebody may change the same folder or push in the meantime. Only the commit that
//! was checked and signed is published, or nothing.

use crate::registry::Fault;
use crate::world::World;

#[test]
fn a_commit_that_is_amended_while_the_gates_run_is_not_signed() {
    let Some(world) = World::prepared() else { return };
    // The amended commit has the same version and different content.
    world.during("unit-tests", "echo >> README.md; git commit --quiet --all --amend --no-edit");
    world.publish().fails(&["is not the commit that was checked"]);
    assert_eq!(world.git("tag --list"), "");
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_commit_created_during_publish_is_not_published() {
    let Some(world) = World::signed() else { return };
    let root = world.root();
    let more =
        format!("cd {} && echo // >> crates/chain-c/src/lib.rs && git commit -qam More", root.display());
    world.registry.arm("chain-c", 1, Fault::Meanwhile(more));
    world.publish().fails(&["0.2.0", "git switch --detach v0.2.0"]);
    assert_eq!(world.registry.published(), ["chain-a", "chain-b"]);

    // At the tag, the release continues wherever the branch is.
    world.git("switch --quiet --detach v0.2.0");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn after_the_tag_is_deleted_nothing_more_is_published() {
    let Some(world) = World::signed() else { return };
    // `git fetch` with `fetch.pruneTags` does this.
    let prune = format!("git -C {} tag --delete v0.2.0", world.root().display());
    world.registry.arm("chain-b", 1, Fault::Meanwhile(prune));
    let output = world
        .publish()
        .fails(&["the tag v0.2.0 no longer exists here", "finds out which crates are published"]);
    assert!(!output.text.contains("Nothing is published"), "{}", output.text);
    assert_eq!(world.registry.published(), ["chain-a"]);
}

#[test]
fn a_file_changed_during_publish_is_not_published() {
    let Some(world) = World::signed() else { return };
    let more = format!("echo // >> {}/crates/chain-c/src/lib.rs", world.root().display());
    world.registry.arm("chain-c", 1, Fault::Meanwhile(more));
    world.publish().fails(&["the tree is not clean", "crates/chain-c/src/lib.rs"]);
    assert_eq!(world.registry.published(), ["chain-a", "chain-b"]);
    world.git("checkout --quiet .");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn a_change_that_git_is_configured_to_ignore_is_not_published() {
    let Some(world) = World::signed() else { return };
    for flag in ["skip-worktree", "assume-unchanged"] {
        world.git(&format!("update-index --{flag} crates/chain-a/src/lib.rs"));
        // The length must change: git takes two texts of one length, written in the same clock tick, for the same.
        world.replace("crates/chain-a/src/lib.rs", "first", "second best");
        assert_eq!(world.git("status --porcelain"), "");
        world.publish().fails(&["crates/chain-a/src/lib.rs", "--no-skip-worktree"]);
        world.git(&format!("update-index --no-{flag} crates/chain-a/src/lib.rs"));
        world.git("checkout --quiet .");
    }
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_release_that_has_begun_is_finished_after_others_push() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", usize::MAX, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&["got 503"]);
    world.push_as_somebody_else();
    world.registry.clear_faults();
    // Published crates cannot be prepared again: merge the branches, and return to the tag.
    world.publish().fails(&[
        "origin has commits on main",
        "git pull --no-rebase",
        "git switch --detach v0.2.0",
    ]);
    world.git("pull --quiet --no-rebase --no-edit origin main");
    world.git("push --quiet origin main");
    world.git("switch --quiet --detach v0.2.0");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    assert_eq!(world.registry.published(), crate::fixture::CRATES);
    assert_eq!(world.origin("refs/tags/v0.2.0"), Some(world.git("rev-parse v0.2.0")));
    assert_eq!(world.origin("refs/heads/main"), Some(world.git("rev-parse main")));
}

#[test]
fn without_a_tag_a_release_is_made_only_from_main() {
    let Some(world) = World::prepared() else { return };
    world.git("switch --quiet --detach");
    world.publish().fails(&["a release is made only from main"]);
    assert!(world.registry.uploads().is_empty());
}
