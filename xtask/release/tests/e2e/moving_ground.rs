//! A release takes minutes or hours, and somebody works in the same folder or pushes meanwhile. What is published is the
//! commit that was checked and signed, or nothing.

use crate::registry::Fault;
use crate::world::World;

#[test]
fn a_commit_that_is_changed_while_the_gates_are_asked_is_not_signed() {
    let Some(world) = World::prepared() else { return };
    // Of the same version, with other content: an amended commit.
    world.during("unit-tests", "echo >> README.md; git commit --quiet --all --amend --no-edit");
    world.publish().fails(&["is not the commit that was checked"]);
    assert_eq!(world.git("tag --list"), "");
    assert!(world.registry.puts().is_empty());
}

#[test]
fn a_commit_that_is_made_while_the_registry_is_waited_for_is_not_published() {
    let Some(world) = World::signed() else { return };
    let root = world.root();
    let more =
        format!("cd {} && echo // >> crates/chain-c/src/lib.rs && git commit -qam More", root.display());
    world.registry.arm("chain-c", 1, Fault::Meanwhile(more));
    world.publish().fails(&["0.2.0", "git switch --detach v0.2.0"]);
    assert_eq!(world.registry.taken(), ["chain-a", "chain-b"]);

    // From the tag it goes on, wherever the branch is.
    world.git("switch --quiet --detach v0.2.0");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn without_the_tag_that_it_began_with_nothing_more_is_published() {
    let Some(world) = World::signed() else { return };
    // As a `git fetch` with `fetch.pruneTags` does.
    let prune = format!("git -C {} tag --delete v0.2.0", world.root().display());
    world.registry.arm("chain-b", 1, Fault::Meanwhile(prune));
    let said = world.publish().fails(&["the tag v0.2.0 is not here any more", "finds out what is published"]);
    assert!(!said.text.contains("Nothing is published"), "{}", said.text);
    assert_eq!(world.registry.taken(), ["chain-a"]);
}

#[test]
fn a_tree_that_is_changed_while_the_registry_is_waited_for_is_not_published() {
    let Some(world) = World::signed() else { return };
    let more = format!("echo // >> {}/crates/chain-c/src/lib.rs", world.root().display());
    world.registry.arm("chain-c", 1, Fault::Meanwhile(more));
    world.publish().fails(&["the tree is not clean", "crates/chain-c/src/lib.rs"]);
    assert_eq!(world.registry.taken(), ["chain-a", "chain-b"]);
    world.git("checkout --quiet .");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn a_change_that_git_was_told_to_overlook_is_not_published() {
    let Some(world) = World::signed() else { return };
    for overlook in ["skip-worktree", "assume-unchanged"] {
        world.git(&format!("update-index --{overlook} crates/chain-a/src/lib.rs"));
        // Of another length: two texts of one length, written in one tick of the clock, are the same to git.
        world.replace("crates/chain-a/src/lib.rs", "first", "second best");
        assert_eq!(world.git("status --porcelain"), "");
        world.publish().fails(&["crates/chain-a/src/lib.rs", "--no-skip-worktree"]);
        world.git(&format!("update-index --no-{overlook} crates/chain-a/src/lib.rs"));
        world.git("checkout --quiet .");
    }
    assert!(world.registry.puts().is_empty());
}

#[test]
fn a_release_that_has_begun_is_finished_though_origin_has_gone_on() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", usize::MAX, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&["got 503"]);
    world.push_as_somebody_else();
    world.registry.heal();
    // What is published cannot be prepared again on top: the two lines are joined, and the tag is gone back to.
    world.publish().fails(&[
        "origin has commits on main",
        "git pull --no-rebase",
        "git switch --detach v0.2.0",
    ]);
    world.git("pull --quiet --no-rebase --no-edit origin main");
    world.git("push --quiet origin main");
    world.git("switch --quiet --detach v0.2.0");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    assert_eq!(world.registry.taken(), crate::fixture::CRATES);
    assert_eq!(world.origin("refs/tags/v0.2.0"), Some(world.git("rev-parse v0.2.0")));
    assert_eq!(world.origin("refs/heads/main"), Some(world.git("rev-parse main")));
}

#[test]
fn without_a_tag_a_release_is_made_from_the_branch_alone() {
    let Some(world) = World::prepared() else { return };
    world.git("switch --quiet --detach");
    world.publish().fails(&["releases are made from main"]);
    assert!(world.registry.puts().is_empty());
}
