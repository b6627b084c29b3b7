//! What does a stack created from a function do, and what does a report say outside of a test?

use std::net::{TcpListener, ToSocketAddrs as _};
use std::panic::resume_unwind;
use std::process::Command;
use std::{env, thread};

use crate::broken::contracts;
use crate::support::{Flaw, Plain, PlainStack};
use http::HeaderValue;
use payments_conformance::{Abilities, Ability, Stack as _, Verdict, block_on, check_only, stack};
use payments_core::{Transport, TransportError, TransportErrorKind, TransportRequest, TransportResponse};

#[test]
fn a_function_stack_runs_futures_with_its_block_on() {
    let plain_http = Abilities::default().without(Ability::Https, "one scheme is enough");
    let make = || stack(|setup| PlainStack(Some(Flaw::PanicsOutsideRuntime)).transport(setup));
    let without = make().abilities(plain_http.clone());
    let with = make().abilities(plain_http).block_on(|future| {
        thread::scope(|scope| {
            let runtime = thread::Builder::new().name("runtime".to_owned());
            let run = runtime.spawn_scoped(scope, || block_on(future)).unwrap().join();
            run.unwrap_or_else(|panic| resume_unwind(panic));
        });
    });
    let wanted = |contract: &str| contract == "a_payment_arrives_byte_for_byte";
    assert!(!check_only(&without, wanted).is_clean());
    let report = check_only(&with, wanted);
    assert!(report.is_clean() && report.verdicts()[0].is_kept(), "{report}");
}

#[test]
fn a_contract_about_two_addresses_is_kept_only_where_there_are_two() {
    let contract = "the_next_address_is_not_tried_after_the_request";
    let report = check_only(&PlainStack(None), |name| name == contract);
    let verdict = &report.verdicts()[0];
    let has_two = TcpListener::bind("[::1]:0").is_ok()
        && ("localhost", 1).to_socket_addrs().unwrap().any(|address| address.is_ipv6());
    assert_eq!((verdict.is_kept(), verdict.is_not_applicable()), (has_two, !has_two), "{report}");
}

#[test]
fn a_program_that_checks_a_stack_does_not_start_itself() {
    let contract = "the_proxy_of_the_environment_is_ignored";
    // A test harness names each test's thread, but any program can use such a name.
    for name in ["main", "a worker", "a_program_that_checks_a_stack_does_not_start_itself"] {
        let check = move || check_only(&PlainStack(None), |name| name == contract);
        let report = thread::Builder::new().name(name.to_owned()).spawn(check).unwrap().join().unwrap();
        assert!(report.verdicts()[0].is_not_applicable(), "on the thread {name:?}: {report}");
        let text = report.to_string();
        assert!(
            text.contains(
                "`payments_conformance::contract_tests!(your_stack());`, or `blocking_contract_tests!`"
            ),
            "it says how to run it: {report}"
        );
    }
}

#[test]
fn a_report_begins_with_what_only_the_tests_of_the_macro_check() {
    let only_in_tests = [
        "the_proxy_of_the_environment_is_ignored",
        "an_answer_to_a_stopped_process_is_an_answer",
        "a_request_cut_by_a_stop_is_never_completed",
        "what_is_logged_shows_no_secret",
    ];
    for (contracts, begins) in [
        (
            &only_in_tests[..],
            "NOT CHECKED: 4 contracts, which only contract_tests! runs\n\
             5 contracts: 1 kept, 0 broken, 0 declared deviations, 4 not applicable\n",
        ),
        (
            &only_in_tests[..1],
            "NOT CHECKED: 1 contract, which only contract_tests! runs\n2 contracts: 1 kept, ",
        ),
        (&[], "1 contracts: 1 kept, "),
    ] {
        let wanted = |name: &str| contracts.contains(&name) || name == "refused_is_not_processed";
        let report = check_only(&PlainStack(None), wanted);
        assert!(report.is_clean() && report.to_string().starts_with(begins), "{report}");
    }
}

#[test]
fn an_environment_that_the_kit_did_not_set_fails_every_test() {
    let contract = "the_proxy_of_the_environment_is_ignored";
    let [url, authority] = ["PAYMENTS_CONFORMANCE_CHILD_URL", "PAYMENTS_CONFORMANCE_CHILD_AUTHORITY"];
    for variables in [
        &[("PAYMENTS_CONFORMANCE_CHILD", contract)][..],
        &[("PAYMENTS_CONFORMANCE_CHILD", "1"), (url, "http://127.0.0.1:1"), (authority, "PEM")],
    ] {
        let mut test = Command::new(env::current_exe().unwrap());
        test.args(["correct::refused_is_not_processed", "--exact", "--nocapture"]);
        let output = test.envs(variables.iter().copied()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("remove them from the environment"), "{said}");
    }
}

