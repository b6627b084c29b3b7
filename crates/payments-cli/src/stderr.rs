//! Stderr, written by one thread: nothing else in this process writes there.
//!
//! A parent may stop reading a pipe, and a person may stop a terminal. What is shown then is lost and counted, and no
//! charge, no signal and no exit code waits for it. The flags of the descriptor stay as they are, because other processes
//! share it.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::style::Style;

/// How far a billing run is, as a bar shows it.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) ended: u64,
    pub(crate) total: u64,
    pub(crate) message: String,
}

pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// How text on stderr looks.
pub(crate) fn style() -> Style {
    Style::of(&io::stderr())
}

/// Shows `text`, which has its own line breaks. Never waits: if too much waits already, it is lost and counted.
pub(crate) fn write(text: impl Into<String>) {
    STDERR.push(Item::Text(text.into()), MOST_WAITING);
}

/// The same for what a command says at its end, which is not lost to what waits before it.
pub(crate) fn write_last(text: impl Into<String>) {
    STDERR.push(Item::Text(text.into()), usize::MAX);
}

/// Draws a bar beneath everything else, on a terminal.
pub(crate) fn draw(standing: Standing) {
    STDERR.push(Item::Bar(standing), MOST_WAITING);
}

/// Takes the bar away.
pub(crate) fn end_bar() {
    STDERR.push(Item::NoBar, usize::MAX);
}

/// Waits until everything is written, or for a second if nobody reads it.
pub(crate) fn finish() {
    STDERR.finish();
}

/// The same before something goes to stdout, which a terminal is to show after what stands here.
pub(crate) fn finish_on_a_terminal() {
    if is_terminal() {
        finish();
    }
}

static STDERR: Queue = Queue::new();

/// Chosen by this command: more than comes at once, and little memory even if all are long.
const MOST_WAITING: usize = 1024;

/// Chosen by this command: how long the end waits for who does not read.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// What the thread is yet to write.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Item>,
    /// How many were lost behind the last one that waits.
    lost: u64,
    is_started: bool,
    is_writing: bool,
    /// Somebody has waited for the end of it in vain.
    is_unread: bool,
}

enum Item {
    Text(String),
    Bar(Standing),
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

    /// Unless `most` wait already.
    fn push(&'static self, item: Item, most: usize) {
        if !self.state().is_started {
            self.start(Screen { out: io::stderr(), target: ProgressDrawTarget::stderr, bar: None });
        }
        let mut state = self.state();
        if state.waiting.len() >= most {
            state.lost += 1;
        } else if state.is_started {
            state.tell_what_was_lost();
            state.waiting.push_back(item);
            self.changed.notify_all();
        }
    }

    fn start(&'static self, screen: Screen<impl Write + Send + 'static>) {
        let mut state = self.state();
        if !state.is_started {
            let thread = thread::Builder::new().name("stderr".to_owned());
            // Nothing can be shown without it, and the command goes on.
            state.is_started = thread.spawn(move || self.write_with(screen)).is_ok();
        }
    }

    fn finish(&self) {
        let mut state = self.state();
        state.tell_what_was_lost();
        self.changed.notify_all();
        let is_busy = |state: &mut State| !state.is_unread && (state.is_writing || !state.waiting.is_empty());
        // If it takes longer nobody reads, and nobody could be told.
        let waited = self.changed.wait_timeout_while(state, LAST_MOMENT, is_busy);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        // Once is enough for the whole process.
        state.is_unread |= waited.timed_out();
    }

