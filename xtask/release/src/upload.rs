//! One call of `cargo publish`, and what its failure means.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;

use crate::credentials::Credentials;
use crate::gates::Commit;
use crate::package::shared_builds;
use crate::patience::{asked_wait, retry_after};
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
    /// Whether a crate was taken before it came to this, wherever the index may be.
    pub(crate) took_some: bool,
    pub(crate) words: String,
}

/// Publishes these crates, which were verified; cargo puts them in order and waits for the index between them.
pub(crate) fn run(commit: &Commit, names: &[&str], credentials: &Credentials) -> anyhow::Result<Upload> {
    let packages = names.iter().flat_map(|name| ["--package", name]);
    let arguments = ["publish", "--locked", "--no-verify"]
        .into_iter()
        .chain(commit.registry.cargo_arguments())
        .chain(packages);
    let cargo = cargo_with_tokens(&commit.workspace.shell, arguments);
    let mut cargo = Command::from(cargo.envs(shared_builds(&commit.workspace)?));
    cargo.env(&credentials.variable, &credentials.provider);
    // Its words are read here as well.
    cargo.env("CARGO_TERM_COLOR", "never");
    // Where a registry says in JSON why it refuses, cargo tells nothing of `Retry-After`, except so.
    cargo.env("CARGO_HTTP_DEBUG", "true").env("CARGO_LOG", "network=debug");
    let mut child = cargo.stderr(Stdio::piped()).spawn().context("cargo could not be started")?;
    let mut words = String::new();
    let mut log = NetworkLog::default();
    for line in BufReader::new(child.stderr.take().expect("stderr is piped")).lines() {
        let line = line.context("the words of cargo cannot be read")?;
        // Cargo masks the token in its log, and nobody has to rely on it.
        if log.takes(&line) || line.to_ascii_lowercase().contains("authorization") {
            continue;
        }
        println!("  {line}");
        words.push_str(&line);
        words.push('\n');
    }
    let status = child.wait().context("cargo could not be waited for")?;
    if status.success() {
        return Ok(Upload::Done);
    }
    let mut trouble = Trouble::read(&words, SystemTime::now());
    // What else a response asks to wait is of use only if waiting helps.
    if trouble.passes && trouble.asked.is_none() {
        trouble.asked = log.retry_after.and_then(|value| retry_after(&value, SystemTime::now()));
    }
    Ok(Upload::Failed(trouble))
}

/// What cargo logs of its requests, which nobody wants to read but for one header.
#[derive(Debug, Default)]
struct NetworkLog {
    /// Within the description of its HTTP library, which takes several lines.
    is_inside: bool,
    /// As the last response had it.
    retry_after: Option<String>,
}

impl NetworkLog {
    /// Whether the line is of the log and not of cargo's words.
    fn takes(&mut self, line: &str) -> bool {
        if self.is_inside {
            self.is_inside = line != "}";
            return true;
        }
        let Some((time, text)) = line.split_once("s DEBUG network: ") else {
            return false;
        };
        if time.trim().parse::<f64>().is_err() {
            return false;
        }
        self.is_inside = text.ends_with('{');
        if let Some(header) = text.strip_prefix("http-debug: < ") {
            match header.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("retry-after") => {
                    self.retry_after = Some(value.trim().to_owned());
                }
                None if header.starts_with("HTTP/") => self.retry_after = None,
                _ => {}
            }
        }
        true
    }
}

impl Trouble {
    fn read(words: &str, now: SystemTime) -> Self {
        // Where the compiler says the same, a step too little is advised, and nothing is lost.
        let took_some = words.lines().any(|line| line.trim_start().starts_with("Uploaded "));
        // Before it stand the warnings and errors of the compiler, which may say anything.
        let words = words.rfind("\nerror: ").map_or(words, |at| &words[at + 1..]).trim();
        let asked = asked_wait(words, now);
        Self { passes: asked.is_some() || passes(words), asked, took_some, words: words.to_owned() }
    }
}

/// Whether the words of cargo are about a registry that is busy, broken or slow, and not about what was sent to it.
fn passes(words: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "got 429",
        "got 5",
        "(status 429",
        "(status 5",
        "timed out",
        "timeout",
        // Sent by an earlier call whose answer was lost, and not in the index yet. Its bytes will be compared there.
        "already uploaded",
        // The same, seen by cargo before it has sent anything.
        "already exists",
    ];
    let is_of_curl = |line: &str| {
        let code = line.trim_start().strip_prefix('[').and_then(|line| line.split_once("] "));
        code.and_then(|(code, _)| code.parse::<u8>().ok()).is_some_and(|code| CURL.contains(&code))
    };
    let words = words.to_ascii_lowercase();
    words.lines().any(is_of_curl) || SIGNS.iter().any(|sign| words.contains(sign))
}

/// What cargo's HTTP library calls a network that is down, slow, or broke in the middle: names that were not resolved (5,
/// 6), no connection (7, 35), a connection that was cut (16, 18, 52, 55, 56, 92), a time limit (28).
const CURL: [u8; 11] = [5, 6, 7, 16, 18, 28, 35, 52, 55, 56, 92];

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
            "error: x\n\nCaused by:\n  [52] Server returned nothing (no headers, no data) (Empty reply from server)",
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
            "error[E0001]: got 503\n\nerror: failed to verify package tarball",
            "error: x\n\nCaused by:\n  [60] SSL peer certificate was not OK",
            "",
        ] {
            assert!(!trouble(words).passes, "{words}");
        }
    }

    #[test]
    fn what_was_taken_before_a_refusal_is_seen() {
        let refused = "error: x\n\nCaused by:\n  (status 403 Forbidden): not an owner";
        let uploading = "   Uploading a v1.0.0 (/a)\n";
        assert!(!trouble(&format!("{uploading}{refused}")).took_some);
        assert!(trouble(&format!("{uploading}    Uploaded a v1.0.0 to registry `x`\n{refused}")).took_some);
    }

    #[test]
    fn the_time_that_was_asked_for_is_kept() {
        let words =
            "error: x\n  failed to get a 200 OK response, got 429\nheaders:\n\tretry-after: 7\nbody:\n";
        assert_eq!(trouble(words).asked, Some(Duration::from_secs(7)));
    }
}
