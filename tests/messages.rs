use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// Compares a section of `docs/error-messages.md` with the messages of the code. `UPDATE_DOCS=1` writes the section; use it
/// with one test at a time (`-j1`), because the sections share the file.
///
/// # Panics
///
/// If the section differs, or the document has no such heading.
#[track_caller]
pub fn assert_messages(heading: &str, messages: &[Message]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/error-messages.md");
    let document = fs::read_to_string(&path).expect("the document can be read");
    let table_head = format!("## {heading}\n");
    let (before, section) = document.split_once(&table_head).expect("the document has this heading");
    let (introduction, rest) = section.split_once("\n| when |").expect("the section has a table");
    let after = rest.find("\n\n").map_or("\n", |end| &rest[end + 1..]);

    let mut table = String::from("| when | outcome | message |\n|---|---|---|\n");
    for Message { when, outcome, text } in messages {
        let text = text.replace('|', "\\|").replace('<', "\\<");
        writeln!(table, "| {when} | {outcome} | {text} |").expect("a String takes every write");
    }
    let expected = format!("{before}{table_head}{introduction}\n{table}{after}");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).expect("the document can be written");
    }
    let document = fs::read_to_string(&path).expect("the document can be read");
    assert!(document == expected, "run this test with UPDATE_DOCS=1 and read the change:\n{table}");
}

/// A row of `docs/error-messages.md`.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "tests of this workspace alone create it")]
pub struct Message {
    /// What happened.
    pub when: String,
    /// The outcome, as the JSON document of the command names it.
    pub outcome: String,
    /// The complete message.
    pub text: String,
}
