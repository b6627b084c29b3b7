//! The same payment under a second key: refused while the first is open, and warned about once it is processed.
#![cfg(unix)]

use crate::prelude::*;

/// A request with this reference.
fn request(reference: &str) -> String {
    format!(
        r#"{{"TokenId":"tok_approved","Amount":10.50,"ConvenienceFeeActive":false,"ReferenceNo":"{reference}"}}"#
    )
}

/// The same as a row of a billing file.
fn row(key: &str, reference: &str) -> String {
    format!("{key},tok_approved,10.50,false,{reference}\n")
}

#[test]
fn file_with_new_keys_for_open_payments_is_refused_d43() {
    let workspace = Workspace::open();
    let rows = |batch: &str| {
        let row = |n| format!("{batch}-{n},tok_approved,{n}.00,false,inv-{n}\n");
        workspace.rows(["1", "2"].map(row).concat());
    };
    rows("8f3a");
    workspace.arm(Fault::response_lost(TOKENS).times(2));
    workspace.bills("").ends(5, "unknown");
    rows("77bc");
    for option in ["--dry-run", ""] {
        let ended = workspace.bills(option);
        let error = ended.failed(2);
        assert_eq!(error["violation_count"], 2, "{error}");
        let problem = &error["violations"][0];
        assert_eq!((&problem["line"], &problem["field"]), (&json!(2), &json!("Key")));
        has(
            problem["rule"].as_str().unwrap_or_default(),
            ["is unknown under the key 8f3a-1, and may have been processed", "`payments journal resolve`"],
        );
    }
    // A spreadsheet may have changed the reference.
    workspace.rows("x,tok_approved,1.00,false,INV 1\n");
    has(workspace.bills("--dry-run").failed(2).to_string(), ["is unknown under the key 8f3a-1"]);
    // Another reference, amount or token is another payment, and without a reference nothing is compared.
    for row in [
        "x,tok_approved,1.00,false,inv-3\n",
        "x,tok_approved,1.01,false,inv-1\n",
        "x,tok_declined,1.00,false,inv-1\n",
        "x,tok_approved,1.00,false,\n",
    ] {
        workspace.rows(row);
        workspace.bills("--dry-run").ends(0, "dry_run");
    }
    assert_eq!(workspace.requests(), 2);
    // Once a person has found out, the new keys are used, or warned about.
    workspace.journals("resolve 8f3a-1 --not-processed --note none").exits(0);
    workspace.journals("resolve 8f3a-2 --processed txn_2 --unverified --note found").exits(0);
    rows("77bc");
    let ended = workspace.bills("");
    ended.ends(0, "processed");
    has(
        &ended.stderr,
        ["WARNING: rows with the token, amount and ReferenceNo of a processed charge, under another key: 1;"],
    );
    has(&ended.stderr, ["(line 3: 77bc-2 and 8f3a-2 of an earlier run)"]);
    workspace.rows("new,tok_approved,2.00,false,'INV-2\n");
    has(workspace.bills("--dry-run").stderr, ["of a processed charge, under another key: 1;"]);
}

