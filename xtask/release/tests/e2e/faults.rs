//! `publish` to a failing registry: it waits for temporary failures, reports others, and a later run continues.

use crate::fixture::CRATES;
use crate::registry::Fault;
use crate::world::World;

#[test]
fn publish_gives_up_on_a_busy_registry_and_a_later_run_continues() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", usize::MAX, Fault::BUSY);
    let output = world.release("publish --registry local --execute --patience 2");
    output.fails(&["got 503", "--patience", "Published crates stay published", "run the same command again"]);
    assert_eq!(world.registry.published(), ["chain-a", "chain-b"]);
    // Signed but not pushed: nobody sees an incomplete release.
    world.git("verify-tag v0.2.0");
    assert_eq!(world.origin("refs/tags/v0.2.0"), None);
    world.registry.clear_faults();
    world.publish().succeeds(&["every gate has passed: continuing", "pushed main and v0.2.0"]);
    world.must_be_released();
    assert_eq!(world.steps(), "", "the gates ran again");
}

#[test]
fn publish_waits_for_a_registry_that_is_busy_once() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.publish().succeeds(&["got 503", "waiting 1 s", "pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn publish_waits_for_a_rate_limit_as_long_as_patience_allows() {
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
    assert_eq!(world.registry.published(), ["chain-a", "chain-b"]);
}

#[test]
fn an_upload_with_a_lost_response_is_found_in_the_index() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-b", 1, Fault::LoseResponse);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
    assert_eq!(world.registry.uploads().len(), CRATES.len(), "something was uploaded twice");
}

#[test]
fn publish_waits_for_a_slow_index_after_a_lost_response() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-b", 1, Fault::LoseResponse);
    world.registry.lag("chain-b", 3);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
    assert!(world.registry.uploads().len() > CRATES.len(), "the index did not lag");
}

#[test]
fn publish_waits_for_a_slow_index() {
    let Some(world) = World::signed() else { return };
    world.registry.lag("chain-b", 2);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
    assert_eq!(world.registry.uploads().len(), CRATES.len(), "something was uploaded twice");
    // Without the index, nothing is known about the registry.
    world.registry.fail_index(503);
    world
        .release("publish --registry local --execute --patience 0")
        .fails(&["the index returned the status 503"]);
    world.registry.clear_faults();
    world.publish().succeeds(&["already pushed"]);
}

#[test]
fn a_refused_upload_is_reported_and_not_repeated() {
    let Some(world) = World::signed() else { return };
    let body = r#"{"errors":[{"detail":"you are not an owner of this crate"}]}"#;
    world.registry.arm("chain-b", usize::MAX, Fault::Refuse { status: 403, headers: "", body });
    let output =
        world.publish().fails(&["you are not an owner of this crate", "Published crates stay published"]);
    // The first crate is published, so after removing the tag and the commit this version could not be released.
    assert!(!output.text.contains("Nothing is published"), "{}", output.text);
    assert_eq!(world.registry.published(), ["chain-a"]);
    assert_eq!(world.registry.uploads().len(), 2);
    assert_eq!(world.origin("refs/tags/v0.2.0"), None);
}

#[test]
fn after_a_refusal_of_the_first_crate_nothing_is_published() {
    let Some(world) = World::signed() else { return };
    let body = r#"{"errors":[{"detail":"you are not an owner of this crate"}]}"#;
    world.registry.arm("chain-a", 1, Fault::Refuse { status: 403, headers: "", body });
    world.publish().fails(&["you are not an owner of this crate", "Nothing is published"]);
    assert!(world.registry.published().is_empty());
}

#[test]
fn a_partly_yanked_release_is_not_continued() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&["got 503"]);
    world.registry.yank("chain-b");
    world.publish().fails(&["0.2.0 of chain-b was yanked", "cargo yank --undo"]);
    assert_eq!(world.registry.published(), ["chain-a", "chain-b"]);
}

#[test]
fn a_version_with_different_bytes_stops_publish_before_any_upload() {
    let Some(world) = World::signed() else { return };
    world.registry.add_version("chain-c", "0.2.0", false);
    world.publish().fails(&["chain-c 0.2.0 is on the registry with different bytes", "another commit"]);
    assert!(world.registry.uploads().is_empty());
    assert_eq!(world.origin("refs/tags/v0.2.0"), None);
}

#[test]
fn publish_does_not_wait_for_a_crate_that_does_not_build() {
    let Some(world) = World::new() else { return };
    // The compiler's error looks like a busy registry's.
    world.replace(
        "crates/chain-b/src/lib.rs",
        "chain_a::links() + 1",
        "include!(\"../../timed out/got 503\")",
    );
    world.commit_all("Break");
    world.release("prepare minor --execute").succeeds(&[]);
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    let output = world.publish().fails(&["Nothing is published", "git tag --delete v0.2.0"]);
    assert!(!output.text.contains("waiting 1 s"), "{}", output.text);
    assert!(world.registry.uploads().is_empty());
}
