//! What does a declared deviation cover, and what does it not cover?

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Flaw, Plain, PlainStack};
use payments_conformance::{Abilities, Ability, Setup, Stack, Verdict, check_only};
use payments_core::{Transport, TransportError, TransportRequest, TransportResponse};

/// A flawed transport whose stack declares a deviation.
struct Deviating(Flaw, &'static str);

impl Stack for Deviating {
    type Transport = Plain;

    fn transport(&self, setup: &Setup) -> Plain {
        PlainStack(Some(self.0)).transport(setup)
    }

    fn abilities(&self) -> Abilities {
        PlainStack(Some(self.0)).abilities().deviation(self.1, "we can live with it")
    }

    fn debug(&self, transport: &Plain) -> Option<String> {
        PlainStack(Some(self.0)).debug(transport)
    }
}

fn verdict(stack: &impl Stack, contract: &str) -> Verdict {
    let report = check_only(stack, |name| name == contract);
    report.verdicts().first().unwrap().clone()
}

fn must_not_cover(flaw: Flaw, contract: &'static str, found: &str) {
    let verdict = verdict(&Deviating(flaw, contract), contract);
    let story = verdict.story().unwrap_or_default();
    assert!(verdict.is_broken(), "{verdict}");
    assert!(story.lines().next().unwrap().contains(found), "{story}");
    assert!(story.contains("the transport broke a general rule"), "{story}");
}

#[test]
fn a_deviation_covers_the_contracts_own_requirement() {
    let contract = "every_status_from_200_to_599_is_an_answer";
    let verdict = verdict(&Deviating(Flaw::TurnsStatusesIntoErrors, contract), contract);
    assert!(verdict.is_deviation(), "{verdict}");
}

#[test]
fn a_deviation_does_not_cover_a_request_sent_twice() {
    must_not_cover(Flaw::RetriesClosedConnections, "fin_after_the_request_is_unknown", "arrived 2 times");
    must_not_cover(Flaw::FollowsRedirects, "redirects_are_not_followed", "posted again");
}

#[test]
fn a_deviation_does_not_cover_a_wrong_not_processed() {
    must_not_cover(
        Flaw::ReportsLostAsNotProcessed,
        "fin_after_the_request_is_unknown",
        "but the server read it",
    );
}

#[test]
fn a_deviation_does_not_cover_a_request_to_a_refused_server() {
    let by_certificate = [
        "an_untrusted_certificate_is_not_processed",
        "a_certificate_for_another_host_is_not_processed",
        "an_expired_certificate_is_not_processed",
    ];
    for contract in by_certificate {
        must_not_cover(Flaw::RepeatsUnverified, contract, "request was sent to that server");
    }
    let by_handshake = ["a_server_without_tls_is_sent_nothing", "a_broken_handshake_is_not_processed"];
    for contract in by_certificate.into_iter().chain(by_handshake) {
        for flaw in [Flaw::FallsBackToPlainHttp, Flaw::RepeatsUnencrypted] {
            must_not_cover(flaw, contract, "request was sent unencrypted");
        }
    }
}

#[test]
fn a_deviation_does_not_cover_an_exposed_secret() {
    must_not_cover(Flaw::PrintsTheBody, "garbage_is_unknown", "shows the card number");
}

#[test]
fn a_deviation_does_not_cover_what_follows_it() {
    let contract = "garbage_is_unknown";
    // It makes ten transports for each scheme.
    for (mild, scheme) in [(1, "over http:"), (10, "over https:")] {
        for (grave, found) in [
            (Flaw::PrintsTheBody, "shows the card number"),
            (Flaw::ReportsGarbageAsNotProcessed, "but the server read it"),
        ] {
            let stack = Worsening { mild, grave, contract, made: AtomicUsize::new(0) };
            let verdict = verdict(&stack, contract);
            let first = verdict.story().unwrap_or_default().lines().next().unwrap_or_default();
            assert!(verdict.is_broken() && first.contains(scheme) && first.contains(found), "{verdict}");
        }
    }
}

#[test]
fn a_deviation_does_not_cover_a_panic() {
    must_not_cover(Flaw::ClockOverflows, "the_longest_deadline_is_no_overflow", "a panic occurred");
}

#[test]
fn a_deviation_does_not_cover_a_call_that_never_ends() {
    let contract = "silence_ends_with_the_total_deadline";
    let verdict = verdict(&Hanging, contract);
    let story = verdict.story().unwrap_or_default();
    assert!(verdict.is_broken(), "{verdict}");
    let first = story.lines().next().unwrap();
    assert!(first.contains("had not ended after") && first.contains("its total deadline was"), "{story}");
    assert!(story.contains("the transport broke a general rule"), "{story}");
}

#[test]
fn a_deviation_does_not_cover_a_call_that_ends_late() {
    must_not_cover(
        Flaw::IgnoresTheDeadline,
        "silence_ends_with_the_total_deadline",
        "no later than its total",
    );
}

#[test]
#[should_panic(expected = "the nearest is `redirects_are_not_followed`")]
fn an_unknown_deviation_names_the_nearest_contract() {
    let _ = Abilities::default().deviation("redirects_are_followed", "misspelled");
}

#[test]
fn a_deviation_from_a_contract_that_does_not_apply_is_broken() {
    let contract = "an_untrusted_certificate_is_not_processed";
    let verdict = verdict(&Deviating(Flaw::NeverReuses, contract), contract);
    assert!(verdict.is_broken(), "{verdict}");
    assert!(verdict.story().unwrap().contains("does not apply"), "{verdict}");
}

#[test]
fn a_deviation_from_what_this_system_cannot_check_is_no_contradiction() {
    let contract = "silence_is_waited_out_to_the_deadline";
    let verdict = verdict(&Deviating(Flaw::NeverReuses, contract), contract);
    assert!(verdict.is_not_applicable(), "{verdict}");
}

#[test]
fn a_check_without_a_contract_is_broken() {
    let report = check_only(&Hanging, |name| name == "redirects_are_followed");
    assert!(!report.is_clean() && report.broken().count() == 1, "{report}");
    let text = report.to_string();
    assert!(text.contains("the filter accepts no contract's name"), "{text}");
    assert!(text.contains("payments_conformance::contracts"), "{text}");
}

/// Its first transports break only the contract that it deviates from, and all later ones a general rule.
struct Worsening {
    mild: usize,
    grave: Flaw,
    contract: &'static str,
    made: AtomicUsize,
}

impl Stack for Worsening {
    type Transport = Plain;

    fn transport(&self, setup: &Setup) -> Plain {
        let is_mild = self.made.fetch_add(1, Ordering::SeqCst) < self.mild;
        let flaw = if is_mild { Flaw::ReturnsGarbageAsResponse } else { self.grave };
        PlainStack(Some(flaw)).transport(setup)
    }

    fn abilities(&self) -> Abilities {
        PlainStack(None).abilities().deviation(self.contract, "we can live with it")
    }
}

/// A transport that never returns.
struct Never;

impl Transport for Never {
    async fn send(&self, _: TransportRequest) -> Result<TransportResponse, TransportError> {
        std::future::pending().await
    }
}

struct Hanging;

impl Stack for Hanging {
    type Transport = Never;

    fn transport(&self, _: &Setup) -> Never {
        Never
    }

    fn abilities(&self) -> Abilities {
        Abilities::default()
            .without(Ability::Https, "one scheme is enough")
            .deviation("silence_ends_with_the_total_deadline", "we can live with it")
    }
}
