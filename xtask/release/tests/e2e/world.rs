//! Everything that a release touches, in a folder of the test's own: the workspace, `origin`, a registry, a key, and the
//! configuration of git and cargo. Nothing of the developer's is read or written, the token least of all.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::fixture;
use crate::registry::{Registry, State};

/// What cargo's configuration calls the registry.
pub(crate) const NAME: &str = "local";

const TOKEN: &str = "CARGO_REGISTRIES_LOCAL_TOKEN";

pub(crate) struct World {
    folder: TempDir,
    pub(crate) registry: Registry,
}

pub(crate) struct Saved(State);

/// How a command ended, and all that it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

impl World {
    /// The workspace as it is between two releases, pushed. `None`, and loudly, where a program is missing.
    pub(crate) fn new() -> Option<Self> {
        let has = |program: &str| Command::new(program).arg("-V").output().is_ok();
        for program in ["git", "ssh-keygen"] {
            if !has(program) {
                eprintln!("SKIPPED: {program} is not installed, and a release is signed with it");
                return None;
            }
        }
        let world = Self { folder: TempDir::new().unwrap(), registry: Registry::start() };
        for folder in ["workspace", "cargo", "bin", "during"] {
            fs::create_dir(world.path(folder)).unwrap();
        }
        world.configure_cargo("");
        // They may be missing here, and would ask the network.
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

    /// The workspace on the commit of 0.2.0.
    pub(crate) fn prepared() -> Option<Self> {
        let world = Self::new()?;
        let said = world.release("prepare minor --execute");
        assert!(said.ok, "{}", said.text);
        Some(world)
    }

    /// The workspace where a run was cut off as soon as it had signed the tag of 0.2.0: from here on no gate is asked.
    pub(crate) fn signed() -> Option<Self> {
        let world = Self::prepared()?;
        world.sign("v0.2.0", "Release 0.2.0\n\nRelease-Check: passed\n");
        Some(world)
    }

    /// Signs a tag of this commit, with these words, for a release to the registry.
    pub(crate) fn sign(&self, tag: &str, message: &str) {
        let index = self.registry.index();
        self.sign_for(tag, message, index.strip_prefix("sparse+").unwrap());
    }

    /// The same for a release to another one.
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

    /// Changes a file, and fails if it does not.
    pub(crate) fn replace(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}:\n{text}");
        self.write(path, &text.replacen(from, to, 1));
    }

    pub(crate) fn commit_all(&self, message: &str) {
        self.git("add --all");
        self.git(&format!("commit --quiet --message {message}"));
    }

    /// A program for the front of the PATH.
    pub(crate) fn put_program(&self, name: &str, script: &str) {
        executable(&self.path("bin").join(name), script);
    }

    pub(crate) fn put_hook(&self, name: &str, script: &str) {
        executable(&self.root().join(".git/hooks").join(name), script);
    }

    pub(crate) fn put_hook_of_origin(&self, name: &str, script: &str) {
        executable(&self.path("origin.git/hooks").join(name), script);
    }

    /// A script that runs when the gates come to this step of `cargo xtask test`, once.
    pub(crate) fn during(&self, step: &str, script: &str) {
        fs::write(self.path("during").join(step), format!("set -e\nrm \"$0\"\n{script}\n")).unwrap();
    }

    /// The steps of `cargo xtask test` that have been run so far.
    pub(crate) fn steps(&self) -> String {
        fs::read_to_string(self.path("steps")).unwrap_or_default()
    }

    /// A commit on `origin` that is not here.
    pub(crate) fn push_as_somebody_else(&self) {
        self.must("rm -rf ../elsewhere");
        self.git("clone --quiet ../origin.git ../elsewhere");
        self.git("-C ../elsewhere commit --quiet --allow-empty --message Elsewhere");
        self.git("-C ../elsewhere push --quiet origin main");
    }

