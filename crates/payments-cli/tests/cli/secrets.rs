//! Test secrets: no output contains the card, the security code or the API key.

#[cfg(target_os = "linux")]
mod journal;
mod misplaced;
#[cfg(target_os = "linux")]
mod process;
#[cfg(unix)]
mod sandbox;

use std::thread;

use payments_canary::{Canaries, assert_no_leak_in_runs, has_word};

use crate::prelude::*;

/// The name of a place where a secret could leak, and its content.
type Place = (&'static str, Vec<u8>);

/// Checks that no secret leaks in any place. Repeats the run with three sets of secrets, because times, ports and process ids
/// can contain a security code by chance.
#[track_caller]
fn assert_clean_places(run: impl Fn(&Canaries) -> Vec<Place> + Sync) {
    let sets = [0, 1, 2].map(Canaries::set);
    let runs = thread::scope(|scope| {
        let runs = sets.each_ref().map(|set| scope.spawn(|| run(set)));
        runs.map(|run| run.join().expect("the run ends"))
    });
    for (index, (place, _)) in runs[0].iter().enumerate() {
        let pages: Vec<_> = sets
            .iter()
            .zip(&runs)
            .map(|(canaries, places)| (canaries.clone(), places[index].1.clone()))
            .collect();
        assert_no_leak_in_runs(place, &pages);
    }
}

/// A valid payment with test secrets. It creates a token.
fn card_payment(canaries: &Canaries) -> String {
    let (card, cvv, expiry) = (canaries.card(), canaries.cvv(), canaries.expiry());
    format!(
        r#"{{"Amount":10.50,"BillingCountry":"US","BillingCountryCode":"+1","BillingCustomerName":"Ada Lovelace",
        "BillingEmail":"ada@example.com","BillingPhoneNumber":"555-0100","BillingPostalCode":"94107",
        "CardNumber":"{card}","Cvv":"{cvv}","ExpiryDate":"{expiry}","SuggestedMode":"Card",
        "ConvenienceFeeActive":false,"TransactionType":"2","PaymentTokenization":true,"IpAddress":"203.0.113.7"}}"#
    )
}

/// The same as an ACH payment.
fn account_payment(canaries: &Canaries) -> String {
    let account = canaries.account();
    format!(
        r#"{{"Amount":10.50,"BillingCountry":"US","BillingCountryCode":"+1","BillingCustomerName":"Ada Lovelace",
        "BillingEmail":"ada@example.com","BillingPhoneNumber":"555-0100","BillingPostalCode":"94107",
        "AccountNumber":"{account}","Whatever":"{account}","SuggestedMode":"ACH",
        "ConvenienceFeeActive":false,"TransactionType":"1","IpAddress":"203.0.113.7"}}"#
    )
}

/// A security code counts only as a whole word, because a port can contain its digits.
#[track_caller]
fn assert_no_leak(ended: &Ended, canaries: &[&str]) {
    assert_ne!(ended.stdout.len() + ended.stderr.len(), 0);
    for canary in canaries {
        for text in [&ended.stdout, &ended.stderr] {
            let is_shown = if canary.len() == 4 { has_word(text, canary) } else { text.contains(canary) };
            assert!(!is_shown, "{canary}: {text}");
        }
    }
}

