use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

/// What the sandbox says on stderr, written by a thread of its own.
///
/// Whoever reads a pipe may stop reading it: then lines are lost, and neither a request nor a signal waits for them.
#[derive(Clone)]
pub(super) struct Journal {
    lines: SyncSender<String>,
    state: Arc<State>,
}

/// The end of a [`Journal`].
pub(super) struct JournalEnd {
    journal: Journal,
    written: Receiver<()>,
}

#[derive(Default)]
struct State {
    lost: AtomicU64,
    is_ending: AtomicBool,
}

/// How many lines wait to be written: more than come at once, and few enough to be kept if all are as long as can be.
const WAITING: usize = 1024;

/// How long the end waits for what was not written yet.
const LAST_MOMENT: Duration = Duration::from_secs(2);

impl Journal {
    /// The journal of this process's stderr.
    pub(super) fn start() -> io::Result<(Self, JournalEnd)> {
        let (lines, waiting) = mpsc::sync_channel(WAITING);
        let (has_written, written) = mpsc::channel();
        let journal = Self { lines, state: Arc::default() };
        let state = Arc::clone(&journal.state);
        thread::Builder::new().name("journal".to_owned()).spawn(move || {
            write_all(&waiting, &state, io::stderr());
            // The end may have gone without waiting.
            let _ = has_written.send(());
        })?;
        Ok((journal.clone(), JournalEnd { journal, written }))
    }

    /// A remark of the sandbox itself.
    pub(super) fn note(&self, text: &str) {
        self.line(format!("payments sandbox: {text}"));
    }

    /// Never waits: if too many lines wait already, this one is lost and counted.
    pub(super) fn line(&self, mut line: String) {
        line.push('\n');
        if self.lines.try_send(line).is_err() {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl JournalEnd {
    /// Waits until everything is written, or for a moment if nobody reads it.
    pub(super) fn wait(self) {
        self.journal.state.is_ending.store(true, Ordering::SeqCst);
        // It wakes a thread that has nothing to do; one that has looks at the flag after its last line.
        let _ = self.journal.lines.try_send(String::new());
        // If it takes longer nobody reads, and nobody could be told.
        let _ = self.written.recv_timeout(LAST_MOMENT);
    }
}

fn write_all(waiting: &Receiver<String>, state: &State, mut output: impl io::Write) {
    // A sandbox serves on if nobody can read it.
    let mut write = |line: &str| drop(output.write_all(line.as_bytes()));
    loop {
        if let Ok(line) = waiting.try_recv() {
            write(&line);
            continue;
        }
        // What was lost came after all that had waited.
        let lost = state.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            write(&format!(
                "payments sandbox: {lost} lines were lost here: stderr was not read fast enough\n"
            ));
        }
        if state.is_ending.load(Ordering::SeqCst) {
            return;
        }
        match waiting.recv() {
            Ok(line) => write(&line),
            Err(_) => return,
        }
    }
}
