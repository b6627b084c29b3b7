//! `payments journal resolve KEY`: what a person has found out about an attempt.

use crate::journal::story;
use crate::prelude::*;

impl Workspace {
    /// Resolves the key `k`.
    fn resolve(&self, by: &str, options: &str) -> Ended {
        self.journals(format!("resolve k --by {by} {options}"))
    }

    /// The response of the first attempt is lost, a person says that it was not processed, and the response of the second attempt
    /// is lost too. Returns the transactions of both.
    pub(crate) fn with_two_attempts() -> (Self, [String; 2]) {
        let (workspace, [first]) = Self::with_lost(["k"]);
        workspace.resolve("ada", "--not-processed --note 'in no report'").exits(0);
        let second = workspace.lose_response("k");
        (workspace, [first, second])
    }
}

#[test]
fn resolving_as_processed_needs_a_matching_lookup() {
    let (workspace, [id]) = Workspace::with_lost(["k"]);
    let other = workspace.charging("other", &TOKEN_PAYMENT.replace("45.00", "46.00")).end().paid_id();
    let resolve = |id: &str| workspace.resolve("Grace", &format!("--processed {id} --note found"));

    let error = resolve(&other).failed_as(2, "contradicted");
    has(message(&error), ["46.00", "45.00", "nothing was changed"]);
    resolve("txn_of_nobody").fails(7, "nothing was changed");
    let run = workspace.run(format!("journal resolve k --processed {id}"));
    run.env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    let peer = Peer::responding("200 OK", &responses::TRANSACTION_FOUND.replace("10.50", "45.00"));
    workspace.add_unknown("at-the-peer", &peer.base_url);
    let run = workspace.run(format!("journal resolve at-the-peer --processed {id}")).at(&peer.base_url);
    run.end().refused("its record is of another transaction");
    assert_eq!(workspace.shown("k", "state"), "unknown");

    let resolved = resolve(&id).exits(0);
    let shown = workspace.show("k");
    let mut document = resolved.json();
    let record = document.as_object_mut().unwrap().remove("record").expect("what was looked up");
    assert_eq!(record, workspace.does(format!("transaction get {id}")).processed());
    assert_eq!(document, shown);
    holds(
        &shown,
        &json!({"state": "resolved", "resolved_as": "processed", "resolved_by": "Grace", "transaction_id": id}),
    );
    let again = workspace.charge("k");
    assert_eq!((again.paid_id(), &again.json()["recorded"]), (id.clone(), &true.into()));

    // A transaction belongs to one intent only.
    let next = workspace.lose_response("lost-too");
    workspace.journals(format!("resolve lost-too --processed {id}")).refused("already belongs to k");
    let text = workspace.run(format!("journal resolve lost-too --processed {next}")).text().stdout;
    let (intent, record) = text.split_once("\n\nFOUND\n").unwrap_or_else(|| panic!("{text}"));
    begins(intent, "RESOLVED (PROCESSED)\n");
    begins(record, "  a record is not proof of a charge: the meaning of Status is not published\n");
    has(record, ["Status ", "CardNumber ", "Amount ", &next, "resolve the key again"]);
}

#[test]
fn key_resolved_as_not_processed_is_sent_again() {
    let (workspace, _) = Workspace::with_lost(["lost"]);
    let resolve = || workspace.run("journal resolve lost --not-processed --note 'the books say so'");
    resolve().by_nobody().end().refused("--by NAME");
    // Both that are missing, at once.
    let refused = workspace.run("journal resolve lost --not-processed").by_nobody().end().refusal();
    has(refused, ["--note is missing or empty", "say how you know", "give --by NAME"]);
    let resolved = resolve().text();
    begins(&resolved.stdout, "RESOLVED (NOT PROCESSED)\n");
    has(&resolved.stdout, ["the key may be sent again"]);
    has(&resolved.stderr, ["WARNING: it was sent less than 24 hours ago"]);
    workspace.charge("lost").processed();
    assert_eq!(workspace.requests(), 2);
    resolve().end().failed_as(2, "not_unknown");
}

