//! After `payments journal retry` a key takes a corrected request: the same payment with another token or card.
#![cfg(unix)]

use crate::prelude::*;

/// A typing error in the tokens of a whole file, whose rows have references.
#[test]
fn corrected_file_is_charged_with_its_keys_after_a_retry_d44() {
    let workspace = Workspace::open();
    let rows =
        "k1,TOKEN,1.01,false,order 1\nk2,TOKEN,2.01,false,order  2\nk3,tok_approved,3.01,false,order 3\n";
    workspace.rows(rows.replace("TOKEN", "tok_mistyped"));
    workspace.bills("").counts(&json!({"processed": 1, "rejected": 2, "total": 3}));
    workspace.rows(rows.replace("TOKEN", "tok_approved").replace("order  2", "order 2"));
    // Before a person has decided it, the file is refused, and says how.
    let refused = workspace.bills("").wrong_rows();
    assert_eq!(refused.len(), 2, "{refused:?}");
    has(&refused[0], ["another token", "payments journal retry"]);

    workspace.journals("retry --status 400").exits(0);
    let sent = workspace.requests();
    workspace.bills("").counts(&json!({"processed": 2, "processed_earlier": 1, "total": 3}));
    assert_eq!((workspace.charged().len(), workspace.requests()), (3, sent + 2));
    workspace.bills("").counts(&json!({"processed_earlier": 3, "total": 3}));
}

#[test]
fn reopened_key_takes_no_other_payment_d44() {
    let workspace = Workspace::open();
    workspace.rows("k1,tok_mistyped,1.01,false,order 1\n");
    workspace.bills("").exits(4);
    let sent = workspace.requests();
    for (reopen, rows) in [
        (
            "--status 400",
            &[
                ("k1,tok_approved,1.02,false,order 1\n", "another amount"),
                ("k1,tok_approved,1.01,true,order 1\n", "another convenience fee"),
                // Another order of the same amount.
                ("k1,tok_approved,1.01,false,order 2\n", "another reference"),
                ("k1,tok_approved,1.01,false,\n", "another reference"),
            ][..],
        ),
        // Naming the key does not allow another order either.
        ("--key k1", &[("k1,tok_approved,1.01,false,order 2\n", "another reference")]),
    ] {
        workspace.journals(format!("retry {reopen}")).exits(0);
        for (row, difference) in rows {
            workspace.rows(row);
            has(&workspace.bills("").wrong_rows()[0], [difference]);
        }
    }
    assert_eq!(workspace.requests(), sent);
}

#[test]
fn key_without_a_reference_takes_a_correction_only_if_it_was_named_d44() {
    let workspace = Workspace::open();
    workspace.rows("k1,tok_mistyped,1.01,false,\nk2,tok_mistyped,1.01,false,\n");
    workspace.bills("").exits(4);
    workspace.journals("retry --status 400").exits(0);
    workspace.rows("k1,tok_approved,1.01,false,\nk2,tok_mistyped,1.01,false,\n");
    let refused = workspace.bills("");
    assert_eq!(refused.failed(2)["violations"][0]["line"], 2);
    has(refused.wrong_rows().concat(), ["payments journal retry --key"]);
    assert_eq!(refused.wrong_rows().len(), 1);
    // It is already reopened, and now also named.
    workspace.journals("retry --key k1").exits(0);
    workspace.bills("").counts(&json!({"processed": 1, "rejected": 1, "total": 2}));
    assert_eq!(workspace.charged().len(), 1);
}

#[test]
fn correction_of_a_single_charge_is_used_up_by_one_call_d44() {
    let workspace = Workspace::open();
    let with = |token: &str| workspace.charging("k", &TOKEN_PAYMENT.replace("tok_approved", token)).end();
    with("tok_declined").failed(4);
    workspace.journals("retry --key k").exits(0);
    with("tok_lost_card").failed(4);
    // The corrected request is now the key's.
    assert_eq!(with("tok_lost_card").json()["recorded"], true);
    for token in ["tok_declined", "tok_approved"] {
        with(token).failed_as(2, "key_reused");
    }
    assert_eq!(workspace.requests(), 2);

    let declined = CARD_PAYMENT.replace("378282246310005", "4000000000000002").replace("7391", "739");
    let charging = |request: &str| workspace.creating("card").stdin(request);
    charging(&declined).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    workspace.journals("retry --status 401").exits(0);
    charging(CARD_PAYMENT).end().failed_as(2, "key_reused");
    workspace.journals("retry --key card").exits(0);
    charging(&authorization()).end().failed_as(2, "key_reused");
    charging(CARD_PAYMENT).end().processed();
    assert_eq!(workspace.requests(), 4);
}