#[test]
fn a_report_in_which_nothing_is_kept_is_not_clean() {
    let contract = "the_proxy_of_the_environment_is_ignored";
    let report = check_only(&PlainStack(None), |name| name == contract);
    assert!(report.broken().next().is_none() && !report.is_clean(), "{report}");
}

#[test]
fn a_report_without_failures_has_its_contracts_below_their_numbered_themes() {
    let [paid, refused, stream] =
        ["a_payment_arrives_byte_for_byte", "refused_is_not_processed", "refused_stream_is_not_processed"];
    let report = check_only(&PlainStack(None), |contract| [paid, refused, stream].contains(&contract));
    let expected = format!(
        "3 contracts: 2 kept, 0 broken, 0 declared deviations, 1 not applicable\n\
         not applicable: the stack does not offer HTTP/2\n  16. http2\n     {stream}\n\
         kept\n  1. requests\n     {paid}\n  9. never sent\n     {refused}"
    );
    assert_eq!(report.to_string(), expected);
}

#[test]
fn themes_are_numbered_as_in_the_guide() {
    // The package does not contain the guide, nor this test.
    let guide = include_str!("../../../../docs/transport.md");
    let in_guide = guide.lines().filter_map(|line| {
        let (number, rest) = line.split_once(". **")?;
        let (title, _) = rest.split_once("**")?;
        Some(format!("{number}. {title}"))
    });
    let mut themes: Vec<_> = contracts().into_iter().map(|(theme, _)| theme.replace('_', " ")).collect();
    themes.dedup();
    let here = (1..).zip(themes).map(|(number, theme)| format!("{number}. {theme}"));
    assert_eq!(in_guide.collect::<Vec<_>>(), here.collect::<Vec<_>>());
}

#[test]
fn a_report_of_failures_says_what_to_fix_first_and_each_cause_once() {
    let (first, second) = ("redirects_are_not_followed", "a_lookup_follows_no_redirect");
    let wanted = |contract: &str| [second, "refused_is_not_processed", first].contains(&contract);
    let report = check_only(&PlainStack(Some(Flaw::FollowsRedirects)), wanted);
    let (text, story) = (report.to_string(), report.verdicts()[0].story().unwrap());
    assert!(text.starts_with("3 contracts: 1 kept, 2 broken, "), "{text}");
    assert!(text.contains(&format!("\n\nfix first: {story}\n")), "{text}");
    let [above, below] = [first, second].map(|name| text.find(&format!("\n     {name}")).unwrap());
    assert!(above < below && text.contains("\nBROKEN over http: "), "{text}");
}

/// Trusts no authority.
struct Distrusting(Plain);

impl Transport for Distrusting {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        if request.server()?.is_https() {
            return Err(TransportError::not_processed(TransportErrorKind::Tls));
        }
        Transport::send(&self.0, request).await
    }
}

#[test]
fn a_report_says_which_scheme_is_broken_and_how_that_is_often_fixed() {
    let distrusting = stack(|setup| Distrusting(PlainStack(None).transport(setup)));
    let wanted =
        |contract: &str| contract.ends_with("arrives_byte_for_byte") || contract.starts_with("interim");
    let text = check_only(&distrusting, wanted).to_string();
    assert!(text.starts_with("4 contracts: 0 kept, 4 broken, "), "{text}");
    assert_eq!(text.matches("\nBROKEN over https: ").count(), 1, "{text}");
    let line = "\n     a_payment_arrives_byte_for_byte: must return a response with status 200";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("authority_pem") && text.contains(".without(Ability::Https, "), "{text}");
}

/// Sends more headers than the kit's server reads.
struct Wordy(Plain);

impl Transport for Wordy {
    async fn send(&self, request: TransportRequest) -> Result<TransportResponse, TransportError> {
        let (operation, deadlines, cap) = (request.operation(), request.deadlines(), request.response_cap());
        let mut request = request.into_http();
        (0..70).for_each(|_| _ = request.headers_mut().append("x-word", HeaderValue::from_static("word")));
        Transport::send(&self.0, TransportRequest::new(request, operation, deadlines, cap)).await
    }
}

