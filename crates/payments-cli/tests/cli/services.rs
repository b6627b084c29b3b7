//! A journal that is used with two services: a key belongs to the service that it was first used for.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use payments_core::OperationName;
use payments_fake::Fault;
use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::json;

use crate::batch_runs::Billing;
use crate::journaled_charges::Workspace;
use crate::support::{
    Ended, KEY, Peer, Run, TOKEN_PAYMENT, begins, declined_payment, has, holds, message, responses, sandbox,
};

/// A second service, such as production after a rehearsal.
fn another_service() -> BlockingSandbox {
    sandbox()
}

trait At {
    fn at(self, service: &BlockingSandbox) -> Self;
}

impl At for Run {
    fn at(self, service: &BlockingSandbox) -> Self {
        self.env("PAYMENTS_BASE_URL", service.base_url())
    }
}

fn requests(service: &BlockingSandbox) -> usize {
    service.gateway().requests().len()
}

/// Checks that the text names both services, and no transaction.
#[track_caller]
fn names_both(text: &str, workspace: &Workspace, other: &BlockingSandbox) {
    has(text, [workspace.sandbox.base_url(), other.base_url()]);
    for entry in workspace.sandbox.gateway().ledger().entries() {
        assert!(!text.contains(entry.transaction_id().as_str()), "{text}");
    }
}

/// Checks that a charge was refused because its key belongs to the workspace's service.
#[track_caller]
fn is_of_another_service(ended: &Ended, workspace: &Workspace, other: &BlockingSandbox) {
    let error = ended.failed(5);
    holds(&error, &json!({"kind": "other_service", "transaction_id": null}));
    assert_eq!(ended.json().get("recorded"), None, "{ended:?}");
    names_both(&format!("{ended:?}"), workspace, other);
    assert!(message(&error).contains("nothing was sent now"), "{error}");
}

#[test]
fn key_in_any_state_is_unknown_at_another_service_d47() {
    let (workspace, other) = (Workspace::open(), another_service());
    let request = |token: &str| TOKEN_PAYMENT.replace("tok_approved", token);
    workspace.charge("paid").processed();
    workspace.charging("declined", &request("tok_declined")).end().failed(4);
    let wrong_key = workspace.charging("unauthorized", TOKEN_PAYMENT).env("PAYMENTS_API_KEY", "wrong");
    wrong_key.end().failed(6);
    workspace.lose_response("lost");
    workspace.lose_response("found");
    workspace.lose_response("gone");
    let id = workspace.last_id();
    assert_eq!(workspace.journal_command(&["resolve", "found", "--processed", &id]).code, Some(0));
    let not_there = ["resolve", "gone", "--not-processed", "--note", "not in the books"];
    assert_eq!(workspace.journal_command(&not_there).code, Some(0));
    let reopen = ["retry", "--status", "401", "--key", "unauthorized"];
    assert_eq!(workspace.journal_command(&reopen).code, Some(0));

    for key in ["paid", "declined", "unauthorized", "lost", "found", "gone"] {
        for token in ["tok_approved", "tok_declined"] {
            for explicit in [&[][..], &["--after-rejection"]] {
                let run = workspace.charging(key, &request(token)).at(&other);
                is_of_another_service(&run.arguments(explicit.iter()).end(), &workspace, &other);
            }
        }
        let text = workspace.charging(key, TOKEN_PAYMENT).at(&other).text();
        begins(&text.stderr, "KEY OF ANOTHER SERVICE, nothing was sent now: ");
        names_both(&text.stderr, &workspace, &other);
    }
    assert_eq!(requests(&other), 0);
    // Nothing of this changes the key at its own service.
    assert_eq!(workspace.charge("paid").json()["recorded"], true);
    workspace.charge("gone").processed();
    workspace.charge("unauthorized").processed();
}

#[test]
fn billing_file_with_a_key_of_another_service_is_refused_whole_d47() {
    let (billing, other) = (Billing::open(), another_service());
    billing.good(3);
    assert_eq!(billing.run(&[]).code, Some(0));
    // One row was never sent anywhere.
    billing.good(4);
    for options in [&[][..], &["--dry-run"]] {
        let ended = billing.command_at(other.base_url(), options).end();
        let error = ended.refused("nothing was sent");
        let violations = error["violations"].as_array().unwrap();
        assert_eq!(violations.len(), 3, "{error}");
        for (violation, number) in violations.iter().zip(1..) {
            holds(violation, &json!({"line": (number + 1), "key": format!("k{number}")}));
            assert_eq!(violation["field"], "Key");
            names_both(&violation.to_string(), &billing.workspace, &other);
        }
        let text = billing.command_at(other.base_url(), options).text();
        assert!(text.stderr.contains("  line 2: k1: Key belongs to another service: "), "{text:?}");
        names_both(&text.stderr, &billing.workspace, &other);
    }
    assert_eq!(requests(&other), 0);
}

