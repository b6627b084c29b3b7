//! What a run shows on stderr, written by a thread of its own.

use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on a terminal, else lines.
///
/// Whoever reads a pipe may stop reading it: then what is shown is lost, and neither a charge nor a signal waits for it.
#[derive(Debug)]
pub(super) struct Screen {
    scenes: SyncSender<Scene>,
    /// Ends when everything is written.
    closed: Receiver<()>,
}

/// One thing to be shown.
#[derive(Debug)]
pub(super) enum Scene {
    /// How far the run is, and what there is to say of it.
    Standing { ended: u64, total: u64, message: String },
    /// A line that stays.
    Remark(String),
}

/// How many wait to be written: what comes while a reader is slow, and no more.
const WAITING: usize = 16;

/// How long the end waits for what is not written yet.
const LAST_MOMENT: Duration = Duration::from_secs(1);

impl Screen {
    /// The one of this process's stderr, and whether it is a bar.
    pub(super) fn of_stderr(ended: u64, total: u64) -> (Self, bool) {
        let is_bar = io::stderr().is_terminal();
        let show = move |scenes: Receiver<Scene>| {
            if is_bar { draw(&scenes, &bar(ended, total)) } else { write(&scenes, io::stderr()) }
        };
        (Self::shown_by(show), is_bar)
    }

    fn shown_by(show: impl FnOnce(Receiver<Scene>) + Send + 'static) -> Self {
        let (scenes, waiting) = mpsc::sync_channel(WAITING);
        let (closing, closed) = mpsc::channel();
        // A run goes on if nothing can be shown of it.
        let _ = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            show(waiting);
            drop(closing);
        });
        Self { scenes, closed }
    }

    /// Never waits: it is lost if too much waits already.
    pub(super) fn show(&self, scene: Scene) {
        let _ = self.scenes.try_send(scene);
    }

    /// Waits until everything is written, or for a moment if nobody reads it.
    pub(super) fn close(self) {
        let Self { scenes, closed } = self;
        drop(scenes);
        // If it takes longer nobody reads, and nobody could be told.
        let _ = closed.recv_timeout(LAST_MOMENT);
    }
}

fn bar(ended: u64, total: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(5);
    let bar = ProgressBar::with_draw_target(Some(total), target).with_position(ended);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn draw(scenes: &Receiver<Scene>, bar: &ProgressBar) {
    for scene in scenes {
        match scene {
            Scene::Standing { ended, message, .. } => {
                bar.set_position(ended);
                bar.set_message(message);
            }
            Scene::Remark(text) => bar.suspend(|| {
                let _ = writeln!(io::stderr(), "{text}");
            }),
        }
    }
    // So that the summary stands alone.
    bar.finish_and_clear();
}

fn write(scenes: &Receiver<Scene>, mut output: impl Write) {
    for scene in scenes {
        // A run goes on if nobody can read of it.
        let _ = match scene {
            Scene::Standing { ended, total, message } => writeln!(output, "{ended} of {total}: {message}"),
            Scene::Remark(text) => writeln!(output, "{text}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reads_is_lost_and_holds_nothing_up() {
        let (reader, pipe) = io::pipe().expect("a pipe");
        // More than a pipe holds, and more of them than wait.
        let long = "x".repeat(1 << 20);
        let screen = Screen::shown_by(move |scenes| write(&scenes, pipe));
        for _ in 0..10 * WAITING {
            screen.show(Scene::Remark(long.clone()));
        }
        screen.close();
        drop(reader);
    }

    #[test]
    fn what_is_read_is_whole_when_the_screen_is_closed() {
        let (tell, told) = mpsc::channel();
        let screen = Screen::shown_by(move |scenes| {
            let mut text = Vec::new();
            write(&scenes, &mut text);
            tell.send(String::from_utf8(text).expect("text")).expect("the test waits");
        });
        screen.show(Scene::Standing { ended: 3, total: 9, message: "all well".to_owned() });
        screen.show(Scene::Remark("stopping".to_owned()));
        screen.close();
        assert_eq!(told.try_recv().as_deref(), Ok("3 of 9: all well\nstopping\n"));
    }
}