#[test]
fn a_request_that_the_server_cannot_read_is_shown_as_such() {
    let only_https = Abilities::default().without(Ability::PlainHttp, "one scheme is enough");
    let wordy = stack(|setup| Wordy(PlainStack(None).transport(setup))).abilities(only_https);
    let report = check_only(&wordy, |contract| contract == "a_payment_arrives_byte_for_byte");
    let text = report.to_string();
    assert!(text.contains("the request is not HTTP: too many headers"), "{text}");
    assert!(text.contains("failed with the kind Closed"), "{text}");
    assert!(!text.contains("authority_pem"), "its TLS is fine: {text}");
}

#[test]
fn a_failure_says_that_an_unfinished_connection_was_used_again() {
    let contract = "an_early_answer_is_an_answer_or_unknown";
    let report = check_only(&PlainStack(Some(Flaw::IgnoresConnectionClose)), |name| name == contract);
    let story = report.verdicts()[0].story().unwrap_or_default();
    assert!(story.contains("was sent on the connection of charge-00001"), "{report}");
}

#[test]
fn what_can_charge_twice_or_give_the_key_away_comes_before_earlier_themes() {
    let harmless = "a_payment_arrives_byte_for_byte";
    for (flaw, dangerous) in [
        (Flaw::RetriesGatewayErrors, "a_gateway_error_page_is_a_response"),
        (Flaw::ReportsLostAsNotProcessed, "fin_after_the_request_is_unknown"),
        (Flaw::UsesAlternativeServices, "an_alternative_service_is_not_used"),
    ] {
        let both = stack(move |setup| Distrusting(PlainStack(Some(flaw)).transport(setup)));
        let report = check_only(&both, |contract| [harmless, dangerous].contains(&contract));
        let order: Vec<_> = report.broken().map(Verdict::contract).collect();
        assert_eq!(order, [dangerous, harmless], "{report}");
        let story = report.verdicts()[0].story().unwrap();
        assert!(report.to_string().contains(&format!("\n\nfix first: {story}\n")), "{report}");
    }
}

/// A broken response that is taken for a success can be recorded as a payment.
#[test]
fn a_false_success_comes_before_a_false_unknown() {
    let harmless = "a_payment_arrives_byte_for_byte";
    for (flaw, contract) in [
        (Flaw::TrustsTheFirstLength, "an_ambiguous_length_is_refused"),
        (Flaw::ChunkSizesWrap, "a_broken_chunk_is_answered_and_ends_the_connection"),
        (Flaw::AcceptsTruncatedBodies, "a_truncated_body_is_answered_and_kept"),
    ] {
        let both = stack(move |setup| Distrusting(PlainStack(Some(flaw)).transport(setup)));
        let report = check_only(&both, |name| [harmless, contract].contains(&name));
        let order: Vec<_> = report.broken().map(Verdict::contract).collect();
        assert_eq!(order, [contract, harmless], "{report}");
    }
}

#[test]
fn certificate_contract_speaks_of_what_was_given_away_only_if_something_was_sent() {
    for (flaw, contract, risk) in [
        (Flaw::TrustsAnyCertificate, "an_untrusted_certificate_is_not_processed", "now it has the API key"),
        (
            Flaw::ReportsFailedHandshakeAsUnknown,
            "an_untrusted_certificate_is_not_processed",
            "nothing was sent",
        ),
    ] {
        let report = check_only(&PlainStack(Some(flaw)), |name| name == contract);
        let story = report.verdicts()[0].story().unwrap();
        assert!(story.contains(risk), "{story}");
        assert_eq!(story.contains("API key"), risk.contains("API key"), "{story}");
    }
}

#[test]
fn only_a_contract_that_tests_an_ability_says_how_to_declare_it_missing() {
    for (flaw, contract, ability) in [
        (Flaw::ContinuesAfterDrop, "a_dropped_call_closes_its_connection", Some("Ability::Cancel")),
        (Flaw::NeverReuses, "a_connection_is_used_again", Some("Ability::Reuse")),
        (Flaw::HandshakeWithoutDeadline, "a_stalled_handshake_ends_with_the_connect_deadline", None),
        (Flaw::TrustsAnyCertificate, "an_untrusted_certificate_is_not_processed", None),
    ] {
        let report = check_only(&PlainStack(Some(flaw)), |name| name == contract);
        let story = report.verdicts()[0].story().unwrap();
        match ability {
            Some(ability) => assert!(story.contains(&format!("without({ability}, ")), "{story}"),
            None => assert!(!story.contains("Ability::"), "{story}"),
        }
    }
}