    /// Puts a program into the PATH that is the real one, and does something more after each call.
    pub(crate) fn put_program_around(&self, name: &str, more: &str) {
        let real = in_path(name);
        self.put_program(name, &format!("{} \"$@\"\nstatus=$?\n{more}\nexit $status", real.display()));
    }

    /// Puts a `git` and a `cargo` into the PATH that write down each call, and end it all with a `kill -9` before or after
    /// the one that `KILL` names by how it begins, as in `after:git push`.
    pub(crate) fn put_counting_programs(&self) {
        for program in ["git", "cargo"] {
            let (real, calls) = (in_path(program), self.path("calls"));
            let (real, calls) = (real.display(), calls.display());
            let cut = |moment| {
                format!("case \"{moment}:{program} $*\" in \"${{KILL:-none}}\"*) kill -KILL 0;; esac")
            };
            let (before, after) = (cut("before"), cut("after"));
            let note = format!("echo \"{program} $*\" >>{calls}");
            self.put_program(
                program,
                &format!("{note}\n{before}\n{real} \"$@\"\nstatus=$?\n{after}\nexit $status"),
            );
        }
    }

    /// What those programs have written down.
    pub(crate) fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    pub(crate) fn forget_calls(&self) {
        fs::write(self.path("calls"), "").unwrap();
    }

    /// Everything that a release changes.
    pub(crate) fn save(&self) -> Saved {
        self.must("rm -rf ../saved");
        self.must("mkdir ../saved");
        self.must("cp -a .git ../origin.git ../saved");
        Saved(self.registry.save())
    }

    /// Puts everything back; what was built stays, so that it need not be built again.
    pub(crate) fn restore(&self, saved: &Saved) {
        self.must("rm -rf .git ../origin.git");
        self.must("cp -a ../saved/.git .");
        self.must("cp -a ../saved/origin.git ..");
        self.registry.restore(&saved.0);
    }

    /// Runs the release, told by a line of words.
    pub(crate) fn release(&self, words: &str) -> Said {
        self.release_with(words, &[])
    }

    /// Publishes for good.
    pub(crate) fn publish(&self) -> Said {
        self.release(PUBLISH)
    }

    /// Asks one gate.
    pub(crate) fn check_only(&self, title: &str) -> Said {
        let mut check = self.release_command("check --registry local --only", &[]);
        check.arg(title);
        self.run(check)
    }

    pub(crate) fn release_with(&self, words: &str, environment: &[(&str, &str)]) -> Said {
        self.run(self.release_command(words, environment))
    }

    /// The call, with a token unless `environment` says otherwise: an empty variable is none.
    pub(crate) fn release_command(&self, words: &str, environment: &[(&str, &str)]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_payments-release"));
        command.args(words.split_whitespace()).env(TOKEN, "a token of the test");
        for (name, value) in environment {
            if value.is_empty() {
                command.env_remove(name)
            } else {
                command.env(name, value)
            };
        }
        // It is killed with everything that it started, and nothing else.
        command.process_group(0);
        command
    }

    /// Runs it to its end; the registry may kill it.
    pub(crate) fn run(&self, mut command: Command) -> Said {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.registry.may_kill(child.id());
        Said::of(&child.wait_with_output().unwrap())
    }

    /// Runs `git` in the workspace, and returns what it said.
    pub(crate) fn git(&self, words: &str) -> String {
        self.must(&format!("git {words}"))
    }