#[test]
fn call_with_a_new_key_for_an_open_payment_is_refused_d43() {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("cart-88-try1", &request("cart 88")).end().exits(5);
    for option in ["--dry-run", ""] {
        let error = workspace
            .charging("cart-88-try2", &request("cart 88"))
            .with(option)
            .end()
            .failed_as(2, "same_payment");
        has(
            message(&error),
            ["is unknown under the key cart-88-try1", "nothing was sent now", "resolve it first"],
        );
    }
    workspace.charging("cart-88-try3", &request("Cart-88")).end().failed_as(2, "same_payment");
    assert_eq!(workspace.requests(), 1);
    // The same key, another reference, and none.
    workspace.charging("cart-88-try1", &request("cart 88")).end().exits(5);
    workspace.charging("cart-89", &request("cart 89")).end().processed();
    let without = request("x").replace(r#","ReferenceNo":"x""#, "");
    workspace.charging("counter-1", &without).end().processed();
    workspace.journals("resolve cart-88-try1 --not-processed --note none").exits(0);
    workspace.charging("cart-88-try2", &request("cart 88")).end().processed();
    // A recorded result is returned, whatever else is open.
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("cart-88-try1", &request("cart 88")).end().exits(5);
    workspace.charging("cart-88-try2", &request("cart 88")).end().exits(0);
    assert_eq!(workspace.requests(), 5);
}

#[test]
fn payment_twice_in_one_file_is_warned_about() {
    let workspace = Workspace::open();
    let rows = ["k1", "k2", "k3", "k4", "k5"].map(|key| row(key, "rent")).concat();
    workspace.rows(rows + &row("other", "") + &row("last", ""));
    let ended = workspace.bills("--dry-run");
    ended.ends(0, "dry_run");
    has(
        &ended.stderr,
        [
            "WARNING: rows with the token, amount and ReferenceNo of an earlier row, under another key: 4;",
            "(line 3: k2 and k1 of line 2; line 4: k3 and k1 of line 2; line 5: k4 and k1 of line 2; …)",
        ],
    );
    has(workspace.bills("").stderr, ["an earlier row, under another key: 4;"]);
    // Nothing is left to send.
    assert!(!workspace.bills("").stderr.contains("WARNING"));
}

#[test]
fn rows_to_send_without_a_reference_are_warned_about() {
    const WARNING: &str = "WARNING: rows to send without a ReferenceNo: 2; if a response is lost, no report can tell them apart";
    let workspace = Workspace::open();
    workspace.rows(row("a", "rent") + &row("b", "") + &row("c", ""));
    for option in ["--dry-run", ""] {
        has(workspace.bills(option).exits(0).stderr, [WARNING]);
    }
    // Those were charged.
    workspace.rows(row("a", "rent") + &row("b", "") + &row("c", "") + &row("d", "water"));
    assert!(!workspace.bills("").exits(0).stderr.contains("WARNING"));
}

/// The response of `17` is lost, a person says that it was not processed, `0017` is charged, and then the first is found.
fn charged_in_two_spellings() -> Workspace {
    let workspace = Workspace::open();
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("17", &request("rent")).end().exits(5);
    let first = workspace.last_id();
    workspace.journals("resolve 17 --not-processed --note none").exits(0);
    workspace.charging("0017", &request("rent")).end().processed();
    let found = format!("resolve 17 --processed {first} --note found --replace not-processed");
    workspace.journals(found).exits(0);
    workspace
}

/// To say that a charge is about to happen hides that it has happened.
#[test]
fn two_spellings_of_a_key_that_were_both_charged_are_said_to_be_charged() {
    let workspace = charged_in_two_spellings();
    let requests = workspace.requests();
    let rows = |second: &str| workspace.rows(row("17", "rent") + &row(second, "rent"));
    rows("0017");
    for option in ["--dry-run", ""] {
        let ended = workspace.bills(option).exits(0);
        has(
            &ended.stderr,
            [
                "WARNING: rows whose keys are one key in two spellings, and which were both charged, or may have been",
                "line 3: 0017 and 17 of line 2",
            ],
        );
    }
    // Only one of them is charged.
    rows("17.0");
    for option in ["--dry-run", ""] {
        let rule = ["is that of line 2 in another spelling", "both would be charged"];
        has(workspace.bills(option).wrong_rows().concat(), rule);
    }
    assert_eq!(workspace.requests(), requests);
}

/// `1.843` can be read as the one number or the other.
#[test]
fn warning_about_a_row_hides_no_problem_of_it() {
    let workspace = Workspace::open();
    let payment = request("x").replace(r#","ReferenceNo":"x""#, "");
    for key in ["1843", "1.843"] {
        workspace.charging(key, &payment).end().processed();
    }
    workspace.rows(["1843", "1.8430", "1.843"].map(|key| row(key, "")).concat());
    has(workspace.bills("").wrong_rows().concat(), ["is that of line 3 in another spelling"]);
}

/// Neither is to be sent, and only one was charged.
#[test]
fn rejected_row_beside_a_charged_one_in_another_spelling_is_no_second_charge() {
    let workspace = Workspace::open();
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::BAD_REQUEST));
    workspace.charging("17", &request("rent")).end().exits(4);
    workspace.charging("0017", &request("rent")).end().processed();
    workspace.rows(row("17", "rent") + &row("0017", "rent"));
    assert_eq!(workspace.bills("").exits(4).stderr, "");
}

