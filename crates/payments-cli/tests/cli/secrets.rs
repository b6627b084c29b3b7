//! Canaries: whatever the service says, no output holds the card, the code or the key.

use crate::support::{CARD_PAYMENT, Ended, KEY, Peer, ach_payment, answers, payments_at};

#[track_caller]
fn shows_nothing(ended: &Ended, canaries: &[&str]) {
    assert_ne!(ended.stdout.len() + ended.stderr.len(), 0);
    for canary in canaries {
        assert!(!ended.stdout.contains(canary), "{canary}: {}", ended.stdout);
        assert!(!ended.stderr.contains(canary), "{canary}: {}", ended.stderr);
    }
}

#[test]
fn d62_a_service_that_repeats_the_request_gives_nothing_away() {
    for (request, canaries) in [
        (CARD_PAYMENT.to_owned(), ["378282246310005", "7391", KEY]),
        (ach_payment(), ["000123456789", "378282246310005", KEY]),
    ] {
        let echo = format!("{}; 3782 822463 10005; {{\\\"Cvv\\\":\\\"7391\\\"}}", canaries.join(", "));
        let data = r#"{"TransactionId":"txn_1","CardNumber":"378282246310005","Cvv":"7391","AccountNumber":"000123456789"}"#;
        for (status, body) in [
            ("400 Bad Request", format!(r#"{{"status":"failed","status_code":400,"msg":"{echo}"}}"#)),
            ("200 OK", format!(r#"{{"status":"failed","status_code":200,"message":"{echo}"}}"#)),
            ("502 Bad Gateway", format!("<html>{echo}</html>")),
            ("200 OK", format!(r#"{{"status":"success","status_code":100,"data":{data}}}"#)),
        ] {
            for shape in ["json", "text"] {
                let peer = Peer::answering(status, &body);
                let run =
                    payments_at(&peer.base_url, ["transaction", "create", "--file", "-", "--output", shape]);
                shows_nothing(&run.stdin(&*request).end(), &canaries);
            }
        }
    }
}

#[test]
fn no_ordinary_run_gives_anything_away() {
    for (status, body) in [
        ("200 OK", answers::RECORD),
        ("401 Unauthorized", answers::UNAUTHORIZED),
        ("400 Bad Request", answers::POSTAL_CODE),
        ("500 Internal Server Error", ""),
    ] {
        let peer = Peer::answering(status, body);
        for shape in ["json", "text"] {
            let run =
                payments_at(&peer.base_url, ["transaction", "create", "--file", "-", "--output", shape]);
            shows_nothing(&run.stdin(CARD_PAYMENT).end(), &["378282246310005", "7391", KEY]);
        }
    }
}
