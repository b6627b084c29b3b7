//! Text on stderr, and the progress bar of a billing run below it.

use std::io::Write;
use std::sync::mpsc::Sender;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What the thread shows.
pub(crate) enum Item {
    Text(String),
    /// The progress bar below everything else, on a terminal.
    Bar {
        ended: u64,
        total: u64,
        message: String,
    },
    /// Removes the bar.
    NoBar,
    /// Everything before it is written.
    Mark(Sender<()>),
}

/// Text, and the bar below it.
pub(super) struct Screen<W> {
    out: W,
    target: Box<dyn Fn() -> ProgressDrawTarget + Send>,
    width: Box<dyn Fn() -> Option<usize> + Send>,
    pub(super) bar: Option<ProgressBar>,
}

impl<W: Write> Screen<W> {
    pub(super) fn new(
        out: W,
        target: impl Fn() -> ProgressDrawTarget + Send + 'static,
        width: impl Fn() -> Option<usize> + Send + 'static,
    ) -> Self {
        Self { out, target: Box::new(target), width: Box::new(width), bar: None }
    }

    pub(super) fn show(&mut self, item: Item) {
        let Self { out, target, width, bar } = self;
        // The command goes on if it cannot write.
        let mut write = |text: &str| drop(out.write_all(text.as_bytes()));
        match item {
            Item::Text(text) => match bar {
                Some(bar) => bar.suspend(|| write(&text)),
                None => write(&text),
            },
            Item::Bar { ended, total, message } => {
                let bar = bar.get_or_insert_with(|| ProgressBar::with_draw_target(Some(total), target()));
                let (style, message) = layout(&format!("{ended}/{total}"), &message, width());
                bar.set_style(style);
                // One drawing after both changes, so that the numbers on a line belong together.
                bar.clone().with_position(ended).with_message(message).force_draw();
            }
            Item::NoBar => {
                if let Some(bar) = bar.take() {
                    bar.finish_and_clear();
                }
            }
            Item::Mark(reached) => drop(reached.send(())),
        }
        if bar.is_some() {
            // indicatif leaves the cursor after the last column. The terminal's ^C would start a new line there, and the bar
            // would be erased in the wrong line.
            write("\r");
        }
    }
}

/// The bar, if there is room for it beside the text, and the message, broken only after a comma.
fn layout(numbers: &str, message: &str, width: Option<usize>) -> (ProgressStyle, String) {
    // The last column stays free: a cursor after it may be in the next line.
    let width = width.unwrap_or(80).saturating_sub(1);
    let left = width.saturating_sub(numbers.len() + "   ".len() + message.len());
    let bar = if left < 8 { String::new() } else { format!("{{bar:{}}} ", left.min(24)) };
    let mut line = numbers.len() + "  ".len();
    let mut lines = String::new();
    for part in message.split_inclusive(", ") {
        if line + part.trim_end().len() > width && line > 0 {
            lines = lines.trim_end().to_owned() + "\n";
            line = 0;
        }
        lines += part;
        line += part.len();
    }
    let style = ProgressStyle::with_template(&format!("{bar}{{pos}}/{{len}}  {{msg}}"));
    (style.unwrap_or_else(|_| ProgressStyle::default_bar()), lines)
}

#[cfg(test)]
pub(super) mod tests {
    use std::io;

    use indicatif::{InMemoryTerm, TermLike as _};

    use super::*;

    struct TestTerminal(InMemoryTerm);

    impl Write for TestTerminal {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            // A terminal in raw mode needs both.
            let lines = std::str::from_utf8(text).map_err(io::Error::other)?.replace('\n', "\r\n");
            self.0.write_str(&lines)?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A screen on a terminal of this width.
    fn screen(columns: u16) -> (Screen<TestTerminal>, InMemoryTerm) {
        let terminal = InMemoryTerm::new(12, columns);
        let drawn = terminal.clone();
        let target = move || ProgressDrawTarget::term_like_with_hz(Box::new(drawn.clone()), 5);
        let screen = Screen::new(TestTerminal(terminal.clone()), target, move || Some(columns.into()));
        (screen, terminal)
    }

    pub(crate) fn bar(ended: u64) -> Item {
        Item::Bar { ended, total: 200, message: format!("{ended} processed, 0 rejected, 0 unknown") }
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
    fn bar_shrinks_and_its_text_breaks_only_after_a_comma() {
        const BUSY: &str = "166 processed, 12 rejected, 3 unknown, 7.0/s, 3s left";
        const PAUSED: &str =
            "166 processed, 12 rejected, 3 unknown, 7.0/s, 3s left, pausing for 3 s (connect)";
        for (columns, message, expected) in [
            (120, BUSY, &["BAR 181/200  166 processed, 12 rejected, 3 unknown, 7.0/s, 3s left"][..]),
            (80, BUSY, &["BAR 181/200  166 processed, 12 rejected, 3 unknown, 7.0/s, 3s left"]),
            (60, BUSY, &["181/200  166 processed, 12 rejected, 3 unknown, 7.0/s,", "3s left"]),
            (
                80,
                PAUSED,
                &[
                    "181/200  166 processed, 12 rejected, 3 unknown, 7.0/s, 3s left,",
                    "pausing for 3 s (connect)",
                ],
            ),
            (
                60,
                PAUSED,
                &[
                    "181/200  166 processed, 12 rejected, 3 unknown, 7.0/s,",
                    "3s left, pausing for 3 s (connect)",
                ],
            ),
        ] {
            let (mut screen, terminal) = screen(columns);
            screen.show(Item::Bar { ended: 181, total: 200, message: message.to_owned() });
            let shown = terminal.contents();
            assert!(
                shown.lines().all(|line| line.chars().count() < usize::from(columns)),
                "{columns}: {shown}"
            );
            let words = shown.trim_start_matches(|letter: char| !letter.is_ascii());
            let bar = if words.len() < shown.len() { "BAR" } else { "" };
            assert_eq!(format!("{bar}{words}"), expected.join("\n"), "{columns}: {shown}");
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
