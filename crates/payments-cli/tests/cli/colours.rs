//! Terminals get colours, unless `NO_COLOR` or `TERM=dumb` is set.
#![cfg(unix)]

use crate::support::{CARD_PAYMENT, CREATE, KEY, Peer, Run, payments, payments_at, responses};

const ESCAPE: char = '\u{1b}';

/// One run of each kind of output.
fn runs(peer: &Peer) -> Vec<Run> {
    let at = |arguments: &[&str]| payments_at(&peer.base_url, arguments.iter());
    vec![
        payments(["--help"]),
        payments(["check", "-h"]),
        payments(["--version"]),
        payments(["pay"]),
        at(&["void", "txn_1"]),
        at(&["transaction", "get", "txn_1"]),
        at(&["customer", "get", "cus_1", "--verbose"]),
        at(&CREATE).stdin(CARD_PAYMENT.replace("7391", "12")),
        at(&["check"]),
        at(&["check", "--dry-run"]),
        payments(["completions", "bash"]),
        payments(["demo"]),
    ]
}

#[test]
fn terminal_gets_colours() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    let coloured = |run: Run| run.env("TERM", "xterm").on_terminal().contains(ESCAPE);
    let colours: Vec<_> = runs(&peer).into_iter().map(coloured).collect();
    let expected = [false, false, false, true, true, true, true, true, true, true, false, true];
    assert_eq!(colours, expected);
    // The standard for `NO_COLOR` ignores an empty value.
    let run = payments_at(&peer.base_url, ["check"]).env("TERM", "xterm").env("NO_COLOR", "");
    assert!(run.on_terminal().contains(ESCAPE));
}

#[test]
fn no_color_and_dumb_terminals_are_respected() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    for (name, value) in [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("TERM", "dumb")] {
        for run in runs(&peer) {
            let shown = run.env("TERM", "xterm").env("CLICOLOR_FORCE", "1").env(name, value).on_terminal();
            assert!(!shown.is_empty() && !shown.contains(ESCAPE), "{name}={value}: {shown}");
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
}

#[test]
fn pipes_get_no_colours() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    for run in runs(&peer) {
        let ended = run.env("TERM", "xterm").env("CLICOLOR_FORCE", "1").env("FORCE_COLOR", "1").end();
        assert!(!ended.stdout.contains(ESCAPE) && !ended.stderr.contains(ESCAPE), "{ended:?}");
    }
}