/// Ada resolves the key, and Bob has the list of yesterday.
#[test]
fn second_decision_needs_to_name_what_it_replaces_d48() {
    let (workspace, [id]) = Workspace::with_lost(["k"]);
    for replaced in ["rejected", "not-processed", "txn_1"] {
        let ended = workspace.resolve("bob", &format!("--not-processed --note n --replace {replaced}"));
        ended.refused("is not resolved, so there is nothing to replace");
    }
    assert_eq!(workspace.shown("k", "state"), "unknown");
    workspace.resolve("ada", &format!("--processed {id} --note 'on the statement'")).exits(0);
    let before = workspace.show("k");
    let error =
        workspace.resolve("bob", "--not-processed --note 'in no report'").failed_as(2, "already_resolved");
    let expected = format!(
        "attempt 1 of k was already resolved as {id} by ada (on the statement); nothing was changed: \
         if you know better, give --replace {id}"
    );
    assert_eq!(message(&error), expected);
    for wrong in ["rejected", "not-processed", "txn_other"] {
        let ended = workspace.resolve("bob", &format!("--not-processed --note n --replace {wrong}"));
        ended.refused(format!("is {id}, by ada, and --replace names {wrong}"));
    }
    assert_eq!(workspace.show("k"), before);
    let sent = workspace.requests();
    assert_eq!(workspace.charge("k").json()["recorded"], true);
    assert_eq!(workspace.requests(), sent, "it is not sent again");

    // Who says the same replaces nothing. Every note is kept, and shown in order.
    for (by, options) in [
        ("bob", format!("--processed {id} --note 'me too'")),
        ("bob", format!("--rejected --note 'that was another order' --replace {id}")),
        ("ada", "--not-processed --note sure --replace rejected".to_owned()),
        ("bob", format!("--processed {id} --replace not-processed")),
    ] {
        workspace.resolve(by, &options).exits(0);
    }
    let text = workspace.show_text("k");
    let of_persons = |line: &&str| line.starts_with("ada: ") || line.starts_with("bob: ");
    let said: Vec<_> = story(&text).into_iter().filter(of_persons).collect();
    let processed = format!("attempt 1 processed as {id}");
    let rejected = format!("attempt 1 rejected instead of processed as {id}: that was another order");
    let expected = [
        (format!("ada: {processed}"), ": on the statement"),
        (format!("bob: {processed}"), ": me too"),
        (format!("bob: {rejected}"), ""),
        ("ada: attempt 1 not processed instead of rejected: sure".to_owned(), ""),
        (format!("bob: {processed} instead of not processed"), ""),
    ];
    assert_eq!(said.len(), expected.len(), "{text}");
    for (line, (beginning, end)) in said.iter().zip(&expected) {
        assert!(line.starts_with(beginning) && line.ends_with(end), "{beginning}{end}: {line}");
    }
}

#[test]
fn key_with_several_attempts_is_resolved_by_number_d48() {
    let (workspace, [_, second]) = Workspace::with_two_attempts();
    for verdict in ["--not-processed", "--rejected", &format!("--processed {second}")] {
        let error = workspace.resolve("bob", &format!("{verdict} --note n")).failed_as(2, "attempt_required");
        begins(message(&error), "k has 2 attempts; nothing was changed: say which one");
    }
    // The second of two people proves once more that attempt 1 did nothing.
    for verdict in ["--not-processed", "--rejected"] {
        let options = format!("{verdict} --note n --attempt 1 --replace not-processed");
        begins(
            workspace.resolve("bob", &options).refusal(),
            "attempt 1 of k is not the newest, which is 2: ",
        );
    }
    let third = workspace.resolve("bob", &format!("--processed {second} --attempt 3"));
    third.refused("the journal has no attempt 3 of k");
    assert_eq!(workspace.shown("k", "state"), "unknown");
    for line in ["list", "export"] {
        has(workspace.journals(line).stdout, ["\"attempt\":2,\"revision\":5"]);
    }
    workspace.resolve("bob", &format!("--processed {second} --attempt 2")).exits(0);
    assert_eq!(workspace.shown("k", "transaction_id"), second);
}