#[test]
fn rejected_key_in_another_spelling_is_not_sent_by_a_run() {
    let workspace = Workspace::open();
    workspace.arm(Fault::on(TOKENS).before_commit().status(StatusCode::BAD_REQUEST));
    workspace.charging("0017", &request("rent")).end().exits(4);
    workspace.rows(row("17", "rent"));
    let requests = workspace.requests();
    let rule = "is in the journal under the key 0017, and was rejected";
    has(&workspace.bills("").wrong_rows()[0], [rule]);
    assert_eq!(workspace.requests(), requests);
    // Another payment, and the customer's next card.
    workspace.rows(row("18", "rent") + &row("17", "rent").replace("tok_approved", "tok_declined"));
    let ended = workspace.bills("--dry-run");
    ended.ends(0, "dry_run");
    assert_eq!(ended.stderr, "", "a rejected payment was not charged");
}

/// Keys are used again, such as those of last month.
#[test]
fn run_warns_of_keys_that_were_used_with_another_reference() {
    let workspace = Workspace::open();
    let rows = |month: &str| {
        workspace
            .rows(format!("k1,tok_approved,1.00,false,{month} 1\nk2,tok_approved,2.00,false,{month} 2\n"));
    };
    rows("november");
    workspace.bills("").ends(0, "processed");
    assert_eq!(workspace.bills("").exits(0).stderr, "");
    rows("december");
    let ended = workspace.bills("").exits(0);
    has(
        &ended.stderr,
        [
            "WARNING: keys that were used before with another ReferenceNo: 2, the first is k1 in line 2, which was november 1;",
        ],
    );
    assert_eq!(workspace.charged().len(), 2);
}

#[test]
fn call_with_another_spelling_of_a_charged_key_is_refused() {
    let workspace = Workspace::open();
    workspace.charging("17", &request("rent")).end().processed();
    for key in ["0017", "17.0", "'17"] {
        for option in ["--dry-run", ""] {
            let ended = workspace.charging(key, &request("rent")).with(option).end();
            has(
                message(&ended.failed_as(2, "same_payment")),
                [
                    "a charge with this ReferenceNo, token and amount is in the journal under the key 17",
                    "nothing was sent now: if it is the same, write that key",
                    "else use a key that is clearly another",
                ],
            );
        }
    }
    assert_eq!(workspace.requests(), 1);
    // A run says the same.
    workspace.rows(row("0017", "rent"));
    let rule = "is in the journal under the key 17: if it is the same, write that key";
    has(&workspace.bills("").wrong_rows()[0], [rule]);
    // Another payment, a key that is clearly another, and the key itself.
    workspace.charging("0017", &request("water")).end().processed();
    workspace.charging("rent-2", &request("rent")).end().processed();
    workspace.charging("17", &request("rent")).end().exits(0);
    assert_eq!(workspace.requests(), 3);
}

/// A key that is copied out of a sentence keeps the signs around it.
#[test]
fn call_with_signs_around_a_charged_key_is_refused() {
    let workspace = Workspace::open();
    workspace.charging("invoice-17", &request("rent")).end().processed();
    for key in [
        "invoice-17,",
        "invoice-17.",
        "(invoice-17)",
        "<invoice-17>",
        "`invoice-17`",
        "*invoice-17*",
        "--invoice-17",
        "invoice-17;",
        "invoice:17",
        "invoice/17",
        "Invoice.17",
    ] {
        workspace.charging(key, &request("rent")).end().failed_as(2, "same_payment");
    }
    workspace.charging("invoice-18,", &request("rent")).end().processed();
    // Those that belong to a key.
    for (key, others) in [
        ("#INV-5", ["#inv-5", "#inv_5"]),
        ("(A19)", ["(a19)", "'(A19)"]),
        ("INV-7/", ["inv-7/", "Inv-7/"]),
        ("shop/inv-17", ["shop/inv_17", "Shop/Inv-17"]),
        ("shop.inv-18", ["shop.inv_18", "SHOP.INV-18"]),
    ] {
        workspace.charging(key, &request("water")).end().processed();
        for other in others {
            workspace.charging(other, &request("water")).end().failed_as(2, "same_payment");
        }
    }
    assert_eq!(workspace.requests(), 7);
}

