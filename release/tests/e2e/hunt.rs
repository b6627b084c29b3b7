//! Ad hoc.
use std::fs;
use crate::registry::Fault;
use crate::world::{PUBLISH, World};

fn include_only(world: &World) {
    for name in ["chain-a", "chain-b", "chain-c"] {
        world.replace(&format!("crates/{name}/Cargo.toml"), "keywords = ", "include = [\"/src/**/*.rs\", \"/LICENSE-*\"]\nkeywords = ");
    }
    world.commit_all("Include");
}

#[test]
fn h1_nothing_is_published_is_false() {
    let world = World::signed().unwrap();
    let body = r#"{"errors":[{"detail":"you are not an owner of this crate"}]}"#;
    world.registry.arm("chain-b", usize::MAX, Fault::Refuse { status: 403, headers: "", body });
    let said = world.publish();
    println!("TAKEN {:?}\n{}", world.registry.taken(), said.text);
    // follow its advice
    world.git("tag --delete v0.2.0");
    world.git("reset --hard HEAD^");
    world.replace("crates/chain-b/src/lib.rs", "second", "2nd");
    world.commit_all("Mend");
    world.release("prepare minor --execute").succeeds(&[]);
    world.registry.heal();
    world.put_program("rustdoc", "exit 1");
    println!("AFTER ADVICE\n{}", world.publish().text);
}

#[test]
fn h2_ignored_file_is_published() {
    let world = World::new().unwrap();
    include_only(&world);
    world.release("prepare minor --execute").succeeds(&[]);
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    fs::write(world.root().join(".git/info/exclude"), "local_*.rs\n").unwrap();
    world.write("crates/chain-a/src/local_notes.rs", "// my private notes: password hunter2\n");
    println!("STATUS {:?}", world.git("status --porcelain"));
    let said = world.publish();
    println!("{}", said.text);
    println!("{}", world.must("tar tzf target/package/chain-a-0.2.0.crate"));
}

#[test]
fn h3_skip_worktree_is_published() {
    let world = World::signed().unwrap();
    world.git("update-index --skip-worktree crates/chain-a/src/lib.rs");
    world.replace("crates/chain-a/src/lib.rs", "    1\n", "    666\n");
    let said = world.publish();
    println!("{}", said.text);
    println!("{}", world.must("tar xzOf target/package/chain-a-0.2.0.crate chain-a-0.2.0/src/lib.rs"));
    println!("{}", world.must("tar xzOf target/package/chain-a-0.2.0.crate chain-a-0.2.0/.cargo_vcs_info.json"));
}

