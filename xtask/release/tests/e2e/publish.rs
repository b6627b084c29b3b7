//! `publish` where nothing goes wrong.

use crate::fixture::CRATES;
use crate::registry::Fault;
use crate::world::World;

#[test]
fn without_being_told_so_it_publishes_and_signs_nothing() {
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
    assert!(world.registry.puts().is_empty());
}

#[test]
fn a_whole_release_takes_every_crate_once_and_a_second_run_does_nothing() {
    let Some(world) = World::prepared() else { return };
    // What runs the project's own code has no use for the token.
    world.during("lints", "! env | grep -q CARGO_REGISTRIES_LOCAL_TOKEN");
    // It cannot be done at once, and begins all the same.
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&[
        "the gates of 0.2.0",
        "signed the tag v0.2.0",
        "got 503",
    ]);
    let steps = world.steps();
    world.publish().succeeds(&["pushed main and v0.2.0", "- The chain holds."]);
    world.must_be_released();
    assert_eq!(world.steps(), steps, "the gates were asked again");
    assert!(world.registry.puts().iter().all(|put| put.token.as_deref() == Some("a token of the test")));

    let before = world.state();
    // It needs no token, as there is nothing to be published.
    world
        .release_with(crate::world::PUBLISH, &[("CARGO_REGISTRIES_LOCAL_TOKEN", "")])
        .succeeds(&["pushed already", "- The chain holds."]);
    world.release("publish --registry local").succeeds(&["nothing is left to be done: v0.2.0 is released"]);
    assert_eq!(world.state(), before);
    assert_eq!(world.registry.taken(), CRATES);
}

#[test]
fn the_first_release_of_all_is_the_version_that_stands_there() {
    let Some(world) = World::new() else { return };
    let log = world.read("CHANGELOG.md");
    world.write("CHANGELOG.md", log.split("## [0.1.0]").next().unwrap());
    world.commit_all("Young");
    let said = world.release("prepare 0.1.0 --execute").succeeds(&["0.1.0 -> 0.1.0"]);
    // There is no older version that a document could still name.
    assert!(!said.text.contains("these lines name"), "{}", said.text);
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.1.0"]);
    assert_eq!(world.registry.taken(), CRATES);
}

#[test]
fn what_was_shown_is_what_is_published() {
    let Some(world) = World::signed() else { return };
    let shown = world.release("publish --registry local").succeeds(&["Nothing was changed"]);
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    for name in CRATES {
        let checksum = world.registry.checksum(name, "0.2.0").unwrap();
        shown.must_say(&format!("publish {name} 0.2.0 (sha256 {checksum})"));
    }
}

#[test]
fn a_second_run_does_nothing_after_others_have_gone_on_too() {
    let Some(world) = World::signed() else { return };
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.push_as_somebody_else();
    let before = world.state();
    world.publish().succeeds(&["pushed already"]);
    assert_eq!(world.state(), before);
}

#[test]
fn the_next_release_begins_where_this_one_ended() {
    let Some(world) = World::signed() else { return };
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.replace("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- It still holds.\n");
    world.commit_all("Say");
    world.release("prepare patch --execute").succeeds(&["0.2.0 -> 0.2.1"]);
    world.sign("v0.2.1", "Release 0.2.1\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.1", "- It still holds."]);
    assert_eq!(world.registry.taken().len(), 2 * CRATES.len());
    assert_eq!(world.origin("refs/heads/main"), Some(world.git("rev-parse HEAD")));
}

#[test]
fn a_pre_release_is_released_and_then_its_version() {
    let Some(world) = World::new() else { return };
    world.release("prepare 0.2.0-rc.1 --execute").succeeds(&["0.1.0 -> 0.2.0-rc.1"]);
    world.check_only("one version, and dependencies that can be published").succeeds(&["all 0.2.0-rc.1"]);
    world.sign("v0.2.0-rc.1", "Release 0.2.0-rc.1\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.0-rc.1", "- The chain holds."]);
    assert_eq!(world.registry.taken(), CRATES);

    world.replace("CHANGELOG.md", "## [Unreleased]\n", "## [Unreleased]\n\n- Nothing was found.\n");
    world.commit_all("Say");
    world.release("prepare minor --execute").succeeds(&["0.2.0-rc.1 -> 0.2.0"]);
    world.check_only("tag and versions are free").succeeds(&["v0.2.0, not on"]);
}

#[test]
fn a_registry_that_nobody_has_configured_is_no_registry() {
    let Some(world) = World::signed() else { return };
    world
        .release("publish --registry nowhere --execute")
        .fails(&["cargo's configuration does not say where the registry's index is"]);
}
