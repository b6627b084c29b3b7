//! Everything that a release uses, in a temporary folder: the workspace, `origin`, a registry, a key, and the configuration
//! of git and cargo. The tests neither read nor write the developer's files, and never see the developer's token.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::fixture;
use crate::registry::{Registry, State};

/// The registry's name in cargo's configuration.
pub(crate) const NAME: &str = "local";

const TOKEN: &str = "CARGO_REGISTRIES_LOCAL_TOKEN";

pub(crate) struct World {
    folder: TempDir,
    pub(crate) registry: Registry,
}

pub(crate) struct Saved(State);

/// A command's success, and all that it printed.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) ok: bool,
    pub(crate) text: String,
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
        for folder in ["workspace", "cargo", "bin", "during"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        world.configure_cargo("");
        // The real tools may be missing, and would use the network.
        for tool in crate::check::TOOLS {
            world.put_program(&format!("cargo-{tool}"), "exit 0");
        }
        world.configure_git();
        fixture::write(&world.root());
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

    /// The workspace after a run that stopped right after signing the tag of 0.2.0: a later run skips the gates.
    pub(crate) fn signed() -> Option<Self> {
        let world = Self::prepared()?;
        world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
        Some(world)
    }

    /// Signs a tag of this commit with this message, for a release to the test's registry.
    pub(crate) fn sign(&self, tag: &str, message: &str) {
        let index = self.registry.index();
        self.sign_for(tag, message, index.strip_prefix("sparse+").unwrap());
    }

    /// The same for a release to another registry.
    pub(crate) fn sign_for(&self, tag: &str, message: &str, registry: &str) {
        fs::write(self.path("message"), format!("{message}Release-Registry: {registry}\n")).unwrap();
        self.git(&format!("tag --sign --cleanup=verbatim --file ../message {tag}"));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The root of the workspace.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("workspace")
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }

    /// Replaces the first `from` in a file. Fails if there is none.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}:\n{text}");
        self.write(path, &text.replacen(from, to, 1));
    }

    pub(crate) fn commit_all(&self, message: &str) {
        self.git("add --all");
        self.git(&format!("commit --quiet --message {message}"));
    }

    /// Adds a program at the front of the PATH.
    pub(crate) fn put_program(&self, name: &str, script: &str) {
        executable(&self.path("bin").join(name), script);
    }

    pub(crate) fn put_hook(&self, name: &str, script: &str) {
        executable(&self.root().join(".git/hooks").join(name), script);
    }

    pub(crate) fn put_hook_of_origin(&self, name: &str, script: &str) {
        executable(&self.path("origin.git/hooks").join(name), script);
    }

    /// Adds a script that runs once, when the gates reach this step of `cargo xtask test`.
    pub(crate) fn during(&self, step: &str, script: &str) {
        fs::write(self.path("during").join(step), format!("set -e\nrm \"$0\"\n{script}\n")).unwrap();
    }

    /// The steps of `cargo xtask test` that have run so far.
    pub(crate) fn steps(&self) -> String {
        fs::read_to_string(self.path("steps")).unwrap_or_default()
    }

    /// Pushes a commit to `origin` that this clone does not have.
    pub(crate) fn push_as_somebody_else(&self) {
        self.must("rm -rf ../elsewhere");
        self.git("clone --quiet ../origin.git ../elsewhere");
        self.git("-C ../elsewhere commit --quiet --allow-empty --message Elsewhere");
        self.git("-C ../elsewhere push --quiet origin main");
    }

    /// Replaces a program by a script that calls it and then runs `more`.
    pub(crate) fn put_program_around(&self, name: &str, more: &str) {
        let real = in_path(name);
        self.put_program(name, &format!("{} \"$@\"\nstatus=$?\n{more}\nexit $status", real.display()));
    }

    /// Replaces `git` and `cargo` by scripts that log each call. With `KILL`, such as `after:git push`, they kill the process
    /// group before or after the call that begins with those words.
    pub(crate) fn put_logging_programs(&self) {
        for program in ["git", "cargo"] {
            let (real, calls) = (in_path(program), self.path("calls"));
            let (real, calls) = (real.display(), calls.display());
            let kill = |moment| {
                format!("case \"{moment}:{program} $*\" in \"${{KILL:-none}}\"*) kill -KILL 0;; esac")
            };
            let (before, after) = (kill("before"), kill("after"));
            let log = format!("echo \"{program} $*\" >>{calls}");
            self.put_program(
                program,
                &format!("{log}\n{before}\n{real} \"$@\"\nstatus=$?\n{after}\nexit $status"),
            );
        }
    }

    /// The logged calls.
    pub(crate) fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    pub(crate) fn clear_calls(&self) {
        fs::write(self.path("calls"), "").unwrap();
    }

    /// Saves everything that a release changes.
    pub(crate) fn save(&self) -> Saved {
        self.must("rm -rf ../saved");
        self.must("mkdir ../saved");
        self.must("cp -a .git ../origin.git ../saved");
        Saved(self.registry.save())
    }

    /// Restores everything except the target folder, so that nothing is built again.
    pub(crate) fn restore(&self, saved: &Saved) {
        self.must("rm -rf .git ../origin.git");
        self.must("cp -a ../saved/.git .");
        self.must("cp -a ../saved/origin.git ..");
        self.registry.restore(&saved.0);
    }

    /// Runs the release program with these arguments, separated by spaces.
    pub(crate) fn release(&self, arguments: &str) -> Output {
        self.release_with(arguments, &[])
    }

    /// Runs `publish --execute`.
    pub(crate) fn publish(&self) -> Output {
        self.release(PUBLISH)
    }

    /// Runs one gate.
    pub(crate) fn check_only(&self, title: &str) -> Output {
        let mut check = self.release_command("check --registry local --only", &[]);
        check.arg(title);
        self.run(check)
    }

    pub(crate) fn release_with(&self, arguments: &str, environment: &[(&str, &str)]) -> Output {
        self.run(self.release_command(arguments, environment))
    }

    /// The command with a token and the given environment. An empty value removes the variable.
    pub(crate) fn release_command(&self, arguments: &str, environment: &[(&str, &str)]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_payments-release"));
        command.args(arguments.split_whitespace()).env(TOKEN, "a token of the test");
        for (name, value) in environment {
            if value.is_empty() {
                command.env_remove(name)
            } else {
                command.env(name, value)
            };
        }
        // A test kills the program and everything that it started, and nothing else.
        command.process_group(0);
        command
    }

    /// Runs a command to its end. The registry may kill it.
    pub(crate) fn run(&self, mut command: Command) -> Output {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.registry.set_kill_target(child.id());
        Output::of(&child.wait_with_output().unwrap())
    }

    /// Runs `git` in the workspace, and returns its stdout.
    pub(crate) fn git(&self, arguments: &str) -> String {
        self.must(&format!("git {arguments}"))
    }

    /// Runs a command that must succeed, and returns its stdout.
    pub(crate) fn must(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let output = self.command(words.next().unwrap()).args(words).output().unwrap();
        assert!(output.status.success(), "{line}: {}", Output::of(&output).text);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The references and changed files of the workspace, and the references of `origin`: only a release may change them.
    pub(crate) fn state(&self) -> String {
        let mut state = String::new();
        for repository in [".", "../origin.git"] {
            let references = self.git(&format!("-C {repository} for-each-ref"));
            writeln!(state, "{repository}:\n{references}").unwrap();
        }
        state + &self.git("status --porcelain") + &self.git("rev-parse --symbolic-full-name HEAD")
    }

    /// The object of a reference on `origin`.
    pub(crate) fn origin(&self, name: &str) -> Option<String> {
        let listed = self.git("ls-remote origin");
        let line = listed.lines().find(|line| line.ends_with(&format!("\t{name}")))?;
        Some(line.split('\t').next().unwrap().to_owned())
    }

    /// Fails unless 0.2.0 is released: each crate is published once, in order and with its bytes, and tag and branch are
    /// pushed.
    pub(crate) fn must_be_released(&self) {
        assert_eq!(self.registry.published(), fixture::CRATES);
        for upload in self.registry.uploads().iter().filter(|upload| upload.is_published) {
            assert_eq!(upload.version, "0.2.0");
            assert_eq!(self.registry.checksum(&upload.name, "0.2.0").as_ref(), Some(&upload.checksum));
        }
        let head = self.git("rev-parse HEAD");
        assert_eq!(self.git("rev-parse v0.2.0^{commit}"), head);
        self.git("verify-tag v0.2.0");
        assert_eq!(self.origin("refs/heads/main"), Some(head));
        assert_eq!(self.origin("refs/tags/v0.2.0"), Some(self.git("rev-parse v0.2.0")));
    }

    /// Configures cargo with the registry, followed by these lines.
    pub(crate) fn configure_cargo(&self, more: &str) {
        let index = self.registry.index();
        let text = format!(
            "[registries.{NAME}]\nindex = \"{index}\"\n[source.crates-io]\nreplace-with = \"{NAME}\"\n\
             [net]\nretry = 0\n{more}"
        );
        fs::write(self.path("cargo/config.toml"), text).unwrap();
    }

    /// Creates an SSH key `NAME` and its public key `NAME.pub`.
    pub(crate) fn make_key(&self, name: &str) {
        let mut keygen = Command::new("ssh-keygen");
        let output =
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(self.path(name)).output();
        assert!(output.as_ref().unwrap().status.success(), "{output:?}");
    }

    fn configure_git(&self) {
        self.make_key("key");
        let public = fs::read_to_string(self.path("key.pub")).unwrap();
        fs::write(self.path("signers"), format!("maintainer@example.com {public}")).unwrap();
        let text = format!(
            "[user]\nname = Maintainer\nemail = maintainer@example.com\nsigningkey = {}\n[gpg]\nformat = ssh\n\
             [gpg \"ssh\"]\nallowedSignersFile = {}\n[advice]\ndetachedHead = false\n",
            self.path("key.pub").display(),
            self.path("signers").display()
        );
        fs::write(self.path("gitconfig"), text).unwrap();
    }

    /// A program in the workspace that sees only the test's configuration.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
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
        command
            .current_dir(self.root())
            .env("PATH", path_with(&self.path("bin")))
            .env("CARGO_HOME", self.path("cargo"))
            .env("GIT_CONFIG_GLOBAL", self.path("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("STEPS", self.path("steps"))
            .env("DURING", self.path("during"));
        command
    }
}

/// Publishes with a short patience.
pub(crate) const PUBLISH: &str = "publish --registry local --execute --patience 20";

impl Output {
    fn of(output: &std::process::Output) -> Self {
        let text = [output.stdout.as_slice(), &output.stderr].concat();
        Self { ok: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
    }

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

    /// Fails unless the command ended without success and without an error message.
    #[track_caller]
    pub(crate) fn must_be_killed(self) {
        assert!(!self.ok && !self.text.contains("error:"), "the command was not killed: {}", self.text);
    }

    #[track_caller]
    pub(crate) fn must_contain(&self, text: &str) {
        assert!(self.text.contains(text), "the output does not contain {text:?}:\n{}", self.text);
    }
}

/// The PATH with this folder first and the toolchain second. Rustup's proxies would look up the toolchain at each of about
/// a thousand calls, which takes longer than compiling.
fn path_with(folder: &Path) -> std::ffi::OsString {
    let toolchain =
        std::env::var_os("CARGO").map(PathBuf::from).and_then(|cargo| Some(cargo.parent()?.to_owned()));
    let folders = [Some(folder.to_owned()), toolchain].into_iter().flatten();
    std::env::join_paths(folders.chain(search_path())).unwrap()
}

fn search_path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

fn executable(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn in_path(program: &str) -> PathBuf {
    search_path().iter().map(|folder| folder.join(program)).find(|path| path.is_file()).unwrap()
}
