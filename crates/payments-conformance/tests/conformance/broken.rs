//! Does every contract find its mistake, and only that one?
//!
//! A small transport keeps every contract, and is given one flaw at a time. At least one flaw of each theme is tried in every run, and
//! slow contracts are checked only with flaws that break them. `cargo xtask conformance` checks every contract with every flaw.

use std::collections::BTreeSet;
use std::env;

use crate::support::{Flaw, PlainStack};
use payments_conformance::{Verdict, check_only};

macro_rules! flaws {
    ($(
        $(#[$attribute:meta])*
        $name:ident: $flaw:ident breaks [$($contract:ident),* $(,)?]
        $(and by chance [$($by_chance:ident),* $(,)?])?,
    )*) => {
        /// The contracts that some flaw breaks.
        const BROKEN_BY_A_FLAW: &[&str] = &[$($(stringify!($contract)),*),*];

        $(
            $(#[$attribute])*
            #[test]
            fn $name() {
                let place = concat!(module_path!(), "::", stringify!($name));
                payments_conformance::__run_as_test(place, || {
                    let by_chance = &[$($(stringify!($by_chance)),*)?];
                    breaks_exactly(Flaw::$flaw, &[$(stringify!($contract)),*], by_chance);
                });
            }
        )*
    };
}

flaws! {
    retries_closed_connections: RetriesClosedConnections breaks [
        fin_after_the_request_is_unknown,
        reset_after_the_request_is_unknown,
        fin_within_the_head_is_unknown,
        reset_during_the_request_is_unknown,
        an_early_answer_is_an_answer_or_unknown,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
        a_lost_lookup_is_not_repeated,
        an_alternative_service_is_not_used,
        the_next_address_is_not_tried_after_the_request,
        what_is_logged_shows_no_secret,
    ],
    #[ignore = "cargo xtask conformance"]
    offers_http2: OffersHttp2 breaks [
        http2_is_not_spoken_unasked,
    ],
    #[ignore = "cargo xtask conformance"]
    retries_on_reused_connections: RetriesOnReusedConnections breaks [
        fin_after_the_request_is_unknown,
        reset_after_the_request_is_unknown,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
        a_lost_lookup_is_not_repeated,
    ],
    reports_lost_as_not_processed: ReportsLostAsNotProcessed breaks [
        fin_after_the_request_is_unknown,
        reset_after_the_request_is_unknown,
        fin_within_the_head_is_unknown,
        reset_during_the_request_is_unknown,
        an_early_answer_is_an_answer_or_unknown,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
        a_lost_lookup_is_not_repeated,
        an_alternative_service_is_not_used,
        the_next_address_is_not_tried_after_the_request,
    ],
    reports_garbage_as_not_processed: ReportsGarbageAsNotProcessed breaks [
        garbage_is_unknown,
        odd_heads_are_never_not_processed,
        an_ambiguous_length_is_refused,
        a_hundred_thousand_headers_are_an_answer_or_an_error,
        an_endless_head_is_given_up,
        what_comes_back_shows_no_secret,
        a_lost_lookup_is_not_repeated,
    ],
    follows_redirects: FollowsRedirects breaks [
        redirects_are_not_followed,
        what_comes_back_shows_no_secret,
        a_lookup_follows_no_redirect,
    ],
    #[ignore = "cargo xtask conformance"]
    ignores_the_deadline: IgnoresTheDeadline breaks [
        silence_ends_with_the_total_deadline,
        a_dripping_body_ends_with_the_total_deadline,
        a_dripping_head_ends_with_the_total_deadline,
        a_server_that_stops_reading_ends_with_the_total_deadline,
        a_deadline_of_zero_ends_the_call,
        endless_interim_answers_end_with_the_deadline,
        calls_beyond_the_connections_end_with_their_deadlines,
    ],
    #[ignore = "cargo xtask conformance"]
    restarts_deadline_on_each_read: RestartsDeadlineOnEachRead breaks [
        a_dripping_body_ends_with_the_total_deadline,
        a_dripping_head_ends_with_the_total_deadline,
        endless_interim_answers_end_with_the_deadline,
    ],
    uses_connect_deadline_for_reads: UsesConnectDeadlineForReads breaks [
        a_slow_answer_within_the_deadline_is_an_answer,
    ],
    #[ignore = "cargo xtask conformance"]
    writes_without_deadline: WritesWithoutDeadline breaks [
        a_request_cut_by_the_deadline_is_never_completed,
        a_server_that_stops_reading_ends_with_the_total_deadline,
    ],
    #[ignore = "cargo xtask conformance"]
    treats_zero_as_no_deadline: TreatsZeroAsNoDeadline breaks [
        a_deadline_of_zero_ends_the_call,
    ],
    #[ignore = "cargo xtask conformance"]
    clock_overflows: ClockOverflows breaks [
        the_longest_deadline_is_no_overflow,
    ],
    #[ignore = "cargo xtask conformance"]
    reuses_broken_connections: ReusesBrokenConnections breaks [
        silence_ends_with_the_total_deadline,
        a_broken_chunk_is_answered_and_ends_the_connection,
        an_ambiguous_length_is_refused,
    ],
    #[ignore = "cargo xtask conformance"]
    ignores_connection_close: IgnoresConnectionClose breaks [
        a_connection_announced_to_close_is_not_used,
        an_early_answer_is_an_answer_or_unknown,
    ] and by chance [
        // The server closes the connection, which this transport may notice in time or not.
        a_gateway_error_page_is_a_response,
        an_alternative_service_is_not_used,
    ],
    #[ignore = "cargo xtask conformance"]
    never_reuses: NeverReuses breaks [
        a_connection_is_used_again,
    ],
    skips_idle_check: SkipsIdleCheck breaks [
        a_connection_seen_to_be_closed_is_replaced,
        what_has_arrived_on_an_idle_connection_is_seen,
        an_answer_nobody_asked_for_is_nobodys,
    ],
    #[ignore = "cargo xtask conformance"]
    treats_unread_bytes_as_response: TreatsUnreadBytesAsResponse breaks [
        what_has_arrived_on_an_idle_connection_is_seen,
        an_answer_nobody_asked_for_is_nobodys,
    ],
    #[ignore = "cargo xtask conformance"]
    shares_connections_across_servers: SharesConnectionsAcrossServers breaks [
        two_servers_never_share_a_connection,
    ],
    prints_the_body: PrintsTheBody breaks [
        garbage_is_unknown,
        odd_heads_are_never_not_processed,
        an_ambiguous_length_is_refused,
        a_hundred_thousand_headers_are_an_answer_or_an_error,
        an_endless_head_is_given_up,
        what_comes_back_shows_no_secret,
    ],
    #[ignore = "cargo xtask conformance"]
    prints_the_key: PrintsTheKey breaks [
        sixty_four_at_once_get_their_own_answers,
    ],
    #[ignore = "cargo xtask conformance"]
    turns_statuses_into_errors: TurnsStatusesIntoErrors breaks [
        every_status_from_200_to_599_is_an_answer,
        a_gateway_error_page_is_a_response,
        a_lookup_is_not_repeated_for_its_status,
    ],
    uses_environment_proxy: UsesEnvironmentProxy breaks [
        the_proxy_of_the_environment_is_ignored,
    ],
    #[ignore = "cargo xtask conformance"]
    accepts_truncated_bodies: AcceptsTruncatedBodies breaks [
        a_truncated_body_is_answered_and_kept,
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_lost_lookup_is_not_repeated,
    ],
    #[ignore = "cargo xtask conformance"]
    forgets_the_status: ForgetsTheStatus breaks [
        a_truncated_body_is_answered_and_kept,
        a_chunked_body_without_its_end_is_answered,
        a_broken_chunk_is_answered_and_ends_the_connection,
        a_body_broken_off_by_a_reset_is_answered,
        a_body_over_the_cap_is_cut_at_the_cap,
        a_dripping_body_ends_with_the_total_deadline,
        an_endless_body_is_read_to_the_cap,
        an_absurd_length_reserves_no_memory,
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_lost_lookup_is_not_repeated,
    ],
    ignores_the_cap: IgnoresTheCap breaks [
        a_body_over_the_cap_is_cut_at_the_cap,
        an_endless_body_is_read_to_the_cap,
    ],
    #[ignore = "cargo xtask conformance"]
    cap_is_exclusive: CapIsExclusive breaks [
        an_answer_as_long_as_the_cap_is_whole,
    ],
    #[ignore = "cargo xtask conformance"]
    trusts_the_first_length: TrustsTheFirstLength breaks [
        an_ambiguous_length_is_refused,
    ],
    #[ignore = "cargo xtask conformance"]
    chunk_sizes_wrap: ChunkSizesWrap breaks [
        a_broken_chunk_is_answered_and_ends_the_connection,
    ],
    #[ignore = "cargo xtask conformance"]
    does_not_decode_chunks: DoesNotDecodeChunks breaks [
        bodies_arrive_whole_in_every_framing,
        an_answer_in_single_bytes_is_whole,
        a_chunked_body_without_its_end_is_answered,
        a_broken_chunk_is_answered_and_ends_the_connection,
        a_body_over_the_cap_is_cut_at_the_cap,
        an_endless_body_is_read_to_the_cap,
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_gateway_error_page_is_a_response,
    ],
    #[ignore = "cargo xtask conformance"]
    waits_for_missing_body: WaitsForMissingBody breaks [
        an_answer_without_a_body_ends_at_its_head,
    ],
    #[ignore = "cargo xtask conformance"]
    drops_unusual_headers: DropsUnusualHeaders breaks [
        repeated_and_unreadable_headers_survive,
    ],
    #[ignore = "cargo xtask conformance"]
    limits_headers_to_a_hundred: LimitsHeadersToAHundred breaks [
        a_hundred_and_ten_headers_are_an_answer,
        a_thousand_headers_are_an_answer,
    ],
    #[ignore = "cargo xtask conformance"]
    limits_headers_to_five_hundred: LimitsHeadersToFiveHundred breaks [
        a_thousand_headers_are_an_answer,
    ],
    #[ignore = "cargo xtask conformance"]
    rejects_folded_headers: RejectsFoldedHeaders breaks [
        folded_headers_are_an_answer,
    ],
    #[ignore = "cargo xtask conformance"]
    cuts_folded_headers: CutsFoldedHeaders breaks [
        folded_headers_are_an_answer,
        an_ambiguous_length_is_refused,
    ],
    #[ignore = "cargo xtask conformance"]
    removes_content_encoding: RemovesContentEncoding breaks [
        an_encoded_answer_is_not_decoded,
    ],
    #[ignore = "cargo xtask conformance"]
    returns_interim_responses: ReturnsInterimResponses breaks [
        interim_answers_are_skipped,
        an_answer_in_single_bytes_is_whole,
        endless_interim_answers_end_with_the_deadline,
    ],
    #[ignore = "cargo xtask conformance"]
    ignores_deadline_after_interim: IgnoresDeadlineAfterInterim breaks [
        endless_interim_answers_end_with_the_deadline,
    ],
    #[ignore = "cargo xtask conformance"]
    checks_deadline_only_when_idle: ChecksDeadlineOnlyWhenIdle breaks [
        endless_interim_answers_end_with_the_deadline,
    ],
    #[ignore = "cargo xtask conformance"]
    has_no_head_limit: HasNoHeadLimit breaks [
        an_endless_head_is_given_up,
    ],
    #[ignore = "cargo xtask conformance"]
    reserves_announced_length: ReservesAnnouncedLength breaks [
        an_absurd_length_reserves_no_memory,
    ],
    #[ignore = "cargo xtask conformance"]
    reads_head_once: ReadsHeadOnce breaks [
        a_thousand_headers_are_an_answer,
        an_answer_in_single_bytes_is_whole,
        a_dripping_head_ends_with_the_total_deadline,
    ],
    sends_chunked: SendsChunked breaks [
        a_payment_arrives_byte_for_byte,
        a_large_payment_arrives_byte_for_byte,
        nothing_else_is_added_to_a_request,
    ],
    #[ignore = "cargo xtask conformance"]
    normalizes_the_target: NormalizesTheTarget breaks [
        a_payment_arrives_byte_for_byte,
        a_look_up_arrives_byte_for_byte,
    ],
    #[ignore = "cargo xtask conformance"]
    truncates_large_bodies: TruncatesLargeBodies breaks [
        a_large_payment_arrives_byte_for_byte,
    ],
    #[ignore = "cargo xtask conformance"]
    sends_body_with_lookups: SendsBodyWithLookups breaks [
        a_look_up_arrives_byte_for_byte,
        nothing_else_is_added_to_a_request,
    ],
    #[ignore = "cargo xtask conformance"]
    adds_accept_encoding: AddsAcceptEncoding breaks [
        nothing_else_is_added_to_a_request,
    ],
    #[ignore = "cargo xtask conformance"]
    reports_refused_as_unknown: ReportsRefusedAsUnknown breaks [
        refused_is_not_processed,
    ],
    #[ignore = "cargo xtask conformance"]
    reports_unresolved_as_unknown: ReportsUnresolvedAsUnknown breaks [
        an_unknown_host_is_not_processed,
    ],
    continues_after_drop: ContinuesAfterDrop breaks [
        a_dropped_call_closes_its_connection,
        a_call_dropped_while_it_sends_stops_sending,
    ],
    #[ignore = "cargo xtask conformance"]
    retries_many_times: RetriesManyTimes breaks [
        fin_after_the_request_is_unknown,
        reset_after_the_request_is_unknown,
        fin_within_the_head_is_unknown,
        reset_during_the_request_is_unknown,
        an_early_answer_is_an_answer_or_unknown,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
        a_connection_closed_at_once_is_an_error,
        a_lost_lookup_is_not_repeated,
        an_alternative_service_is_not_used,
        the_next_address_is_not_tried_after_the_request,
        what_is_logged_shows_no_secret,
    ],
    #[ignore = "cargo xtask conformance"]
    mixes_up_responses: MixesUpResponses breaks [
        a_connection_is_used_again,
        sixty_four_at_once_get_their_own_answers,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
    ],
    #[ignore = "cargo xtask conformance"]
    blocks_the_thread: BlocksTheThread breaks [
        a_call_does_not_block_its_thread,
    ],
    #[ignore = "cargo xtask conformance"]
    panics_outside_runtime: PanicsOutsideRuntime breaks [
        no_runtime_is_no_panic,
    ],
    trusts_any_certificate: TrustsAnyCertificate breaks [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
    ],
    #[ignore = "cargo xtask conformance"]
    reports_failed_handshake_as_unknown: ReportsFailedHandshakeAsUnknown breaks [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
        a_server_without_tls_is_sent_nothing,
        a_broken_handshake_is_not_processed,
    ],
    #[ignore = "cargo xtask conformance"]
    handshake_without_deadline: HandshakeWithoutDeadline breaks [
        a_stalled_handshake_ends_with_the_connect_deadline,
    ],
    treats_cut_as_end_of_body: TreatsCutAsEndOfBody breaks [
        a_body_cut_without_goodbye_is_not_whole,
        a_tls_failure_within_the_body_is_no_response,
    ],
    #[ignore = "cargo xtask conformance"]
    falls_back_to_plain_http: FallsBackToPlainHttp breaks [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
        a_server_without_tls_is_sent_nothing,
        a_broken_handshake_is_not_processed,
    ],
    sends_after_late_handshake: SendsAfterLateHandshake breaks [
        a_handshake_after_the_deadline_sends_nothing,
    ],
    #[ignore = "cargo xtask conformance"]
    writes_after_deadline: WritesAfterDeadline breaks [
        a_request_cut_by_the_deadline_is_never_completed,
    ],
    #[ignore = "cargo xtask conformance"]
    connects_after_drop: ConnectsAfterDrop breaks [
        a_call_dropped_while_connecting_sends_nothing,
    ],
    #[ignore = "cargo xtask conformance"]
    reports_gateway_page_as_not_processed: ReportsGatewayPageAsNotProcessed breaks [
        a_gateway_error_page_is_a_response,
    ],
    retries_gateway_errors: RetriesGatewayErrors breaks [
        a_gateway_error_page_is_a_response,
    ],
    #[ignore = "cargo xtask conformance"]
    reports_alert_as_not_processed: ReportsAlertAsNotProcessed breaks [
        an_alert_after_the_request_is_unknown,
        a_tls_failure_within_the_body_is_no_response,
    ],
    #[ignore = "cargo xtask conformance"]
    retries_after_bad_record: RetriesAfterBadRecord breaks [
        a_bad_record_after_the_request_is_unknown,
    ],
    #[ignore = "cargo xtask conformance"]
    reports_cut_as_not_processed: ReportsCutAsNotProcessed breaks [
        a_bad_record_after_the_request_is_unknown,
        a_line_cut_within_the_head_is_unknown,
    ],
    #[ignore = "cargo xtask conformance"]
    treats_alert_as_end_of_body: TreatsAlertAsEndOfBody breaks [
        a_tls_failure_within_the_body_is_no_response,
    ],
    #[ignore = "cargo xtask conformance"]
    uses_early_data: UsesEarlyData breaks [
        early_data_is_never_sent,
    ],
    #[ignore = "cargo xtask conformance"]
    follows_redirects_of_lookups: FollowsRedirectsOfLookups breaks [
        a_lookup_follows_no_redirect,
    ],
    retries_lookups: RetriesLookups breaks [
        a_lost_lookup_is_not_repeated,
    ],
    #[ignore = "cargo xtask conformance"]
    retries_lookups_by_status: RetriesLookupsByStatus breaks [
        a_lookup_is_not_repeated_for_its_status,
    ],
    uses_alternative_services: UsesAlternativeServices breaks [
        an_alternative_service_is_not_used,
    ],
    #[ignore = "cargo xtask conformance"]
    retries_at_next_address: RetriesAtNextAddress breaks [
        the_next_address_is_not_tried_after_the_request,
    ],
    #[ignore = "cargo xtask conformance"]
    retries_truncated_bodies: RetriesTruncatedBodies breaks [
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_lost_lookup_is_not_repeated,
    ],
    #[ignore = "cargo xtask conformance"]
    gives_up_after_thirty_seconds: GivesUpAfterThirtySeconds breaks [
        silence_is_waited_out_to_the_deadline,
    ],
    #[ignore = "cargo xtask conformance"]
    waits_for_connection_without_deadline: WaitsForConnectionWithoutDeadline breaks [
        calls_beyond_the_connections_end_with_their_deadlines,
    ],
    #[ignore = "cargo xtask conformance"]
    logs_the_head: LogsTheHead breaks [
        what_is_logged_shows_no_secret,
    ],
    #[ignore = "cargo xtask conformance"]
    traces_the_body: TracesTheBody breaks [
        what_is_logged_shows_no_secret,
    ],
    #[ignore = "cargo xtask conformance"]
    prints_on_stderr: PrintsOnStderr breaks [
        what_is_logged_shows_no_secret,
    ],
    #[ignore = "cargo xtask conformance"]
    logs_the_tls_keys: LogsTheTlsKeys breaks [
        what_is_logged_shows_no_secret,
    ],
    returns_garbage_as_response: ReturnsGarbageAsResponse breaks [
        garbage_is_unknown,
        an_endless_head_is_given_up,
        a_lost_lookup_is_not_repeated,
    ],
}

/// Contracts that take seconds with a correct transport, because of deadlines or large bodies.
const SLOW: &[&str] = &[
    "five_thousand_payments_arrive_at_most_once",
    "silence_ends_with_the_total_deadline",
    "a_dripping_body_ends_with_the_total_deadline",
    "a_dripping_head_ends_with_the_total_deadline",
    "a_server_that_stops_reading_ends_with_the_total_deadline",
    "a_slow_answer_within_the_deadline_is_an_answer",
    "an_absurd_length_reserves_no_memory",
    "endless_interim_answers_end_with_the_deadline",
    "a_body_broken_off_by_a_reset_is_answered",
    "an_early_answer_is_an_answer_or_unknown",
    "reset_during_the_request_is_unknown",
    "a_call_dropped_while_it_sends_stops_sending",
    "a_large_payment_arrives_byte_for_byte",
    "an_answer_as_long_as_the_cap_is_whole",
    "every_status_from_200_to_599_is_an_answer",
    "the_proxy_of_the_environment_is_ignored",
    "a_close_that_crosses_a_request_is_told_honestly",
    "what_comes_back_shows_no_secret",
    "what_is_logged_shows_no_secret",
    "calls_beyond_the_connections_end_with_their_deadlines",
    "a_handshake_after_the_deadline_sends_nothing",
    "a_request_cut_by_the_deadline_is_never_completed",
    "a_tls_failure_within_the_body_is_no_response",
];

/// Contracts that are only sometimes broken are not checked.
fn breaks_exactly(flaw: Flaw, expected: &[&str], by_chance: &[&str]) {
    let all = env::var_os("PAYMENTS_CONFORMANCE_ALL").is_some();
    let wanted = |contract: &str| {
        !by_chance.contains(&contract) && (all || expected.contains(&contract) || !SLOW.contains(&contract))
    };
    let report = check_only(&PlainStack(Some(flaw)), wanted);
    let broken: BTreeSet<_> = report.broken().map(Verdict::contract).collect();
    assert_eq!(broken, expected.iter().copied().collect(), "\n{report}");
}

/// Except for HTTP/2, which this transport does not speak: see `broken_http2.rs` of payments-hyper.
#[test]
fn every_contract_is_broken_by_some_flaw() {
    let source = include_str!("../../src/contract_list.rs");
    let (_, themes) = source.split_once("macro_rules! __contracts_of").expect("the list of contracts");
    let themes = themes.split("$arguments\n").skip(1).filter_map(|theme| theme.split_once('}'));
    let http1 =
        themes.filter_map(|(theme, _)| theme.split_once(":\n")).filter(|(name, _)| name.trim() != "http2");
    let contracts = http1.flat_map(|(_, contracts)| contracts.split(',').map(str::trim));
    let contracts: Vec<_> = contracts.filter(|contract| !contract.is_empty()).collect();
    assert!(contracts.len() > 60, "{contracts:?}");
    for contract in contracts {
        assert!(BROKEN_BY_A_FLAW.contains(&contract), "no flaw breaks {contract}");
    }
}
