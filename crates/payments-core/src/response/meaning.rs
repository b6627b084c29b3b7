//! What a response means for the money: one exhaustive function for payments and one for lookups.

use http::StatusCode;
use payments_model::unversioned::{Code, Status};

/// What a response means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The service says that it processed the request.
    Processed,
    /// The request was refused.
    Refused(RefusedBy),
    /// Neither of these is certain. A payment may have been made.
    Unclear,
}

/// Who refused a request: the author of the response. See [`FailedCall::refused_by`](crate::FailedCall::refused_by).
///
/// Complete: a response has the service's error body, or it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "a response has the service's error body, or it has not")]
pub enum RefusedBy {
    /// The service, with its error body.
    Service,
    /// Something between here and the service, such as a proxy.
    Intermediary,
}

/// The parts of a response's body that its meaning depends on. The message text has no part in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    /// Whether everything in the body was seen: it was not cut, not encoded and not ambiguous.
    pub(crate) is_whole: bool,
    pub(crate) status: Status,
    pub(crate) code: Code,
    /// Whether `data` has what a success of the operation needs: a `TransactionId`, or for a customer, an object.
    pub(crate) has_data: bool,
    /// Whether the id of a transaction can be read anywhere in the body of a 4xx. Then the request may have had an effect.
    pub(crate) names_transaction: bool,
}

/// What a response to a `POST` means. The request moves money, so whatever is not certain is [`Meaning::Unclear`].
///
/// The body can turn an HTTP 2xx into a failure, but no other status into a success.
pub(crate) fn meaning_for_payment(http: StatusCode, summary: Summary) -> Meaning {
    let Summary { is_whole, status, code, has_data, names_transaction } = summary;
    match (http.as_u16(), status) {
        _ if !is_whole => Meaning::Unclear,
        // A 204 has no body, so a body that a stack returns for it does not belong to this request. With the other three, the
        // request or an earlier one like it may be in progress.
        (204 | 408 | 409 | 425, _) => Meaning::Unclear,
        (200..=299, Status::Success | Status::Absent) if code == PAYMENT_PROCESSED && has_data => {
            Meaning::Processed
        }
        (200..=299 | 400..=499, Status::Failure) if is_consistent_with_failure(code) => {
            Meaning::Refused(RefusedBy::Service)
        }
        // A 403 is not one of these, because firewalls that inspect responses send it after the service has acted (as the outbound
        // rules of ModSecurity do).
        (
            400 | 401 | 404 | 405 | 411 | 413 | 414 | 415 | 417 | 421 | 422 | 429 | 431,
            Status::Absent | Status::Unreadable,
        ) if is_consistent_with_failure(code) && !names_transaction => {
            Meaning::Refused(RefusedBy::Intermediary)
        }
        _ => Meaning::Unclear,
    }
}

/// Whether this `status_code` agrees with a `status` of failure. Every other code contradicts it: 100 means processed, 101 pending,
/// 110 partial, and 408 and the 5xx mean that a gateway failed.
fn is_consistent_with_failure(code: Code) -> bool {
    match code {
        Code::Absent | Code::Number(200) => true,
        Code::Number(number) => (400..=499).contains(&number) && !matches!(number, 408 | 409 | 425),
        Code::Unreadable => false,
    }
}

/// What a response to a `GET` means. The request moves no money. A response that was not read whole proves neither that there is no
/// record nor who refused.
pub(crate) fn meaning_for_lookup(http: StatusCode, summary: Summary) -> Meaning {
    let Summary { is_whole, status, code, has_data, names_transaction: _ } = summary;
    match (http.as_u16(), status) {
        _ if !is_whole => Meaning::Unclear,
        (204, _) => Meaning::Unclear,
        (200..=299, Status::Success | Status::Absent) if code == LOOKUP_FOUND && has_data => {
            Meaning::Processed
        }
        (200..=299 | 400..=499, Status::Failure) => Meaning::Refused(RefusedBy::Service),
        (400..=499, _) => Meaning::Refused(RefusedBy::Intermediary),
        _ => Meaning::Unclear,
    }
}

/// The `status_code` of a processed `POST` (the interface, Endpoints). In the numbering of 100, 200 means declined, 101 pending and
/// 110 partial.
const PAYMENT_PROCESSED: Code = Code::Number(100);

/// The `status_code` of a successful `GET` (the interface, Endpoints).
const LOOKUP_FOUND: Code = Code::Number(200);

#[cfg(test)]
mod tests {
    use super::*;

