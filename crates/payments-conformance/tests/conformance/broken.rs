//! Does every contract find its mistake, and only that one?
//!
//! A small transport is given one flaw at a time, and must keep every other contract. Every run tries at least one flaw of each theme, with
//! the contracts of the themes that it breaks, without slow ones that it does not break. `cargo xtask conformance` checks every contract
//! with every flaw.

use std::collections::BTreeSet;
use std::env;

use crate::support::PlainStack;
use payments_conformance::{Verdict, check_only};

/// Defines every flaw, and a test that it breaks exactly its contracts. Those that only `breaks` are tried by
/// `cargo xtask conformance`.
macro_rules! flaws {
    ($(
        $(#[$doc:meta])*
        $flaw:ident $when:ident $(over $tls:ident)? [$($contracts:tt)*] $(and by chance [$($by_chance:tt)*])?,
    )*) => {
        /// A mistake that real HTTP clients make, by default or when misconfigured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Flaw {
            $($(#[$doc])* $flaw,)*
        }

        impl Flaw {
            /// Whether it needs TLS.
            pub(crate) fn is_of_tls(self) -> bool {
                match self {
                    $(Self::$flaw => [$(stringify!($tls))?].contains(&"tls"),)*
                }
            }
        }

        const BROKEN_BY_A_FLAW: &[&[&str]] = &[$(names!($($contracts)*)),*];

        $(flaw_test!($when $flaw [$($contracts)*] [$($($by_chance)*)?]);)*
    };
}

macro_rules! flaw_test {
    (breaks $($flaw:tt)*) => {
        flaw_test!(#[ignore = "cargo xtask conformance"] $($flaw)*);
    };
    (always_breaks $($flaw:tt)*) => {
        flaw_test!(#[cfg(test)] $($flaw)*);
    };
    (#[$when:meta] $flaw:ident [$($contracts:tt)*] [$($by_chance:tt)*]) => {
        #[test]
        #[$when]
        #[allow(non_snake_case, reason = "a test has the name of its flaw")]
        fn $flaw() {
            let place = concat!(module_path!(), "::", stringify!($flaw));
            payments_conformance::__run_as_test(place, || {
                breaks_exactly(Flaw::$flaw, names!($($contracts)*), names!($($by_chance)*));
            });
        }
    };
}

macro_rules! names {
    ($($contract:ident),* $(,)?) => {
        &[$(stringify!($contract)),*]
    };
}

flaws! {
    /// Retries when a connection closes before the response.
    RetriesClosedConnections always_breaks [
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
        a_failed_call_sends_nothing_afterwards,
    ],
    /// Sends a payment again, in the background, two and a half seconds after its call has failed.
    ResendsInBackground breaks [a_failed_call_sends_nothing_afterwards] and by chance [
        // They may still run by then.
        five_thousand_payments_arrive_at_most_once,
        a_close_that_crosses_a_request_is_told_honestly,
        what_is_logged_shows_no_secret,
    ],
    /// Offers HTTP/2 in the TLS handshake, as clients with default features do.
    OffersHttp2 breaks over tls [http2_is_not_spoken_unasked],
    /// Retries when a reused connection closes before the response, as most clients do.
    RetriesOnReusedConnections breaks [
        fin_after_the_request_is_unknown,
        reset_after_the_request_is_unknown,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
        a_lost_lookup_is_not_repeated,
    ],
    /// Reports a connection that closed before the response as not processed.
    ReportsLostAsNotProcessed always_breaks [
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
        a_failed_call_sends_nothing_afterwards,
    ],
    /// Reports an unreadable response as not processed.
    ReportsGarbageAsNotProcessed always_breaks [
        garbage_is_unknown,
        odd_heads_are_never_not_processed,
        an_ambiguous_length_is_refused,
        a_hundred_thousand_headers_are_an_answer_or_an_error,
        an_endless_head_is_given_up,
        what_comes_back_shows_no_secret,
        a_lost_lookup_is_not_repeated,
    ],
    FollowsRedirects always_breaks [
        redirects_are_not_followed,
        what_comes_back_shows_no_secret,
        a_lookup_follows_no_redirect,
    ],
    /// Waits more than two seconds longer than the deadline.
    IgnoresTheDeadline breaks [
        silence_ends_with_the_total_deadline,
        a_dripping_body_ends_with_the_total_deadline,
        a_dripping_head_ends_with_the_total_deadline,
        a_server_that_stops_reading_ends_with_the_total_deadline,
        a_deadline_of_zero_ends_the_call,
        endless_interim_answers_end_with_the_deadline,
        calls_beyond_the_connections_end_with_their_deadlines,
        a_request_cut_by_the_deadline_is_never_completed,
        a_request_cut_by_a_stop_is_never_completed,
        an_absurd_length_reserves_no_memory,
        a_lost_lookup_is_not_repeated,
        a_failed_call_sends_nothing_afterwards,
    ],
    /// Waits more than two seconds longer than the deadline, but only for a lookup.
    LooksUpPastTheDeadline always_breaks [a_lost_lookup_is_not_repeated],
    /// Applies the total deadline to each read, so that every byte restarts it.
    RestartsDeadlineOnEachRead breaks [
        a_dripping_body_ends_with_the_total_deadline,
        a_dripping_head_ends_with_the_total_deadline,
        endless_interim_answers_end_with_the_deadline,
        a_request_cut_by_a_stop_is_never_completed,
    ],
    /// Uses the connect deadline for every read too.
    UsesConnectDeadlineForReads always_breaks [a_slow_answer_within_the_deadline_is_an_answer],
    /// Applies the total deadline only to the response.
    WritesWithoutDeadline breaks [
        a_request_cut_by_the_deadline_is_never_completed,
        a_request_cut_by_a_stop_is_never_completed,
        a_server_that_stops_reading_ends_with_the_total_deadline,
    ],
    /// Panics on a deadline that is too long for its clock.
    ClockOverflows breaks [the_longest_deadline_is_no_overflow],
    /// Keeps the connection of a failed call for the next.
    ReusesBrokenConnections breaks [
        silence_ends_with_the_total_deadline,
        a_broken_chunk_is_answered_and_ends_the_connection,
        an_ambiguous_length_is_refused,
    ],
    /// Keeps a connection although the server announced that it will close it.
    IgnoresConnectionClose breaks [
        a_connection_announced_to_close_is_not_used,
        an_early_answer_is_an_answer_or_unknown,
    ] and by chance [
        // The server closes the connection, which this transport may notice in time or not.
        a_gateway_error_page_is_a_response,
        an_alternative_service_is_not_used,
    ],
    /// Never keeps a connection.
    NeverReuses breaks [a_connection_is_used_again],
    /// Writes to an idle connection without checking it first.
    SkipsIdleCheck always_breaks [
        a_connection_seen_to_be_closed_is_replaced,
        what_has_arrived_on_an_idle_connection_is_seen,
        an_answer_nobody_asked_for_is_nobodys,
    ],
    /// Returns unread bytes on a connection as the next response.
    TreatsUnreadBytesAsResponse breaks [
        what_has_arrived_on_an_idle_connection_is_seen,
        an_answer_nobody_asked_for_is_nobodys,
    ],
    /// Reuses any idle connection, whatever server it leads to.
    SharesConnectionsAcrossServers breaks [two_servers_never_share_a_connection],
    /// Shows the request in the error about an unreadable response.
    PrintsTheBody always_breaks [
        garbage_is_unknown,
        odd_heads_are_never_not_processed,
        an_ambiguous_length_is_refused,
        a_hundred_thousand_headers_are_an_answer_or_an_error,
        an_endless_head_is_given_up,
        what_comes_back_shows_no_secret,
    ],
    /// Shows the requests of idle connections in the transport's `Debug` output after many concurrent calls.
    PrintsTheKey breaks [sixty_four_at_once_get_their_own_answers],
    /// Returns an error for every 5xx response.
    TurnsStatusesIntoErrors breaks [
        every_status_from_200_to_599_is_an_answer,
        a_gateway_error_page_is_a_response,
        a_lookup_is_not_repeated_for_its_status,
    ],
    /// Uses the proxy in the environment.
    UsesEnvironmentProxy always_breaks [the_proxy_of_the_environment_is_ignored],
    /// Returns a truncated body as a whole response.
    AcceptsTruncatedBodies breaks [
        a_truncated_body_is_answered_and_kept,
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_lost_lookup_is_not_repeated,
    ],
    /// Reports a truncated response as unknown, without its status.
    ForgetsTheStatus breaks [
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
    IgnoresTheCap always_breaks [a_body_over_the_cap_is_cut_at_the_cap, an_endless_body_is_read_to_the_cap],
    /// Rejects a body exactly as long as the cap.
    CapIsExclusive breaks [an_answer_as_long_as_the_cap_is_whole],
    /// Returns a connection to the pool as soon as the head has arrived, and takes it out again if the head is ambiguous.
    PoolsBeforeItChecks always_breaks [an_ambiguous_length_is_refused],
    /// Uses the first of two lengths.
    TrustsTheFirstLength breaks [an_ambiguous_length_is_refused],
    /// Lets a chunk size overflow.
    ChunkSizesWrap breaks [a_broken_chunk_is_answered_and_ends_the_connection],
    /// Skips two bytes after a chunk, whatever they are.
    SkipsChunkEnds breaks [a_broken_chunk_is_answered_and_ends_the_connection],
    /// Adds to a chunk size without checking for an overflow.
    ChunkSizesOverflow breaks [an_absurd_length_reserves_no_memory],
    /// Leaves the chunked framing in the body.
    DoesNotDecodeChunks breaks [
        bodies_arrive_whole_in_every_framing,
        an_answer_in_single_bytes_is_whole,
        a_chunked_body_without_its_end_is_answered,
        a_broken_chunk_is_answered_and_ends_the_connection,
        a_body_over_the_cap_is_cut_at_the_cap,
        an_endless_body_is_read_to_the_cap,
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_gateway_error_page_is_a_response,
    ],
    /// Waits for the body whose length a 304 announces.
    WaitsForMissingBody breaks [an_answer_without_a_body_ends_at_its_head],
    /// Keeps only one value of each header, and only text.
    DropsUnusualHeaders breaks [repeated_and_unreadable_headers_survive],
    /// Accepts a hundred headers, as many stacks do by default.
    LimitsHeadersToAHundred breaks [
        a_hundred_and_ten_headers_are_an_answer,
        a_thousand_headers_are_an_answer,
    ],
    /// Keeps only the first line of a folded header.
    CutsFoldedHeaders breaks [folded_headers_are_an_answer, an_ambiguous_length_is_refused],
    /// Removes `Content-Encoding`.
    RemovesContentEncoding breaks [an_encoded_answer_is_not_decoded],
    /// Returns a 100 or 103 as the response.
    ReturnsInterimResponses breaks [
        interim_answers_are_skipped,
        an_answer_in_single_bytes_is_whole,
        endless_interim_answers_end_with_the_deadline,
    ],
    /// Checks the deadline only when there is nothing to read.
    ChecksDeadlineOnlyWhenIdle breaks [endless_interim_answers_end_with_the_deadline],
    /// Reads a head of any size.
    HasNoHeadLimit breaks [an_endless_head_is_given_up],
    /// Reserves memory for the announced length.
    ReservesAnnouncedLength breaks [an_absurd_length_reserves_no_memory],
    /// Expects the whole head in one read.
    ReadsHeadOnce breaks [
        a_thousand_headers_are_an_answer,
        an_answer_in_single_bytes_is_whole,
        a_dripping_head_ends_with_the_total_deadline,
    ],
    /// Sends the body in chunks.
    SendsChunked always_breaks [
        a_payment_arrives_byte_for_byte,
        a_large_payment_arrives_byte_for_byte,
        nothing_else_is_added_to_a_request,
    ],
    /// Decodes percent-encoding in the target.
    NormalizesTheTarget breaks [a_payment_arrives_byte_for_byte, a_look_up_arrives_byte_for_byte],
    /// Truncates a large body.
    TruncatesLargeBodies breaks [a_large_payment_arrives_byte_for_byte],
    /// Sends an empty chunked body with a lookup.
    SendsBodyWithLookups breaks [a_look_up_arrives_byte_for_byte, nothing_else_is_added_to_a_request],
    AddsAcceptEncoding breaks [nothing_else_is_added_to_a_request],
    /// Reports a refused connection as unknown.
    ReportsRefusedAsUnknown breaks [refused_is_not_processed],
    /// Reports a name that does not resolve as unknown.
    ReportsUnresolvedAsUnknown breaks [an_unknown_host_is_not_processed],
    /// Looks a name up for longer than the connect deadline.
    LooksUpWithoutDeadline breaks [an_unknown_host_is_not_processed],
    /// Connects until the total deadline.
    ConnectsWithoutDeadline always_breaks [a_stalled_connect_ends_with_the_connect_deadline],
    /// Connects for a third of the connect deadline.
    ConnectsTooBriefly always_breaks [a_stalled_connect_ends_with_the_connect_deadline],
    /// Continues a call after it was dropped.
    ContinuesAfterDrop always_breaks [
        a_dropped_call_closes_its_connection,
        a_call_dropped_while_it_sends_stops_sending,
    ],
    /// Retries up to twenty times.
    RetriesManyTimes breaks [
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
        a_failed_call_sends_nothing_afterwards,
    ],
    /// Mixes up responses after many calls.
    MixesUpResponses breaks [
        a_connection_is_used_again,
        sixty_four_at_once_get_their_own_answers,
        a_close_that_crosses_a_request_is_told_honestly,
        five_thousand_payments_arrive_at_most_once,
        a_deadline_of_zero_ends_the_call,
    ],
    /// Makes the call on the thread that polls it.
    BlocksTheThread breaks [a_call_does_not_block_its_thread],
    /// Panics outside its runtime.
    PanicsOutsideRuntime breaks [no_runtime_is_no_panic],
    /// Uses the grace after a stop of the process to send the rest of a request too.
    WritesAfterAStop breaks [a_request_cut_by_a_stop_is_never_completed],
    /// Ends a call whose process was stopped, whatever has arrived.
    EndsLateCallsUnread always_breaks [an_answer_to_a_stopped_process_is_an_answer],
    /// Accepts every certificate.
    TrustsAnyCertificate always_breaks over tls [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
    ],
    /// Reports a failed handshake as unknown.
    ReportsFailedHandshakeAsUnknown breaks over tls [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
        a_server_without_tls_is_sent_nothing,
        a_broken_handshake_is_not_processed,
    ],
    /// Does not apply the connect deadline to the TLS handshake.
    HandshakeWithoutDeadline breaks over tls [
        a_stalled_handshake_ends_with_the_connect_deadline,
        a_handshake_after_the_deadline_sends_nothing,
    ],
    /// Treats a cut connection as the end of the body.
    TreatsCutAsEndOfBody always_breaks over tls [
        a_body_cut_without_goodbye_is_not_whole,
        a_tls_failure_within_the_body_is_no_response,
    ],
    /// Falls back to plain HTTP when TLS fails.
    FallsBackToPlainHttp breaks over tls [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
        a_server_without_tls_is_sent_nothing,
        a_broken_handshake_is_not_processed,
    ],
    /// Sends the request over plain HTTP when TLS fails, and reports the failure of TLS.
    RepeatsUnencrypted always_breaks over tls [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
        a_server_without_tls_is_sent_nothing,
        a_broken_handshake_is_not_processed,
    ],
    /// Sends the request over TLS without verification when TLS fails, and reports it as unknown.
    RepeatsUnverified breaks over tls [
        an_untrusted_certificate_is_not_processed,
        a_certificate_for_another_host_is_not_processed,
        an_expired_certificate_is_not_processed,
        a_server_without_tls_is_sent_nothing,
        a_broken_handshake_is_not_processed,
    ],
    /// Finishes a timed-out handshake in the background and then sends the request.
    SendsAfterLateHandshake always_breaks over tls [a_handshake_after_the_deadline_sends_nothing],
    /// Writes the rest of the request in the background after the deadline.
    WritesAfterDeadline breaks [
        a_request_cut_by_the_deadline_is_never_completed,
        a_request_cut_by_a_stop_is_never_completed,
    ],
    /// Takes a total deadline of zero for none, so a request leaves on an open connection.
    TakesZeroForNoDeadline always_breaks [a_deadline_of_zero_ends_the_call],
    /// Looks at the clock only after the first byte of the request.
    BeginsAfterDeadline always_breaks [a_deadline_of_zero_ends_the_call],
    /// Ignores a drop while it connects.
    ConnectsAfterDrop breaks over tls [a_call_dropped_while_connecting_sends_nothing],
    /// Reports a gateway's HTML error page as not processed.
    ReportsGatewayPageAsNotProcessed breaks [a_gateway_error_page_is_a_response],
    /// Retries when a gateway closes with a temporary status.
    RetriesGatewayErrors always_breaks [a_gateway_error_page_is_a_response],
    /// Treats a TLS alert as a failed handshake, whenever it arrives.
    ReportsAlertAsNotProcessed breaks over tls [
        an_alert_after_the_request_is_unknown,
        a_tls_failure_within_the_body_is_no_response,
    ],
    /// Retries after a TLS record that cannot be decrypted.
    RetriesAfterBadRecord breaks over tls [a_bad_record_after_the_request_is_unknown],
    /// Reports a connection that was cut before the response as not processed.
    ReportsCutAsNotProcessed breaks over tls [
        a_bad_record_after_the_request_is_unknown,
        a_line_cut_within_the_head_is_unknown,
    ],
    /// Treats a TLS alert as the end of the body.
    TreatsAlertAsEndOfBody breaks over tls [a_tls_failure_within_the_body_is_no_response],
    /// Sends the request as early data.
    UsesEarlyData breaks over tls [early_data_is_never_sent],
    /// Retries a GET after a temporary status.
    RetriesLookupsByStatus breaks [a_lookup_is_not_repeated_for_its_status],
    /// Uses the alternative service in `Alt-Svc`.
    UsesAlternativeServices always_breaks [an_alternative_service_is_not_used],
    /// Retries a lost request at the server's other address.
    RetriesAtNextAddress breaks [the_next_address_is_not_tried_after_the_request],
    /// Retries a request whose response broke off on a reused connection.
    RetriesTruncatedBodies breaks [
        a_body_broken_off_on_a_reused_connection_is_answered,
        a_lost_lookup_is_not_repeated,
    ],
    /// Has its own timeout of thirty seconds.
    GivesUpAfterThirtySeconds breaks [silence_is_waited_out_to_the_deadline],
    /// Has 64 connections; the deadline does not cover waiting for one.
    WaitsForConnectionWithoutDeadline breaks [calls_beyond_the_connections_end_with_their_deadlines],
    /// Logs the head of each request with `log`.
    LogsTheHead breaks [what_is_logged_shows_no_secret],
    /// Logs the body of each request with `tracing`.
    TracesTheBody breaks [what_is_logged_shows_no_secret],
    /// Prints the body of a failed request to stderr, as bytes.
    PrintsOnStderr breaks [what_is_logged_shows_no_secret],
    /// Honors `SSLKEYLOGFILE`.
    LogsTheTlsKeys breaks over tls [what_is_logged_shows_no_secret],
    /// Returns garbage as a response with status 200.
    ReturnsGarbageAsResponse always_breaks [
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
    "an_answer_to_a_stopped_process_is_an_answer",
    "a_request_cut_by_a_stop_is_never_completed",
    "a_close_that_crosses_a_request_is_told_honestly",
    "what_comes_back_shows_no_secret",
    "what_is_logged_shows_no_secret",
    "calls_beyond_the_connections_end_with_their_deadlines",
    "a_handshake_after_the_deadline_sends_nothing",
    "a_request_cut_by_the_deadline_is_never_completed",
    "a_tls_failure_within_the_body_is_no_response",
    "a_failed_call_sends_nothing_afterwards",
];

/// Contracts that are only sometimes broken are not checked.
fn breaks_exactly(flaw: Flaw, expected: &[&str], by_chance: &[&str]) {
    let all = env::var_os("PAYMENTS_CONFORMANCE_ALL").is_some();
    let contracts = contracts();
    let theme_of =
        |contract: &str| contracts.iter().find(|(_, name)| *name == contract).map(|(theme, _)| *theme);
    let themes: BTreeSet<_> = expected.iter().map(|contract| theme_of(contract)).collect();
    let is_near = |contract: &str| themes.contains(&theme_of(contract)) && !SLOW.contains(&contract);
    let wanted = |contract: &str| {
        !by_chance.contains(&contract) && (all || expected.contains(&contract) || is_near(contract))
    };
    let report = check_only(&PlainStack(Some(flaw)), wanted);
    let broken: BTreeSet<_> = report.broken().map(Verdict::contract).collect();
    assert_eq!(broken, expected.iter().copied().collect(), "\n{report}");
    // A child process may have made it.
    let denies_a_call = |verdict: &Verdict| {
        verdict.story().is_some_and(|story| story.lines().any(|line| line.ends_with("no call was made")))
    };
    assert!(!report.verdicts().iter().any(denies_a_call), "\n{report}");
}

/// Except for HTTP/2, which this transport does not speak: see `broken_http2.rs` of payments-hyper.
#[test]
fn every_contract_is_broken_by_some_flaw() {
    let contracts = contracts();
    assert!(contracts.len() > 60, "{contracts:?}");
    for (theme, contract) in contracts.into_iter().filter(|(theme, _)| *theme != "http2") {
        assert!(
            BROKEN_BY_A_FLAW.iter().any(|broken| broken.contains(&contract)),
            "no flaw breaks {contract} of {theme}"
        );
    }
}

/// The theme and the name of each contract, from the kit's own list.
pub(crate) fn contracts() -> Vec<(&'static str, &'static str)> {
    let mut contracts = Vec::new();
    payments_conformance::__each_theme!(__name_each { contracts });
    contracts
}
