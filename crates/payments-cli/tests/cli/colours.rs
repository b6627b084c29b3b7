//! Terminals get colours, unless `NO_COLOR` or `TERM=dumb` is set.
#![cfg(unix)]

use crate::prelude::*;

const ESCAPE: char = '\u{1b}';

/// One run of each kind of output, and whether a terminal gets it with colours.
fn runs(peer: &Peer) -> [(bool, Run); 7] {
    let at = |line| payments_at(&peer.base_url, line).env("TERM", "xterm").env("CLICOLOR_FORCE", "1");
    [
        (false, payments("--help").env("TERM", "xterm")),
        (false, payments("completions bash").env("TERM", "xterm")),
        (true, at("pay")),
        (true, at(CREATE).stdin(CARD_PAYMENT.replace("7391", "12"))),
        (true, at(GET).with("--verbose")),
        (true, at("check")),
        (true, at("check --dry-run")),
    ]
}

#[test]
fn terminal_gets_colours_and_a_pipe_none() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    for (is_coloured, run) in runs(&peer) {
        // The standard for `NO_COLOR` ignores an empty value.
        let shown = run.env("NO_COLOR", "").on_terminal();
        assert_eq!(shown.contains(ESCAPE), is_coloured, "{shown}");
    }
    for (_, run) in runs(&peer) {
        run.env("FORCE_COLOR", "1").end().hides(["\u{1b}"]);
    }
}

#[test]
fn no_color_and_dumb_terminals_are_respected() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    for (name, value) in [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("TERM", "dumb")] {
        for (_, run) in runs(&peer) {
            let shown = run.env(name, value).on_terminal();
            assert!(!shown.is_empty() && !shown.contains(ESCAPE), "{name}={value}: {shown}");
            assert!(!shown.contains(KEY), "{shown}");
        }
    }
}
