//! The console sessions in the docs, run as shown.
#![cfg(unix)]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::payments;

const BILLING: &str = include_str!("../../../../docs/billing-runs.md");
const SANDBOX: &str = include_str!("../../../../docs/sandbox.md");
const RECONCILING: &str = include_str!("../../../../docs/reconciling.md");

#[test]
#[ignore = "needs bash and curl: cargo xtask test runs it where they are"]
fn curl_session_and_its_log_match_the_sandbox_guide() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let session = blocks(SANDBOX, "console").next().expect("a session is there");
    let session = session.replace("--log off", "--log pretty");
    let log = assert_session(session.lines(), "127.0.0.1:8437", folder.path());
    let shown = blocks(SANDBOX, "text").next().expect("a log is there");
    // Without the time at the start and the latency.
    let parts = |log: &str| {
        let lines = log.lines().filter(|line| line.contains("  saw "));
        let parts = lines.map(|line| format!("{}{}", &line[8..73], &line[84..]));
        parts.collect::<Vec<_>>()
    };
    assert_eq!((parts(&log), parts(shown).len()), (parts(shown), 3), "{log}");
}

#[test]
#[ignore = "needs bash and curl: cargo xtask test runs it where they are"]
fn billing_run_matches_its_guide() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let session = blocks(BILLING, "console").next().expect("a session is there");
    assert_session(session.lines(), "127.0.0.1:8439", folder.path());
}

#[test]
fn reconciling_many_session_matches_the_guide() {
    let (_, chapter) = RECONCILING.split_once("## Many at once").expect("the chapter is there");
    let (chapter, _) = chapter.split_once("\n## ").expect("another follows");
    assert_reconciling(chapter, "127.0.0.1:8440", 20);
}

#[test]
#[ignore = "needs bash and curl: cargo xtask test runs it where they are"]
fn reconciling_with_a_report_matches_the_guide() {
    let (_, chapter) = RECONCILING.split_once("## Rehearse it").expect("the chapter is there");
    let (chapter, _) = chapter.split_once("\n## ").expect("another follows");
    let session = blocks(chapter, "console").nth(1).expect("a session is there");
    let lines = session.lines().filter(|line| !line.is_empty());
    assert!(lines.count() < 20, "a finance person reads it");
    assert_reconciling(chapter, "127.0.0.1:8442", 15);
}

/// Runs all sessions of a chapter as one, with the faults file that the guide shows.
fn assert_reconciling(chapter: &str, shown_address: &str, lines: usize) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let faults = blocks(RECONCILING, "json").next().expect("the faults are there");
    fs::write(folder.path().join("faults.json"), faults).expect("it is writable");
    let session: Vec<_> = blocks(chapter, "console").flat_map(str::lines).collect();
    assert!(session.len() > lines, "{session:?}");
    assert_session(session.into_iter(), shown_address, folder.path());
}

#[test]
fn every_failure_kind_is_explained() {
    use payments_core::TransportErrorKind as Kind;
    use payments_journal::FailureKind;

    let (_, chapter) = RECONCILING.split_once("## Reasons in brackets").expect("the chapter is there");
    let (chapter, _) = chapter.split_once("\n## ").expect("another follows");
    let (unknown, others) = chapter.split_once("| `rejected (…)`").expect("two tables");
    let transport = [
        Kind::Timeout,
        Kind::Closed,
        Kind::Protocol,
        Kind::BodyTruncated,
        Kind::BodyTooLarge,
        Kind::Cancelled,
        Kind::Other,
    ];
    let of_the_journal = [FailureKind::CRASH, FailureKind::PANIC];
    let of_a_run = ["unclear_answer", "in_flight", "not_recorded"];
    for kind in transport
        .map(Kind::as_str)
        .into_iter()
        .chain(of_the_journal.iter().map(FailureKind::as_str))
        .chain(of_a_run)
    {
        assert!(unknown.contains(&format!("\n| `{kind}` | ")), "{kind}");
    }
    let unsent = [Kind::Resolve, Kind::Connect, Kind::Tls].map(Kind::as_str);
    let of_the_journal = [FailureKind::ABANDONED, FailureKind::WITHDRAWN, FailureKind::REOPENED];
    let of_answers = ["rejected", "unauthorized", "not_found", "intermediary"];
    for kind in unsent.into_iter().chain(of_the_journal.iter().map(FailureKind::as_str)).chain(of_answers) {
        assert!(others.contains(&format!("`{kind}`")), "{kind}");
    }
}

