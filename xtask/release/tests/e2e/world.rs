//! Everything that a release uses, in a temporary folder: the workspace, `origin`, a registry, a key, and the configuration
//! of git and cargo. The tests neither read nor write the developer's files, and never see the developer's token.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::registry::Registry;

/// The crates, each after its dependencies. The last is a program.
pub(crate) const CRATES: [&str; 4] = ["chain-a", "chain-b", "chain-c", "chain-cli"];

pub(crate) const PUBLISH: &str = "publish --registry local --execute";

pub(crate) const TOKEN: &str = "a token of the test";

pub(crate) struct World {
    folder: TempDir,
    pub(crate) registry: Registry,
}

/// A command's success, and all that it printed.
#[derive(Debug)]
pub(crate) struct Output {
    ok: bool,
    text: String,
}

impl World {
    /// The workspace between two releases, pushed. Returns `None` and prints why if a program is missing.
    pub(crate) fn new() -> Option<Self> {
        for program in ["git", "ssh-keygen"] {
            if Command::new(program).arg("-V").output().is_err() {
                eprintln!("SKIPPED: {program} is not installed, and a release needs it to sign the tag");
                return None;
            }
        }
        let world = Self { folder: TempDir::new().unwrap(), registry: Registry::start() };
        for folder in ["workspace", "cargo", "bin"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        world.configure_cargo();
        // The real tools may be missing, and would use the network.
        for tool in ["deny", "hack", "semver-checks", "xtask"] {
            world.put_program(&format!("cargo-{tool}"), "exit 0");
        }
        world.configure_git();
        world.write_workspace();
        world.git("init --quiet --initial-branch main");
        world.git("init --quiet --bare --initial-branch main ../origin.git");
        world.git("remote add origin ../origin.git");
        world.must("cargo generate-lockfile --offline");
        world.git("add --all");
        world.git("commit --quiet --message Begin");
        world.git("push --quiet origin main");
        Some(world)
    }

    /// The workspace at the commit of 0.2.0.
    pub(crate) fn prepared() -> Option<Self> {
        let world = Self::new()?;
        world.release("prepare minor --execute").succeeds(&[]);
        Some(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path("workspace").join(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path("workspace").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds a program at the front of the PATH.
    pub(crate) fn put_program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The program fails whenever it is asked for more than its version.
    pub(crate) fn fail_gate(&self, program: &str) {
        self.put_program(program, "[ \"$2\" = --version ]");
    }

    /// Pushes a commit to `origin` that this clone does not have.
    pub(crate) fn push_as_somebody_else(&self) {
        self.git("clone --quiet ../origin.git ../elsewhere");
        self.git("-C ../elsewhere commit --quiet --allow-empty --message Elsewhere");
        self.git("-C ../elsewhere push --quiet origin main");
    }

    /// Runs the release program with these arguments, separated by spaces.
    pub(crate) fn release(&self, arguments: &str) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_payments-release"));
        command.args(arguments.split(' ')).env("CARGO_REGISTRIES_LOCAL_TOKEN", TOKEN).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Output { ok: output.status.success(), text }
    }

    /// Runs `git` in the workspace, and returns its stdout.
    pub(crate) fn git(&self, arguments: &str) -> String {
        self.must(&format!("git {arguments}"))
    }

    fn must(&self, line: &str) -> String {
        let mut words = line.split(' ');
        let output = self.command(words.next().unwrap()).args(words).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The references and changed files of the workspace, and the references of `origin`: only a release may change them.
    pub(crate) fn state(&self) -> String {
        ["for-each-ref", "-C ../origin.git for-each-ref", "status --porcelain"]
            .map(|call| self.git(call))
            .join("\n")
    }

    /// Fails unless 0.2.0 is released: each crate is published once and in order, and the signed tag and branch are pushed.
    pub(crate) fn must_be_released(&self) {
        assert_eq!(self.registry.published(), CRATES);
        let head = self.git("rev-parse HEAD");
        assert_eq!(self.git("rev-parse v0.2.0^{commit}"), head);
        self.git("verify-tag v0.2.0");
        assert_eq!(self.git("-C ../origin.git rev-parse main"), head);
        assert_eq!(self.git("-C ../origin.git rev-parse v0.2.0"), self.git("rev-parse v0.2.0"));
    }

    /// Configures cargo with the registry.
    fn configure_cargo(&self) {
        let index = self.registry.index();
        let text = format!(
            "[registries.local]\nindex = \"{index}\"\n[source.crates-io]\nreplace-with = \"local\"\n[net]\nretry = 0\n"
        );
        fs::write(self.path("cargo/config.toml"), text).unwrap();
    }

    fn configure_git(&self) {
        let (key, public, signers) = (self.path("key"), self.path("key.pub"), self.path("signers"));
        let mut keygen = Command::new("ssh-keygen");
        let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(&key).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let public_key = fs::read_to_string(&public).unwrap();
        fs::write(&signers, format!("maintainer@example.com {public_key}")).unwrap();
        let text = format!(
            "[user]\nname = Maintainer\nemail = maintainer@example.com\nsigningkey = {}\n[gpg]\nformat = ssh\n\
             [gpg \"ssh\"]\nallowedSignersFile = {}\n",
            public.display(),
            signers.display()
        );
        fs::write(self.path("gitconfig"), text).unwrap();
    }

    /// A program in the workspace that sees only the test's configuration.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let set_by_test_runner = ["CARGO", "GIT_", "NEXTEST", "RUST_", "LD_LIBRARY_PATH"];
            // With a proxy, requests to loopback would go through it.
            let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
            if is_proxy || set_by_test_runner.iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        // The toolchain's own folder: rustup's proxies would look up the toolchain at each call.
        let toolchain = std::env::var_os("CARGO").map(PathBuf::from);
        let toolchain = toolchain.as_deref().and_then(Path::parent).map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap();
        let folders = [self.path("bin")].into_iter().chain(toolchain).chain(std::env::split_paths(&path));
        command
            .current_dir(self.path("workspace"))
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("CARGO_HOME", self.path("cargo"))
            .env("GIT_CONFIG_GLOBAL", self.path("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// A workspace with the same structure, small enough to pack and build in a second.
    fn write_workspace(&self) {
        for (path, text) in FILES {
            self.write(path, text);
        }
        for (number, name) in CRATES.into_iter().enumerate() {
            let before = number.checked_sub(1).map(|before| CRATES[before]);
            let dependency = before.map(|before| format!("{before}.workspace = true\n")).unwrap_or_default();
            let manifest = format!(
                "[package]\nname = \"{name}\"\ndescription = \"A link.\"\nreadme = \"README.md\"\nversion.workspace = true\n\
                 edition.workspace = true\nlicense.workspace = true\nrepository.workspace = true\n\n[dependencies]\n{dependency}"
            );
            self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
            self.write(&format!("crates/{name}/README.md"), "# A link\n");
            if name == "chain-cli" {
                self.write("crates/chain-cli/src/main.rs", "//! The command.\n\nfn main() {}\n");
            } else {
                let module = name.replace('-', "_");
                let text = "//! A link.\n\n/// How long the link is.\npub const LENGTH: u32 = 1;\n";
                self.write(&format!("crates/{name}/src/lib.rs"), text);
                let api = format!("pub mod {module}\npub const {module}::LENGTH: u32\n");
                self.write(&format!("tests/api/{name}.txt"), &api);
            }
        }
    }
}

impl Output {
    /// Fails unless the command succeeded and printed all these texts.
    #[track_caller]
    pub(crate) fn succeeds(self, texts: &[&str]) -> Self {
        assert!(self.ok, "the command failed: {}", self.text);
        for text in texts {
            self.must_contain(text);
        }
        self
    }

    /// Fails unless the command failed and printed all these texts.
    #[track_caller]
    pub(crate) fn fails(self, texts: &[&str]) -> Self {
        assert!(!self.ok, "the command succeeded: {}", self.text);
        for text in texts {
            self.must_contain(text);
        }
        self
    }

    #[track_caller]
    pub(crate) fn must_contain(&self, text: &str) {
        assert!(self.text.contains(text), "the output does not contain {text:?}:\n{}", self.text);
    }
}

const FILES: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        r#"[workspace]
resolver = "3"
members = ["crates/*"]

[workspace.package]
version = "0.1.0" # one for all
edition = "2024"
license = "MIT OR Apache-2.0"
repository = "https://example.com/chain"

[workspace.dependencies]
chain-a = { path = "crates/chain-a", version = "0.1.0" }
chain-b = { path = "crates/chain-b", version = "0.1.0" }
chain-c = { path = "crates/chain-c", version = "0.1.0" }
other = "0.1.0"

[profile.dev]
debug = false
incremental = false
"#,
    ),
    (".gitignore", "/target\n"),
    (
        "CHANGELOG.md",
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- The chain holds.\n\n## [0.1.0] - 2026-01-31\n\n- The first.\n",
    ),
    ("README.md", "# Chain\n\n```toml\n[dependencies]\nchain-c = \"0.1.0\"\n```\n"),
    ("xtask/release/deny.toml", "[licenses]\nallow = [\"MIT\"]\n"),
];
