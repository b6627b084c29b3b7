//! The list of the contracts, in themes.

use std::fmt;

/// Passes the contracts of each theme to a macro of this crate, theme by theme.
#[doc(hidden)]
#[macro_export]
macro_rules! __each_theme {
    ($callback:ident $arguments:tt) => {
        $crate::__each_theme!(
            $callback $arguments:
            requests answers gateway_errors broken_answers lost_answers lookups other_routes broken_tls never_sent
            late_connections deadlines limits connections environment secrecy http2
        );
    };
    ($callback:ident $arguments:tt: $($theme:ident)+) => {
        $($crate::__contracts_of!($theme $callback $arguments);)+
    };
}

/// Passes the contracts of one theme to a macro of this crate.
///
/// This is the only list. Every contract in it becomes a test and is in the report.
#[doc(hidden)]
#[macro_export]
macro_rules! __contracts_of {
    (requests $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments requests:
            a_payment_arrives_byte_for_byte,
            a_look_up_arrives_byte_for_byte,
            a_large_payment_arrives_byte_for_byte,
            nothing_else_is_added_to_a_request,
        }
    };
    (answers $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments answers:
            every_status_from_200_to_599_is_an_answer,
            redirects_are_not_followed,
            bodies_arrive_whole_in_every_framing,
            an_answer_without_a_body_ends_at_its_head,
            an_encoded_answer_is_not_decoded,
            repeated_and_unreadable_headers_survive,
            a_hundred_and_ten_headers_are_an_answer,
            a_thousand_headers_are_an_answer,
            folded_headers_are_an_answer,
            interim_answers_are_skipped,
            an_answer_as_long_as_the_cap_is_whole,
            an_answer_in_single_bytes_is_whole,
        }
    };
    (gateway_errors $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments gateway_errors:
            a_gateway_error_page_is_a_response,
        }
    };
    (broken_answers $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments broken_answers:
            a_truncated_body_is_answered_and_kept,
            a_chunked_body_without_its_end_is_answered,
            a_broken_chunk_is_answered_and_ends_the_connection,
            a_body_broken_off_by_a_reset_is_answered,
            a_body_cut_without_goodbye_is_not_whole,
            a_body_over_the_cap_is_cut_at_the_cap,
            an_ambiguous_length_is_refused,
            a_body_broken_off_on_a_reused_connection_is_answered,
        }
    };
    (lost_answers $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments lost_answers:
            fin_after_the_request_is_unknown,
            reset_after_the_request_is_unknown,
            fin_within_the_head_is_unknown,
            garbage_is_unknown,
            odd_heads_are_never_not_processed,
            reset_during_the_request_is_unknown,
            an_early_answer_is_an_answer_or_unknown,
            a_connection_closed_at_once_is_an_error,
            a_failed_call_sends_nothing_afterwards,
        }
    };
    (lookups $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments lookups:
            a_lookup_follows_no_redirect,
            a_lost_lookup_is_not_repeated,
            a_lookup_is_not_repeated_for_its_status,
        }
    };
    (other_routes $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments other_routes:
            an_alternative_service_is_not_used,
            the_next_address_is_not_tried_after_the_request,
            http2_is_not_spoken_unasked,
        }
    };
    (broken_tls $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments broken_tls:
            an_alert_after_the_request_is_unknown,
            a_bad_record_after_the_request_is_unknown,
            a_line_cut_within_the_head_is_unknown,
            a_tls_failure_within_the_body_is_no_response,
            early_data_is_never_sent,
        }
    };
    (never_sent $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments never_sent:
            refused_is_not_processed,
            an_unknown_host_is_not_processed,
            an_untrusted_certificate_is_not_processed,
            a_certificate_for_another_host_is_not_processed,
            an_expired_certificate_is_not_processed,
            a_server_without_tls_is_sent_nothing,
            a_broken_handshake_is_not_processed,
            a_stalled_connect_ends_with_the_connect_deadline,
            a_stalled_handshake_ends_with_the_connect_deadline,
        }
    };
    (late_connections $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments late_connections:
            a_handshake_after_the_deadline_sends_nothing,
            a_call_dropped_while_connecting_sends_nothing,
            a_request_cut_by_the_deadline_is_never_completed,
        }
    };
    (deadlines $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments deadlines:
            silence_ends_with_the_total_deadline,
            a_dripping_body_ends_with_the_total_deadline,
            a_dripping_head_ends_with_the_total_deadline,
            a_server_that_stops_reading_ends_with_the_total_deadline,
            a_slow_answer_within_the_deadline_is_an_answer,
            a_deadline_of_zero_ends_the_call,
            the_longest_deadline_is_no_overflow,
            silence_is_waited_out_to_the_deadline,
            calls_beyond_the_connections_end_with_their_deadlines,
        }
    };
    (limits $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments limits:
            an_endless_body_is_read_to_the_cap,
            an_endless_head_is_given_up,
            a_hundred_thousand_headers_are_an_answer_or_an_error,
            endless_interim_answers_end_with_the_deadline,
            an_absurd_length_reserves_no_memory,
        }
    };
    (connections $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments connections:
            a_connection_is_used_again,
            a_connection_seen_to_be_closed_is_replaced,
            what_has_arrived_on_an_idle_connection_is_seen,
            a_close_that_crosses_a_request_is_told_honestly,
            an_answer_nobody_asked_for_is_nobodys,
            a_connection_announced_to_close_is_not_used,
            two_servers_never_share_a_connection,
            a_dropped_call_closes_its_connection,
            a_call_dropped_while_it_sends_stops_sending,
            sixty_four_at_once_get_their_own_answers,
            five_thousand_payments_arrive_at_most_once,
        }
    };
    (environment $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments environment:
            the_proxy_of_the_environment_is_ignored,
            an_answer_to_a_stopped_process_is_an_answer,
            a_request_cut_by_a_stop_is_never_completed,
            no_runtime_is_no_panic,
            a_call_does_not_block_its_thread,
        }
    };
    (secrecy $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments secrecy:
            what_comes_back_shows_no_secret,
            what_is_logged_shows_no_secret,
        }
    };
    (http2 $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments http2:
            refused_stream_is_not_processed,
            refused_stream_after_the_head_is_answered,
            any_other_reset_of_the_stream_is_unknown,
            goaway_is_no_proof,
            a_goaway_that_spares_a_request_lets_it_be_answered,
            goaways_at_random_moments_repeat_and_hide_no_payment,
            the_end_of_the_connection_is_unknown_over_http2,
            all_streams_of_a_lost_connection_are_unknown,
            silence_on_a_stream_ends_with_the_total_deadline,
            a_cancelled_stream_is_reset_and_harms_no_other,
            a_connection_that_the_network_dropped_is_not_used_again,
            a_body_that_breaks_off_is_answered_over_http2,
            http1_is_spoken_to_a_server_that_knows_no_other,
            another_http_version_is_not_tried_after_a_failure,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __name_each {
    ({ $names:ident } $theme:ident: $($contract:ident,)*) => {
        $names.extend([$((stringify!($theme), stringify!($contract))),*]);
    };
}

/// The theme and the name of each contract.
pub(crate) fn names() -> Vec<(&'static str, &'static str)> {
    let mut names = Vec::new();
    crate::__each_theme!(__name_each { names });
    names
}

/// A theme, by its position in the order in which to fix them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    number: usize,
    name: &'static str,
}

