//! `publish` to a registry that fails: what passes is waited for, what does not is said, and a later run goes on.

use crate::fixture::CRATES;
use crate::registry::Fault;
use crate::world::World;

#[test]
fn a_registry_that_stays_broken_is_given_up_and_a_later_run_goes_on() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", usize::MAX, Fault::BUSY);
    let said = world.release("publish --registry local --execute --patience 2");
    said.fails(&["got 503", "--patience", "What is published stays", "run the same command again"]);
    assert_eq!(world.registry.taken(), ["chain-a", "chain-b"]);
    // Signed, and not pushed: nothing tells the world of a release that is not whole.
    world.git("verify-tag v0.2.0");
    assert_eq!(world.origin("refs/tags/v0.2.0"), None);
    world.registry.heal();
    world.publish().succeeds(&["every gate was passed, and this goes on", "pushed main and v0.2.0"]);
    world.must_be_released();
    assert_eq!(world.steps(), "", "the gates were asked again");
}

#[test]
fn a_registry_that_is_busy_once_is_waited_for() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.publish().succeeds(&["got 503", "waiting 1 s", "pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn a_limit_is_waited_for_and_ends_with_our_patience() {
    let Some(world) = World::signed() else { return };
    let limit = |body| Fault::Refuse { status: 429, headers: "Retry-After: 1\r\n", body };
    world.registry.arm("chain-b", 1, limit("slowly"));
    world.registry.arm("chain-c", usize::MAX, limit(r#"{"errors":[{"detail":"too many crates"}]}"#));
    world.release("publish --registry local --execute --patience 2").fails(&[
        "waiting 1 s",
        "too many crates",
        "--patience",
        "run the same command again",
    ]);
    assert_eq!(world.registry.taken(), ["chain-a", "chain-b"]);
}

#[test]
fn an_answer_that_is_lost_after_the_upload_is_found_in_the_index() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-b", 1, Fault::LoseAnswer);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
    assert_eq!(world.registry.puts().len(), CRATES.len(), "something was uploaded twice");
}

#[test]
fn an_answer_that_is_lost_before_an_index_that_lags_is_waited_for() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-b", 1, Fault::LoseAnswer);
    world.registry.lag("chain-b", 3);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
    assert!(world.registry.puts().len() > CRATES.len(), "the index did not lag");
}

#[test]
fn an_index_that_is_late_or_busy_is_waited_for() {
    let Some(world) = World::signed() else { return };
    world.registry.lag("chain-b", 2);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
    assert_eq!(world.registry.puts().len(), CRATES.len(), "something was uploaded twice");
    // Nothing can be said about a registry whose index says nothing.
    world.registry.index_answers(503);
    world.release("publish --registry local --execute --patience 0").fails(&["the index answered 503"]);
    world.registry.heal();
    world.publish().succeeds(&["pushed already"]);
}

#[test]
fn a_refusal_is_said_and_not_repeated() {
    let Some(world) = World::signed() else { return };
    let body = r#"{"errors":[{"detail":"you are not an owner of this crate"}]}"#;
    world.registry.arm("chain-b", usize::MAX, Fault::Refuse { status: 403, headers: "", body });
    let said = world.publish().fails(&["you are not an owner of this crate", "What is published stays"]);
    // The first crate is, and whoever took back tag and commit could not release this version any more.
    assert!(!said.text.contains("Nothing is published"), "{}", said.text);
    assert_eq!(world.registry.taken(), ["chain-a"]);
    assert_eq!(world.registry.puts().len(), 2);
    assert_eq!(world.origin("refs/tags/v0.2.0"), None);
}

#[test]
fn a_refusal_of_the_first_crate_leaves_nothing_to_be_kept() {
    let Some(world) = World::signed() else { return };
    let body = r#"{"errors":[{"detail":"you are not an owner of this crate"}]}"#;
    world.registry.arm("chain-a", 1, Fault::Refuse { status: 403, headers: "", body });
    world.publish().fails(&["you are not an owner of this crate", "Nothing is published"]);
    assert!(world.registry.taken().is_empty());
}

#[test]
fn a_release_of_which_a_part_was_yanked_is_not_gone_on_with() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&["got 503"]);
    world.registry.yank("chain-b");
    world.publish().fails(&["0.2.0 of chain-b was yanked", "cargo yank --undo"]);
    assert_eq!(world.registry.taken(), ["chain-a", "chain-b"]);
}

#[test]
fn a_version_that_has_other_bytes_stops_everything_before_anything_is_published() {
    let Some(world) = World::signed() else { return };
    world.registry.plant("chain-c", "0.2.0", false);
    world.publish().fails(&["chain-c 0.2.0 is on the registry with other bytes", "another commit"]);
    assert!(world.registry.puts().is_empty());
    assert_eq!(world.origin("refs/tags/v0.2.0"), None);
}

#[test]
fn a_crate_that_does_not_build_is_not_waited_for() {
    let Some(world) = World::new() else { return };
    // Its own words are those of a registry in trouble.
    world.replace(
        "crates/chain-b/src/lib.rs",
        "chain_a::links() + 1",
        "include!(\"../../timed out/got 503\")",
    );
    world.commit_all("Break");
    world.release("prepare minor --execute").succeeds(&[]);
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    let said = world.publish().fails(&["Nothing is published", "git tag --delete v0.2.0"]);
    assert!(!said.text.contains("waiting 1 s"), "{}", said.text);
    assert!(world.registry.puts().is_empty());
}
