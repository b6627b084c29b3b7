//! Stderr, written by one thread. Nothing else in this process writes there.
//!
//! A parent may stop reading a pipe, and a user may pause a terminal. Lines written then are dropped and counted, and no
//! charge, signal or exit code waits for them. The descriptor's flags stay unchanged, because other processes share it.

mod progress_bar;

use std::io::{self, IsTerminal as _, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use indicatif::ProgressDrawTarget;

pub(crate) use self::progress_bar::Item;
use self::progress_bar::Screen;
use crate::style::{Style, Tone, for_terminal};
use crate::wrap::wrapped;

pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// The width of the terminal, if stderr is one.
fn width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| width.0.into())
}

/// The style of text on stderr.
pub(crate) fn style() -> Style {
    Style::of(&io::stderr())
}

/// Writes `text`, which includes its line breaks. Never waits: if the queue is full, the text is dropped and counted.
pub(crate) fn write(text: impl Into<String>) {
    show(Item::Text(text.into()));
}

/// The same for a final message, which is never dropped.
pub(crate) fn write_last(text: impl Into<String>) {
    push(Item::Text(wrapped(&text.into(), width())), usize::MAX);
}

/// Warns, whatever the output is and even if no person reads it now: a job without a terminal has a log.
pub(crate) fn warn(text: &str) {
    let warning = style().paint(Tone::Warning, "WARNING");
    write_last(format!("{warning}: {}\n", for_terminal(text)));
}

/// Shows the item after everything that waits. Text and bars are dropped if the queue is full.
pub(crate) fn show(item: Item) {
    let is_dropped = matches!(item, Item::Text(_) | Item::Bar { .. });
    push(item, if is_dropped { MOST_WAITING } else { usize::MAX });
}

/// Waits until everything is written, but at most a second.
pub(crate) fn finish() {
    if let Some(Some(queue)) = STDERR.get() {
        queue.finish();
    }
}

/// The same before a write to stdout, so that who reads both from one place, as a terminal or a log does, gets them in order.
/// With a reader for each, the result does not wait for the other one.
pub(crate) fn finish_before_stdout() {
    if is_terminal() || is_with_stdout() {
        finish();
    }
}

/// Whether stdout goes to the same file or pipe, as with `2>&1`.
#[cfg(unix)]
fn is_with_stdout() -> bool {
    let place = |status: rustix::fs::Stat| (status.st_dev, status.st_ino);
    let [one, other] = [rustix::fs::fstat(io::stderr()), rustix::fs::fstat(io::stdout())];
    one.is_ok_and(|one| other.is_ok_and(|other| place(one) == place(other)))
}

#[cfg(not(unix))]
fn is_with_stdout() -> bool {
    false
}

/// `None` if the thread could not be started: then text is written at once, and there is no bar.
static STDERR: OnceLock<Option<Queue>> = OnceLock::new();

fn push(item: Item, most: usize) {
    let start = || Queue::start(Screen::new(io::stderr(), ProgressDrawTarget::stderr, width)).ok();
    match (STDERR.get_or_init(start), item) {
        (Some(queue), item) => queue.push(item, most),
        (None, Item::Text(text)) => drop(io::stderr().write_all(text.as_bytes())),
        (None, _) => {}
    }
}

/// Chosen by this command: more than is ever queued at once, and little memory.
const MOST_WAITING: usize = 1024;

/// Chosen by this command: how long the process waits at its end for a reader.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// The way to the thread. `tracing-appender` cannot wait for the last line while it goes on, draws no bar, and at its end
/// prints to stdout if nobody reads.
struct Queue {
    items: Sender<Item>,
    sent: AtomicUsize,
    written: Arc<AtomicUsize>,
    /// How many items were dropped since the last one that was sent.
    lost: AtomicUsize,
    /// How many items were written when a wait for the last one timed out.
    unread_after: AtomicUsize,
}