impl Theme {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let mut themes: Vec<_> = names().into_iter().map(|(theme, _)| theme).collect();
        themes.dedup();
        (1..).zip(themes).map(|(number, name)| Self { number, name })
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.number, self.name.replace('_', " "))
    }
}

/// The theme of a contract. `None` if there is no such contract.
pub(crate) fn theme_of(contract: &str) -> Option<Theme> {
    let (theme, _) = names().into_iter().find(|(_, name)| *name == contract)?;
    Theme::all().find(|known| known.name == theme)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::contract::own_name;

    /// The compiler checks that each name in the list has its function, but not that each function is in the list.
    #[test]
    fn every_contract_is_in_the_list_by_its_own_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contracts");
        let folders = [folder.join("http2"), folder];
        let files =
            folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
        let sources = files.filter(|file| file.is_file()).map(|file| fs::read_to_string(file).unwrap());
        let sources = sources.collect::<String>();
        let functions = sources.split("\npub fn ").skip(1).map(|function| function.split_once('(').unwrap());
        let mut found: Vec<_> = functions
            .inspect(|(name, body)| assert!(body.contains("own_name!()"), "{name}"))
            .map(|(name, _)| name)
            .collect();
        let mut listed: Vec<_> = names().into_iter().map(|(_, name)| name).collect();
        found.sort_unstable();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }

    #[test]
    fn own_name_is_that_of_the_function() {
        assert_eq!(own_name!(), "own_name_is_that_of_the_function");
    }
}
