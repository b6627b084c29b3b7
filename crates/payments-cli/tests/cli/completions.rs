//! `payments completions SHELL`.

use crate::support::payments;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

#[test]
fn every_shell_gets_every_command_and_option() {
    for shell in SHELLS {
        let ended = payments(["completions", shell]).end();
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{shell}");
        let words = [
            "token-transaction",
            "transaction",
            "void",
            "customer",
            "check",
            "sandbox",
            "demo",
            "completions",
            "base-url",
            "api-key-file",
            "dry-run",
            "verbose",
            "ca-cert",
            "proxy",
            "reason",
            "journal",
            "unresolved",
            "not-processed",
            "older-than",
            "journal-is-complete",
        ];
        for word in words {
            assert!(ended.stdout.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn unknown_shell_is_refused_with_the_known_names() {
    let message = payments(["completions", "tcsh"]).end().refusal();
    for shell in SHELLS {
        assert!(message.contains(shell), "{message}");
    }
    payments(["completions"]).end().failed(2);
    payments(["completions", "bash", "--proxy", "p"]).end().refused("takes no --proxy");
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_options() {
    use std::process::Command;

    if Command::new("bash").arg("--version").output().is_err() {
        return;
    }
    let script = payments(["completions", "bash"]).end().stdout;
    let completed = |words: &str, last: usize| {
        let call = "_payments payments \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"";
        let ask = format!("COMP_WORDS=({words}); COMP_CWORD={last}; {call}; echo \"${{COMPREPLY[*]}}\"");
        let output = Command::new("bash").args(["-c", &format!("{script}\n{ask}")]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(completed("payments tok", 1), "token-transaction");
    assert_eq!(completed("payments transaction get --dry", 3), "--dry-run");
}
