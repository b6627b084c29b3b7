//! A journal that is used with two services: a key belongs to the service that it was first used for.
#![cfg(unix)]

use std::time::SystemTime;

use payments_fake::FakeGateway;
use payments_sandbox::{BlockingSandbox, Sandbox};

use crate::prelude::*;

/// Checks that the text names both services, and no transaction.
#[track_caller]
fn names_both(text: &str, workspace: &Workspace, other: &BlockingSandbox) {
    has(text, [workspace.sandbox.base_url(), other.base_url()]);
    for entry in workspace.sandbox.gateway().ledger().entries() {
        assert!(!text.contains(entry.transaction_id().as_str()), "{text}");
    }
}

/// Checks that a charge was refused because its key belongs to another service.
#[track_caller]
fn is_of_another_service(ended: &Ended) -> String {
    let error = ended.failed_as(5, "other_service");
    holds(&error, &json!({"transaction_id": null}));
    assert_eq!(ended.json().get("recorded"), None, "{ended:?}");
    has(message(&error), ["nothing was sent now"]);
    message(&error).to_owned()
}

#[test]
fn billing_file_with_a_key_of_another_service_is_refused_whole_d47() {
    let (workspace, other) = (Workspace::open(), sandbox());
    workspace.good(3);
    workspace.bills("").exits(0);
    // One row was never sent anywhere.
    workspace.good(4);
    for option in ["", "--dry-run"] {
        let run = || workspace.billing(option).at(other.base_url());
        let error = run().end().refused("nothing was sent");
        let violations = error["violations"].as_array().unwrap();
        assert_eq!(violations.len(), 3, "{error}");
        for (violation, number) in violations.iter().zip(1..) {
            let key = format!("k{number}");
            holds(violation, &json!({"line": (number + 1), "key": key, "field": "Key"}));
            names_both(&violation.to_string(), &workspace, &other);
        }
        let text = run().text().stderr;
        has(&text, ["  line 2: k1: Key belongs to another service: "]);
        names_both(&text, &workspace, &other);
    }
    assert_eq!(other.gateway().requests().len(), 0);
}

/// A rehearsal's journal, or a mistyped base URL.
#[test]
fn first_payment_of_another_base_url_is_warned_about_d47() {
    let (workspace, other) = (Workspace::open(), sandbox());
    workspace.good(1);
    workspace.bills("").exits(0);
    workspace.rows("n1,tok_approved,1.00,false,rent\n");
    for run in [
        workspace.billing("--dry-run").at(other.base_url()),
        workspace.charging("n2", TOKEN_PAYMENT).with("--dry-run").at(other.base_url()),
        workspace.charging("n2", TOKEN_PAYMENT).at(other.base_url()),
    ] {
        let ended = run.end().exits(0);
        begins(&ended.stderr, "WARNING: the journal ");
        names_both(&ended.stderr, &workspace, &other);
    }
    // From now on the journal has payments of both. Another merchant is no other base URL.
    for run in [
        workspace.billing("").at(other.base_url()),
        workspace.charging("n3", TOKEN_PAYMENT),
        workspace.charging("n4", TOKEN_PAYMENT).with("--merchant books"),
    ] {
        run.end().quiet(0);
    }
}

#[test]
fn spelling_of_the_base_url_makes_no_other_service_d47() {
    let workspace = Workspace::open();
    let port = workspace.sandbox.base_url().split([':', '/']).nth(4).unwrap();
    let at = |base_url: &str| {
        workspace.charging("invoice-17", TOKEN_PAYMENT).at(&base_url.replace("PORT", port)).end()
    };
    at("http://localhost:PORT/api/v1/public").processed();
    assert_eq!(at("HTTP://LocalHost:0PORT/api/v1/public//").json()["recorded"], true);
    is_of_another_service(&at("http://localhost:PORT/api/v1/Public"));
    let other = || workspace.charging("invoice-17", &declined_payment()).at("http://127.0.0.1:1");
    is_of_another_service(&other().with("--after-rejection").end());
    begins(other().text().stderr, "KEY OF ANOTHER SERVICE, nothing was sent now: ");
    assert_eq!(workspace.requests(), 1);

    // The base URL can hold the API key in the wrong place.
    let peer = Peer::responding("200 OK", responses::RECEIPT);
    let charge = |tenant: &str| {
        workspace.charging("tenant", TOKEN_PAYMENT).at(&format!("{}/{tenant}", peer.base_url)).end()
    };
    charge(KEY).exits(0).hides([KEY]);
    assert_eq!(charge(KEY).json()["recorded"], true);
    is_of_another_service(&charge("another-tenant"));
    assert_eq!(workspace.shown("tenant", "service"), format!("{}/[redacted]", peer.base_url));
    assert!(!workspace.export().contains(KEY));
}

