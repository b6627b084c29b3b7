//! One call of `cargo publish`, and what its failure means.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;

use crate::gates::Commit;
use crate::patience::asked_wait;
use crate::workspace::cargo_with_tokens;

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Upload {
    Done,
    Failed(Trouble),
}

/// Why it failed. What is on the registry now only the registry can tell.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// Whether it may be gone the next time.
    pub(crate) passes: bool,
    /// How long the registry asked to wait.
    pub(crate) asked: Option<Duration>,
    pub(crate) words: String,
}

/// Publishes these crates; cargo puts them in order and waits for the index between them.
pub(crate) fn run(commit: &Commit, names: &[&str]) -> anyhow::Result<Upload> {
    let packages = names.iter().flat_map(|name| ["--package", name]);
    let arguments =
        ["publish", "--locked"].into_iter().chain(commit.registry.cargo_arguments()).chain(packages);
    let mut cargo = Command::from(cargo_with_tokens(&commit.workspace.shell, arguments));
    let mut child = cargo.stderr(Stdio::piped()).spawn().context("cargo could not be started")?;
    let mut words = String::new();
    for line in BufReader::new(child.stderr.take().expect("stderr is piped")).lines() {
        let line = line.context("the words of cargo cannot be read")?;
        println!("  {line}");
        words.push_str(&line);
        words.push('\n');
    }
    let status = child.wait().context("cargo could not be waited for")?;
    if status.success() {
        return Ok(Upload::Done);
    }
    Ok(Upload::Failed(Trouble::read(&words, SystemTime::now())))
}

impl Trouble {
    fn read(words: &str, now: SystemTime) -> Self {
        // Before it stand the warnings of the compiler, which may say anything.
        let words = words.find("\nerror").map_or(words, |at| &words[at + 1..]).trim();
        let asked = asked_wait(words, now);
        Self { passes: asked.is_some() || passes(words), asked, words: words.to_owned() }
    }
}

/// Whether the words of cargo are about a registry that is busy, broken or slow, and not about what was sent to it.
fn passes(words: &str) -> bool {
    const SIGNS: [&str; 11] = [
        "got 429",
        "got 5",
        "(status 429",
        "(status 5",
        "timed out",
        "timeout",
        "spurious network error",
        "connection reset",
        "could not connect",
        // Sent by an earlier call whose answer was lost, and not in the index yet. Its bytes will be compared there.
        "already uploaded",
        // The same, seen by cargo before it has sent anything.
        "already exists",
    ];
    let words = words.to_ascii_lowercase();
    SIGNS.iter().any(|sign| words.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(words: &str) -> Trouble {
        Trouble::read(words, SystemTime::UNIX_EPOCH)
    }

    #[test]
    fn a_busy_registry_passes() {
        for words in [
            "error: failed to publish to registry at http://x\n\nCaused by:\n  failed to get a 200 OK response, got 503\nheaders:\n",
            "error: x\n\nCaused by:\n  the remote server responded with an error (status 429 Too Many Requests): slowly",
            "error: x\n\nCaused by:\n  [28] Timeout was reached (Operation timed out)",
            "error: x\n\nCaused by:\n  the remote server responded with an error (status 200 OK): crate a@1.0.0 is already uploaded",
        ] {
            assert!(trouble(words).passes, "{words}");
        }
    }

    #[test]
    fn a_refusal_stays() {
        for words in [
            "error: x\n\nCaused by:\n  the remote server responded with an error (status 403 Forbidden): not an owner",
            "warning: timed out\nerror: failed to verify package tarball",
            "",
        ] {
            assert!(!trouble(words).passes, "{words}");
        }
    }

    #[test]
    fn the_time_that_was_asked_for_is_kept() {
        let words =
            "error: x\n  failed to get a 200 OK response, got 429\nheaders:\n\tretry-after: 7\nbody:\n";
        assert_eq!(trouble(words).asked, Some(Duration::from_secs(7)));
    }
}