#[test]
fn late_finding_is_a_possible_second_charge_and_the_key_is_never_sent_again_d48() {
    let (workspace, [first, second]) = Workspace::with_two_attempts();
    let sent = workspace.requests();
    let of_first = format!("--processed {first} --attempt 1");
    let late = workspace.resolve("bob", &format!("{of_first} --output text")).exits(8);
    has(&late.stderr, ["POSSIBLE SECOND CHARGE of k: it was processed as ", "(exit code 8)", &first]);
    holds(&workspace.show("k"), &json!({"state": "unknown", "also_processed_as": first}));
    has(workspace.journals("list --output text").stdout, ["unknown (closed, possible second charge)"]);
    let looked_up = workspace.requests();
    workspace.charge("k").fails(5, format!("processed as transaction {first}"));
    workspace.charging("k", TOKEN_PAYMENT).with("--after-rejection").end().failed(5);
    assert_eq!((sent, workspace.requests()), (looked_up - 1, looked_up), "nothing was charged");

    let both = workspace.resolve("bob", &format!("--processed {second} --attempt 2")).exits(8);
    assert_eq!(both.json()["transaction_id"], *second);
    let looked_up = workspace.requests();
    let recorded = workspace.charge("k").exits(8);
    workspace.charging("k", TOKEN_PAYMENT).end_unread().exits(8);
    assert_eq!(recorded.json()["data"]["TransactionId"], *second);
    let warning = recorded.json()["second_charge"].as_str().unwrap().to_owned();
    has(&warning, [&first]);
    has(&recorded.stderr, [&warning]);
    workspace.write(
        "rows.csv",
        "Key,TokenId,GatewayCustomerId,Amount,ConvenienceFeeActive\nk,tok_approved,gc_1,45.00,false\n",
    );
    for options in ["--dry-run", ""] {
        let ended = workspace.bills(options).exits(0);
        has(
            &ended.stderr,
            ["keys of which several attempts may have been charged: 1, the first is k: look at them with"],
        );
        has(&ended.stderr, ["`payments journal show k`"]);
    }
    let taken_back = format!("--not-processed --note 'wrong order' --attempt 2 --replace {second}");
    workspace.resolve("ada", &taken_back).exits(0);
    let shown = workspace.show("k");
    holds(&shown, &json!({"state": "resolved", "resolved_as": "processed", "transaction_id": first}));
    assert_eq!(shown.get("also_processed_as"), None);
    let paid = workspace.charge("k");
    assert_eq!((&paid.json()["recorded"], paid.paid_id()), (&json!(true), first));
    assert_eq!(workspace.requests(), looked_up, "no charge was sent");
}

/// Who is only told that the key is processed stops looking, and the payer stays charged twice.
#[test]
fn id_that_is_found_for_a_key_that_the_service_has_processed_since_needs_its_attempt_d48() {
    let (workspace, [first]) = Workspace::with_lost(["k"]);
    workspace.resolve("ada", "--not-processed --note 'in no report'").exits(0);
    let second = workspace.charge("k").paid_id();
    for options in [format!("--processed {first}"), format!("--processed {first} --unverified")] {
        let error = workspace.resolve("bob", &options).failed_as(2, "attempt_required");
        begins(message(&error), "k has 2 attempts; nothing was changed: say which one");
    }
    for options in [format!("--processed {second}"), "--not-processed --note n".to_owned()] {
        workspace.resolve("bob", &options).failed_as(2, "not_unknown");
    }
    workspace.resolve("bob", &format!("--processed {first} --attempt 1")).exits(8);
}

/// A program that reads JSON in a job without a terminal has only the log, and on a full disk only an exit code.
#[test]
fn second_charge_is_in_the_log_or_what_was_recorded_d48() {
    for (is_from_a_file, is_read) in [(false, false), (true, false), (true, true)] {
        let (workspace, [first, _]) = Workspace::with_two_attempts();
        let run = if is_from_a_file {
            let revision = workspace.shown("k", "revision");
            workspace.resolving(format!("Key,TransactionId,Note,Attempt,Revision\nk,{first},,1,{revision}\n"))
        } else {
            workspace.run(format!("journal resolve k --by bob --processed {first} --attempt 1"))
        };
        if is_read {
            has(run.end().exits(8).stderr, ["WARNING: POSSIBLE SECOND CHARGE of k"]);
        } else {
            let written = "resolved, but the result could not be written to stdout";
            begins(run.end_unread().exits(8).stderr, written);
        }
        assert_eq!(workspace.shown("k", "also_processed_as"), first);
    }
}

