//! The long help.

use crate::support::{has, payments, started};

fn help(command: &[&str]) -> String {
    let ended = payments(command.iter().copied().chain(["--help"])).end();
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{command:?}");
    ended.stdout
}

#[track_caller]
fn has_exit_codes(text: &str, codes: &[&str]) {
    for code in codes {
        assert!(text.contains(&format!("\n  {code}")), "{code}: {text}");
    }
}

/// What it says about a file and about a correction is what the command does.
#[test]
fn help_of_resolve_explains_every_verdict_and_option_d48() {
    let text = help(&["journal", "resolve"]);
    let (prose, _) = text.split_once("\nUsage:").expect("the options follow");
    has(
        prose,
        ["--processed", "--rejected", "--not-processed", "--unverified", "--attempt N", "--replace ID"],
    );
    for verdict in ["processed", "rejected", "not processed", "empty"] {
        assert!(prose.contains(&format!("\n  {verdict} ")), "{verdict}: {prose}");
    }
    assert!(prose.contains("A row with neither Verdict nor TransactionId resolves nothing"), "{prose}");
    has_exit_codes(&text, &["8  "]);
}

/// The journal's subcommands that never call the service.
const JOURNAL_COMMANDS: [&str; 9] =
    ["list", "show", "summary", "export", "reconcile", "retry", "rename-service", "forget-service", "purge"];

#[test]
fn help_omits_refused_options() {
    let of_the_journal = JOURNAL_COMMANDS.map(|command| vec!["journal", command]);
    let others = ["demo", "sandbox", "completions"].map(|command| vec![command]);
    for command in others.into_iter().chain(of_the_journal) {
        let text = help(&command);
        for option in
            ["--base-url", "--api-key-file", "--merchant", "--timeout", "--ca-cert", "--proxy", "--dry-run"]
        {
            assert!(!text.contains(option), "{command:?} {option}: {text}");
        }
        // With `--verbose` a journal command names its journal.
        assert_eq!(text.contains("--verbose"), command[0] == "journal", "{command:?}: {text}");
        assert!(text.contains("--output"), "{command:?}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn help_examples_are_processed_by_the_sandbox() {
    let (_sandbox, ready) = started(payments(["sandbox"]));
    for command in ["transaction", "token-transaction"] {
        let text = help(&[command, "create"]);
        let start = format!("\npayments {command} create --file - <<'END'\n");
        let example = text.split_once(&start).and_then(|(_, rest)| rest.split_once("\nEND\n"));
        let (request, _) = example.unwrap_or_else(|| panic!("an example in {text}"));
        let run = payments([command, "create", "--file", "-"])
            .env("PAYMENTS_BASE_URL", ready["base_url"].as_str().expect("a text"))
            .env("PAYMENTS_API_KEY", ready["api_key"].as_str().expect("a text"));
        assert!(run.stdin(request).end().processed()["TransactionId"].is_string());
    }
}
