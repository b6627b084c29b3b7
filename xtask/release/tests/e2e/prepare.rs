//! `prepare`: it creates a commit or changes nothing.

use crate::world::World;

#[test]
fn prepare_without_execute_shows_changes_and_makes_none() {
    let Some(world) = World::new() else { return };
    let before = world.state();
    world.release("prepare minor").succeeds(&[
        "0.1.0 -> 0.2.0",
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "CHANGELOG.md",
        "Nothing was changed",
    ]);
    assert_eq!(world.state(), before);
}

#[test]
fn lines_that_still_name_the_old_version_are_shown() {
    let Some(world) = World::new() else { return };
    world.write("GUIDE.md", "```console\n$ cargo add chain-c@0.1.0\n$ cargo add chain-c --vers 0.1.0\n```\n");
    world.commit_all("Guide");
    let output = world.release("prepare minor --execute").succeeds(&[
        "+$ cargo add chain-c@0.2.0",
        "these lines still name 0.1.0",
        "GUIDE.md:3: $ cargo add chain-c --vers 0.1.0",
    ]);
    assert!(!output.text.contains("GUIDE.md:2") && !output.text.contains("CHANGELOG.md:"), "{}", output.text);
}

#[test]
fn prepare_commits_one_version_everywhere() {
    let Some(world) = World::new() else { return };
    let before = world.git("rev-parse HEAD");
    world.release("prepare minor --execute").succeeds(&["0.1.0 -> 0.2.0", "cargo xtask release check"]);

    assert_eq!(world.git("log -1 --format=%s"), "Release 0.2.0");
    assert_eq!(world.git("rev-parse HEAD^"), before);
    assert_eq!(world.git("status --porcelain"), "");
    assert_eq!(world.git("tag --list"), "");
    let changed = world.git("diff --name-only HEAD^");
    assert_eq!(
        changed.lines().collect::<Vec<_>>(),
        ["CHANGELOG.md", "Cargo.lock", "Cargo.toml", "README.md"]
    );
    let diff = world.git("diff --unified=0 HEAD^ -- Cargo.toml README.md");
    let added: Vec<_> =
        diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).collect();
    assert_eq!(
        added,
        [
            "+version = \"0.2.0\" # one for all",
            "+chain-a = { path = \"crates/chain-a\", version = \"0.2.0\" }",
            "+chain-b = { path = \"crates/chain-b\", version = \"0.2.0\" }",
            "+chain-c = { path = \"crates/chain-c\", version = \"0.2.0\" }",
            "+chain-c = \"0.2.0\"",
        ]
    );
    assert_eq!(world.read("Cargo.lock").matches("version = \"0.2.0\"").count(), 6);
    let log = world.read("CHANGELOG.md");
    assert!(log.contains("## [Unreleased]\n\n## [0.2.0] - 20"), "{log}");
}

#[test]
fn a_prepared_version_is_not_prepared_again() {
    let Some(world) = World::prepared() else { return };
    world.release("prepare 0.2.0 --execute").fails(&["0.2.0 is not greater than 0.2.0"]);
    world.release("prepare patch --execute").fails(&["no entry under `## [Unreleased]`"]);
}

