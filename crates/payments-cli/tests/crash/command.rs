//! The command as a child process: run to completion, or killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::billing::Row;
use crate::settings_of_tests::remove_settings;

/// A folder with a billing file, a journal and a results file, and the address and key of a service.
pub(crate) struct Workspace {
    folder: TempDir,
    base_url: String,
    /// Otherwise no connection to it can be opened.
    pub(crate) is_service_reachable: bool,
    api_key: String,
    pub(crate) file: PathBuf,
}

/// The output of a finished command.
#[derive(Debug)]
#[allow(dead_code, reason = "assertions print all of it")]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    pub(crate) fn new(base_url: &str, api_key: &str, file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(file);
        let (base_url, api_key) = (base_url.to_owned(), api_key.to_owned());
        Self { folder, base_url, is_service_reachable: true, api_key, file }
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.db")
    }

    pub(crate) fn write_ahead_log(&self) -> PathBuf {
        self.folder.path().join("journal.db-wal")
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.folder.path().join("results.jsonl")
    }

    /// Copies the journal with its log. No process may have it open.
    pub(crate) fn copy_journal(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        self.copy(&["journal.db", "journal.db-wal"], folder.path());
        let copy = folder.path().join("journal.db");
        (folder, copy)
    }

    /// As [`Self::copy_journal`], with its witness.
    pub(crate) fn back_up(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("journal.db-owners")).unwrap();
        self.copy(&["journal.db", "journal.db-wal", WITNESS], folder.path());
        folder
    }

    fn copy(&self, names: &[&str], to: &Path) {
        for name in names {
            if self.folder.path().join(name).exists() {
                fs::copy(self.folder.path().join(name), to.join(name)).unwrap();
            }
        }
    }

    /// Puts back a copy by [`Self::back_up`]. No process may have the journal open.
    pub(crate) fn restore(&self, copy: &TempDir, with_witness: bool) {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            let _ = fs::remove_file(self.folder.path().join(name));
        }
        let names = ["journal.db", "journal.db-wal", WITNESS];
        for name in &names[..if with_witness { 3 } else { 2 }] {
            if copy.path().join(name).exists() {
                fs::copy(copy.path().join(name), self.folder.path().join(name)).unwrap();
            }
        }
    }

    /// Whether a run has got so far that the journal is more than an empty file.
    pub(crate) fn has_witness(&self) -> bool {
        self.folder.path().join(WITNESS).exists()
    }

    /// A CSV file with a column `Key`.
    pub(crate) fn orders<'a>(&self, keys: impl IntoIterator<Item = &'a String>) -> PathBuf {
        let file = self.folder.path().join("orders.csv");
        let lines = std::iter::once("Key").chain(keys.into_iter().map(String::as_str));
        fs::write(&file, lines.flat_map(|line| [line, "\n"]).collect::<String>()).unwrap();
        file
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_payments"));
        command.args(arguments).arg("--journal").arg(self.journal());
        command.stdin(Stdio::null());
        remove_settings(&mut command);
        command.env("PAYMENTS_BASE_URL", &self.base_url).env("PAYMENTS_API_KEY", &self.api_key);
        if !self.is_service_reachable {
            // Another base URL would be another service.
            command.env("PAYMENTS_PROXY", "http://127.0.0.1:1");
        }
        command
    }

    /// Runs a command with this journal to completion.
    pub(crate) fn payments(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        Ended {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts `payments batch run`.
    pub(crate) fn batch(&self, concurrency: usize) -> Batch {
        let stderr = tempfile::tempfile_in(self.folder.path()).unwrap();
        let child = self
            .command(&["batch", "run"])
            .arg(&self.file)
            .arg("--results")
            .arg(self.results())
            .args([
                "--concurrency",
                &concurrency.to_string(),
                "--timeout",
                TIMEOUT,
                "--patience",
                "2",
                "--output",
                "json",
            ])
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone().unwrap())
            .spawn()
            .unwrap();
        Batch { child, stderr }
    }

    /// Charges one row with `token-transaction create`.
    pub(crate) fn charge_row(&self, row: &Row) -> Ended {
        let file = self.folder.path().join("payment.json");
        fs::write(&file, row.payment()).unwrap();
        let file = file.to_str().unwrap();
        self.payments(&["token-transaction", "create", "--file", file, "--key", &row.key])
    }

    /// Starts charging the payment in [`Self::file`] with this key.
    pub(crate) fn charge(&self, key: &str) -> Child {
        self.command(&["token-transaction", "create"])
            .arg("--file")
            .arg(&self.file)
            .args(["--key", key, "--output", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// Beside the journal.
const WITNESS: &str = "journal.db-owners/witness";

/// In seconds. Chosen for this test: short, so that calls without a response end soon, and longer than every other call.
const TIMEOUT: &str = "1";

/// A running `payments batch run`, killed if its test fails.
pub(crate) struct Batch {
    child: Child,
    stderr: File,
}

impl Batch {
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Returns whether the run was still alive.
    pub(crate) fn kill(mut self) -> bool {
        self.child.kill().unwrap();
        self.child.wait().unwrap().code().is_none()
    }

    pub(crate) fn end(mut self) -> Ended {
        use std::io::{Read as _, Seek as _};
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        let mut stderr = String::new();
        self.stderr.rewind().unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        Ended { code, stdout, stderr }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The complete lines of a results file, and the number of torn ones.
pub(crate) fn results(path: &Path) -> (Vec<Value>, usize) {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str).collect();
    let torn = lines.iter().filter(|line: &&Result<Value, _>| line.is_err()).count();
    (lines.into_iter().flatten().collect(), torn)
}