#[test]
fn spelling_of_the_base_url_makes_no_other_service_d47() {
    let workspace = Workspace::open();
    let port = workspace.sandbox.base_url().split([':', '/']).nth(4).unwrap();
    let at = |base_url: &str| {
        workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_BASE_URL", base_url).end()
    };
    at(&format!("http://localhost:{port}/api/v1/public")).processed();
    for same in [
        format!("http://localhost:{port}/api/v1/public/"),
        format!("HTTP://LocalHost:{port}/api/v1/public//"),
        format!("http://localhost:0{port}/api/v1/public"),
    ] {
        assert_eq!(at(&same).json()["recorded"], true, "{same}");
    }
    for other in [
        format!("http://127.0.0.1:{port}/api/v1/public"),
        format!("http://localhost:{port}/api/v1/Public"),
        format!("http://localhost:{port}/api/v2/public"),
        format!("http://localhost:{port}"),
    ] {
        assert_eq!(at(&other).failed(5)["kind"], "other_service", "{other}");
    }
    assert_eq!(workspace.requests(), 1);
}

/// A lookup at another service proves nothing.
#[test]
fn transaction_is_not_looked_up_at_another_service_d47() {
    let workspace = Workspace::open();
    workspace.lose_response("lost");
    let id = workspace.last_id();
    // It has such a transaction, with that amount.
    let found = responses::TRANSACTION_FOUND.replace("10.50", "45.00").replace("txn_1", &id);
    let other = Peer::responding("200 OK", &found);
    let run = workspace.run(["journal", "resolve", "lost", "--processed", &id]);
    let error = run.env("PAYMENTS_BASE_URL", &other.base_url).end().failed(2);
    assert_eq!(error["kind"], "other_service", "{error}");
    let message = error["message"].as_str().unwrap();
    has(message, [workspace.sandbox.base_url(), &*other.base_url, "nothing was changed"]);

    let path = workspace.journal().with_file_name("found.csv");
    std::fs::write(&path, format!("Key,TransactionId,Note\nlost,{id},\n")).unwrap();
    let from = ["journal", "resolve", "--from", path.to_str().unwrap()];
    let error = workspace.run(from).env("PAYMENTS_BASE_URL", &other.base_url).end().failed(2);
    let violation = &error["violations"][0];
    assert_eq!((&violation["line"], &violation["key"]), (&2.into(), &"lost".into()), "{error}");
    for service in [workspace.sandbox.base_url(), &*other.base_url] {
        assert!(violation["rule"].as_str().unwrap().contains(service), "{violation}");
    }
    assert_eq!(other.connections(), 0);
    assert_eq!(workspace.show("lost")["state"], "unknown");
    assert_eq!(workspace.run(from).end().code, Some(0));
}

/// Two sandboxes with the same seed return the same id.
#[test]
fn transaction_ids_of_two_services_do_not_clash_d47() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("billing.db");
    let journal = journal.to_str().unwrap();
    let lost = |key: &str| {
        let service = Sandbox::builder().api_key(KEY).seed(7).start_blocking().unwrap();
        service.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
        let at = |arguments: &[&str]| {
            crate::support::payments_at(service.base_url(), arguments.iter())
                .env("PAYMENTS_JOURNAL", journal)
                .env("USER", "ada")
        };
        at(&["token-transaction", "create", "--file", "-", "--key", key])
            .stdin(TOKEN_PAYMENT)
            .end()
            .failed(5);
        let id = service.gateway().ledger().entries().last().unwrap().transaction_id().to_string();
        let file = folder.path().join("found.csv");
        std::fs::write(&file, format!("Key,TransactionId,Note\n{key},{id},\n")).unwrap();
        if key == "one" {
            at(&["journal", "resolve", key, "--processed", &id]).end()
        } else {
            at(&["journal", "resolve", "--from", file.to_str().unwrap()]).end()
        }
        .exits(0);
        let again = Sandbox::builder().api_key(KEY).seed(7).start_blocking().unwrap();
        let charge = ["token-transaction", "create", "--file", "-", "--key", &format!("{key}-again")];
        let charged = at(&charge).env("PAYMENTS_BASE_URL", again.base_url()).stdin(TOKEN_PAYMENT).end();
        assert_eq!(charged.processed()["TransactionId"], *id);
        assert_eq!(charged.json().get("same_transaction_as"), None, "{charged:?}");
        id
    };
    assert_eq!(lost("one"), lost("two"));
}

