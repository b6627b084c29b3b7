//! The same payment under a second key: refused while the first is open, and warned about once it is processed.
#![cfg(unix)]

use payments_fake::Fault;
use serde_json::json;

use crate::support::{has, message};
use crate::workspace::{TOKENS, Workspace};

/// A request with this reference.
fn request(reference: &str) -> String {
    format!(
        r#"{{"TokenId":"tok_approved","Amount":10.50,"ConvenienceFeeActive":false,"ReferenceNo":"{reference}"}}"#
    )
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
        ["warning: rows with the token, amount and ReferenceNo of a processed charge, under another key: 1;"],
    );
    has(&ended.stderr, ["(line 3: 77bc-2 and 8f3a-2 of an earlier run)"]);
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
    let rows = [1, 2, 3, 4, 5].map(|n| format!("k{n},tok_approved,5.00,false,rent\n")).concat();
    workspace.rows(rows + "other,tok_approved,5.00,false,\nlast,tok_approved,5.00,false,\n");
    let ended = workspace.bills("--dry-run");
    ended.ends(0, "dry_run");
    has(
        &ended.stderr,
        [
            "warning: rows with the token, amount and ReferenceNo of an earlier row, under another key: 4;",
            "(line 3: k2 and k1 of line 2; line 4: k3 and k1 of line 2; line 5: k4 and k1 of line 2; …)",
        ],
    );
    has(workspace.bills("").stderr, ["an earlier row, under another key: 4;"]);
    // Nothing is left to send.
    assert!(!workspace.bills("").stderr.contains("warning"));
}