#[test]
fn h4_retry_after_zero() {
    let world = World::signed().unwrap();
    let limit = Fault::Refuse { status: 429, headers: "Retry-After: 0\r\n", body: "no" };
    world.registry.arm("chain-a", usize::MAX, limit);
    let mut command = world.release_command("publish --registry local --execute --patience 2", &[]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
    println!("ENDED {:?} PUTS in 60 s with --patience 2: {}", child.try_wait().unwrap(), world.registry.puts().len());
    let _ = std::process::Command::new("kill").args(["-KILL", &format!("-{}", child.id())]).status();
    let _ = child.wait();
}

#[test]
fn h5_columns() {
    let world = World::new().unwrap();
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.git("tag v0.0.9");
    world.git("config column.ui always");
    // breaking
    world.replace("crates/chain-a/src/lib.rs", "    1\n}", "    1\n}\n/// x\npub fn y() {}\n");
    world.commit_all("Change");
    world.release("prepare patch --execute").succeeds(&[]);
    let said = world.release("check --registry local");
    for line in said.text.lines().filter(|l| l.contains("version says")||l.contains("nothing to compare")||l.contains("tags")) { println!("{line}"); }
}

#[test]
fn h6_follow_tags() {
    let world = World::prepared().unwrap();
    world.git("tag --annotate private-note --message note HEAD^");
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    world.git("config push.followTags true");
    println!("{}", world.publish().text);
    println!("{}", world.git("ls-remote origin"));
}

#[test]
fn h7_token_in_hooks_and_build_scripts() {
    let world = World::new().unwrap();
    world.write("crates/chain-a/build.rs", "fn main(){ if let Ok(t)=std::env::var(\"CARGO_REGISTRIES_LOCAL_TOKEN\") { println!(\"cargo::warning=build script sees {t}\"); } }\n");
    world.commit_all("Build");
    world.release("prepare minor --execute").succeeds(&[]);
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    world.put_hook("pre-push", "echo \"hook sees $CARGO_REGISTRIES_LOCAL_TOKEN\" >&2");
    let said = world.publish();
    for line in said.text.lines().filter(|l| l.contains("sees")||l.contains("token")) { println!("{line}"); }
    let leaks = world.must("grep -rlaF --exclude-dir=.git token_of_test_nothing .").len();
    println!("{leaks}");
}

#[test]
fn h9_pushurl() {
    let world = World::signed().unwrap();
    world.git("init --quiet --bare --initial-branch main ../mirror.git");
    world.git("config remote.origin.pushurl ../mirror.git");
    println!("{}", world.publish().text);
    println!("origin {}", world.git("ls-remote ../origin.git"));
    println!("mirror {}", world.git("ls-remote ../mirror.git"));
    println!("AGAIN {}", world.publish().text);
}

#[test]
fn h10_prune_tags() {
    let world = World::signed().unwrap();
    world.git("config fetch.prune true");
    world.git("config fetch.pruneTags true");
    world.git("config remote.origin.pruneTags true");
    world.registry.arm("chain-c", 1, Fault::BUSY);
    println!("{}", world.release("publish --registry local --execute --patience 0").text);
    println!("TAGS {:?}", world.git("tag --list"));
    println!("{}", world.publish().text);
}

#[test]
fn h11_pathspec_and_quoted_names() {
    let world = World::new().unwrap();
    world.write("Überblick.md", "# x\n");
    world.commit_all("Umlaut");
    println!("{}", world.release("prepare minor").text);
}

#[test]
fn h12_changelog_links() {
    let world = World::new().unwrap();
    world.write("CHANGELOG.md", "# Changelog\n\nWrite under `## [Unreleased]` what changes.\n\n## [Unreleased]\n\n- A thing.\n\n## [0.1.0] - 2026-01-31\n\n- The first.\n");
    world.commit_all("Log");
    println!("{}", world.release("prepare minor --execute").text);
    println!("{}", world.read("CHANGELOG.md"));
}

#[test]
fn h13_changelog_links_bottom() {
    let world = World::new().unwrap();
    world.write("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n[Unreleased]: https://example.com/compare/v0.1.0...HEAD\n");
    world.commit_all("Log");
    println!("{}", world.release("prepare minor --execute").text);
    println!("{}", world.read("CHANGELOG.md"));
    println!("{}", world.release("check --registry local").text.lines().filter(|l| l.contains("clean tree")).collect::<String>());
}

#[test]
fn h14_crlf() {
    let world = World::new().unwrap();
    for f in ["CHANGELOG.md", "README.md", "Cargo.toml"] {
        let t = world.read(f).replace('\n', "\r\n");
        world.write(f, &t);
    }
    world.commit_all("Windows");
    println!("{}", world.release("prepare minor --execute").text);
    for f in ["CHANGELOG.md", "README.md", "Cargo.toml"] { println!("{:?}", world.read(f)); }
}

#[test]
fn h15_snippet_forms() {
    let world = World::new().unwrap();
    world.write("README.md", "# Chain\n\n```toml\nchain-c = \"0.1.0\" # the last\nchain-a=\"0.1.0\"\n[dependencies.chain-b]\nversion = \"0.1.0\"\n[dev-dependencies]\nchain-b = { workspace = true }\nchain-c = { git = \"https://example.com\", tag = \"v0.1.0\" }\n```\n```console\n$ cargo add chain-c@0.1.0\n$ cargo install chain-cli --version 0.1.0\n```\n~~~toml\nchain-c = \"0.1.0\"\n~~~\n");
    world.commit_all("Readme");
    println!("{}", world.release("prepare minor --execute").text);
    println!("{}", world.read("README.md"));
}

#[test]
fn h16_yanked_ours() {
    let world = World::signed().unwrap();
    world.publish().succeeds(&[]);
    world.registry.yank("chain-a");
    println!("{}", world.publish().text);
    println!("{}", world.release("check --registry local").text.lines().filter(|l| l.contains("versions are free")).collect::<String>());
}

#[test]
fn h17_shallow() {
    let world = World::new().unwrap();
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.git("push --quiet origin v0.1.0");
    world.release("prepare minor --execute").succeeds(&[]);
    world.git("push --quiet origin main");
    let root = world.root();
    let url = format!("file://{}", world.path("origin.git").display());
    fs::rename(&root, world.path("old")).unwrap();
    let out = std::process::Command::new("git").current_dir(world.path("old")).args(["clone","--depth","1",&url]).arg(&root).output().unwrap();
    println!("{out:?}");
    println!("{}", world.git("tag --list"));
    let said = world.release("check --registry local");
    println!("{}", said.text.split_once("the gates of").unwrap().1);
}

#[test]
fn h18_retry_after_in_words() {
    let world = World::signed().unwrap();
    let body = r#"{"errors":[{"detail":"Please try again after Wed, 21 Oct 2015 07:28:00 GMT or email help"}]}"#;
    world.registry.arm("chain-a", 4, Fault::Refuse { status: 429, headers: "", body });
    println!("{}", world.release("publish --registry local --execute --patience 2").text);
    println!("{}", world.registry.puts().len());
}

#[test]
fn h19_crate_that_left() {
    // A dirty file made by the gates in an ignored place that is packed.
    let world = World::new().unwrap();
    include_only(&world);
    fs::write(world.root().join(".gitignore"), "/target\n*.orig.rs\n").unwrap();
    world.commit_all("Ignore");
    world.release("prepare minor --execute").succeeds(&[]);
    world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
    world.registry.arm("chain-c", 1, Fault::BUSY);
    world.release("publish --registry local --execute --patience 0").fails(&[]);
    world.write("crates/chain-a/src/lib.orig.rs", "//\n");
    println!("{}", world.publish().text);
    let _ = PUBLISH;
}

#[test]
fn i1_feature_removed() {
    let world = World::new().unwrap();
    world.write("crates/chain-a/Cargo.toml", &(world.read("crates/chain-a/Cargo.toml") + "\n[features]\ndefault = [\"std\"]\nstd = []\nextra = []\n"));
    world.commit_all("Feature");
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.replace("crates/chain-a/Cargo.toml", "extra = []\n", "");
    world.replace("crates/chain-a/Cargo.toml", "default = [\"std\"]\n", "");
    world.commit_all("Drop");
    world.release("prepare patch --execute").succeeds(&[]);
    let said = world.release("check --registry local");
    println!("{}", said.text.split_once("the gates of").unwrap().1);
}

#[test]
fn i2_columns_control() {
    for column in ["never", "always"] {
        let world = World::new().unwrap();
        world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
        world.git("tag v0.0.9");
        world.git(&format!("config column.ui {column}"));
        world.replace("crates/chain-c/src/lib.rs", "pub fn links", "pub fn lynx");
        world.replace("crates/chain-cli/src/main.rs", "links", "lynx");
        world.replace("crates/chain-a/src/lib.rs", "chain_c::links", "chain_c::lynx");
        world.replace("release/api/chain-c.txt", "links", "lynx");
        world.commit_all("Change");
        world.release("prepare patch --execute").succeeds(&[]);
        let said = world.release("check --registry local");
        println!("column.ui={column} {}", said.text.split_once("the gates of").unwrap().1);
    }
}

#[test]
fn i3_baseline_tag_of_anybody() {
    let world = World::new().unwrap();
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.replace("crates/chain-c/src/lib.rs", "pub fn links", "pub fn lynx");
    world.replace("crates/chain-cli/src/main.rs", "links", "lynx");
    world.replace("crates/chain-a/src/lib.rs", "chain_c::links", "chain_c::lynx");
    world.replace("release/api/chain-c.txt", "links", "lynx");
    world.commit_all("Change");
    // never released, unsigned, of anybody
    world.git("tag v0.1.1-experiment");
    world.release("prepare patch --execute").succeeds(&[]);
    let said = world.release("check --registry local");
    println!("{}", said.text.split_once("the gates of").unwrap().1);
}

#[test]
fn i4_build_target() {
    let world = World::prepared().unwrap();
    world.configure_cargo("[build]\ntarget = \"x86_64-unknown-linux-gnu\"\n");
    let said = world.release("check --registry local");
    println!("{}", said.text.split_once("the gates of").unwrap().1);
}

#[test]
fn i5_crate_removed() {
    let world = World::new().unwrap();
    world.sign("v0.1.0", "Release 0.1.0\n\nRelease-Check: passed\n");
    world.replace("Cargo.toml", "\"crates/chain-cli\", ", "");
    world.git("rm -rq crates/chain-cli");
    world.must("cargo update --workspace --offline");
    world.commit_all("Drop");
    world.release("prepare patch --execute").succeeds(&[]);
    let said = world.release("check --registry local");
    println!("{}", said.text.split_once("the gates of").unwrap().1);
}