/// In flight when the machine stopped, and declined by the processor.
#[test]
fn declined_payment_that_was_found_is_neither_paid_nor_sent_again_d48() {
    let (workspace, _) = Workspace::with_lost(["k"]);
    for options in ["--rejected", "--rejected --note ' '"] {
        workspace.resolve("ada", options).failed(2);
    }
    assert_eq!(workspace.shown("k", "state"), "unknown");
    workspace.resolve("ada", "--rejected=txn_declined --note 'the portal says declined'").exits(0);
    begins(workspace.show_text("k"), "REJECTED (AS A PERSON FOUND OUT)\n");
    holds(
        &workspace.show("k"),
        &json!({
            "state": "rejected", "kind": "resolved", "resolved_as": "rejected", "resolved_by": "ada", "paid": "no",
            "note": "the portal says declined", "transaction_id": "txn_declined"
        }),
    );
    let sent = workspace.requests();
    workspace.charge("k").fails(4, "as ada has found out");
    assert_eq!(workspace.requests(), sent);
    workspace.charging("k", TOKEN_PAYMENT).with("--after-rejection").end().processed();
    assert_eq!(workspace.requests(), sent + 1);
}

#[test]
fn rejection_of_the_service_gives_way_to_a_found_id_d48() {
    let workspace = Workspace::open();
    // Unknown to this journal.
    let id = workspace.charge("other").paid_id();
    workspace.remove_journal();
    workspace.charging("k", &declined_payment()).end().failed(4);
    for verdict in ["--not-processed", "--rejected"] {
        workspace.resolve("ada", &format!("{verdict} --note n")).failed_as(2, "not_unknown");
    }
    workspace.resolve("ada", &format!("--processed {id} --replace rejected")).exits(0);
    assert_eq!(workspace.shown("k", "paid"), "yes");
}

#[test]
fn unverified_id_is_recorded_without_a_lookup_and_says_so_d48() {
    let (workspace, [id]) = Workspace::with_lost(["k"]);
    // A service that has such a transaction and refuses to look it up.
    let refused = Fault::on(OperationName::GetTransaction).before_commit().status(StatusCode::BAD_REQUEST);
    workspace.arm(refused);
    let error = workspace.resolve("ada", "--processed odd-id --output text").exits(4);
    has(&error.stderr, ["could not be looked up", "record it with --unverified"]);
    let nowhere = |options: &str| {
        workspace.run(format!("journal resolve k --by ada {options}")).at("http://127.0.0.1:1").end()
    };
    nowhere("--not-processed --note n --unverified").failed(2);
    nowhere(&format!("--processed {KEY} --unverified")).failed(2);
    let resolved = nowhere("--processed odd-id --unverified --output text").exits(0);
    begins(&resolved.stdout, "RESOLVED (PROCESSED, UNVERIFIED)\n");
    let shown = workspace.show("k");
    holds(&shown, &json!({"unverified": true, "resolved_by": "ada", "transaction_id": "odd-id"}));
    assert_eq!(shown["history"][2]["unverified"], true);
    // A verified id may replace it, and then the row says so.
    workspace.resolve("bob", &format!("--processed {id} --replace odd-id")).exits(0);
    assert_eq!(workspace.show("k").get("unverified"), None);
}

/// A response that proves nothing, and the same record for a lookup.
pub(crate) fn unclear_response(id: &str) -> String {
    responses::TRANSACTION_FOUND.replace("10.50", "45.00").replace("\"txn_1\"", &json!(id).to_string())
}