    /// Writes what comes, for as long as the process lives.
    fn write_with(&self, mut screen: Screen<impl Write>) {
        let mut state = self.state();
        loop {
            if let Some(item) = state.waiting.pop_front() {
                state.is_writing = true;
                drop(state);
                screen.show(item);
                state = self.state();
                // Somebody reads after all.
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
    fn tell_what_was_lost(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            let text = format!("payments: {lost} lines were lost here: stderr was not read fast enough\n");
            self.waiting.push_back(Item::Text(text));
        }
    }
}

/// Texts, and beneath them the bar.
struct Screen<W> {
    out: W,
    target: fn() -> ProgressDrawTarget,
    bar: Option<ProgressBar>,
}

impl<W: Write> Screen<W> {
    fn show(&mut self, item: Item) {
        let Self { out, target, bar } = self;
        // The command goes on if nobody can read of it.
        let mut write = |text: &str| drop(out.write_all(text.as_bytes()));
        match item {
            Item::Text(text) => match bar {
                Some(bar) => bar.suspend(|| write(&text)),
                None => write(&text),
            },
            Item::Bar(Standing { ended, total, message }) => {
                let bar = bar.get_or_insert_with(|| new_bar(total, target()));
                // Both first, then one drawing: the numbers of one line are of one moment.
                bar.clone().with_position(ended).with_message(message).force_draw();
            }
            Item::NoBar => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
        }
        if bar.is_some() {
            // indicatif leaves the cursor behind the last column, from where the terminal's own ^C would begin a new line, and
            // the bar would be looked for there.
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
    fn what_nobody_reads_is_lost_and_counted_and_holds_nothing_up() {
        let queue: &Queue = Box::leak(Box::new(Queue::new()));
        let (mut reader, out) = io::pipe().expect("a pipe");
        queue.start(Screen { out, target: ProgressDrawTarget::hidden, bar: None });
        // Each is more than a pipe holds.
        let long = "x".repeat(1 << 17) + "\n";
        for _ in 0..2 * MOST_WAITING {
            queue.push(Item::Text(long.clone()), MOST_WAITING);
        }
        queue.push(Item::Text("the end\n".to_owned()), usize::MAX);
        queue.finish();
        let begun = Instant::now();
        queue.finish();
        assert!(begun.elapsed() < LAST_MOMENT, "it is waited for once");
        let state = queue.state();
        assert!(state.is_writing, "the first is still being written");
        assert!(state.waiting.len() <= MOST_WAITING + 2, "{}", state.waiting.len());
        drop(state);

        // Once somebody reads, it says where how many are missing.
        let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 20]);
        while !text.ends_with(b"the end\n") {
            let read = reader.read(&mut piece).expect("it is open");
            text.extend_from_slice(&piece[..read]);
        }
        let text = String::from_utf8(text).expect("text");
        let whole = text.lines().filter(|line| line.starts_with('x')).count();
        let lost = text.lines().rev().nth(1).and_then(|line| line.strip_prefix("payments: "));
        let lost =
            lost.and_then(|line| line.strip_suffix(" lines were lost here: stderr was not read fast enough"));
        assert_eq!(lost, Some(&*(2 * MOST_WAITING - whole).to_string()));

        // Now that somebody reads again, `finish` waits for the last line.
        queue.push(Item::Text("after all\n".to_owned()), usize::MAX);
        queue.finish();
        assert!(queue.state().waiting.is_empty() && !queue.state().is_writing);
    }

    #[test]
    fn no_other_file_of_this_program_writes_to_stderr() {
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
    fn what_is_read_is_whole_at_the_end() {
        let queue: &Queue = Box::leak(Box::new(Queue::new()));
        let (tell, told) = channel();
        queue.start(Screen { out: Telling(tell), target: ProgressDrawTarget::hidden, bar: None });
        for number in 0..100 {
            queue.push(Item::Text(format!("{number}\n")), MOST_WAITING);
        }
        queue.finish();
        let text: Vec<u8> = told.try_iter().flatten().collect();
        let expected = (0..100).map(|number| format!("{number}\n")).collect::<Vec<_>>().concat();
        assert_eq!(String::from_utf8(text).expect("text"), expected);
    }

    struct Telling(Sender<Vec<u8>>);

    impl Write for Telling {
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

    /// What the terminal of this thread is written beside the bar.
    struct Beside;

    impl Write for Beside {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            // As a terminal has it.
            let lines = std::str::from_utf8(text).map_err(io::Error::other)?.replace('\n', "\r\n");
            TERMINAL.with_borrow(|terminal| terminal.write_str(&lines))?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A screen with a bar, on a terminal of this width.
    fn screen(columns: u16) -> (Screen<Beside>, InMemoryTerm) {
        let terminal = InMemoryTerm::new(12, columns);
        TERMINAL.set(terminal.clone());
        let target = || {
            TERMINAL
                .with_borrow(|terminal| ProgressDrawTarget::term_like_with_hz(Box::new(terminal.clone()), 5))
        };
        (Screen { out: Beside, target, bar: None }, terminal)
    }

    fn standing(ended: u64) -> Item {
        Item::Bar(Standing {
            ended,
            total: 200,
            message: format!("{ended} processed, 0 rejected, 0 unknown"),
        })
    }

    #[test]
    fn position_and_message_are_of_one_moment() {
        let (mut screen, terminal) = screen(80);
        // More than are drawn at once where drawings have a rate.
        for ended in 0..=100 {
            screen.show(standing(ended));
            let line = terminal.contents();
            assert!(
                line.ends_with(&format!(" {ended}/200  {ended} processed, 0 rejected, 0 unknown")),
                "{line}"
            );
        }
    }

    #[test]
    fn an_interrupted_bar_leaves_nothing_behind_on_any_terminal() {
        for columns in [30, 45, 64, 65, 80, 200] {
            let (mut screen, terminal) = screen(columns);
            screen.show(standing(60));
            // What the terminal itself shows of Ctrl-C.
            terminal.write_str("^C").expect("it is there");
            screen.show(Item::Text("SIGINT: waiting\n".to_owned()));
            screen.show(standing(61));
            terminal.write_str("^C").expect("it is there");
            screen.show(Item::NoBar);
            screen.show(Item::Text("UNFINISHED\n".to_owned()));
            assert_eq!(terminal.contents(), "SIGINT: waiting\nUNFINISHED", "{columns} columns");
        }
    }
}
