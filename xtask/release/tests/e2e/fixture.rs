//! A workspace with the structure of ours, small enough to pack and build in a second.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The crates, each after its dependencies. The last is a program.
pub(crate) const CRATES: [&str; 4] = ["chain-a", "chain-b", "chain-c", "chain-cli"];

/// Writes the workspace to an empty folder.
pub(crate) fn write(root: &Path) {
    for (path, text) in FILES {
        put(root, path, text);
    }
    for (number, name) in CRATES.iter().enumerate() {
        put(root, &format!("crates/{name}/Cargo.toml"), &manifest(number));
        if root.join(format!("crates/{name}/src/lib.rs")).exists() {
            let module = name.replace('-', "_");
            let api = format!("pub mod {module}\npub fn {module}::links() -> u32\n");
            put(root, &format!("tests/api/{name}.txt"), &api);
        }
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            symlink(format!("../../{file}"), root.join("crates").join(name).join(file)).unwrap();
        }
    }
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn manifest(number: usize) -> String {
    let name = CRATES[number];
    let before = number.checked_sub(1).map(|before| format!("{}.workspace = true\n", CRATES[before]));
    // A dev-dependency on a later crate has only a path: with a version, neither could be packed before the other.
    let for_tests =
        if number == 0 { "\n[dev-dependencies]\nchain-c = { path = \"../chain-c\" }\n" } else { "" };
    format!(
        "[package]\nname = \"{name}\"\ndescription = \"A link of the chain.\"\nreadme = \"README.md\"\n\
         version.workspace = true\nedition.workspace = true\nrust-version.workspace = true\n\
         license.workspace = true\nrepository.workspace = true\npublish.workspace = true\n\
         keywords = [\"chain\"]\ncategories = [\"development-tools\"]\n\n\
         [package.metadata.docs.rs]\nall-features = true\n\n\
         [package.metadata.release]\nmax-kib = 8\nshows = []\n\n\
         [dependencies]\n{}{for_tests}",
        before.unwrap_or_default()
    )
}

const FILES: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        r#"[workspace]
resolver = "3"
members = ["crates/chain-a", "crates/chain-b", "crates/chain-c", "crates/chain-cli", "tests", "xtask"]

[workspace.package]
version = "0.1.0" # one for all
edition = "2024"
rust-version = "1.91"
license = "MIT OR Apache-2.0"
repository = "https://example.com/chain"
publish = true

[workspace.dependencies]
chain-a = { path = "crates/chain-a", version = "0.1.0" }
chain-b = { path = "crates/chain-b", version = "0.1.0" }
chain-c = { path = "crates/chain-c", version = "0.1.0" }

# The tests build this workspace about a hundred times, so builds must be fast.
[profile.dev]
debug = false
incremental = false
"#,
    ),
    (".cargo/config.toml", "[alias]\nxtask = \"run --quiet --locked --package xtask --\"\n"),
    (".gitignore", "/target\n"),
    (
        "CHANGELOG.md",
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- The chain holds.\n\n## [0.1.0] - 2026-01-31\n\n- The first.\n",
    ),
    (
        "README.md",
        "# Chain\n\n```toml\n[dependencies]\nchain-c = \"0.1.0\"\n```\n\n\
         ```console\n$ cargo add chain-c\n```\n\n```rust\nassert_eq!(chain_c::links(), 3);\n```\n",
    ),
    ("xtask/release/deny.toml", "[licenses]\nallow = [\"MIT\"]\n"),
    ("LICENSE-MIT", "Permission is hereby granted.\n"),
    ("LICENSE-APACHE", "Grant of licence.\n"),
    (
        "crates/chain-a/src/lib.rs",
        "//! The first link.\n\n/// How many links there are up to here.\npub fn links() -> u32 {\n    1\n}\n\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn the_chain_is_longer() {\n        assert!(chain_c::links() > 1);\n    }\n}\n",
    ),
    (
        "crates/chain-b/src/lib.rs",
        "//! The second link.\n\n/// How many links there are up to here.\npub fn links() -> u32 {\n    chain_a::links() + 1\n}\n",
    ),
    (
        "crates/chain-c/src/lib.rs",
        "//! The third link.\n\n/// How many links there are up to here.\npub fn links() -> u32 {\n    chain_b::links() + 1\n}\n",
    ),
    (
        "crates/chain-cli/src/main.rs",
        "//! The command.\n\nfn main() {\n    println!(\"{}\", chain_c::links());\n}\n",
    ),
    (
        "tests/Cargo.toml",
        "[package]\nname = \"chain-tests\"\nversion.workspace = true\nedition.workspace = true\npublish = false\n\n\
         [dependencies]\nchain-c.workspace = true\n",
    ),
    ("tests/src/lib.rs", "//! Tests of all crates together.\n"),
    (
        "xtask/Cargo.toml",
        "[package]\nname = \"xtask\"\nversion.workspace = true\nedition.workspace = true\npublish = false\n",
    ),
    ("xtask/src/main.rs", XTASK),
];

/// Replaces our xtask. It logs each step in the file `STEPS`, fails in the steps that `FAIL` lists, and runs the script with
/// the step's name in the folder `DURING`, if there is one.
const XTASK: &str = r#"//! The project's own tasks.

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["test", "--complete"] => {
          for title in ["formatting", "lints", "unit-tests"] {
            if let Ok(log) = std::env::var("STEPS") {
                let text = std::fs::read_to_string(&log).unwrap_or_default();
                std::fs::write(log, text + title + "\n").unwrap();
            }
            if let Ok(folder) = std::env::var("DURING") {
                let program = Path::new(&folder).join(title);
                if program.exists() {
                    assert!(Command::new("sh").arg(program).status().unwrap().success());
                }
            }
            if std::env::var("FAIL").is_ok_and(|steps| steps.split(' ').any(|step| step == title)) {
                println!("the step {title} failed");
                return ExitCode::FAILURE;
            }
          }
        }
        _ => panic!("no such task: {words:?}"),
    }
    ExitCode::SUCCESS
}
"#;
