//! What git must be like before anything is published: the tag is ours or not there, and `origin` will take both.

use crate::registry::Fault;
use crate::world::{Said, World};

/// Fails unless `publish` refuses with these words, both times, and leaves everything as it is.
#[track_caller]
fn refuses(world: &World, words: &[&str]) -> Said {
    let before = world.state();
    world.release("publish --registry local").fails(words);
    let said = world.publish().fails(words);
    assert_eq!(world.state(), before);
    assert!(world.registry.puts().is_empty());
    said
}

#[test]
fn a_tag_that_this_command_would_not_make_is_refused() {
    let Some(world) = World::prepared() else { return };
    let trailer = "Release-Check: passed";

    world.git("tag v0.2.0");
    refuses(&world, &["the tag v0.2.0 is not annotated", "git tag --delete v0.2.0"]);

    world.git(&format!("tag --force --annotate v0.2.0 --message Release --message {}", "Unsigned"));
    refuses(&world, &["the signature of the tag v0.2.0 cannot be verified", "git tag --delete v0.2.0"]);

    world.git("tag --force --sign v0.2.0 --message Mine");
    refuses(&world, &["the tag v0.2.0 does not say", trailer, "git tag --delete v0.2.0"]);

    // The tag of another version under this name: its words and its signature are good, for another release.
    world.sign("v0.1.0", &format!("Release 0.1.0\n\n{trailer}\n"));
    let object = world.git("rev-parse v0.1.0");
    world.git(&format!("update-ref refs/tags/v0.2.0 {object}"));
    refuses(&world, &["the tag v0.2.0", "v0.1.0"]);

    // Signed by somebody whom this repository does not know.
    world.git("tag --delete v0.1.0 v0.2.0");
    world.make_key("stranger");
    world.git("config user.signingkey ../stranger.pub");
    world.sign("v0.2.0", &format!("Release 0.2.0\n\n{trailer}\n"));
    world.git("config --unset user.signingkey");
    refuses(&world, &["the signature of the tag v0.2.0 cannot be verified"]);

    // And as this command would make it.
    world.git("tag --delete v0.2.0");
    world.sign("v0.2.0", &format!("Release 0.2.0\n\n{trailer}\n"));
    world.publish().succeeds(&["pushed main and v0.2.0"]);
}

#[test]
fn a_tag_for_another_registry_is_refused() {
    let Some(world) = World::prepared() else { return };
    world.sign_for("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n", "https://registry.example/index/");
    refuses(&world, &["the tag v0.2.0 was made for a release to https://registry.example/index/"]);
}

#[test]
fn a_merge_is_no_commit_of_a_version() {
    let Some(world) = World::new() else { return };
    world.git("switch --quiet --create release");
    world.release("prepare minor").fails(&["releases are made from main"]);
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
    refuses(&world, &["a merge brings in what the changelog of 0.2.0 does not know of"]);
}

#[test]
fn a_misplaced_tag_is_refused() {
    let Some(world) = World::prepared() else { return };
    world.git("tag --sign v0.2.0 --message Release --message Release-Check:passed HEAD^");
    refuses(&world, &["the tag v0.2.0 is misplaced"]);
}

#[test]
fn a_tag_that_cannot_be_signed_stops_everything() {
    let Some(world) = World::prepared() else { return };
    world.git("config user.signingkey nowhere.pub");
    let before = world.state();
    world.publish().fails(&["nothing can be signed", "user.signingkey"]);
    world.git("config --unset user.signingkey");
    world.git("config gpg.ssh.allowedSignersFile nowhere");
    world.publish().fails(&["cannot be verified", "gpg.ssh.allowedSignersFile"]);
    // Nobody has waited for the gates in vain.
    assert_eq!(world.steps(), "");
    assert_eq!(world.state(), before);
    assert!(world.registry.puts().is_empty());
}

#[test]
fn a_signature_that_nobody_can_verify_stops_everything() {
    let Some(world) = World::signed() else { return };
    world.git("config gpg.ssh.allowedSignersFile nowhere");
    refuses(&world, &["gpg.ssh.allowedSignersFile"]);
}

#[test]
fn an_origin_that_has_gone_its_own_way_is_met_before_anything_is_published() {
    let Some(world) = World::new() else { return };
    world.push_as_somebody_else();
    world.release("prepare minor --execute").succeeds(&[]);
    refuses(&world, &["origin has commits on main that are not here", "git pull --rebase"]);
    world.git("pull --quiet --rebase origin main");
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
}

#[test]
fn another_tag_on_origin_is_met_before_anything_is_published() {
    let Some(world) = World::prepared() else { return };
    world.git("push --quiet origin HEAD^:refs/tags/v0.2.0");
    refuses(&world, &["origin has another tag v0.2.0"]);
}

#[test]
fn a_push_that_a_hook_here_refuses_is_met_before_anything_is_published() {
    let Some(world) = World::signed() else { return };
    world.put_hook("pre-push", "echo the hook refuses >&2; exit 1");
    let before = world.state();
    world.publish().fails(&[
        "the hook refuses",
        "origin would not take main and v0.2.0",
        "nothing more is published",
    ]);
    assert_eq!(world.state(), before);
    assert!(world.registry.puts().is_empty());
}