/// Two merchants of one service, with one journal.
#[test]
fn label_of_a_merchant_is_part_of_the_service_d47() {
    let billing = Billing::open();
    let workspace = &billing.workspace;
    let service = |label: &str| format!("{}{label}", workspace.sandbox.base_url());
    let charge = |label: &str| workspace.charging("order-1", TOKEN_PAYMENT).env("PAYMENTS_MERCHANT", label);
    charge("books").end().processed();
    for same in [charge("books"), charge("toys").arguments(["--merchant", "books"])] {
        assert_eq!(same.end().json()["recorded"], true);
    }
    for (other, name) in [(charge("toys"), "#toys"), (charge("Books"), "#Books"), (charge(""), "")] {
        let error = other.end().failed(5);
        holds(&error, &json!({"kind": "other_service", "transaction_id": null}));
        let both = format!("first used for {}, and this call is for {};", service("#books"), service(name));
        assert!(message(&error).contains(&both), "{error}");
    }
    assert_eq!(workspace.requests(), 1);

    // A file, a lookup and every listing have the label too.
    billing.good(2);
    assert_eq!(billing.run(&["--merchant", "toys"]).code, Some(0));
    let error = billing.run(&["--merchant", "books"]).failed(2);
    let rule = error["violations"][0]["rule"].as_str().unwrap();
    has(rule, [&service("#toys"), &service("#books")]);
    workspace.arm(Fault::response_lost(OperationName::TokenTransaction));
    let unanswered = workspace.charging("order-2", TOKEN_PAYMENT).arguments(["--merchant", "books"]);
    unanswered.end().failed(5);
    let entries = workspace.sandbox.gateway().ledger();
    let id = entries.entries().last().unwrap().transaction_id().to_string();
    let resolve = || workspace.run(["journal", "resolve", "order-2", "--processed", &*id]);
    assert_eq!(resolve().end().failed(2)["kind"], "other_service");
    assert_eq!(resolve().arguments(["--merchant", "books"]).end().code, Some(0));

    assert_eq!(workspace.show("order-1")["service"], service("#books"));
    let text = workspace.journal_command(&["show", "k1", "--output", "text"]).stdout;
    assert!(text.contains(&format!("  service          {}\n", service("#toys"))), "{text}");
    assert_eq!(workspace.column("service"), ["#books", "#toys", "#toys", "#books"].map(service));
    let list = workspace.journal_command(&["list", "--output", "text"]).stdout;
    for line in [
        format!("at {}: 2 intents, 90.00\n", service("#books")),
        format!("at {}: 2 intents, 3.02\n", service("#toys")),
    ] {
        assert!(list.contains(&line), "{list}");
    }
}

#[test]
fn every_listing_shows_the_service_d47() {
    let (workspace, other) = (Workspace::open(), another_service());
    workspace.charge("here").processed();
    workspace.charging("there", TOKEN_PAYMENT).at(&other).end().processed();
    for (key, service) in [("here", &workspace.sandbox), ("there", &other)] {
        assert_eq!(workspace.show(key)["service"], service.base_url());
        let text = workspace.journal_command(&["show", key, "--output", "text"]).stdout;
        assert!(text.contains(&format!("  service          {}\n", service.base_url())), "{text}");
    }
    assert_eq!(workspace.column("service"), [workspace.sandbox.base_url(), other.base_url()]);
    let list = workspace.journal_command(&["list", "--output", "text"]).stdout;
    for service in [&workspace.sandbox, &other] {
        let line = format!("at {}: 1 intent, 45.00\n", service.base_url());
        assert!(list.contains(&line), "{list}");
    }
}

/// The base URL can hold the API key in the wrong place.
#[test]
fn api_key_in_the_base_url_is_not_stored_d47() {
    let workspace = Workspace::open();
    let peer = Peer::responding("200 OK", responses::RECEIPT);
    let at = |tenant: &str| {
        let base_url = format!("{}/{tenant}", peer.base_url);
        workspace.charging("invoice-17", TOKEN_PAYMENT).env("PAYMENTS_BASE_URL", &base_url).end()
    };
    at(KEY).processed();
    assert_eq!(at(KEY).json()["recorded"], true);
    assert_eq!(at("another-tenant").failed(5)["kind"], "other_service");
    assert_eq!(workspace.show("invoice-17")["service"], format!("{}/[redacted]", peer.base_url));
    let listed = workspace.journal_command(&["export"]).stdout;
    assert!(!listed.contains(KEY), "{listed}");
}