    /// Every HTTP status with every summary of a body.
    fn every_response() -> impl Iterator<Item = (StatusCode, Summary)> {
        let statuses = [Status::Absent, Status::Success, Status::Failure, Status::Other, Status::Unreadable];
        let numbers = [0, 100, 101, 110, 200, 201, 399, 400, 404, 408, 409, 425, 499, 500, 502, 600];
        let codes = [Code::Absent, Code::Unreadable].into_iter().chain(numbers.map(Code::Number));
        let mut summaries = Vec::new();
        for code in codes {
            for status in statuses {
                summaries.extend((0..8).map(|bits| Summary {
                    is_whole: bits & 1 > 0,
                    status,
                    code,
                    has_data: bits & 2 > 0,
                    names_transaction: bits & 4 > 0,
                }));
            }
        }
        (100..1000).flat_map(move |http| {
            let http = StatusCode::from_u16(http).expect("three digits");
            summaries.clone().into_iter().map(move |summary| (http, summary))
        })
    }

    fn every_payment() -> impl Iterator<Item = (StatusCode, Summary, Meaning)> {
        every_response().map(|(http, summary)| (http, summary, meaning_for_payment(http, summary)))
    }

    #[test]
    fn a_payment_is_processed_only_if_http_and_body_both_say_so_d05() {
        for (http, summary, meaning) in every_payment() {
            let says_processed = matches!(
                summary,
                Summary {
                    is_whole: true,
                    status: Status::Success | Status::Absent,
                    code: Code::Number(100),
                    has_data: true,
                    ..
                }
            );
            assert_eq!(
                meaning == Meaning::Processed,
                says_processed && http.is_success() && http != StatusCode::NO_CONTENT,
                "{http} {summary:?}"
            );
        }
    }

    #[test]
    fn a_refusal_by_the_service_has_its_failure_status_d06_d09() {
        for (http, summary, meaning) in every_payment() {
            if meaning == Meaning::Refused(RefusedBy::Service) {
                assert_eq!(summary.status, Status::Failure, "{http} {summary:?}");
                assert!(http.is_success() || http.is_client_error(), "{http} {summary:?}");
            }
        }
    }

    #[test]
    fn a_payment_is_unclear_if_its_code_is_not_a_refusal_d06_d09() {
        for (http, summary, meaning) in every_payment() {
            let is_refusal = match summary.code {
                Code::Absent => true,
                Code::Number(number) => [200, 400, 404, 499].contains(&number),
                Code::Unreadable => false,
            };
            if !is_refusal && meaning != Meaning::Processed {
                assert_eq!(meaning, Meaning::Unclear, "{http} {summary:?}");
            }
        }
    }

    #[test]
    fn a_payment_with_another_status_text_is_unclear_d06_d09() {
        for (http, summary, meaning) in every_payment() {
            if summary.status == Status::Other {
                assert_eq!(meaning, Meaning::Unclear, "{http} {summary:?}");
            }
        }
    }

    #[test]
    fn a_204_is_unclear_with_any_body_d08_d12() {
        for (http, summary, meaning) in every_payment().filter(|(http, ..)| *http == StatusCode::NO_CONTENT) {
            assert_eq!(meaning, Meaning::Unclear, "{summary:?}");
            assert_eq!(meaning_for_lookup(http, summary), Meaning::Unclear, "{summary:?}");
        }
    }

    #[test]
    fn an_ambiguous_status_is_unclear_with_any_body_d11() {
        for (http, summary, meaning) in every_payment() {
            let ambiguous = matches!(http.as_u16(), 100..=199 | 300..=399 | 408 | 409 | 425 | 500..);
            if ambiguous {
                assert_eq!(meaning, Meaning::Unclear, "{http} {summary:?}");
            }
        }
    }

    #[test]
    fn only_the_listed_statuses_are_refusals_by_an_intermediary_d10_d11() {
        let named = [400, 401, 404, 405, 411, 413, 414, 415, 417, 421, 422, 429, 431];
        for (http, summary, meaning) in every_payment() {
            let Summary { is_whole, status, code, names_transaction, has_data: _ } = summary;
            let is_page = is_whole && status == Status::Absent && code == Code::Absent && !names_transaction;
            let is_named = named.contains(&http.as_u16());
            let is_refused = meaning == Meaning::Refused(RefusedBy::Intermediary);
            assert!(is_named || !is_refused, "{http} {summary:?}");
            assert!(is_refused || !(is_named && is_page), "{http} {summary:?}");
        }
    }

    #[test]
    fn an_intermediary_refusal_names_no_transaction_d10() {
        for (http, summary, meaning) in every_payment() {
            if summary.names_transaction {
                assert_ne!(meaning, Meaning::Refused(RefusedBy::Intermediary), "{http} {summary:?}");
            }
        }
    }

    #[test]
    fn a_4xx_that_was_not_read_whole_is_unclear_with_any_words_d09_d10_d12() {
        for (http, summary, meaning) in every_payment() {
            if http.is_client_error() && !summary.is_whole {
                assert_eq!(meaning, Meaning::Unclear, "{http} {summary:?}");
                assert_eq!(meaning_for_lookup(http, summary), Meaning::Unclear, "{http} {summary:?}");
            }
        }
    }
}
