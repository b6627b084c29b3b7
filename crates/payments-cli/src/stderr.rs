//! Stderr, written by one thread. Nothing else in this process writes there.
//!
//! A parent may stop reading a pipe, and a user may pause a terminal. Lines written then are dropped and counted, and no
//! charge, signal or exit code waits for them. The descriptor's flags stay unchanged, because other processes share it.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::style::Style;

/// The progress of a billing run, as a bar shows it.
#[derive(Debug)]
pub(crate) struct BarState {
    pub(crate) ended: u64,
    pub(crate) total: u64,
    pub(crate) message: String,
}

pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// The style of text on stderr.
pub(crate) fn style() -> Style {
    Style::of(&io::stderr())
}

/// Writes `text`, which includes its line breaks. Never waits: if the queue is full, the text is dropped and counted.
pub(crate) fn write(text: impl Into<String>) {
    STDERR.push(Item::Text(text.into()), MOST_WAITING);
}

/// The same for a final message, which is never dropped.
pub(crate) fn write_last(text: impl Into<String>) {
    STDERR.push(Item::Text(text.into()), usize::MAX);
}

/// Draws the progress bar below everything else, on a terminal.
pub(crate) fn draw(bar: BarState) {
    STDERR.push(Item::Bar(bar), MOST_WAITING);
}

/// Removes the bar.
pub(crate) fn end_bar() {
    STDERR.push(Item::NoBar, usize::MAX);
}

/// Waits until everything is written, but at most a second.
pub(crate) fn finish() {
    STDERR.finish();
}

/// The same before a write to stdout, so that a terminal shows both in order.
pub(crate) fn finish_on_a_terminal() {
    if is_terminal() {
        finish();
    }
}

static STDERR: Queue = Queue::new();

/// Chosen by this command: more than is ever queued at once, and little memory.
const MOST_WAITING: usize = 1024;

/// Chosen by this command: how long the process waits at its end for a reader.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);

/// The items that the thread has yet to write.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Item>,
    /// How many items were dropped since the last one in the queue.
    lost: u64,
    is_started: bool,
    is_writing: bool,
    /// A wait for the queue to empty has timed out.
    is_unread: bool,
}

enum Item {
    Text(String),
    Bar(BarState),
    NoBar,
}

impl Queue {
    const fn new() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            lost: 0,
            is_started: false,
            is_writing: false,
            is_unread: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Queues `item`, unless `most` items wait already.
    fn push(&'static self, item: Item, most: usize) {
        if !self.state().is_started {
            self.start(Screen { out: io::stderr(), target: ProgressDrawTarget::stderr, bar: None });
        }
        let mut state = self.state();
        if state.waiting.len() >= most {
            state.lost += 1;
        } else if state.is_started {
            state.report_lost_lines();
            state.waiting.push_back(item);
            self.changed.notify_all();
        }
    }

    fn start(&'static self, screen: Screen<impl Write + Send + 'static>) {
        let mut state = self.state();
        if !state.is_started {
            let thread = thread::Builder::new().name("stderr".to_owned());
            // Without the thread nothing can be shown, but the command goes on.
            state.is_started = thread.spawn(move || self.write_with(screen)).is_ok();
        }
    }

    fn finish(&self) {
        let mut state = self.state();
        state.report_lost_lines();
        self.changed.notify_all();
        let is_busy = |state: &mut State| !state.is_unread && (state.is_writing || !state.waiting.is_empty());
        // If it takes longer, nobody is reading.
        let waited = self.changed.wait_timeout_while(state, FINISH_TIMEOUT, is_busy);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        // The process waits in vain only once.
        state.is_unread |= waited.timed_out();
    }

    /// Writes the items for as long as the process lives.
    fn write_with(&self, mut screen: Screen<impl Write>) {
        let mut state = self.state();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                state.is_writing = true;
                drop(state);
                if catch_unwind(AssertUnwindSafe(|| screen.show(item))).is_err() {
                    // A bar that has panicked panics again, also when it is dropped. What follows is shown without one.
                    std::mem::forget(screen.bar.take());
                }
                state = self.state();
                // It was read after all.
                state.is_unread = false;
            } else {
                state.is_writing = false;
                self.changed.notify_all();
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn report_lost_lines(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            let text = format!("payments: {lost} lines were dropped here: stderr was not read fast enough\n");
            self.waiting.push_back(Item::Text(text));
        }
    }
}

/// Text, and the bar below it.
struct Screen<W> {
    out: W,
    target: fn() -> ProgressDrawTarget,
    bar: Option<ProgressBar>,
}