/// The number is the same, and one of them is paid now.
#[test]
fn service_with_a_payment_since_it_was_shown_is_not_forgotten_d47() {
    let workspace = Workspace::open();
    let declined = declined_payment();
    workspace.charging("invoice-17", &declined).end().failed(4);
    let service = workspace.sandbox.base_url().to_owned();
    let shown = workspace.journal_command(&["forget-service", &service]).json();
    let code = shown["shown"].as_str().unwrap();
    workspace.charging("invoice-17", TOKEN_PAYMENT).arguments(["--after-rejection"]).end().processed();
    let forget = ["forget-service", &service, "--count", "1", "--shown", code, "--by", "ada"];
    let error = workspace.journal_command(&forget).failed(2);
    assert_eq!(error["kind"], "service_changed");
    let message = error["message"].as_str().unwrap();
    has(message, [&format!("--shown {code}"), "1 processed, "]);
    assert_eq!(workspace.show("invoice-17")["state"], "processed");
}

#[test]
fn service_is_renamed_or_forgotten_only_with_the_count_that_was_shown_d47() {
    const NEW: &str = "https://new.example.com/api#books";
    let workspace = Workspace::open();
    workspace.charge("paid").processed();
    workspace.add_unknown("lost", "https://old.example.com");
    let old = workspace.sandbox.base_url().to_owned();
    let journal = |arguments: &[&str]| workspace.journal_command(arguments);
    // It shows what is concerned, and changes nothing.
    let before = journal(&["list"]).stdout;
    let shown = journal(&["rename-service", &old, NEW]).json();
    holds(&shown, &json!({"count": 1, "done": false, "to": NEW}));
    let text = journal(&["rename-service", &old, NEW, "--output", "text"]).stdout;
    let code = shown["shown"].as_str().unwrap();
    let given = format!("--count 1 --shown {code} --by NAME");
    has(&text, [&given, "nothing was changed"]);
    // The new numbers are shown.
    let refused = journal(&["rename-service", &old, NEW, "--count", "2", "--by", "ada"]);
    let error = refused.failed(2);
    assert_eq!(error["kind"], "service_changed");
    assert!(message(&error).contains("1 processed, "), "{error}");
    for without in [&["--count", "1"][..], &["--by", "ada"]] {
        journal(&[&["rename-service", &*old, NEW][..], without].concat()).failed(2);
    }
    let misspelt =
        journal(&["rename-service", &old, "https://new.example.com/", "--count", "1", "--by", "ada"]);
    assert_eq!(misspelt.failed(2)["kind"], "service_refused");
    assert_eq!(journal(&["list"]).stdout, before);

    let renamed = journal(&["rename-service", &old, NEW, "--count", "1", "--shown", code, "--by", "ada"]);
    assert_eq!((renamed.code, &renamed.json()["done"]), (Some(0), &true.into()), "{renamed:?}");
    let shown = journal(&["show", "paid"]).json();
    assert_eq!(shown["former_services"], old);
    let event = shown["history"].as_array().and_then(|events| events.last()).cloned().unwrap_or_default();
    holds(&event, &json!({"event": "renamed", "service": old, "by": "ada"}));
    let text = journal(&["show", "paid", "--output", "text"]).stdout;
    has(&text, [&format!("ada: renamed from {old} with 1 intent"), NEW]);
    let csv = journal(&["export", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().filter(|line| line.contains(&old)).count(), 1, "{csv}");
    let gone = journal(&["rename-service", &old, NEW, "--count", "1", "--by", "ada"]);
    assert_eq!(gone.failed(2)["kind"], "service_refused");

    // A possible charge is not forgotten.
    let forget = ["forget-service", "https://old.example.com", "--count", "1", "--by", "ada"];
    journal(&forget).refused("resolve them first");
    journal(&["resolve", "lost", "--not-processed", "--note", "a rehearsal"]).exits(0);
    assert_eq!(journal(&forget).json()["done"], true);
    journal(&["show", "lost"]).failed(2);
    // The key is new.
    workspace.charge("lost").processed();
}

#[test]
fn summary_has_every_state_with_exact_sums() {
    let workspace = Workspace::open();
    workspace.charge("paid").processed();
    workspace.add_unknown("lost", "https://old.example.com");
    let ended = workspace.journal_command(&["summary"]);
    let summary = ended.json();
    assert_eq!(summary["count"], 2, "{ended:?}");
    let states = summary["states"].as_array().unwrap();
    let names: Vec<_> = states.iter().map(|of| of["state"].as_str().unwrap()).collect();
    assert_eq!(names, ["sending", "processed", "rejected", "not_processed", "unknown", "resolved"]);
    assert!(states[0]["oldest_begun_at"].is_null() && states[0]["oldest_age_seconds"].is_null());
    assert!(states[4]["oldest_age_seconds"].is_number(), "{ended:?}");
    assert!(ended.stdout.contains("\"count\":1,\"sum\":45.00,"), "{ended:?}");
    let text = workspace.journal_command(&["summary", "--output", "text"]).stdout;
    assert!(
        text.lines().any(|line| line.starts_with("unknown ") && line.contains("45.00  oldest ")),
        "{text}"
    );
}