/// Typed ids are refused in these forms, but this is what the service returned.
#[test]
fn id_that_the_journal_holds_is_resolved_in_any_form_d41() {
    let workspace = Workspace::open();
    for (number, id) in [" lead", "trail ", "=A1", "#REF!", "Err:502", "\u{202e}abc"].into_iter().enumerate()
    {
        let peer = Peer::responding("200 OK", &unclear_response(id));
        let [looked_up, unverified, rejected, other] =
            ["looked-up", "unverified", "rejected", "other"].map(|name| format!("{name}-{number}"));
        for key in [&looked_up, &unverified, &rejected] {
            workspace.charging(key, TOKEN_PAYMENT).at(&peer.base_url).end().failed(5);
        }
        // Another key does not hold it.
        workspace.add_unknown(&other, &peer.base_url);
        let resolve = |key: &str, options: &[&str], code: i32| {
            let run = workspace.run(["journal", "resolve", key]).with(options).at(&peer.base_url);
            run.end().exits(code);
        };
        let typed = id.replace('\u{202e}', "\\u{202e}");
        resolve(&rejected, &[&format!("--rejected={typed}"), "--note", "n"], 0);
        resolve(&looked_up, &["--processed", &typed], 0);
        assert_eq!(workspace.shown(&looked_up, "transaction_id"), id);
        resolve(&looked_up, &["--not-processed", "--note", "n", "--replace", &typed], 0);
        resolve(&unverified, &["--processed", &typed, "--unverified"], 0);
        if id == typed {
            resolve(&other, &["--processed", id, "--unverified"], 2);
        }
    }
}

/// A setting that is missing or wrong must not keep the key from being masked.
#[cfg(unix)]
#[test]
fn api_key_in_a_persons_text_is_masked_in_every_state_of_the_settings() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::open();
    let other = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, content: &str, mode: u32| {
        let path = other.path().join(name);
        std::fs::write(&path, content).expect("it is writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("the test owns it");
        path.to_str().expect("a plain path").to_owned()
    };
    let (with_key, with_another) = (file("key", KEY, 0o600), file("another", "sk_of_somebody_else", 0o600));
    let writable = file("writable.key", &format!("{KEY}\n"), 0o666);
    let text = format!("not with {KEY}, I think");
    // An option, or variables.
    for (number, state) in [
        String::new(),
        "PAYMENTS_BASE_URL=ftp://x".to_owned(),
        "--ca-cert /nowhere".to_owned(),
        "PAYMENTS_PROXY=x".to_owned(),
        "PAYMENTS_BASE_URL=http://[::1] PAYMENTS_PROXY=http://x:1".to_owned(),
        "--api-key-file /nowhere".to_owned(),
        format!("--api-key-file {with_another}"),
        format!("'PAYMENTS_API_KEY= {KEY}\n'"),
        format!("PAYMENTS_API_KEY= PAYMENTS_API_KEY_FILE={with_key}"),
        format!("PAYMENTS_API_KEY= PAYMENTS_API_KEY_FILE={writable}"),
        format!("PAYMENTS_API_KEY=sk_of_somebody_else PAYMENTS_API_KEY_FILE={with_key}"),
    ]
    .iter()
    .enumerate()
    {
        let run = |line: &str| -> Run {
            let run = workspace.run(format!("journal {line}")).at("").env("USER", KEY);
            if state.starts_with("--") {
                return run.with(state);
            }
            let variables = state.words().into_iter().map(|word| word.into_string().expect("text"));
            variables.fold(run, |run, variable| {
                let (name, value) = variable.split_once('=').expect("a value");
                run.env(name, value)
            })
        };
        let (one, two) = (format!("one-{number}"), format!("two-{number}"));
        workspace.lose_responses([&*one, &*two]);
        let rows = format!("Key,TransactionId,Note,Verdict\n{two},,\"{text}\",not processed\n");
        let found = file("found.csv", &rows, 0o600);
        for line in [
            format!("resolve {one} --not-processed --note '{text}' --by '{text}'"),
            format!("resolve --from {found}"),
        ] {
            let ended = run(&line).end();
            assert_eq!(ended.code, Some(0), "{state}: {ended:?}");
            has(&ended.stdout, ["[redacted], I think"]);
            ended.hides([KEY]);
        }
        let ended = run(&format!("resolve {KEY} --not-processed --note n")).end();
        ended.failed_as(2, "no_such_key");
        ended.hides([KEY]);
        workspace.assert_not_stored(KEY);
    }
}

