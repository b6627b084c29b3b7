//! The session with curl that the README shows, run as it stands there.
#![cfg(unix)]

use std::process::{Command, Stdio};

use crate::support::payments;

const README: &str = include_str!("../../../../README.md");

/// Where the README's sandbox listens; the test's takes a free port.
const SHOWN_ADDRESS: &str = "127.0.0.1:8437";

/// The lines of the first block of the sandbox's chapter.
fn session() -> impl Iterator<Item = &'static str> {
    let (_, chapter) = README.split_once("## The sandbox").expect("the chapter is there");
    let (_, block) = chapter.split_once("```console\n").expect("a session is there");
    block.split_once("```").expect("it ends").0.lines()
}

#[test]
#[ignore = "needs bash and curl: cargo xtask test runs it where they are"]
fn the_session_with_curl_says_what_the_readme_shows() {
    let mut lines = session();
    let start = lines.next().expect("it starts a sandbox");
    let options = start.strip_prefix("$ payments sandbox ").and_then(|rest| rest.strip_suffix(" &"));
    let options = options.unwrap_or_else(|| panic!("{start}")).replace(SHOWN_ADDRESS, "127.0.0.1:0");
    let mut running = payments(["sandbox"]).arguments(options.split(' ')).stdout(Stdio::piped()).spawn();
    let ready = running.first_line();
    let address = ready.split('/').nth(2).expect("an address").to_owned();
    assert_eq!(lines.next(), Some(ready.trim_end().replace(&address, SHOWN_ADDRESS).as_str()));

    let mut script = String::new();
    let mut shown = String::new();
    for line in lines {
        if let Some(command) = line.strip_prefix("$ ") {
            // An error of the command is part of what is shown; a line ends where the next command begins.
            script.extend(["echo '$'\n", command, "\necho\n"]);
            shown.push_str("$\n");
        } else {
            shown.extend([line, "\n"]);
        }
    }
    let script = format!("exec 2>&1\n{}", script.replace(SHOWN_ADDRESS, &address));
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash runs");
    let said = String::from_utf8(output.stdout).expect("text").replace(&address, SHOWN_ADDRESS);
    let without_empty_lines =
        |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(without_empty_lines(&said), without_empty_lines(&shown));
}