/// Every command with every output option, against a service that repeats the secrets.
#[test]
fn no_command_option_or_key_source_reveals_a_secret_d62() {
    use std::fs;

    let echo = format!(
        "{KEY} 378282246310005 3782-822463-10005 3782 822463 10005 000123456789 cvv 7391 {{\\\"Cvv\\\":\\\"7391\\\"}}"
    );
    let echoes = [
        (
            "200 OK",
            format!(
                r#"{{"status":"success","status_code":100,"message":"{echo}","data":{{"TransactionId":"txn_1","CustomerId":"cus_1","CardNumber":"378282246310005","Cvv":"7391","AccountNumber":"000123456789","Echo":"{echo}"}}}}"#
            ),
        ),
        ("200 OK", format!(r#"{{"status":"failed","status_code":200,"message":"{echo}"}}"#)),
        ("400 Bad Request", format!(r#"{{"status":"failed","status_code":400,"msg":"{echo}"}}"#)),
        ("401 Unauthorized", format!(r#"{{"status":"failed","status_code":401,"msg":"{echo}"}}"#)),
        ("404 Not Found", format!(r#"{{"status":"failed","status_code":404,"msg":"{echo}"}}"#)),
        // Not a 5xx, because a lookup is repeated after one.
        ("403 Forbidden", format!("<html>{echo}</html>")),
    ];
    let ach = ach_payment().replace("555-0100", "000123456789");
    // A code or an account can be recognized only if the request contained it.
    let commands: [(&str, &str, &[&str]); 8] = [
        (CREATE, CARD_PAYMENT, &["7391"]),
        (CREATE, &ach, &["000123456789"]),
        (CHARGE, TOKEN_PAYMENT, &[]),
        ("void txn_1 --reason '378282246310005 with sk_canary_8Zk3Qw'", "", &[]),
        ("transaction get txn_1", "", &[]),
        ("transaction get 378282246310005", "", &[]),
        ("customer get cus_1", "", &[]),
        ("check", "", &[]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("key");
    fs::write(&key_file, KEY).unwrap();

    for (number, (status, body)) in echoes.iter().enumerate() {
        let peer = Peer::responding(status, body);
        let authority =
            peer.base_url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap();
        // A dry run gets no response. What `--verbose` shows contains what is shown without it.
        let shapes = if number == 0 { &["--verbose", "--verbose --dry-run"][..] } else { &["--verbose"] };
        for (index, (command, stdin, own)) in commands.iter().enumerate() {
            for (shape, output) in shapes.iter().flat_map(|shape| [(shape, "json"), (shape, "text")]) {
                let line = format!("{command} {shape} --output {output} --base-url {}", peer.base_url);
                let run = payments(line).stdin(*stdin);
                let run = if (output == "json") == ((number + index) % 2 == 0) {
                    run.env("PAYMENTS_API_KEY", KEY)
                } else {
                    run.with(["--api-key-file", key_file.to_str().unwrap()])
                };
                let mut ended = run.end();
                // A port can contain any digits.
                for text in [&mut ended.stdout, &mut ended.stderr] {
                    *text = text.replace(authority, "");
                }
                let canaries: Vec<_> = [KEY, "378282246310005", "822463-10005", "822463 10005"]
                    .iter()
                    .chain(*own)
                    .copied()
                    .collect();
                assert_no_leak(&ended, &canaries);
            }
        }
    }
}

/// `UnionPay` numbers need not pass the Luhn check, so only the request shows that they are card numbers.
#[test]
fn own_card_number_with_any_separators_is_in_no_output_and_no_journal_d52() {
    const UNION_PAY: &str = "6212947301846576";
    assert_eq!(payments_model::mask(UNION_PAY, &[]), UNION_PAY, "it fails the Luhn check");
    let payment = CARD_PAYMENT.replace("378282246310005", UNION_PAY);
    let folder = tempfile::tempdir().unwrap();
    for (number, separator) in ["", " ", "\u{a0}", ".", "-", " - ", "\u{2009}", "/"].iter().enumerate() {
        let groups = UNION_PAY.as_bytes().chunks(4).map(|group| str::from_utf8(group).unwrap());
        let echo = groups.collect::<Vec<_>>().join(separator);
        let body = format!(
            r#"{{"status":"failed","status_code":400,"msg":"bad request error: card {echo} is not accepted"}}"#
        );
        let peer = Peer::responding("400 Bad Request", &body);
        for shape in ["json", "text"] {
            let journal = folder.path().join(format!("{number}-{shape}.db"));
            let journal = format!("--journal {}", journal.display());
            let run = payments_at(&peer.base_url, CREATE).with("--key k --verbose --output").with([shape]);
            let ended = run.with(&journal).stdin(&*payment).end().exits(4);
            let exported = payments(format!("journal export {journal}")).end();
            assert!(exported.stdout.contains("is not accepted"), "{exported:?}");
            for text in [&ended.stdout, &ended.stderr, &exported.stdout] {
                let digits: String = text.chars().filter(char::is_ascii_digit).collect();
                assert!(!text.contains(&echo) && !digits.contains(UNION_PAY), "{separator:?}: {text}");
            }
        }
    }
}