    /// Runs a line of words that must succeed.
    pub(crate) fn must(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let output = self.command(words.next().unwrap()).args(words).output().unwrap();
        let said = Said::of(&output);
        assert!(said.ok, "{line}: {}", said.text);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Tags, branch and tree of the workspace and of `origin`: what nothing but a release may change.
    pub(crate) fn state(&self) -> String {
        let mut state = String::new();
        for repository in [".", "../origin.git"] {
            let references = self.git(&format!("-C {repository} for-each-ref"));
            writeln!(state, "{repository}:\n{references}").unwrap();
        }
        state + &self.git("status --porcelain") + &self.git("rev-parse --symbolic-full-name HEAD")
    }

    /// What `origin` has: the commit of its branch, and the object of a tag.
    pub(crate) fn origin(&self, name: &str) -> Option<String> {
        let listed = self.git("ls-remote origin");
        let line = listed.lines().find(|line| line.ends_with(&format!("\t{name}")))?;
        Some(line.split('\t').next().unwrap().to_owned())
    }

    /// Fails unless 0.2.0 is released: each crate taken once, in order and with its bytes, tag and branch pushed.
    pub(crate) fn must_be_released(&self) {
        assert_eq!(self.registry.taken(), fixture::CRATES);
        for put in self.registry.puts().iter().filter(|put| put.taken) {
            assert_eq!(put.version, "0.2.0");
            assert_eq!(self.registry.checksum(&put.name, "0.2.0").as_ref(), Some(&put.checksum));
        }
        let head = self.git("rev-parse HEAD");
        assert_eq!(self.git("rev-parse v0.2.0^{commit}"), head);
        self.git("verify-tag v0.2.0");
        assert_eq!(self.origin("refs/heads/main"), Some(head));
        assert_eq!(self.origin("refs/tags/v0.2.0"), Some(self.git("rev-parse v0.2.0")));
    }

    /// Configures cargo with the registry, and with these lines after it.
    pub(crate) fn configure_cargo(&self, more: &str) {
        let index = self.registry.index();
        let text = format!(
            "[registries.{NAME}]\nindex = \"{index}\"\n[source.crates-io]\nreplace-with = \"{NAME}\"\n\
             [net]\nretry = 0\n{more}"
        );
        fs::write(self.path("cargo/config.toml"), text).unwrap();
    }

    /// Makes a key of ssh, and the file `NAME.pub` beside it.
    pub(crate) fn make_key(&self, name: &str) {
        let mut made = Command::new("ssh-keygen");
        let made = made.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(self.path(name)).output();
        assert!(made.as_ref().unwrap().status.success(), "{made:?}");
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

    /// A program in the workspace, which finds the configuration of the test and none else.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let is_about_the_test = ["CARGO", "GIT_", "NEXTEST", "RUST_", "LD_LIBRARY_PATH"];
            // What is on loopback would be asked of a proxy.
            let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
            if is_proxy || is_about_the_test.iter().any(|prefix| name.starts_with(prefix)) {
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

/// The call that publishes for good, and waits for next to nothing.
pub(crate) const PUBLISH: &str = "publish --registry local --execute --patience 20";

impl Said {
    fn of(output: &Output) -> Self {
        let text = [output.stdout.as_slice(), &output.stderr].concat();
        Self { ok: output.status.success(), text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// Fails unless it succeeded, saying all of this.
    #[track_caller]
    pub(crate) fn succeeds(self, words: &[&str]) -> Self {
        assert!(self.ok, "it failed: {}", self.text);
        self.says(words)
    }

    /// Fails unless it failed, saying all of this.
    #[track_caller]
    pub(crate) fn fails(self, words: &[&str]) -> Self {
        assert!(!self.ok, "it succeeded: {}", self.text);
        self.says(words)
    }

    /// Fails unless it ended without a word, as what is killed does.
    #[track_caller]
    pub(crate) fn must_be_killed(self) {
        assert!(!self.ok && !self.text.contains("error:"), "it was not killed: {}", self.text);
    }

    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        for word in words {
            self.must_say(word);
        }
        self
    }

    #[track_caller]
    pub(crate) fn must_say(&self, word: &str) {
        assert!(self.text.contains(word), "it does not say {word:?}:\n{}", self.text);
    }
}

/// The PATH with this folder in front. After it comes the toolchain itself: rustup's stand-ins, which would look for it
/// at each of some thousand calls, take longer than the compiler does here.
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
