//! After `payments journal retry` a key takes a corrected request: the same payment with another token or card.
#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

use std::fs;

use serde_json::{Value, json};

use crate::batch_runs::{Billing, counts};
use crate::journaled_charges::Workspace;
use crate::support::{CARD_PAYMENT, TOKEN_PAYMENT, authorization, declined_payment};

const HEADER: &str = "Key,TokenId,Amount,ConvenienceFeeActive,ReferenceNo\n";

impl Billing {
    fn rows(&self, rows: &str) {
        fs::write(self.path("rows.csv"), format!("{HEADER}{rows}")).unwrap();
    }

    /// The rules that the file breaks.
    #[track_caller]
    fn refused(&self) -> Vec<(Value, String)> {
        let error = self.run(&[]).failed(2);
        let violations = error["violations"].as_array().unwrap();
        violations.iter().map(|it| (it["line"].clone(), it["rule"].as_str().unwrap().to_owned())).collect()
    }

    fn journal(&self, arguments: &[&str]) {
        self.workspace.journal_command(arguments).exits(0);
    }
}

/// A typing error in the tokens of a whole file, whose rows have references.
#[test]
fn corrected_file_is_charged_with_its_keys_after_a_retry_d44() {
    let billing = Billing::open();
    billing.rows("k1,tok_mistyped,1.01,false,order 1\nk2,tok_mistyped,2.01,false,order  2\nk3,tok_approved,3.01,false,order 3\n");
    assert_eq!(counts(&billing.run(&[])), json!({"processed": 1, "rejected": 2, "total": 3}));
    let corrected = "k1,tok_approved,1.01,false,order 1\nk2,tok_approved,2.01,false,order 2\nk3,tok_approved,3.01,false,order 3\n";
    billing.rows(corrected);
    // Before a person has decided it, the file is refused, and says how.
    let refused = billing.refused();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(
        refused[0].1.contains("another token") && refused[0].1.contains("payments journal retry"),
        "{refused:?}"
    );

    billing.journal(&["retry", "--status", "400"]);
    let sent = billing.workspace.requests();
    assert_eq!(counts(&billing.run(&[])), json!({"processed": 2, "processed_earlier": 1, "total": 3}));
    assert_eq!((billing.charged().len(), billing.workspace.requests()), (3, sent + 2));
    assert_eq!(counts(&billing.run(&[])), json!({"processed_earlier": 3, "total": 3}));
}

#[test]
fn reopened_key_takes_no_other_payment_d44() {
    let billing = Billing::open();
    billing.rows("k1,tok_mistyped,1.01,false,order 1\n");
    billing.run(&[]);
    billing.journal(&["retry", "--status", "400"]);
    let sent = billing.workspace.requests();
    for (other, difference) in [
        ("k1,tok_approved,1.02,false,order 1\n", "amount"),
        ("k1,tok_approved,1.01,true,order 1\n", "convenience fee"),
        // Another order of the same amount.
        ("k1,tok_approved,1.01,false,order 2\n", "reference"),
        ("k1,tok_approved,1.01,false,\n", "reference"),
    ] {
        billing.rows(other);
        let refused = billing.refused();
        assert!(refused[0].1.contains(&format!("another {difference}")), "{other}: {refused:?}");
    }
    // Naming the key does not allow another order either.
    billing.journal(&["retry", "--key", "k1"]);
    billing.rows("k1,tok_approved,1.01,false,order 2\n");
    assert!(billing.refused()[0].1.contains("another reference"));
    assert_eq!(billing.workspace.requests(), sent);
}

#[test]
fn key_without_a_reference_takes_a_correction_only_if_it_was_named_d44() {
    let billing = Billing::open();
    billing.rows("k1,tok_mistyped,1.01,false,\nk2,tok_mistyped,1.01,false,\n");
    billing.run(&[]);
    billing.journal(&["retry", "--status", "400"]);
    billing.rows("k1,tok_approved,1.01,false,\nk2,tok_mistyped,1.01,false,\n");
    let refused = billing.refused();
    assert_eq!((refused.len(), &refused[0].0), (1, &json!(2)));
    assert!(refused[0].1.contains("payments journal retry --key"), "{refused:?}");
    // It is already reopened, and now also named.
    billing.journal(&["retry", "--key", "k1"]);
    assert_eq!(counts(&billing.run(&[])), json!({"processed": 1, "rejected": 1, "total": 2}));
    assert_eq!(billing.charged().len(), 1);
}

#[test]
fn correction_is_used_up_by_one_call_d44() {
    let workspace = Workspace::open();
    let with = |token: &str| TOKEN_PAYMENT.replace("tok_approved", token);
    workspace.charging("k", &with("tok_declined")).end().failed(4);
    assert_eq!(workspace.journal_command(&["retry", "--key", "k"]).code, Some(0));
    workspace.charging("k", &with("tok_lost_card")).end().failed(4);
    // The corrected request is now the key's.
    assert_eq!(workspace.charging("k", &with("tok_lost_card")).end().json()["recorded"], true);
    for token in ["tok_declined", "tok_approved"] {
        assert_eq!(workspace.charging("k", &with(token)).end().failed(2)["kind"], "key_reused");
    }
    assert_eq!(workspace.requests(), 2);
}

#[test]
fn card_is_corrected_after_a_retry_by_key_d44() {
    let workspace = Workspace::open();
    let declined = CARD_PAYMENT.replace("378282246310005", "4000000000000002").replace("7391", "739");
    let charging = |request: &str| workspace.creating("k").stdin(request);
    let charge = |request: &str| charging(request).end();
    charging(&declined).env("PAYMENTS_API_KEY", "wrong").end().failed(6);
    assert_eq!(workspace.journal_command(&["retry", "--status", "401"]).json()["reopened"]["count"], 1);
    assert_eq!(charge(CARD_PAYMENT).failed(2)["kind"], "key_reused");
    assert_eq!(workspace.journal_command(&["retry", "--key", "k"]).json()["reopened"]["count"], 1);
    assert_eq!(charge(&authorization()).failed(2)["kind"], "key_reused");
    assert_eq!(charge(&TOKEN_PAYMENT.replace("45.00", "10.50")).failed(2)["kind"], "validation");
    charge(CARD_PAYMENT).processed();
    assert_eq!(workspace.requests(), 2);
}

#[test]
fn retry_by_key_reopens_any_rejection_and_nothing_else_d44() {
    let workspace = Workspace::open();
    workspace.charge("paid").processed();
    workspace.lose_response("lost");
    let declined = declined_payment();
    workspace.charging("declined", &declined).end().failed(4);
    for key in ["paid", "lost"] {
        assert_eq!(workspace.journal_command(&["retry", "--key", key]).failed(2)["kind"], "not_rejected_so");
    }
    assert_eq!(
        workspace.journal_command(&["retry", "--key", "declined", "--status", "401"]).failed(2)["kind"],
        "not_rejected_so"
    );
    workspace.journal_command(&["retry", "--key", "nobody"]).failed(2);
    workspace.journal_command(&["retry"]).failed(2);
    assert_eq!(workspace.journal_command(&["retry", "--key", "declined"]).json()["reopened"]["count"], 1);
    assert_eq!(workspace.show("declined")["state"], "not_processed");
}
