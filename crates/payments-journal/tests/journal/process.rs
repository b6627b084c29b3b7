//! Another process: this test program, which an environment variable makes run commands from its input; or a forked one.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe, stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, ChildStdout, Command, Stdio};

use fork::{Fork, fork, waitpid};

/// Marks each response in the other output of a test program.
const RESPONSE: &str = "=> ";

/// A process that is killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Runs this test with the variable, through another program, such as one that limits it.
    pub(crate) fn of_test(wrapper: &[&str], test: &str, variable: (&str, &OsStr)) -> Self {
        let program = env::current_exe().unwrap();
        let mut words = wrapper.iter().map(Into::into).chain([program.into_os_string()]);
        let mut command = Command::new(words.next().unwrap());
        let mut child = command
            .args(words)
            .args(["--exact", test, "--nocapture"])
            .envs([variable, ("RUST_BACKTRACE", "0".as_ref())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.send(command);
        self.response()
    }

    pub(crate) fn send(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
    }

    /// For a traced process, which can be killed at any time.
    pub(crate) fn send_if_alive(&mut self, command: &str) {
        let _ = writeln!(self.input, "{command}");
    }

    pub(crate) fn response(&mut self) -> String {
        self.try_response().expect("the process has ended")
    }

    /// `None` if it has ended.
    pub(crate) fn try_response(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some((_, response)) = line.trim_end().split_once(RESPONSE) {
                return Some(response.to_owned());
            }
        }
    }

    /// A path as this process sees it, in its own file systems.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        Path::new(&format!("/proc/{}/root", self.child.id())).join(path.strip_prefix("/").unwrap())
    }

    /// Like `kill -9`.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Like `kill -9`. Its responses can still be read.
    pub(crate) fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether only this test runs in this process. If not, it runs the test in a process of its own.
#[allow(clippy::print_stderr, reason = "it says what was skipped")]
pub(crate) fn is_alone(test: &str) -> bool {
    const ALONE: &str = "PAYMENTS_TEST_ALONE";
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    let run = command.args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let [output, errors] = [run.stdout, run.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    eprint!("{errors}");
    assert!(run.status.success() && output.contains("1 passed"), "{output}");
    false
}

/// Words that run a program as the user nobody if this is root, who may write everywhere. `None` if nobody may not run this one.
#[allow(clippy::print_stderr, reason = "it says what is not tested")]
pub(crate) fn as_nobody(what: &str) -> Option<Vec<&'static str>> {
    if !rustix::process::geteuid().is_root() {
        return Some(Vec::new());
    }
    let wrapper = vec!["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let program = env::current_exe().unwrap();
    let run = Command::new(wrapper[0]).args(&wrapper[1..]).arg(&program).arg("--list").output();
    let may_run = run.is_ok_and(|run| run.status.success());
    if !may_run {
        eprintln!("NOT COVERED: {what}; the user nobody may not run {}", program.display());
    }
    may_run.then_some(wrapper)
}

/// Whether a program can be run so.
pub(crate) fn is_allowed(wrapper: &[&str]) -> bool {
    Command::new(wrapper[0]).args(&wrapper[1..]).arg("true").status().is_ok_and(|status| status.success())
}

pub(crate) fn respond(response: &str) {
    let mut output = stdout();
    writeln!(output, "{RESPONSE}{response}").unwrap();
    output.flush().unwrap();
}

/// Does this in a forked process, where it must not panic.
pub(crate) fn in_a_fork(work: impl FnOnce()) {
    let (mut text, mut writer) = pipe().unwrap();
    let child = match fork().unwrap() {
        Fork::Parent(child) => child,
        Fork::Child => {
            let result = catch_unwind(AssertUnwindSafe(work));
            writer.write_all(if result.is_ok() { b"done" } else { b"failed" }).unwrap();
            exit();
        }
    };
    drop(writer);
    let mut said = String::new();
    text.read_to_string(&mut said).unwrap();
    assert_eq!((waitpid(child).unwrap(), &*said), (0, "done"));
}

#[allow(clippy::exit, reason = "a child must not return into the test harness")]
fn exit() -> ! {
    process::exit(0)
}
