//! Are the flaws of blocking transports found? The tests of payments-ureq run every contract with a correct one.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::support::{Flaw, Plain, PlainStack};
use payments_conformance::{Abilities, Ability, FnStack, Stack as _, Verdict, blocking, check_only, stack};
use payments_core::blocking::Transport;
use payments_core::{TransportError, TransportRequest, TransportResponse};

fn correct() -> FnStack<Plain> {
    let abilities = Abilities::default().with(Ability::LooksBeforeReuse);
    stack(|setup| PlainStack(None).transport(setup)).abilities(abilities)
}

/// Holds a lock for as long as a call takes.
struct OneAtATime(Plain, Mutex<()>);

impl Transport for OneAtATime {
    fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let _turn = self.1.lock().unwrap();
        Transport::send(&self.0, request)
    }
}

/// The blocking transport with one flaw, over plain HTTP.
fn flawed(flaw: Flaw) -> FnStack<Plain> {
    over_plain_http(stack(move |setup| PlainStack(Some(flaw)).transport(setup)))
}

fn over_plain_http<T: Transport>(stack: FnStack<T>) -> FnStack<T> {
    stack.abilities(Abilities::default().without(Ability::Https, "one scheme is enough"))
}

fn broken<T: Transport>(stack: FnStack<T>, wanted: &[&str]) -> Vec<Verdict> {
    let report = check_only(&blocking(stack), |contract| wanted.contains(&contract));
    assert_eq!(report.verdicts().len(), wanted.len(), "{report}");
    report.broken().cloned().collect()
}

#[test]
fn one_call_at_a_time_is_found() {
    let wanted = ["a_call_does_not_block_its_thread", "fin_after_the_request_is_unknown"];
    let stack =
        over_plain_http(stack(|setup| OneAtATime(PlainStack(None).transport(setup), Mutex::default())));
    let broken: BTreeSet<_> = broken(stack, &wanted).iter().map(Verdict::contract).collect();
    assert_eq!(broken, BTreeSet::from(["a_call_does_not_block_its_thread"]));
}

#[test]
fn a_missing_deadline_is_found() {
    let wanted = ["silence_ends_with_the_total_deadline", "a_dripping_body_ends_with_the_total_deadline"];
    assert_eq!(broken(flawed(Flaw::IgnoresTheDeadline), &wanted).len(), wanted.len());
}

#[test]
fn a_second_transmission_is_found() {
    let verdicts = broken(flawed(Flaw::RetriesClosedConnections), &["fin_after_the_request_is_unknown"]);
    assert!(verdicts[0].story().unwrap().contains("arrived 2 times"), "{verdicts:?}");
}

#[test]
fn a_panic_on_the_thread_of_a_call_is_reported() {
    let verdicts = broken(flawed(Flaw::ClockOverflows), &["the_longest_deadline_is_no_overflow"]);
    assert!(verdicts[0].story().unwrap().contains("the deadline fits the clock"), "{verdicts:?}");
}

#[test]
fn contracts_about_dropped_calls_do_not_apply() {
    let dropped = ["a_dropped_call_closes_its_connection", "a_call_dropped_while_it_sends_stops_sending"];
    let report = check_only(&blocking(correct()), |contract| dropped.contains(&contract));
    assert!(report.verdicts().iter().all(Verdict::is_not_applicable), "{report}");
    assert!(report.to_string().contains("a blocking call cannot be interrupted"), "{report}");
}
