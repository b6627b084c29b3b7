//! The command as a child process: run to completion, or killed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::billing::Row;
use crate::support::{CHARGE, Ended, Line, Run, Running, payments};

/// A folder with a billing file, a journal and a results file, and the address and key of a service.
pub(crate) struct Workspace {
    folder: TempDir,
    base_url: String,
    /// Otherwise no connection to it can be opened.
    pub(crate) is_service_reachable: bool,
    api_key: String,
    pub(crate) file: PathBuf,
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
        copy(&JOURNAL, self.folder.path(), folder.path());
        let copy = folder.path().join("journal.db");
        (folder, copy)
    }

    /// As [`Self::copy_journal`], with its witness.
    pub(crate) fn back_up(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("journal.db-owners")).unwrap();
        copy(&JOURNAL, self.folder.path(), folder.path());
        copy(&[WITNESS], self.folder.path(), folder.path());
        folder
    }

    /// Puts back a copy by [`Self::back_up`]. No process may have the journal open.
    pub(crate) fn restore(&self, from: &TempDir, with_witness: bool) {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            let _ = fs::remove_file(self.folder.path().join(name));
        }
        copy(&JOURNAL, from.path(), self.folder.path());
        if with_witness {
            copy(&[WITNESS], from.path(), self.folder.path());
            // As with the whole disk: by its results a run would notice that the journal is another one.
            let _ = fs::remove_file(self.results());
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

    fn run(&self, line: impl Line) -> Run {
        let run = payments(line).with(["--journal", self.journal().to_str().unwrap()]);
        let run = run.at(&self.base_url).env("PAYMENTS_API_KEY", &self.api_key);
        if self.is_service_reachable {
            return run;
        }
        // Another base URL would be another service.
        run.env("PAYMENTS_PROXY", "http://127.0.0.1:1")
    }

    /// Runs a command with this journal to completion.
    pub(crate) fn payments(&self, line: impl Line) -> Ended {
        self.run(line).end()
    }

    /// Starts `payments batch run`.
    pub(crate) fn batch(&self, concurrency: usize) -> Running {
        let [file, results] = [&self.file, &self.results()].map(|path| path.to_str().unwrap().to_owned());
        let files = format!("batch run {file} --results {results}");
        self.run(format!("{files} --concurrency {concurrency} --timeout {TIMEOUT} --patience 2")).start()
    }

    /// Charges one row with `token-transaction create`.
    pub(crate) fn charge_row(&self, row: &Row) -> Ended {
        self.charge(&row.key, row.payment()).end()
    }

    /// Starts charging this payment with this key.
    pub(crate) fn charge(&self, key: &str, payment: String) -> Running {
        self.run(CHARGE).with(["--key", key]).stdin(payment).start()
    }
}

const JOURNAL: [&str; 2] = ["journal.db", "journal.db-wal"];

/// Copies those that exist.
fn copy(names: &[&str], from: &Path, to: &Path) {
    for name in names.iter().filter(|name| from.join(name).exists()) {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

/// Beside the journal.
const WITNESS: &str = "journal.db-owners/witness";

/// In seconds. Chosen for this test: short, so that calls without a response end soon, and longer than every other call.
const TIMEOUT: &str = "1";

impl Running {
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Returns whether it was still alive.
    pub(crate) fn kill(mut self) -> bool {
        self.0.kill().unwrap();
        self.0.wait().unwrap().code().is_none()
    }
}

/// The complete lines of a results file, and the number of torn ones.
pub(crate) fn results(path: &Path) -> (Vec<Value>, usize) {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str).collect();
    let torn = lines.iter().filter(|line: &&Result<Value, _>| line.is_err()).count();
    (lines.into_iter().flatten().collect(), torn)
}