/// Nobody could read who decided, or why.
#[test]
fn name_or_note_that_shows_nothing_is_refused_d48() {
    let (workspace, _) = Workspace::with_lost(["one"]);
    workspace.charging("two", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    let (before, service) = (workspace.export(), workspace.sandbox.base_url());
    for blank in ["", " ", "\u{200b}", "\u{feff}\u{ad}", "\u{202e}\u{3164}"] {
        for line in [
            format!("resolve one --not-processed --note n --by '{blank}'"),
            format!("resolve one --rejected --by ada --note '{blank}'"),
            format!("retry --key two --by '{blank}'"),
            format!("accept-history --nothing-was-sent --by '{blank}'"),
            format!("forget-service {service} --count 2 --by '{blank}'"),
        ] {
            workspace.journals(&line).exits(2);
            assert_eq!(workspace.export(), before, "{line}");
        }
        workspace.resolving(format!("Key,Verdict,Note\none,rejected,{blank}\n")).end().exits(2);
        assert_eq!(workspace.export(), before);
    }
}

#[test]
fn api_key_or_card_number_is_in_no_name_or_note_that_the_journal_keeps() {
    let workspace = Workspace::open();
    for key in ["a", "b"] {
        workspace.charging(key, TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    }
    let named = workspace.write("sent.csv", "Key\nb\nc\n");
    let service = workspace.sandbox.base_url();
    let by = format!("--by 'ada {KEY}'");
    let note = format!("--note 'the card was 4111 1111 1111 1111, I think, and {KEY}'");
    let new = "https://new.example.com";
    for line in [
        format!("retry --status 401 {by} {note}"),
        format!("retry --key a {by} {note}"),
        format!("accept-history --sent {named} {by}"),
        format!("resolve b --not-processed {by} {note}"),
        format!("rename-service {service} {new} --count 2 {by}"),
        format!("forget-service {new} --count 2 {by}"),
    ] {
        let ended = workspace.journals(&line).exits(0);
        ended.hides([KEY]);
        for text in [&ended.stdout, &workspace.export()] {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            assert!(!digits.contains("4111111111111111") && !text.contains(KEY), "{line}: {text}");
        }
        workspace.assert_not_stored(KEY);
    }
    for line in [format!("show {KEY}"), format!("retry --status 401 --key {KEY}")] {
        let ended = workspace.journals(line);
        ended.failed_as(2, "no_such_key");
        ended.hides([KEY]);
    }
}

/// A lookup would send it in a path, and the journal would keep it.
#[test]
fn typed_id_that_looks_like_a_card_number_is_refused_d52() {
    let (workspace, _) = Workspace::with_lost(["k"]);
    let sent = workspace.requests();
    for (line, nothing) in [
        ("journal resolve k --rejected=4242424242424242 --note n", "changed"),
        ("journal resolve k --processed 4242424242424242", "changed"),
        ("journal resolve k --processed 4242424242424242 --unverified", "changed"),
        ("journal resolve k --processed '4242 4242 4242 4242' --unverified", "changed"),
        ("void 4242424242424242 --key v", "sent"),
    ] {
        let rule = "must not be a card number";
        let expected =
            format!("{rule}; nothing was {nothing}; if it only looks like one, give --ids-are-not-cards");
        for output in ["json", "text"] {
            let ended = workspace.run(line).with(["--output", output]).end().exits(2);
            has(ended.shown(), [&expected]);
            ended.hides(["4242424242424242", "4242 4242"]);
        }
    }
    assert_eq!(workspace.requests(), sent);
    workspace.assert_not_stored("4242424242424242");
    let said = "resolve k --rejected=4242424242424242 --note n --ids-are-not-cards";
    workspace.journals(said).exits(0);
    assert_eq!(workspace.shown("k", "transaction_id"), "4242424242424242");
    // An id that the journal has is accepted as it is.
    let again = "resolve k --processed 4242424242424242 --unverified --replace rejected";
    workspace.journals(again).exits(0);
}

/// The journal's write follows the lookup, and may be done when the signal arrives.
#[test]
fn interrupted_resolution_may_be_done() {
    let (workspace, [id]) = Workspace::with_lost(["k"]);
    for (output, expected) in [
        ("text", "MAY BE DONE: look at it before you run it again (exit code 3)"),
        ("json", "SIGINT; k may have been resolved or not"),
    ] {
        let gate = workspace.sandbox.gateway().gate(OperationName::GetTransaction);
        let line = format!("journal resolve k --processed {id} --note found --output {output}");
        let running = workspace.run(line).start();
        block_on(gate.arrived());
        running.signal("INT");
        let ended = running.end().exits(3);
        has(ended.shown(), [expected]);
        gate.release();
    }
}
