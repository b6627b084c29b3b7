//! Terminals get colours, unless `NO_COLOR` or `TERM=dumb` is set.
#![cfg(unix)]

use crate::prelude::*;

const ESCAPE: &str = "\u{1b}";

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
fn only_a_terminal_gets_colours_unless_it_wants_none() {
    let peer = Peer::responding("200 OK", responses::RECORD);
    // The standard for `NO_COLOR` ignores an empty value.
    for (name, value, is_wanted) in
        [("NO_COLOR", "", true), ("NO_COLOR", "1", false), ("NO_COLOR", "0", false), ("TERM", "dumb", false)]
    {
        for (is_coloured, run) in runs(&peer) {
            let shown = run.env(name, value).on_terminal();
            assert!(!shown.is_empty() && !shown.contains(KEY), "{shown}");
            assert_eq!(shown.contains(ESCAPE), is_coloured && is_wanted, "{name}={value}: {shown}");
        }
    }
    for (_, run) in runs(&peer) {
        run.env("FORCE_COLOR", "1").end().hides([ESCAPE]);
    }
}