impl<W: Write> Screen<W> {
    fn show(&mut self, item: Item) {
        let Self { out, target, bar } = self;
        // The command goes on if it cannot write.
        let mut write = |text: &str| drop(out.write_all(text.as_bytes()));
        match item {
            Item::Text(text) => match bar {
                Some(bar) => bar.suspend(|| write(&text)),
                None => write(&text),
            },
            Item::Bar(BarState { ended, total, message }) => {
                let bar = bar.get_or_insert_with(|| new_bar(total, target()));
                // One drawing after both changes, so that the numbers on a line belong together.
                bar.clone().with_position(ended).with_message(message).force_draw();
            }
            Item::NoBar => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
        }
        if bar.is_some() {
            // indicatif leaves the cursor after the last column. The terminal's ^C would start a new line there, and the bar
            // would be erased in the wrong line.
            write("\r");
        }
    }
}

fn new_bar(total: u64, target: ProgressDrawTarget) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(total), target).with_style(style)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;
    use std::io::Read as _;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{Sender, channel};
    use std::time::Instant;

    use indicatif::{InMemoryTerm, TermLike as _};

    use super::*;

    #[test]
    fn unread_lines_are_dropped_and_counted_without_waiting() {
        let queue: &Queue = Box::leak(Box::new(Queue::new()));
        let (mut reader, out) = io::pipe().expect("a pipe");
        queue.start(Screen { out, target: ProgressDrawTarget::hidden, bar: None });
        // Each line is longer than a pipe's buffer.
        let long = "x".repeat(1 << 17) + "\n";
        for _ in 0..2 * MOST_WAITING {
            queue.push(Item::Text(long.clone()), MOST_WAITING);
        }
        queue.push(Item::Text("the end\n".to_owned()), usize::MAX);
        queue.finish();
        let begun = Instant::now();
        queue.finish();
        assert!(begun.elapsed() < FINISH_TIMEOUT, "finish waits only once");
        let state = queue.state();
        assert!(state.is_writing, "the first line is still being written");
        assert!(state.waiting.len() <= MOST_WAITING + 2, "{}", state.waiting.len());
        drop(state);

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
        assert!(queue.state().waiting.is_empty() && !queue.state().is_writing);
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
        let queue: &Queue = Box::leak(Box::new(Queue::new()));
        let (sender, written) = channel();
        queue.start(Screen { out: ChannelWriter(sender), target: ProgressDrawTarget::hidden, bar: None });
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
        let queue: &Queue = Box::leak(Box::new(Queue::new()));
        let (sender, written) = channel();
        let target = || unreachable!("a bug");
        queue.start(Screen { out: ChannelWriter(sender), target, bar: None });
        queue.push(bar(1), MOST_WAITING);
        queue.push(Item::Text("the report\n".to_owned()), MOST_WAITING);
        queue.finish();
        assert_eq!(written.try_iter().flatten().collect::<Vec<_>>(), b"the report\n");
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

    thread_local! {
        static TERMINAL: RefCell<InMemoryTerm> = RefCell::new(InMemoryTerm::new(1, 1));
    }

    /// Writes text to this thread's terminal.
    struct TestTerminal;

    impl Write for TestTerminal {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            // A terminal in raw mode needs both.
            let lines = std::str::from_utf8(text).map_err(io::Error::other)?.replace('\n', "\r\n");
            TERMINAL.with_borrow(|terminal| terminal.write_str(&lines))?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A screen on a terminal of this width.
    fn screen(columns: u16) -> (Screen<TestTerminal>, InMemoryTerm) {
        let terminal = InMemoryTerm::new(12, columns);
        TERMINAL.set(terminal.clone());
        let target = || {
            TERMINAL
                .with_borrow(|terminal| ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 5))
        };
        (Screen { out: TestTerminal, target, bar: None }, terminal)
    }

    fn bar(ended: u64) -> Item {
        Item::Bar(BarState {
            ended,
            total: 200,
            message: format!("{ended} processed, 0 rejected, 0 unknown"),
        })
    }

    #[test]
    fn position_and_message_change_together() {
        let (mut screen, terminal) = screen(80);
        // More updates than a draw rate would allow.
        for ended in 0..=100 {
            screen.show(bar(ended));
            let line = terminal.contents();
            assert!(
                line.ends_with(&format!(" {ended}/200  {ended} processed, 0 rejected, 0 unknown")),
                "{line}"
            );
        }
    }

    #[test]
    fn interrupted_bar_is_erased_on_any_width() {
        for columns in [30, 45, 64, 65, 80, 200] {
            let (mut screen, terminal) = screen(columns);
            screen.show(bar(60));
            // What the terminal itself shows for Ctrl-C.
            terminal.write_str("^C").expect("it is there");
            screen.show(Item::Text("SIGINT: waiting\n".to_owned()));
            screen.show(bar(61));
            terminal.write_str("^C").expect("it is there");
            screen.show(Item::NoBar);
            screen.show(Item::Text("UNFINISHED\n".to_owned()));
            assert_eq!(terminal.contents(), "SIGINT: waiting\nUNFINISHED", "{columns} columns");
        }
    }
}
