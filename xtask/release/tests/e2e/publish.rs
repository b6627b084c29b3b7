//! `publish` without faults.

use crate::fixture::CRATES;
use crate::registry::Fault;
use crate::world::World;

#[test]
fn publish_without_execute_signs_and_publishes_nothing() {
    let Some(world) = World::prepared() else { return };
    let before = world.state();
    world.release("publish --registry local").succeeds(&[
        "the gates of 0.2.0",
        "Nothing was changed",
        "sign the tag v0.2.0",
        "publish chain-a 0.2.0 (sha256 ",
        "push main and v0.2.0",
    ]);
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_complete_release_publishes_each_crate_once_and_a_second_run_does_nothing() {
    let Some(world) = World::prepared() else { return };
    // The gates run the project's code, which must not see the token.
    world.during("lints", "! env | grep -q CARGO_REGISTRIES_LOCAL_TOKEN");
    // The first run cannot finish.
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&[
        "the gates of 0.2.0",
        "signed the tag v0.2.0",
        "got 503",
    ]);
    let steps = world.steps();
    world.publish().succeeds(&["pushed main and v0.2.0", "- The chain holds."]);
    world.must_be_released();
    assert_eq!(world.steps(), steps, "the gates ran again");
    assert!(
        world.registry.uploads().iter().all(|upload| upload.token.as_deref() == Some("a token of the test"))
    );

    let before = world.state();
    // Nothing is left to publish, so no token is needed.
    world
        .release_with(crate::world::PUBLISH, &[("CARGO_REGISTRIES_LOCAL_TOKEN", "")])
        .succeeds(&["already pushed", "- The chain holds."]);
    world.release("publish --registry local").succeeds(&["nothing is left to do: v0.2.0 is released"]);
    assert_eq!(world.state(), before);
    assert_eq!(world.registry.published(), CRATES);
}

#[test]
fn the_first_release_may_have_the_current_version() {
    let Some(world) = World::new() else { return };
    let log = world.read("CHANGELOG.md");
    world.write("CHANGELOG.md", log.split("## [0.1.0]").next().unwrap());
    world.commit_all("Young");
    let output = world.release("prepare 0.1.0 --execute").succeeds(&["0.1.0 -> 0.1.0"]);
    // No document can name an older version.
    assert!(!output.text.contains("these lines still name"), "{}", output.text);
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.1.0"]);
    assert_eq!(world.registry.published(), CRATES);
}

#[test]
fn publish_uploads_the_bytes_that_it_showed() {
    let Some(world) = World::signed() else { return };
    let shown = world.release("publish --registry local").succeeds(&["Nothing was changed"]);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    for name in CRATES {
        let checksum = world.registry.checksum(name, "0.2.0").unwrap();
        shown.must_contain(&format!("publish {name} 0.2.0 (sha256 {checksum})"));
    }
}

#[test]
fn a_second_run_does_nothing_even_after_others_push() {
    let Some(world) = World::signed() else { return };
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.push_as_somebody_else();
    let before = world.state();
    world.publish().succeeds(&["already pushed"]);
    assert_eq!(world.state(), before);
}

#[test]
fn the_next_release_follows_this_one() {
    let Some(world) = World::signed() else { return };
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.replace("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- It still holds.\n");
    world.commit_all("Say");
    world.release("prepare patch --execute").succeeds(&["0.2.0 -> 0.2.1"]);
    world.sign("v0.2.1", "Release 0.2.1\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.1", "- It still holds."]);
    assert_eq!(world.registry.published().len(), 2 * CRATES.len());
    assert_eq!(world.origin("refs/heads/main"), Some(world.git("rev-parse HEAD")));
}

#[test]
fn a_version_is_released_after_its_pre_release() {
    let Some(world) = World::new() else { return };
    world.release("prepare 0.2.0-rc.1 --execute").succeeds(&["0.1.0 -> 0.2.0-rc.1"]);
    world.check_only("one version, and dependencies that can be published").succeeds(&["all 0.2.0-rc.1"]);
    world.sign("v0.2.0-rc.1", "Release 0.2.0-rc.1\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.0-rc.1", "- The chain holds."]);
    assert_eq!(world.registry.published(), CRATES);

    world.replace("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- Nothing was found.\n");
    world.commit_all("Say");
    world.release("prepare minor --execute").succeeds(&["0.2.0-rc.1 -> 0.2.0"]);
    world.check_only("tag and versions are free").succeeds(&["v0.2.0, not on"]);
}

#[test]
fn an_unconfigured_registry_is_refused() {
    let Some(world) = World::signed() else { return };
    world
        .release("publish --registry missing --execute")
        .fails(&["cargo's configuration has no index for the registry missing"]);
}