/// A person who has repaired one service has not repaired the other.
#[test]
fn retry_by_status_takes_only_the_keys_of_its_service_d47() {
    let (workspace, other) = (Workspace::open(), sandbox());
    let refusal = || Fault::on(TOKENS).before_commit().status(StatusCode::TOO_MANY_REQUESTS);
    workspace.arm(refusal());
    other.gateway().arm(refusal());
    workspace.charge("here").failed(4);
    workspace.charging("there", TOKEN_PAYMENT).at(other.base_url()).end().failed(4);
    let retry = || workspace.run("journal retry --status 429 --by ada");
    let here = || retry().with(format!("--base-url {}", workspace.sandbox.base_url()));
    let retried = here().end().exits(0).json();
    assert_eq!(
        (&retried["reopened"]["count"], &retried["of_another_service"]["count"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(workspace.shown("there", "state"), json!("rejected"));
    has(&here().text().stdout, ["left alone, of another service: 1 intent, 45.00"]);
    let of_merchant = retry().at(other.base_url()).with("--merchant toys").end().json();
    assert_eq!(of_merchant["reopened"]["count"], 0, "{of_merchant}");
    // A variable alone may be there for other commands, so this means all of them.
    assert_eq!(retry().end().exits(0).json()["reopened"]["count"], 1);
}

/// A lookup at another service proves nothing.
#[test]
fn transaction_is_not_looked_up_at_another_service_d47() {
    let (workspace, [id]) = Workspace::with_lost(["lost"]);
    // It has such a transaction, with that amount.
    let found = responses::TRANSACTION_FOUND.replace("10.50", "45.00").replace("txn_1", &id);
    let other = Peer::responding("200 OK", &found);
    let both = [workspace.sandbox.base_url(), &*other.base_url];
    let run = workspace.run(format!("journal resolve lost --processed {id}")).at(&other.base_url);
    let error = run.end().failed_as(2, "other_service");
    has(message(&error), both.into_iter().chain(["nothing was changed"]));

    let resolving = || workspace.resolving(format!("Key,TransactionId,Note\nlost,{id},\n"));
    let error = resolving().at(&other.base_url).end().failed(2);
    let violation = &error["violations"][0];
    holds(violation, &json!({"line": 2, "key": "lost"}));
    has(violation["rule"].as_str().unwrap(), both);
    assert_eq!(other.connections(), 0);
    assert_eq!(workspace.shown("lost", "state"), "unknown");
    resolving().end().exits(0);
}

/// Two sandboxes with the same seed return the same id.
#[test]
fn transaction_ids_of_two_services_do_not_clash_d47() {
    let workspace = Workspace::open();
    let ids = ["one", "two"].map(|key| {
        let [service, again] = [(); 2].map(|()| {
            Sandbox::builder()
                .fresh_gateway(FakeGateway::builder().api_key(KEY).seed(7))
                .start_blocking()
                .unwrap()
        });
        service.gateway().arm(Fault::response_lost(TOKENS));
        workspace.charging(key, TOKEN_PAYMENT).at(service.base_url()).end().failed(5);
        let id = service.gateway().ledger().entries().last().unwrap().transaction_id().to_string();
        let resolving = if key == "one" {
            workspace.run(format!("journal resolve {key} --processed {id}"))
        } else {
            workspace.resolving(format!("Key,TransactionId,Note\n{key},{id},\n"))
        };
        resolving.at(service.base_url()).end().exits(0);
        let charge = workspace.charging(&format!("{key}-again"), TOKEN_PAYMENT).at(again.base_url()).end();
        assert_eq!(charge.paid_id(), id);
        assert_eq!(charge.json().get("same_transaction_as"), None, "{charge:?}");
        id
    });
    assert_eq!(ids[0], ids[1]);
}

/// Two merchants of one service, with one journal.
#[test]
fn label_of_a_merchant_is_part_of_the_service_d47() {
    let workspace = Workspace::open();
    let service = |label: &str| format!("{}{label}", workspace.sandbox.base_url());
    let charge = |label: &str| workspace.charging("order-1", TOKEN_PAYMENT).env("PAYMENTS_MERCHANT", label);
    charge("books").end().processed();
    for same in [charge("books"), charge("toys").with("--merchant books")] {
        assert_eq!(same.end().json()["recorded"], true);
    }
    for (other, name) in [(charge("toys"), "#toys"), (charge("Books"), "#Books"), (charge(""), "")] {
        let both = format!("first used for {}, and this call is for {};", service("#books"), service(name));
        has(is_of_another_service(&other.end()), [both]);
    }
    // Renaming the service would give all its keys to the other merchant.
    let hint = charge("toys").text().exits(5).stderr;
    has(&hint, ["only the merchant differs", "give --merchant books"]);
    assert!(!hint.contains("rename-service"), "{hint}");
    assert_eq!(workspace.requests(), 1);

    // A file, a lookup and every listing have the label too.
    workspace.good(2);
    workspace.bills("--merchant toys").exits(0);
    let rules = workspace.bills("--merchant books").wrong_rows();
    has(&rules[0], [&service("#toys"), &service("#books")]);
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("order-2", TOKEN_PAYMENT).with("--merchant books").end().failed(5);
    let resolve = format!("resolve order-2 --processed {}", workspace.last_id());
    workspace.journals(&resolve).failed_as(2, "other_service");
    workspace.journals(format!("{resolve} --merchant books")).exits(0);

    assert_eq!(workspace.shown("order-1", "service"), service("#books"));
    has(workspace.show_text("k1"), [format!("  service          {}\n", service("#toys"))]);
    assert_eq!(workspace.column("service"), ["#books", "#toys", "#toys", "#books"].map(service));
    has(
        workspace.journals("list --output text").stdout,
        [
            format!("at {}: 2 intents, 90.00\n", service("#books")),
            format!("at {}: 2 intents, 3.02\n", service("#toys")),
        ],
    );
}

/// A label that was forgotten, that is in another case, or that no payment has yet.
#[test]
fn first_payment_of_a_merchant_is_questioned_d47() {
    let workspace = Workspace::with_rows(1);
    workspace.bills("--merchant books").exits(0);
    workspace.rows("n1,tok_approved,1.00,false,rent\n");
    let sent = workspace.requests();
    for (options, parts) in [
        (
            "",
            ["no merchant is named, and every payment of ", " has one: books; ", "give --merchant books; if"],
        ),
        (
            "--merchant Books",
            ["payments of the merchant books, ", "none of Books; ", "give --merchant books; if"],
        ),
    ] {
        for run in [
            workspace.billing(options),
            workspace.billing(options).with("--dry-run"),
            workspace.charging("n2", TOKEN_PAYMENT).with(options),
            workspace.charging("n2", TOKEN_PAYMENT).with(options).with("--dry-run"),
        ] {
            let error = run.end().failed_as(2, "configuration");
            has(message(&error), parts.into_iter().chain(["nothing was sent"]));
        }
    }
    assert_eq!(workspace.requests(), sent);
    // Any other label may be a new merchant's.
    for run in [
        workspace.billing("--merchant boks --dry-run"),
        workspace.charging("n2", TOKEN_PAYMENT).with("--merchant boks"),
    ] {
        let warning = run.end().exits(0).stderr;
        begins(&warning, "WARNING: the journal ");
        has(
            &warning,
            ["has payments of the merchant books, and none of boks: if this label is mistyped, stop"],
        );
    }
    workspace.charging("n3", TOKEN_PAYMENT).with("--merchant boks").end().quiet(0);
    let several = workspace.bills("").refusal();
    has(several, ["has one: boks, books; ", "give --merchant LABEL; if"]);
}

#[test]
fn what_helps_rows_of_another_merchant_is_said_once_d47() {
    let workspace = Workspace::with_rows(40);
    workspace.bills("--merchant books").exits(0);
    let helps = "only the merchant differs: if it is a payment of the key's merchant, give --merchant books";
    let text = workspace.billing("--merchant boks").text().exits(2).stderr;
    has(
        &text,
        [
            "  40 rows have keys that were first used for ",
            helps,
            "  line 2: k1: Key belongs",
            "\n  and 39 rows like it\n",
        ],
    );
    assert_eq!((text.lines().count(), text.matches(helps).count()), (4, 1), "{text}");
    let error = workspace.bills("--merchant boks").failed(2);
    assert_eq!(error["violations"].as_array().map(Vec::len), Some(40));
    // What else is wrong is in its own line.
    let rows = workspace.read("rows.csv").replacen("1.01", "1.001", 1);
    workspace.write("rows.csv", rows);
    let text = workspace.billing("--merchant boks").text().exits(2).stderr;
    has(
        &text,
        [
            "has 40 problems; ",
            "  line 2: Amount",
            "  line 3: k2: Key belongs",
            "\n  and 38 rows like it\n",
            helps,
        ],
    );
    // A file of resolutions is for one service too.
    let rows = (1..=40).map(|number| format!("k{number},txn_{number},\n")).collect::<Vec<_>>().concat();
    let text = workspace.resolving(format!("Key,TransactionId,Note\n{rows}")).text().exits(2).stderr;
    has(&text, ["  line 2: k1: Key belongs to another service", "\n  and 39 rows like it\n"]);
    assert_eq!(text.matches(helps).count(), 1, "{text}");
}

/// The report of another merchant shows its payment, which is like one of this merchant's.
#[test]
fn payment_of_another_merchant_is_no_payment_of_this_one_d47() {
    let workspace = Workspace::open();
    workspace.arm(Fault::request_lost(TOKENS));
    let request = |reference: &str| {
        format!(
            r#"{{"TokenId":"tok_approved","Amount":5.00,"ConvenienceFeeActive":false,"ReferenceNo":"{reference}"}}"#
        )
    };
    let charge = |key: &str, merchant: &str| {
        workspace.charging(key, &request("order-1")).env("PAYMENTS_MERCHANT", merchant).end()
    };
    charge("books-order-1", "books").failed(5);
    let id = charge("toys-order-1", "toys").paid_id();
    let time = humantime::format_rfc3339_seconds(SystemTime::now());
    let report = workspace
        .write("toys.csv", format!("Transaction ID,Date,Amount,Reference\n{id},{time},5.00,order-1\n"));
    let [books, toys] = ["#books", "#toys"].map(|label| format!("{}{label}", workspace.sandbox.base_url()));
    let reconcile =
        |options: &str| workspace.journals(format!("reconcile {report} --service {books} {options}"));
    let ended = reconcile("").exits(5);
    let other = json!([{"key": "toys-order-1", "service": toys, "lines": [2]}]);
    let found = ended.json();
    assert_eq!((&found["other_merchants"], &found["proposals"]), (&other, &json!([])), "{ended:?}");
    let text = reconcile("--output text").stdout;
    let line = format!("  line 2 is the payment of toys-order-1 of {toys}\n");
    has(text, ["OF ANOTHER MERCHANT: 1 row\n", &line, "is this the report of the right merchant?"]);

    let resolve = format!("resolve books-order-1 --processed {id} --by ada");
    for unverified in ["", "--unverified"] {
        let error = workspace
            .journals(format!("{resolve} --merchant books {unverified}"))
            .failed_as(2, "contradicted");
        has(message(&error), [&format!("transaction {id} already belongs to toys-order-1")]);
    }
    let file = format!("Key,TransactionId,Note\nbooks-order-1,{id},\n");
    let error = workspace.resolving(file).with("--merchant books").end().failed(2);
    holds(&error["violations"][0], &json!({"line": 2, "rule": "already belongs to toys-order-1"}));
    let error = workspace.journals(format!("{resolve} --merchant toys")).failed_as(2, "other_service");
    has(message(&error), ["check the base URL, the merchant and the API key"]);
    let resolve = "resolve books-order-1 --processed txn_none --merchant books --output text";
    has(workspace.journals(resolve).exits(7).stderr, ["check the API key, the merchant and the base URL"]);
    assert_eq!(workspace.shown("books-order-1", "state"), "unknown");
}

#[test]
fn service_is_renamed_or_forgotten_only_with_the_count_that_was_shown_d47() {
    const NEW: &str = "https://new.example.com/api#books";
    let workspace = Workspace::with_charge("paid");
    workspace.add_unknown("lost", "https://old.example.com");
    let old = workspace.sandbox.base_url().to_owned();
    let rename = |options: &str| workspace.journals(format!("rename-service {old} {NEW} {options}"));
    // It shows what is concerned, and changes nothing.
    let before = workspace.export();
    let shown = rename("").json();
    holds(&shown, &json!({"count": 1, "done": false, "to": NEW}));
    let given = format!("--count 1 --shown {} --by", shown["shown"].as_str().unwrap());
    has(rename("--output text").stdout, [&*format!("{given} NAME"), "nothing was changed"]);
    // The new numbers are shown.
    let error = rename("--count 2 --by ada").failed_as(2, "service_changed");
    has(message(&error), ["1 processed, "]);
    for without in ["--count 1", "--by ada"] {
        rename(without).failed(2);
    }
    let misspelt = format!("rename-service {old} https://new.example.com/ --count 1 --by ada");
    workspace.journals(misspelt).failed_as(2, "service_refused");
    assert_eq!(workspace.export(), before);

    assert_eq!(rename(&format!("{given} ada")).exits(0).json()["done"], true);
    let shown = workspace.show("paid");
    assert_eq!(shown["former_services"], old);
    let event = shown["history"].as_array().and_then(|events| events.last()).cloned().unwrap_or_default();
    holds(&event, &json!({"event": "renamed", "service": old, "by": "ada"}));
    has(workspace.show_text("paid"), [&*format!("ada: renamed from {old} with 1 intent"), NEW]);
    assert_eq!(workspace.csv("").lines().filter(|line| line.contains(&old)).count(), 1);
    rename("--count 1 --by ada").failed_as(2, "service_refused");

    // A possible charge is not forgotten.
    let forget = "forget-service https://old.example.com --count 1 --by ada";
    workspace.journals(forget).refused("resolve them first");
    workspace.journals("resolve lost --not-processed --note 'a rehearsal'").exits(0);
    assert_eq!(workspace.journals(forget).json()["done"], true);
    workspace.journals("show lost").failed(2);
    // The key is new, and the first of this base URL.
    has(workspace.charge("lost").exits(0).stderr, ["WARNING: the journal "]);
}

/// The number is the same, and one of them is paid now.
#[test]
fn service_with_a_payment_since_it_was_shown_is_not_forgotten_d47() {
    let workspace = Workspace::open();
    workspace.charging("invoice-17", &declined_payment()).end().failed(4);
    let forget = format!("forget-service {}", workspace.sandbox.base_url());
    let shown = workspace.journals(&forget).json();
    let code = shown["shown"].as_str().unwrap();
    workspace.charging("invoice-17", TOKEN_PAYMENT).with("--after-rejection").end().processed();
    let ended = workspace.journals(format!("{forget} --count 1 --shown {code} --by ada"));
    let error = ended.failed_as(2, "service_changed");
    has(message(&error), [&*format!("--shown {code}"), "1 processed, "]);
    assert_eq!(workspace.shown("invoice-17", "state"), "processed");
}

/// The counts, the sums and the times are the same.
#[test]
fn code_of_one_change_of_a_service_is_refused_for_another_d47() {
    let workspace = Workspace::with_charge("paid");
    let old = workspace.sandbox.base_url();
    let changes = [
        format!("forget-service {old}"),
        format!("rename-service {old} https://new.example.com"),
        format!("rename-service {old} https://other.example.com"),
    ];
    let codes = changes.each_ref().map(|change| {
        let shown = workspace.journals(change).json();
        assert_eq!(workspace.journals(change).json()["shown"], shown["shown"], "{change}");
        shown["shown"].as_str().unwrap().to_owned()
    });
    let confirmed = |change: &String, code: &String| {
        workspace.journals(format!("{change} --count 1 --shown {code} --by ada"))
    };
    for (index, code) in codes.iter().enumerate() {
        for (_, change) in changes.iter().enumerate().filter(|(other, _)| *other != index) {
            let error = confirmed(change, code).failed_as(2, "service_changed");
            has(message(&error), [&*format!("--shown {code}")]);
        }
    }
    assert_eq!(confirmed(&changes[2], &codes[2]).json()["done"], true);
}

#[test]
fn summary_has_every_state_with_exact_sums() {
    let workspace = Workspace::with_charge("paid");
    workspace.add_unknown("lost", "https://old.example.com");
    let ended = workspace.journals("summary");
    let summary = ended.json();
    assert_eq!(summary["count"], 2, "{ended:?}");
    let states = summary["states"].as_array().unwrap();
    let names: Vec<_> = states.iter().map(|of| of["state"].as_str().unwrap()).collect();
    assert_eq!(names, ["sending", "processed", "rejected", "not_processed", "unknown", "resolved"]);
    holds(&states[0], &json!({"oldest_begun_at": null, "oldest_age_seconds": null}));
    assert!(states[4]["oldest_age_seconds"].is_number(), "{ended:?}");
    has(&ended.stdout, ["\"count\":1,\"sum\":45.00,"]);
    let text = workspace.journals("summary --output text").stdout;
    let is_unknown = |line: &str| line.starts_with("unknown ") && line.contains("45.00  oldest ");
    assert!(text.lines().any(is_unknown), "{text}");
}

/// What was resolved may be paid or not, and the sum of a state is not what was paid.
#[test]
fn text_says_what_was_charged_at_each_service() {
    let workspace = Workspace::with_charge("paid");
    let here = workspace.sandbox.base_url();
    let [found, _] = workspace.lose_responses(["found", "gone"]);
    workspace.journals(format!("resolve found --processed {found} --by ada")).exits(0);
    workspace.journals("resolve gone --not-processed --note n --by ada").exits(0);
    workspace.creating("held").stdin(authorization()).end().processed();
    workspace.charging("declined", &declined_payment()).end().exits(4);
    workspace.charging("toys", TOKEN_PAYMENT).with(["--merchant", "toys"]).end().processed();
    workspace.add_unknown("lost", "https://old.example.com");
    for command in ["summary", "list"] {
        let text = workspace.journals(format!("{command} --output text")).stdout;
        has(
            &text,
            [
                "resolved (processed)             1 intent           45.00",
                "resolved (not processed)         1 intent           45.00",
            ],
        );
        assert!(!text.contains("charged at https://old") && !text.contains("resolved  "), "{text}");
    }
    // The summary does not read what was charged.
    let charged = format!(
        "\n\nauthorized at {here}: 1 intent, 10.50\ncharged at {here}: 2 intents, 90.00\n\
         charged at {here}#toys: 1 intent, 45.00\n"
    );
    has(workspace.journals("list --output text").stdout, [&charged]);
    let none = workspace.journals("list --unresolved --output text").stdout;
    assert!(!none.contains("charged at"), "{none}");
}

#[test]
fn service_with_an_unknown_key_is_not_offered_to_be_forgotten_d47() {
    let (workspace, _) = Workspace::with_lost(["lost"]);
    let service = workspace.sandbox.base_url();
    let ended = workspace.journals(format!("forget-service {service} --output text")).exits(0);
    has(&ended.stdout, ["has 1 unknown, and no key of it can be changed before"]);
    assert!(!ended.stdout.contains("add --count"), "{ended:?}");
    let ended = workspace.journals(format!("rename-service {service} https://new.example.com --output text"));
    has(&ended.exits(0).stdout, ["add --count 1"]);
    let (first, gate) = workspace.in_flight("now");
    for (command, parts) in [
        (
            "forget-service SERVICE",
            ["1 sending and 1 unknown", "no payment is being sent and these are resolved"],
        ),
        ("rename-service SERVICE https://new.example.com", ["has 1 sending,", "wait until it has ended"]),
    ] {
        let command = format!("{command} --output text").replace("SERVICE", service);
        has(&workspace.journals(command).exits(0).stdout, parts);
    }
    gate.release();
    first.end().processed();
}
