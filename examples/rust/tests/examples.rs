//! Runs every example, compares its output with `output/`, and checks that the README lists it.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

// The examples with tests of their own.
#[path = "../examples/own_transport.rs"]
#[allow(dead_code, reason = "its `main` is run as a program")]
mod own_transport;
#[path = "../examples/testing_with_the_fake.rs"]
#[allow(dead_code, reason = "its `main` is run as a program")]
mod testing_with_the_fake;

macro_rules! examples {
    ($($name:ident)*) => {
        const EXAMPLES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check_output(stringify!($name));
            }
        )*
    };
}

examples! {
    authorize_and_void
    billing_run
    json_log
    outcome_handling
    own_transport
    quickstart
    retry_unprocessed
    testing_with_the_fake
    tls_private_ca
    tracing_log
}

#[test]
fn every_example_is_tested_and_listed_in_the_readme() {
    assert_eq!(names_in("examples", "rs"), EXAMPLES, "list each example here, in alphabetical order");
    assert_eq!(names_in("output", "txt"), EXAMPLES, "`output/` needs one file per example and no other");

    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let mut listed: Vec<_> = readme.lines().filter_map(example_of).collect();
    listed.sort_unstable();
    assert_eq!(listed, EXAMPLES, "list each example once in the table of examples/rust/README.md");
}

#[test]
fn only_main_uses_test_tools() {
    for example in EXAMPLES {
        let path = folder().join("examples").join(example).with_extension("rs");
        let code = fs::read_to_string(path).unwrap();
        let (program, rest) = code.split_once("\nfn main() ").unwrap();
        let (_, tests) = rest.split_once("\n}\n").unwrap();
        for import in
            ["use payments_examples", "use payments_sandbox", "use payments_fake", "use payments_conformance"]
        {
            assert!(
                !program.contains(import),
                "{example}: `{import}` belongs in `main`, which readers do not copy"
            );
        }
        assert!(tests.is_empty() || tests.trim_start().starts_with("#[cfg(test)]\nmod tests"), "{example}");
    }
}

#[test]
fn failed_program_prints_its_error_only() {
    let closed_port = payments_examples::ClosedPort::new().unwrap();
    let error_output = |settings: &[(&str, &str)]| {
        let mut program = Command::new(built("quickstart"));
        program.env("PAYMENTS_EXAMPLE_PROGRAM", "1").env("RUST_BACKTRACE", "0");
        program.env_remove("PAYMENTS_API_KEY").env_remove("PAYMENTS_BASE_URL");
        let run = program.envs(settings.iter().copied()).output().unwrap();
        assert!(!run.status.success());
        String::from_utf8(run.stderr).unwrap()
    };

    let no_key = error_output(&[]);
    assert_eq!(no_key, "Error: PAYMENTS_API_KEY\n\nCaused by:\n    environment variable not found\n");
    let refused = error_output(&[("PAYMENTS_API_KEY", "key"), ("PAYMENTS_BASE_URL", closed_port.base_url())]);
    assert!(refused.contains("nothing was processed") && !refused.contains('{'), "{refused}");
}

/// The example in a line of the table.
fn example_of(line: &str) -> Option<&str> {
    let (_, command) = line.strip_prefix('|')?.split_once("--example ")?;
    command.split('`').next()
}

/// Run with `UPDATE_DOCS=1` to rewrite the outputs.
fn check_output(example: &str) {
    let run = Command::new(built(example)).output().unwrap();
    let (shown, errors) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.success() && errors.is_empty(), "{}\n{shown}\n{errors}", run.status);

    let shown = normalized(&shown);
    let path = folder().join("output").join(example).with_extension("txt");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &shown).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shown == expected,
        "run this test with UPDATE_DOCS=1 and review the change; the output is\n\n{shown}"
    );
}

/// Cargo builds a package's examples with its tests, unless the command selects targets.
fn built(example: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().join("examples");
    let path = folder.join(format!("{example}{}", env::consts::EXE_SUFFIX));
    assert!(path.exists(), "first run `cargo build -p payments-examples --examples`");
    path
}

/// Replaces what differs in each run: times, durations, ports and random ids.
fn normalized(shown: &str) -> String {
    let shown: String = shown.split_inclusive('\n').map(without_random_members).collect();
    let words = shown.split_inclusive(char::is_whitespace).map(|piece| {
        let word = piece.trim_end();
        let is_time = word.len() >= 20 && word.starts_with("20") && word.ends_with('Z');
        let stable = match word.split_once('=') {
            _ if is_time => "TIME",
            _ if word.starts_with("127.0.0.1:") => "127.0.0.1:PORT:",
            Some(("latency", _)) => "latency=TIME",
            Some(("call_id", _)) => "call_id=ID",
            _ => word,
        };
        format!("{stable}{}", &piece[word.len()..])
    });
    words.collect()
}

/// The line, without the random id and the port if it is JSON.
fn without_random_members(line: &str) -> String {
    let Ok(mut members) = serde_json::from_str::<serde_json::Map<_, _>>(line) else { return line.to_owned() };
    for (name, stable) in [("call_id", "ID"), ("service", "http://127.0.0.1:PORT/api/v1/public")] {
        if let Some(value) = members.get_mut(name) {
            *value = stable.into();
        }
    }
    serde_json::Value::Object(members).to_string() + "\n"
}

/// The names, without extension, of a folder's files with this extension, in alphabetical order.
fn names_in(name: &str, extension: &str) -> Vec<String> {
    let files = fs::read_dir(folder().join(name)).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == extension));
    let mut names: Vec<_> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