/// A person who renames a key whose outcome is unknown "to try it again" changes the reference with it.
#[test]
fn row_with_the_token_and_amount_of_an_unknown_charge_is_warned_about() {
    const WARNING: &str =
        "WARNING: rows with the token and amount of a charge whose outcome is unknown, under another key: ";
    let workspace = Workspace::open();
    workspace.rows(row("inv-17", "inv-17") + &row("inv-18", "").replace("10.50", "20.00"));
    workspace.arm(Fault::response_lost(TOKENS).times(2));
    workspace.bills("").ends(5, "unknown");
    workspace.rows(
        row("inv-17b", "inv-17b")
            + &row("x", "").replace("10.50", "20.00")
            + &row("y", "y").replace("10.50", "9.00"),
    );
    for (option, code) in [("--dry-run", "dry_run"), ("", "processed")] {
        let ended = workspace.bills(option);
        ended.ends(0, code);
        has(&ended.stderr, [&format!("{WARNING}2; "), "(line 2: inv-17b and inv-17; line 3: x and inv-18)"]);
    }
    assert!(!workspace.bills("").stderr.contains(WARNING), "nothing is left to send");
    // The row itself, and what a person has found out.
    workspace.rows(row("inv-17", "inv-17"));
    workspace.bills("").ends(5, "unknown");
    workspace.journals("resolve inv-17 --not-processed --note none").exits(0);
    workspace.rows(row("inv-19", "inv-19"));
    assert_eq!(workspace.bills("").exits(0).stderr, "");
}

/// A spreadsheet in which an amount is corrected changes the key too.
#[test]
fn corrected_amount_under_another_spelling_of_the_key_is_not_sent() {
    let workspace = Workspace::open();
    let row = |key: &str, amount: &str| format!("{key},tok_approved,{amount},false,rent\n");
    workspace.rows(row("0017", "10.50"));
    workspace.bills("").ends(0, "processed");
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("0018", &request("rent 2")).end().exits(5);
    for (key, reference) in [("17", "rent"), ("18", "rent 2")] {
        let rule = format!(
            "a charge with this token, but with another amount, is in the journal under the key 00{key}"
        );
        workspace.rows(format!("{key},tok_approved,11.50,false,{reference}\n"));
        has(workspace.bills("").wrong_rows().concat(), [&rule]);
        let error = workspace.charging(key, &request(reference).replace("10.50", "11.50")).end();
        has(message(&error.failed_as(2, "same_payment")), [&rule]);
    }
    workspace.rows(row("0019", "10.50") + &row("19", "11.50"));
    let rule =
        ["is that of line 2 in another spelling", "the same token, and different amounts", "remove one row"];
    has(workspace.bills("").wrong_rows().concat(), rule);
    assert_eq!(workspace.requests(), 2);
    // Instalments, another payment, and a long number of which only the end differs.
    workspace.rows(
        row("1.1", "10.50")
            + &row("1.10", "11.50")
            + &row("20", "10.50")
            + "0020,tok_approved,9.50,false,water\n",
    );
    workspace.bills("").ends(0, "processed");
}