/// Every command in the guides, in a session or in the text, has options that exist.
#[test]
fn commands_in_documents_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guides = fs::read_dir(root.join("docs")).expect("it is a folder");
    let mut documents: Vec<_> = guides.map(|guide| guide.expect("it is readable").path()).collect();
    documents.extend(["README.md", "crates/payments-cli/README.md"].map(|path| root.join(path)));
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));

    let mut script = String::new();
    for path in documents {
        let text =
            fs::read_to_string(&path).expect("it is text").replace("\\\n> ", " ").replace("\\\n ", " ");
        for start in ["`payments ", "\npayments ", "\n$ payments "] {
            for command in text.split(start).skip(1) {
                let command =
                    command.split(['`', '\n', '|', '>', '#', '&', ';']).next().expect("a first piece");
                // The help is printed if clap accepts what is before it.
                let shown = format!("{}: payments {command}", path.display()).replace('\'', "");
                writeln!(script, "payments {command} --help >help.txt 2>&1 || echo '{shown}'")
                    .expect("memory");
            }
        }
    }
    assert!(script.lines().count() > 100, "{script}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wrong = bash(&script, folder.path()).output().expect("bash runs").stdout;
    assert_eq!(String::from_utf8_lossy(&wrong), "");
}

/// A script in which `payments` is the command under test.
fn bash(script: &str, folder: &Path) -> Command {
    let commands = Path::new(env!("CARGO_BIN_EXE_payments")).parent().expect("it is in a folder");
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([commands.to_owned()].into_iter().chain(env::split_paths(&others)));
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(folder).env("PATH", path.expect("a plain path"));
    bash
}

/// A document's code blocks in this language.
fn blocks<'a>(document: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let start = format!("```{language}\n");
    let starts: Vec<_> = document.match_indices(&start).map(|(at, _)| at + start.len()).collect();
    starts.into_iter().map(|at| document[at..].split("```").next().expect("there is a first piece"))
}

/// Runs the commands in `folder` and compares their output. The first command starts a sandbox, here on a free port instead
/// of `shown_address`, and `folder` is shown as `/srv/billing`. Returns the sandbox's log.
fn assert_session<'a>(
    mut lines: impl Iterator<Item = &'a str>,
    shown_address: &str,
    folder: &Path,
) -> String {
    let start = lines.next().expect("it starts a sandbox");
    let options = start.strip_prefix("$ payments sandbox ").and_then(|rest| rest.strip_suffix(" &"));
    let options = options.unwrap_or_else(|| panic!("{start}")).replace(shown_address, "127.0.0.1:0");
    let running = payments("sandbox").with(&options).in_folder(folder);
    let mut running = running.start();
    let ready = running.first_line();
    let address = ready.split('/').nth(2).expect("an address").to_owned();
    assert_eq!(lines.next(), Some(ready.trim_end().replace(&address, shown_address).as_str()));

    let mut script = String::new();
    let mut shown = String::new();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        if let Some(command) = line.strip_prefix("$ ") {
            let mut command = command.to_owned();
            while let Some(more) = lines.next_if(|more| more.starts_with("> ")) {
                command.extend(["\n", &more["> ".len()..]]);
            }
            // The output includes errors. The empty line separates it from the next command.
            script.extend(["echo '$'\n", &command, "\necho\n"]);
            shown.push_str("$\n");
        } else {
            shown.extend([line, "\n"]);
        }
    }
    let script = format!("exec 2>&1\n{}", script.replace(shown_address, &address));
    let output = bash(&script, folder).output().expect("bash runs");
    let printed = String::from_utf8(output.stdout).expect("text").replace(&address, shown_address);
    let folder = folder.to_str().expect("a plain path");
    let printed = printed.replace(folder, "/srv/billing");
    assert_eq!(lines_without_times(&printed), lines_without_times(&shown));
    running.signal("TERM");
    running.end().stderr
}

/// The non-empty lines, with a fixed time in place of every time.
fn lines_without_times(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    let mut text = lines.join("\n");
    let shape = |piece: &str| -> String {
        piece.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect()
    };
    for time in ["2000-01-01T00:00:00.000Z", "2000-01-01T00:00Z"] {
        for at in 0..text.len() {
            let end = at + time.len();
            if text.get(at..end).is_some_and(|piece| shape(piece) == shape(time)) {
                text.replace_range(at..end, time);
            }
        }
    }
    text
}
