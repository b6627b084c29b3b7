//! What git must have before anything is published: our tag or none, and an `origin` that accepts the branch and the tag.

use crate::registry::Fault;
use crate::world::World;

/// Fails unless `publish` fails with these messages, with and without `--execute`, and changes nothing.
#[track_caller]
fn must_refuse(world: &World, messages: &[&str]) {
    let before = world.state();
    world.release("publish --registry local").fails(messages);
    world.publish().fails(messages);
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_tag_that_publish_did_not_create_is_refused() {
    let Some(world) = World::prepared() else { return };
    let trailer = "Release-Check: passed";

    world.git("tag v0.2.0");
    must_refuse(&world, &["the tag v0.2.0 is not annotated", "git tag --delete v0.2.0"]);

    world.git(&format!("tag --force --annotate v0.2.0 --message Release --message {}", "Unsigned"));
    must_refuse(&world, &["the signature of the tag v0.2.0 cannot be verified", "git tag --delete v0.2.0"]);

    world.git("tag --force --sign v0.2.0 --message Mine");
    must_refuse(&world, &["the tag v0.2.0 does not contain", trailer, "git tag --delete v0.2.0"]);

    // Another version's tag under this name: its message and signature are valid, but for the other release.
    world.sign("v0.1.0", &format!("Release 0.1.0\n\n{trailer}\n"));
    let object = world.git("rev-parse v0.1.0");
    world.git(&format!("update-ref refs/tags/v0.2.0 {object}"));
    must_refuse(&world, &["the tag v0.2.0", "v0.1.0"]);

    // Signed with a key that this repository does not trust.
    world.git("tag --delete v0.1.0 v0.2.0");
    world.make_key("stranger");
    world.git("config user.signingkey ../stranger.pub");
    world.sign("v0.2.0", &format!("Release 0.2.0\n\n{trailer}\n"));
    world.git("config --unset user.signingkey");
    must_refuse(&world, &["the signature of the tag v0.2.0 cannot be verified"]);

    // The tag that `publish` would create.
    world.git("tag --delete v0.2.0");
    world.sign("v0.2.0", &format!("Release 0.2.0\n\n{trailer}\n"));
    world.publish().succeeds(&["pushed main and v0.2.0"]);
}

#[test]
fn a_tag_for_another_registry_is_refused() {
    let Some(world) = World::prepared() else { return };
    world.sign_for("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n", "https://registry.example/index/");
    must_refuse(&world, &["the tag v0.2.0 was created for a release to https://registry.example/index/"]);
}

#[test]
fn a_merge_commit_is_not_released() {
    let Some(world) = World::new() else { return };
    world.git("switch --quiet --create release");
    world.release("prepare minor").fails(&["a release is made only from main"]);
    world.git("switch --quiet main");
    world.git("commit --quiet --allow-empty --message Meanwhile");
    world.git("switch --quiet release");
    world.git("branch --quiet --move main meanwhile");
    world.git("branch --quiet --move release main");
    world.release("prepare minor --execute").succeeds(&[]);
    world.git("switch --quiet meanwhile");
    world.git("merge --quiet --no-ff --no-edit main");
    world.git("branch --quiet --delete --force main");
    world.git("branch --quiet --move main");
    must_refuse(&world, &["this is a merge, and the changelog of 0.2.0 does not mention what it merges"]);
}

#[test]
fn a_tag_at_another_commit_is_refused() {
    let Some(world) = World::prepared() else { return };
    world.git("tag --sign v0.2.0 --message Release --message Release-Check:passed HEAD^");
    must_refuse(&world, &["the tag v0.2.0 is at another commit"]);
}

#[test]
fn publish_stops_before_the_gates_if_git_cannot_sign() {
    let Some(world) = World::prepared() else { return };
    world.git("config user.signingkey missing.pub");
    let before = world.state();
    world.publish().fails(&["git cannot sign", "user.signingkey"]);
    world.git("config --unset user.signingkey");
    world.git("config gpg.ssh.allowedSignersFile missing");
    world.publish().fails(&["git cannot verify your signature", "gpg.ssh.allowedSignersFile"]);
    // No gate has run.
    assert_eq!(world.steps(), "");
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn a_signature_that_git_cannot_verify_is_refused() {
    let Some(world) = World::signed() else { return };
    world.git("config gpg.ssh.allowedSignersFile missing");
    must_refuse(&world, &["gpg.ssh.allowedSignersFile"]);
}

#[test]
fn publish_stops_before_any_upload_if_origin_has_other_commits() {
    let Some(world) = World::new() else { return };
    world.push_as_somebody_else();
    world.release("prepare minor --execute").succeeds(&[]);
    must_refuse(&world, &["origin has commits on main that are not here", "git pull --rebase"]);
    world.git("pull --quiet --rebase origin main");
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
}

#[test]
fn publish_stops_before_any_upload_if_origin_has_a_different_tag() {
    let Some(world) = World::prepared() else { return };
    world.git("push --quiet origin HEAD^:refs/tags/v0.2.0");
    must_refuse(&world, &["origin has a different tag v0.2.0"]);
}

#[test]
fn publish_stops_before_any_upload_if_a_local_hook_refuses_the_push() {
    let Some(world) = World::signed() else { return };
    world.put_hook("pre-push", "echo the hook refuses >&2; exit 1");
    let before = world.state();
    world.publish().fails(&[
        "the hook refuses",
        "origin would refuse main and v0.2.0",
        "nothing more was published",
    ]);
    assert_eq!(world.state(), before);
    assert!(world.registry.uploads().is_empty());
}

#[test]
fn publish_pushes_only_its_tag_and_hides_the_token_from_hooks() {
    let Some(world) = World::signed() else { return };
    world.git("tag --annotate private --message Note HEAD^");
    world.git("config push.followTags true");
    world.put_hook("pre-push", "! env | grep -q CARGO_REGISTRIES_LOCAL_TOKEN");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    assert_eq!(world.origin("refs/tags/private"), None);
}

/// The gate that compares with the last release.
const COMPARED: &str = "the version fits the changes since the last release";

#[test]
fn a_clone_without_the_last_release_is_refused() {
    let Some(world) = World::new() else { return };
    for version in ["0.0.9", "0.1.0"] {
        world.sign(&format!("v{version}"), &format!("Release {version}\n\nRelease-Check: passed\n"));
    }
    world.git("push --quiet origin v0.0.9 v0.1.0");
    world.release("prepare minor --execute").succeeds(&[]);
    world.git("push --quiet origin main");
    // The last release is found even if git prints lists in columns.
    world.git("config column.ui always");
    world.put_program("cargo-semver-checks", "exit 1");
    world.check_only(COMPARED).fails(&["cargo-semver-checks is not installed"]);
    world.git("tag --delete v0.1.0");
    let advice = "git fetch --tags --force origin";
    world.check_only(COMPARED).fails(&["missing or different here: v0.1.0. Each", advice]);
    // A local tag with the same name is not that release.
    world.git("tag v0.1.0 HEAD^");
    world.check_only(COMPARED).fails(&["missing or different here: v0.1.0. Each", advice]);
    world.must("rm -rf .git");
    let origin = world.path("origin.git");
    world.must(&format!("git clone --quiet --depth 1 --bare file://{} .git", origin.display()));
    world.git("config core.bare false");
    world.git("reset --quiet");
    world.check_only(COMPARED).fails(&["this clone is shallow", "--unshallow"]);
}

#[test]
fn only_a_tag_from_publish_counts_as_a_release() {
    let Some(world) = World::new() else { return };
    world.put_program("cargo-semver-checks", "exit 1");
    world.release("prepare minor --execute").succeeds(&[]);
    let is_first = || world.check_only(COMPARED).succeeds(&["first release, nothing to compare with"]);
    is_first();
    // A lightweight tag on `origin` is not a release either, and may be missing here.
    world.git("push --quiet origin HEAD^:refs/tags/v0.0.7");
    is_first();

    world.git("tag v0.0.8 HEAD^");
    world.git("tag --annotate v0.0.9 HEAD^ --message Somebody's");
    // A release's message, under a different name.
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    let object = world.git("rev-parse v0.1.0");
    world.git(&format!("update-ref refs/tags/v0.1.1 {object}"));
    world.git("tag --delete v0.1.0");
    world.check_only(COMPARED).fails(&[
        "nothing was compared: the tags v0.0.8, v0.0.9, v0.1.1 name versions",
        "Release-Check: passed",
    ]);

    // An older release is still found.
    world.sign("v0.0.6", "Release 0.0.6\n\nRelease-Check: passed\n");
    world.check_only(COMPARED).fails(&["cargo-semver-checks is not installed"]);
}

#[test]
fn removing_a_crate_needs_a_breaking_version() {
    let Some(world) = World::new() else { return };
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.put_program("cargo-semver-checks", "exit 0");
    world.replace("Cargo.toml", "\"crates/chain-cli\", ", "");
    world.must("rm -r crates/chain-cli");
    world.must("cargo update --workspace --offline --quiet");
    world.commit_all("Drop");
    world.release("prepare patch --execute").succeeds(&[]);
    world.check_only(COMPARED).fails(&["chain-cli was released with 0.1.0, and 0.1.1 has no such crate"]);
    world.git("reset --quiet --hard HEAD^");
    world.release("prepare minor --execute").succeeds(&[]);
    world.check_only(COMPARED).succeeds(&["3 crates compared with v0.1.0; removed: chain-cli"]);
}

#[test]
fn a_later_run_pushes_what_origin_refused() {
    let Some(world) = World::signed() else { return };
    let before = world.state();
    // `origin` refuses one of the two, so it gets neither.
    world.put_hook_of_origin("update", "case $1 in refs/tags/*) echo not yet; exit 1;; esac");
    world.publish().fails(&["not yet", "everything is published, but origin refused main and v0.2.0"]);
    assert_eq!(world.state(), before);
    world.put_hook_of_origin("update", "exit 0");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn a_tag_lost_during_the_release_may_be_signed_again() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&["got 503"]);
    world.git("tag --delete v0.2.0");
    world
        .check_only("tag and versions are free")
        .succeeds(&["an earlier run has published chain-a, chain-b"]);
}

#[test]
fn different_addresses_for_fetching_and_pushing_are_refused() {
    let Some(world) = World::signed() else { return };
    world.git("clone --quiet --bare ../origin.git ../mirror.git");
    let messages = ["origin has different addresses for fetching and pushing", "remote.origin.pushurl"];
    world.git("remote set-url --push origin ../mirror.git");
    must_refuse(&world, &messages);
    // Pushing to both is refused too.
    world.git("remote set-url --push --add origin ../origin.git");
    must_refuse(&world, &messages);
    world.git("config --unset-all remote.origin.pushurl");
    world.git("config url.../mirror.git.pushInsteadOf ../origin.git");
    must_refuse(&world, &messages);
    world.git("config --unset url.../mirror.git.pushInsteadOf");
    // A push address that is the same is accepted.
    world.git("remote set-url --push origin ../origin.git");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn publish_stops_before_any_upload_if_origin_cannot_be_reached() {
    let Some(world) = World::prepared() else { return };
    world.git("remote set-url origin ../missing.git");
    must_refuse(&world, &["cannot reach origin"]);
}
