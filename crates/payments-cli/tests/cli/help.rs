//! The long help, the version and the completions.

use crate::prelude::*;

#[test]
fn help_and_version_are_text_and_exit_0() {
    let version = payments("--version").end().quiet(0);
    assert_eq!(version.stdout, concat!("payments ", env!("CARGO_PKG_VERSION"), "\n"));
    has(payments("--help --output json").end().quiet(0).stdout, ["Usage: payments"]);
}

/// That such an option is refused is tested with the other wrong command lines.
#[test]
fn help_omits_refused_options() {
    for line in ["demo", "sandbox", "completions", "journal list", "journal reconcile", "journal purge"] {
        let text = payments(format!("{line} --help")).end().quiet(0).stdout;
        for option in "--base-url --api-key-file --merchant --timeout --ca-cert --proxy --dry-run".split(' ')
        {
            let names_the_service = ["--base-url", "--merchant"].contains(&option);
            let is_taken = line == "journal reconcile" && names_the_service;
            assert_eq!(text.contains(option), is_taken, "{line} {option}: {text}");
        }
        // With `--verbose` a journal command names its journal.
        assert_eq!(text.contains("--verbose"), line.starts_with("journal"), "{line}: {text}");
        has(&text, ["--output"]);
    }
}

#[cfg(unix)]
#[test]
fn help_examples_are_processed_by_the_sandbox() {
    use crate::support::{payments_at, sandbox};

    let sandbox = sandbox();
    for command in ["transaction", "token-transaction"] {
        let text = payments(format!("{command} create --help")).end().stdout;
        let start = format!("\npayments {command} create --file - <<'END'\n");
        let example = text.split_once(&start).and_then(|(_, rest)| rest.split_once("\nEND\n"));
        let (request, _) = example.unwrap_or_else(|| panic!("an example in {text}"));
        let run = payments_at(sandbox.base_url(), format!("{command} create --file -"));
        run.stdin(request).end().paid_id();
    }
}

#[test]
fn every_shell_gets_every_command_and_option() {
    let words = "token-transaction transaction void customer check sandbox demo completions base-url \
                 api-key-file dry-run verbose ca-cert proxy reason journal unresolved not-processed older-than \
                 journal-is-complete";
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        has(payments(["completions", shell]).end().quiet(0).stdout, words.split(' '));
    }
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_options() {
    use std::process::Command;

    if Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let script = payments("completions bash").end().stdout;
    for (words, last, expected) in
        [("payments tok", 1, "token-transaction"), ("payments transaction get --dry", 3, "--dry-run")]
    {
        let call = "_payments payments \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"";
        let ask = format!("COMP_WORDS=({words}); COMP_CWORD={last}; {call}; echo \"${{COMPREPLY[*]}}\"");
        let output = Command::new("bash").args(["-c", &format!("{script}\n{ask}")]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected);
    }
}

#[test]
fn demo_ignores_settings() {
    payments("demo").at("https://pay.invalid").env("PAYMENTS_API_KEY", "not a key").end().exits(0);
}