/// Instalments may have keys that a spreadsheet would confuse. A run compares every spelling, because a spreadsheet may have made
/// its file.
#[test]
fn call_whose_key_is_only_like_that_of_a_charge_is_sent() {
    let workspace = Workspace::open();
    let without = request("x").replace(r#","ReferenceNo":"x""#, "");
    let keys = ["1.1", "1.10", "1843", "1.843", "2026-1", "2026-01", "17.1", "17.10", "Inv-5", "inv5"];
    for key in keys {
        workspace.charging(key, &without).end().processed();
        workspace.charging(&format!("9{key}"), &request(&format!("9{key}"))).end().processed();
    }
    assert_eq!(workspace.requests(), 2 * keys.len());
    for [charged, key] in [
        ["17", "0017"],
        ["a-1", "'a-1"],
        ["'b", "b"],
        ["00042", "42"],
        ["0000000143", "0143"],
        ["INV-5X", "inv-5x"],
        ["ABC-1", "abc_1"],
        ["invoice-0007", "invoice-7"],
    ] {
        workspace.charging(charged, &without).end().processed();
        let error = workspace.charging(key, &without).end().failed_as(2, "same_payment");
        has(message(&error), [format!("is in the journal under the key {charged};")]);
    }
    // With the same reference, or while one is open, any of them may be the same.
    for (key, reference) in [("1.20", "a"), ("5,200", "b"), ("0018", "0018")] {
        workspace.charging(key, &request(reference)).end().processed();
    }
    for (key, reference) in [("1.2", "a"), ("5200", "b"), ("5200.00", "b"), ("18", "18"), ("new", "0018")] {
        workspace.charging(key, &request(reference)).end().failed_as(2, "same_payment");
    }
    workspace.arm(Fault::response_lost(TOKENS));
    workspace.charging("3-1", &without).end().exits(5);
    workspace.charging("03-01", &without).end().failed_as(2, "same_payment");
    workspace.rows(row("INV5", ""));
    workspace.bills("").failed(2);
}

/// These have no reference: of a charge only its key, its amount and the end of a card's number are known.
#[test]
fn call_by_card_or_account_with_another_spelling_of_a_key_is_refused() {
    let workspace = Workspace::open();
    let pay = |key: &str, request: &str| workspace.run(CREATE).with(["--key", key]).stdin(request).end();
    for (prefix, request, known) in [
        ("", CARD_PAYMENT, "these last four digits and this amount"),
        ("9", &*ach_payment(), "with this amount"),
    ] {
        let key = |rest: &str| format!("{prefix}{rest}");
        pay(&key("17"), request).processed();
        has(message(&pay(&format!("'{}", key("17")), request).failed_as(2, "same_payment")), [known]);
        workspace.arm(Fault::response_lost(OperationName::Transaction));
        pay(&key("Inv-5"), request).failed(5);
        let error = pay(&key("inv5"), request).failed_as(2, "same_payment");
        has(
            message(&error),
            [format!("is in the journal under the key {}; nothing was sent now", key("Inv-5"))],
        );
        // Another amount, and a key that is clearly another.
        pay(&key("inv5"), &request.replace("10.50", "10.51")).processed();
        pay(&key("inv-6"), request).processed();
    }
    assert_eq!(workspace.requests(), 8);
}

/// Whether the other key is in the file says nothing about what became of its charge.
#[test]
fn open_payment_of_a_row_is_not_sent_in_another_row_d43() {
    let workspace = Workspace::open();
    let open = "unknown under the key a, and may have been processed";
    workspace.rows(row("a", "rent") + &row("b", "Rent") + &row("c", "water"));
    workspace.arm(Fault::response_lost(TOKENS));
    let ended = workspace.bills("--concurrency 1");
    ended.stops(5, "unknown", "same_payment");
    has(ended.json()["stopped"].to_string(), ["line 3: b was not sent, because", open]);
    for option in ["--dry-run", ""] {
        let error = workspace.bills(option).failed(2);
        assert_eq!((&error["violation_count"], &error["violations"][0]["line"]), (&json!(1), &json!(3)));
        has(error["violations"].to_string(), [open]);
    }
    assert_eq!(workspace.requests(), 1);
    // Two payments, as the references say.
    workspace.rows(row("a", "rent") + &row("b", "rent 2") + &row("c", "water"));
    workspace.bills("").ends(5, "unknown");
    assert_eq!(workspace.requests(), 3);
}

/// A call, a file beside the journal, and a file with both.
#[test]
fn same_payment_is_judged_alike_in_every_place() {
    const REFUSED: &str = "refused";
    const WARNED: &str = "warned";
    const SENT: &str = "sent";
    let (charged, empty, mut wrong) = (Workspace::open(), Workspace::open(), Vec::new());
    let judged = |workspace: &Workspace, rows: String| {
        workspace.rows(rows);
        let ended = workspace.bills("--dry-run");
        match (ended.code, ended.stderr.contains("with the token, amount and ReferenceNo of")) {
            (Some(2), _) => REFUSED,
            (_, true) => WARNED,
            _ => SENT,
        }
    };
    // The key and reference of a charge, those of another payment with its fee, and what becomes of it. A call does not read the
    // whole journal, so it does not warn.
    for (number, (key, reference, other, other_reference, fee, of_call, of_file)) in (10..).zip([
        ("a17", "rent", "A17", "rent", false, REFUSED, REFUSED),
        ("b17", "rent", "B17", "rent", true, REFUSED, REFUSED),
        ("c17", "rent", "C17", "water", false, SENT, SENT),
        // The column of references was added or removed, or read in another encoding.
        ("d17", "rent", "D17", "", false, REFUSED, REFUSED),
        ("k17", "", "K17", "Invoice k17", false, REFUSED, REFUSED),
        ("invoice-0017", "invoice-0017", "invoice-17", "invoice-17", false, REFUSED, REFUSED),
        ("l17", "M\u{fc}ller", "L17", "M\u{c3}\u{bc}ller", false, REFUSED, REFUSED),
        ("e17", "", "'e17", "", true, REFUSED, REFUSED),
        // A column of keys that was added or removed.
        ("f17", "f17", "order-f", "f 17", false, REFUSED, REFUSED),
        ("order-g", "g17", "g17", "g 17", false, SENT, REFUSED),
        ("order-h", "rent", "other-h", "Rent", true, SENT, WARNED),
        ("order-i", "1.843", "other-i", "1.8430", false, SENT, WARNED),
        ("order-j", "1-2", "other-j", "2-1", false, SENT, SENT),
    ]) {
        let row = |key: &str, reference: &str, fee: bool| {
            format!("{key},tok_approved,{number}.50,{fee},{reference}\n")
        };
        let [first, second] = [row(key, reference, false), row(other, other_reference, fee)];
        let in_file = judged(&empty, first.clone() + &second);
        let in_file_reversed = judged(&empty, second.clone() + &first);
        charged.rows(&*first);
        charged.bills("").exits(0);
        let beside_journal = judged(&charged, second.clone());
        let reference = if other_reference.is_empty() {
            String::new()
        } else {
            format!(r#","ReferenceNo":"{other_reference}""#)
        };
        let request = format!(
            r#"{{"TokenId":"tok_approved","Amount":{number}.50,"ConvenienceFeeActive":{fee}{reference}}}"#
        );
        let ended = charged.charging(other, &request).with("--dry-run").end();
        let call = if ended.code == Some(2) { REFUSED } else { SENT };
        let judgements = [call, beside_journal, in_file, in_file_reversed];
        if judgements != [of_call, of_file, of_file, of_file] {
            wrong.push(format!("{first}{second}{judgements:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two runs at once, of which one has the file as a spreadsheet has saved it, charge somebody twice at the same moment.
#[test]
fn row_that_another_run_charges_at_the_same_moment_is_told_by_this_run_and_the_next_ones() {
    let told = "WARNING: rows that may be charged twice: the journal has a charge with the same token and amount, under their key in \
                another spelling: ";
    let row = |key: &str, reference: &str| format!("{key},tok_approved,45.00,false,{reference}\n");
    let same = |reference: &str| TOKEN_PAYMENT.replace('}', &format!(",\"ReferenceNo\":\"{reference}\"}}"));
    let workspace = Workspace::open();
    let rows = row("0001", "rent") + &row("inv-2", "") + &row("3", "order-3") + &row("4", "four");
    workspace.rows(&rows);
    let gate = workspace.hold_responses();
    let running = workspace.billing_in_flight("", &gate, 4);
    workspace.add_charge("1", &same("rent"));
    workspace.add_charge("INV-2", TOKEN_PAYMENT);
    // Next month's payment, an instalment, and those of other tokens and amounts.
    workspace.add_charge("0004", &same("another"));
    workspace.add_charge("again", &same("four"));
    workspace.add_charge("04", &same("four").replace("45.00", "46.00"));
    gate.release();
    let charged = format!(
        "{told}2; unless they are payments of their own, undo one of the two \
                           (line 2: 0001 and 1; line 3: inv-2 and INV-2)\n"
    );
    let ended = running.end();
    ended.ends(0, "processed");
    has(ended.stderr, [&charged]);
    for (options, outcome) in [("", "processed"), ("--dry-run", "dry_run")] {
        let ended = workspace.bills(options);
        ended.ends(0, outcome);
        has(ended.stderr, [&charged]);
    }
    // Another row of the file keeps it from being sent, and says nothing about those.
    workspace.rows(rows + &row("0005", "five"));
    workspace.add_charge("5", &same("five"));
    let ended = workspace.bills("");
    ended.refused("1 problem");
    has(ended.stderr, [&charged]);
}