impl Queue {
    fn start(mut screen: Screen<impl Write + Send + 'static>) -> io::Result<Self> {
        let (items, received) = channel();
        let written = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&written);
        let write = move || {
            for item in received {
                if catch_unwind(AssertUnwindSafe(|| screen.show(item))).is_err() {
                    // A bar that has panicked panics again, also when it is dropped. What follows is shown without one.
                    std::mem::forget(screen.bar.take());
                }
                count.fetch_add(1, SeqCst);
            }
        };
        thread::Builder::new().name("stderr".to_owned()).spawn(write)?;
        let (sent, lost) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Self { items, sent, written, lost, unread_after: AtomicUsize::new(usize::MAX) })
    }

    /// Sends `item`, unless `most` items wait already.
    fn push(&self, item: Item, most: usize) {
        if self.waiting() >= most {
            self.lost.fetch_add(1, SeqCst);
        } else {
            self.report_lost_lines();
            self.send(item);
        }
    }

    fn finish(&self) {
        self.report_lost_lines();
        // The process waits in vain only once.
        if self.unread_after.load(SeqCst) == self.written.load(SeqCst) {
            return;
        }
        let (mark, reached) = channel();
        self.send(Item::Mark(mark));
        // If it takes longer, nobody is reading.
        if reached.recv_timeout(FINISH_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            self.unread_after.store(self.written.load(SeqCst), SeqCst);
        }
    }

    fn report_lost_lines(&self) {
        let lost = self.lost.swap(0, SeqCst);
        if lost > 0 {
            let text = format!("payments: {lost} lines were dropped here: stderr was not read fast enough\n");
            self.send(Item::Text(text));
        }
    }

    fn send(&self, item: Item) {
        self.sent.fetch_add(1, SeqCst);
        // The thread receives for as long as the process lives.
        let _ = self.items.send(item);
    }

    fn waiting(&self) -> usize {
        // In this order, so that the difference is never negative.
        let written = self.written.load(SeqCst);
        self.sent.load(SeqCst) - written
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::path::{Path, PathBuf};

    use super::progress_bar::tests::bar;
    use super::*;

    #[test]
    fn unread_lines_are_dropped_and_counted_without_waiting() {
        let (mut reader, out) = io::pipe().expect("a pipe");
        let queue = start(out, ProgressDrawTarget::hidden);
        // Each line is longer than a pipe's buffer.
        let long = "x".repeat(1 << 17) + "\n";
        for _ in 0..2 * MOST_WAITING {
            queue.push(Item::Text(long.clone()), MOST_WAITING);
        }
        queue.push(Item::Text("the end\n".to_owned()), usize::MAX);
        queue.finish();
        let sent = queue.sent.load(SeqCst);
        queue.finish();
        assert_eq!(queue.sent.load(SeqCst), sent, "finish waits only once");
        assert_eq!(queue.written.load(SeqCst), 0, "the first line is still being written");
        // With the last line, the number of lost ones and a mark.
        assert!(queue.waiting() <= MOST_WAITING + 3, "{}", queue.waiting());

        // A reader learns where lines are missing, and how many.
        let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 20]);
        while !text.ends_with(b"the end\n") {
            let read = reader.read(&mut piece).expect("it is open");
            text.extend_from_slice(&piece[..read]);
        }
        let text = String::from_utf8(text).expect("text");
        let whole = text.lines().filter(|line| line.starts_with('x')).count();
        let lost = text.lines().rev().nth(1).and_then(|line| line.strip_prefix("payments: "));
        let lost = lost
            .and_then(|line| line.strip_suffix(" lines were dropped here: stderr was not read fast enough"));
        assert_eq!(lost, Some(&*(2 * MOST_WAITING - whole).to_string()));

        // With a reader, `finish` waits for the last line again.
        queue.push(Item::Text("after all\n".to_owned()), usize::MAX);
        queue.finish();
        assert!(queue.waiting() <= 1, "{}", queue.waiting());
    }

    #[test]
    fn only_this_file_writes_to_stderr() {
        fn search(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in folder.read_dir().expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    search(&path, found);
                } else if ["io::stderr", "eprint"]
                    .iter()
                    .any(|word| fs::read_to_string(&path).is_ok_and(|text| text.contains(word)))
                {
                    found.push(path);
                }
            }
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        search(&source, &mut found);
        assert_eq!(found, [source.join("stderr.rs")]);
    }

    #[test]
    fn finish_waits_until_everything_is_read() {
        let (sender, written) = channel();
        let queue = start(ChannelWriter(sender), ProgressDrawTarget::hidden);
        for number in 0..100 {
            queue.push(Item::Text(format!("{number}\n")), MOST_WAITING);
        }
        queue.finish();
        let text: Vec<u8> = written.try_iter().flatten().collect();
        let expected = (0..100).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }

    #[test]
    fn panic_while_drawing_loses_no_later_line() {
        let (sender, written) = channel();
        let queue = start(ChannelWriter(sender), || unreachable!("a bug"));
        queue.push(bar(1), MOST_WAITING);
        queue.push(Item::Text("the report\n".to_owned()), MOST_WAITING);
        // `finish` may end before a busy machine has printed the panic.
        let mut text = Vec::new();
        while !text.ends_with(b"\n") {
            text.extend(written.recv().expect("the thread goes on"));
        }
        assert_eq!(text, b"the report\n");
    }

    fn start(out: impl Write + Send + 'static, target: fn() -> ProgressDrawTarget) -> Queue {
        Queue::start(Screen::new(out, target, || None)).expect("a thread")
    }

    struct ChannelWriter(Sender<Vec<u8>>);

    impl Write for ChannelWriter {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.send(text.to_vec()).map_err(io::Error::other)?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