#[test]
fn a_wrong_commit_is_refused_and_nothing_changes() {
    let Some(world) = World::new() else { return };
    let refused = |what: &str, bump: &str, messages: &[&str]| {
        let before = world.state();
        for verb in ["prepare", "prepare --execute"] {
            world.release(&format!("{verb} {bump}")).fails(messages);
        }
        assert_eq!(world.state(), before, "{what}");
        world.git("reset --quiet --hard origin/main");
        world.git("clean --quiet -d --force");
        world.git("switch --quiet main");
    };

    refused("the same version", "0.1.0", &["0.1.0 is not greater than 0.1.0"]);
    refused("an older version", "0.0.9", &["0.0.9 is not greater than 0.1.0"]);
    refused("not a version", "bigger", &["bigger is not `major`"]);

    world.write("README.md", "changed");
    refused("a changed file", "minor", &["the tree is not clean", "README.md"]);
    world.write("note.txt", "");
    refused("a new file", "minor", &["the tree is not clean", "note.txt"]);
    // The developer's configuration makes no difference.
    world.write("note.txt", "");
    world.git("config status.showUntrackedFiles no");
    refused("a hidden new file", "minor", &["the tree is not clean", "note.txt"]);

    world.git("switch --quiet --create topic");
    refused("another branch", "minor", &["a release is made only from main", "\"topic\""]);
    world.git("switch --quiet --detach");
    refused("no branch", "minor", &["a release is made only from main"]);

    world.replace("CHANGELOG.md", "- The chain holds.", "");
    world.commit_all("Empty");
    refused("an empty changelog", "minor", &["no entry under"]);
    world.replace("CHANGELOG.md", "The chain holds", "TBD");
    world.commit_all("Later");
    refused("a placeholder in the changelog", "minor", &["has `TBD` under"]);
}

#[test]
fn a_failure_in_the_middle_leaves_the_tree_unchanged() {
    let Some(world) = World::new() else { return };
    let before = world.state();
    world.git("config commit.gpgSign true");
    world.git("config user.signingkey missing.pub");
    world.release("prepare minor --execute").fails(&["missing.pub"]);
    assert_eq!(world.state(), before);

    world.git("config commit.gpgSign false");
    world.replace("crates/chain-cli/Cargo.toml", "version.workspace = true", "version = \"0.1.0\"");
    world.commit_all("Depart");
    let before = world.state();
    world.release("prepare minor --execute").fails(&["a member does not inherit its version"]);
    assert_eq!(world.state(), before);
}

#[test]
fn hooks_cannot_change_the_commit() {
    let Some(world) = World::new() else { return };
    for hook in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] {
        world.put_hook(hook, &format!("echo {hook} >> README.md; git add README.md; exit 1"));
    }
    world.release("prepare minor --execute").succeeds(&["committed. Next"]);
    assert_eq!(world.git("log -1 --format=%B"), "Release 0.2.0");
    assert_eq!(world.git("status --porcelain"), "");
    assert!(!world.read("README.md").contains("commit"));
}

#[test]
fn changes_after_the_commit_are_reported_and_the_commit_stays() {
    let Some(world) = World::new() else { return };
    let before = world.git("rev-parse HEAD");
    world.put_program_around("git", "case \"$*\" in *' commit '*) echo late >> README.md;; esac");
    world.release("prepare minor --execute").fails(&[
        "0.2.0 is committed, but something else has changed files",
        "git restore .",
        "git reset --hard HEAD^",
        "README.md",
    ]);
    assert_eq!(world.git("rev-parse HEAD^"), before);
    assert_eq!(world.git("diff --name-only"), "README.md");
    // The advice in the message works.
    world.git("restore .");
    world.check_only("a clean tree on the version's commit").succeeds(&[]);
}

#[test]
fn after_a_kill_prepare_says_how_to_start_again() {
    let Some(world) = World::new() else { return };
    let before = world.git("rev-parse HEAD");
    world.put_logging_programs();
    world
        .release_with("prepare minor --execute", &[("KILL", "before:git -c core.hooksPath=/dev/null commit")])
        .must_be_killed();
    world.release("prepare minor --execute").fails(&["the tree is not clean", "git reset --hard"]);
    world.git("reset --quiet --hard");
    world
        .release_with("prepare minor --execute", &[("KILL", "after:git -c core.hooksPath=/dev/null commit")])
        .must_be_killed();
    assert_eq!(world.git("rev-parse HEAD^"), before);
    assert_eq!(world.git("status --porcelain"), "");
    // The version is prepared, and is not prepared twice.
    world.release("prepare minor --execute").fails(&["no entry under `## [Unreleased]`"]);
}
