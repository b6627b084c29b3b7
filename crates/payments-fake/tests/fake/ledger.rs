//! The content of the ledger, and the messages of its failed assertions.

use std::sync::{Arc, Mutex};
use std::{panic, thread};

use payments_core::OperationName;
use payments_core::model::{Amount, TransactionId};
use payments_fake::{EntryKind, EntryState, FakeGateway, Fault, Ledger, PaymentSource, block_on};

use crate::support::*;

/// A sale, a declined sale, a voided authorization and a token payment.
fn busy_day() -> (FakeGateway, Vec<TransactionId>) {
    let gateway = FakeGateway::new();
    pay(&gateway).unwrap();
    block_on(gateway.client().process_card(&card("4000000000009995").build().unwrap())).unwrap_err();
    void(&gateway, authorize(&gateway).as_str()).unwrap();
    block_on(gateway.client().process_token(&token("tok_approved"))).unwrap();
    let ids = gateway.ledger().entries().iter().map(|entry| entry.transaction_id().clone()).collect();
    (gateway, ids)
}

#[test]
fn entries_have_operation_kind_and_state() {
    let (gateway, _) = busy_day();
    let ledger = gateway.ledger();
    let kinds: Vec<_> =
        ledger.entries().iter().map(|entry| (entry.operation, entry.kind, entry.state)).collect();
    let (card, token) = (OperationName::Transaction, OperationName::TokenTransaction);
    assert_eq!(
        kinds,
        [
            (card, EntryKind::Sale, EntryState::Approved),
            (card, EntryKind::Sale, EntryState::Declined),
            (card, EntryKind::Authorization, EntryState::Voided),
            (token, EntryKind::Sale, EntryState::Approved),
        ]
    );
    let last = &ledger.entries()[3];
    assert_eq!(last.source, PaymentSource::Token("tok_approved".parse().unwrap()));
    assert_eq!(last.reference_no.as_deref(), Some("order-7"));
    assert_eq!(ledger.charged().count(), 2);
    assert_eq!(ledger.charged_total(), Some(Amount::from_cents(21_00)));
}

#[test]
fn it_displays_one_line_per_transaction() {
    let (gateway, ids) = busy_day();
    let expected = format!(
        "the ledger:\n  \
         {} transaction sale 10.50 approved, card ************4242\n  \
         {} transaction sale 10.50 declined, card ************9995\n  \
         {} transaction authorization 10.50 voided, card ************4242\n  \
         {} token-transaction sale 10.50 approved, token tok_approved, reference order-7",
        ids[0], ids[1], ids[2], ids[3]
    );
    assert_eq!(gateway.ledger().to_string(), expected);
    assert_eq!(Ledger::default().to_string(), "the ledger is empty");
}

#[test]
fn true_assertions_pass_and_a_failed_one_says_what_it_expected() {
    let (gateway, ids) = busy_day();
    let (busy, empty) = (gateway.ledger(), Ledger::default());
    busy.assert_charged_total(Amount::from_cents(21_00));
    busy.assert_voided(&ids[2]);
    empty.assert_nothing_charged();

    let gateway = FakeGateway::new();
    authorize(&gateway);
    let held = gateway.ledger();
    let gateway = armed(Fault::response_lost(OperationName::Transaction));
    pay(&gateway).unwrap_err();
    let lost = gateway.ledger();
    let (unknown, other) = ("txn_1".parse().unwrap(), Amount::from_cents(10_51));
    let checks: [(&str, &dyn Fn()); 8] = [
        ("expected one charge of 10.50 and no other; the ledger:", &|| _ = busy.assert_charged_once(PRICE)),
        ("expected one charge of 10.50 and no other; the ledger is empty", &|| {
            _ = empty.assert_charged_once(PRICE);
        }),
        ("expected one charge of 10.51 and no other", &|| _ = lost.assert_charged_once(other)),
        // A lost response is a charge, and so is an authorization while it holds the money.
        ("expected nothing to be charged; the ledger:", &|| lost.assert_nothing_charged()),
        ("expected nothing to be charged", &|| held.assert_nothing_charged()),
        ("expected charges of 10.50 in all", &|| busy.assert_charged_total(PRICE)),
        ("to be voided; the ledger:", &|| _ = busy.assert_voided(&ids[0])),
        ("expected txn_1 to be voided, but it does not exist; the ledger is empty", &|| {
            _ = empty.assert_voided(&unknown);
        }),
    ];
    for (expected, check) in checks {
        let message = panic_message(check);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_failed_assertion_reports_the_caller_s_line() {
    let reported = Arc::new(Mutex::new(None));
    let before = panic::take_hook();
    panic::set_hook(Box::new({
        let (reported, this_thread) = (Arc::clone(&reported), thread::current().id());
        move |info| {
            // Other tests of this process may panic at the same time.
            if thread::current().id() == this_thread {
                *reported.lock().unwrap() =
                    info.location().map(|location| (location.file().to_owned(), location.line()));
            }
        }
    }));
    let line = line!() + 1;
    panic::catch_unwind(|| _ = Ledger::default().assert_charged_once(PRICE)).unwrap_err();
    panic::set_hook(before);
    assert_eq!(*reported.lock().unwrap(), Some((file!().to_owned(), line)));
}