#[test]
fn what_the_developer_has_configured_pushes_nothing_else_and_no_hook_sees_the_token() {
    let Some(world) = World::signed() else { return };
    world.git("tag --annotate private --message Note HEAD^");
    world.git("config push.followTags true");
    world.put_hook("pre-push", "! env | grep -q CARGO_REGISTRIES_LOCAL_TOKEN");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    assert_eq!(world.origin("refs/tags/private"), None);
}

/// The gate that compares with the last release.
const COMPARED: &str = "the version says what has changed since the last";

#[test]
fn a_clone_that_does_not_have_the_last_release_cannot_be_compared_with_it() {
    let Some(world) = World::new() else { return };
    for version in ["0.0.9", "0.1.0"] {
        world.sign(&format!("v{version}"), &format!("Release {version}\n\nRelease-Check: passed\n"));
    }
    world.git("push --quiet origin v0.0.9 v0.1.0");
    world.release("prepare minor --execute").succeeds(&[]);
    world.git("push --quiet origin main");
    // There is something to be compared with, however the developer likes to see lists.
    world.git("config column.ui always");
    world.put_program("cargo-semver-checks", "exit 1");
    world.check_only(COMPARED).fails(&["cargo-semver-checks is not installed"]);
    world.git("tag --delete v0.1.0");
    let advice = "git fetch --tags --force origin";
    world.check_only(COMPARED).fails(&["that are not here", "other ones here: v0.1.0. Each", advice]);
    // A tag of one's own does not stand for it.
    world.git("tag v0.1.0 HEAD^");
    world.check_only(COMPARED).fails(&["other ones here: v0.1.0. Each", advice]);
    world.must("rm -rf .git");
    let origin = world.path("origin.git");
    world.must(&format!("git clone --quiet --depth 1 --bare file://{} .git", origin.display()));
    world.git("config core.bare false");
    world.git("reset --quiet");
    world.check_only(COMPARED).fails(&["this clone is shallow", "--unshallow"]);
}

#[test]
fn only_what_publish_has_tagged_is_a_release_to_compare_with() {
    let Some(world) = World::new() else { return };
    world.put_program("cargo-semver-checks", "exit 1");
    world.release("prepare minor --execute").succeeds(&[]);
    let is_the_first = || world.check_only(COMPARED).succeeds(&["the first release"]);
    is_the_first();
    // On `origin` a lightweight tag is no release either, and need not be here.
    world.git("push --quiet origin HEAD^:refs/tags/v0.0.7");
    is_the_first();

    world.git("tag v0.0.8 HEAD^");
    world.git("tag --annotate v0.0.9 HEAD^ --message Somebody's");
    // The words of a release, under another name than its own.
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    let object = world.git("rev-parse v0.1.0");
    world.git(&format!("update-ref refs/tags/v0.1.1 {object}"));
    world.git("tag --delete v0.1.0");
    world
        .check_only(COMPARED)
        .fails(&["nothing was compared: v0.0.8, v0.0.9, v0.1.1 name versions", "Release-Check: passed"]);

    // A release is found beneath them.
    world.sign("v0.0.6", "Release 0.0.6\n\nRelease-Check: passed\n");
    world.check_only(COMPARED).fails(&["cargo-semver-checks is not installed"]);
}

#[test]
fn a_crate_that_is_dropped_needs_a_version_that_may_break() {
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
    world.check_only(COMPARED).succeeds(&["3 crates against v0.1.0; gone since then: chain-cli"]);
}

#[test]
fn a_push_that_origin_refuses_is_made_by_a_later_run() {
    let Some(world) = World::signed() else { return };
    let before = world.state();
    // One of the two alone, which is none of them.
    world.put_hook_of_origin("update", "case $1 in refs/tags/*) echo not yet; exit 1;; esac");
    world.publish().fails(&["not yet", "everything is published, and origin did not take main and v0.2.0"]);
    assert_eq!(world.state(), before);
    world.put_hook_of_origin("update", "exit 0");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn a_tag_that_was_lost_after_the_release_has_begun_may_be_signed_again() {
    let Some(world) = World::signed() else { return };
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&["got 503"]);
    world.git("tag --delete v0.2.0");
    world
        .check_only("tag and versions are free")
        .succeeds(&["begun by an earlier run: chain-a, chain-b are ours already"]);
}

#[test]
fn an_origin_that_is_pushed_to_elsewhere_than_it_is_read_is_refused() {
    let Some(world) = World::signed() else { return };
    world.git("clone --quiet --bare ../origin.git ../mirror.git");
    let words = ["origin is read at one address and pushed to another", "remote.origin.pushurl"];
    world.git("remote set-url --push origin ../mirror.git");
    refuses(&world, &words);
    // To both is no place either.
    world.git("remote set-url --push --add origin ../origin.git");
    refuses(&world, &words);
    world.git("config --unset-all remote.origin.pushurl");
    world.git("config url.../mirror.git.pushInsteadOf ../origin.git");
    refuses(&world, &words);
    world.git("config --unset url.../mirror.git.pushInsteadOf");
    // Said twice it is the same.
    world.git("remote set-url --push origin ../origin.git");
    world.publish().succeeds(&["pushed main and v0.2.0"]);
    world.must_be_released();
}

#[test]
fn an_origin_that_does_not_answer_is_met_before_anything_is_published() {
    let Some(world) = World::prepared() else { return };
    world.git("remote set-url origin ../nowhere.git");
    refuses(&world, &["origin does not answer"]);
}
