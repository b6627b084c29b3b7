//! What a response means for the money: one exhaustive function for payments and one for lookups.

use http::StatusCode;
use payments_model::unversioned::{Code, Envelope, Status};

/// What a response means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The service says that it processed the request.
    Processed,
    /// The service's own error body refuses the request.
    RefusedByService,
    /// Something else refused the request: a proxy, a gateway, a firewall.
    RefusedByIntermediary,
    /// Neither of these is certain. A payment may have been made.
    Unclear,
}

/// The parts of a response's body that its meaning depends on. The message text has no part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summary {
    /// Truncated, empty, HTML, encoded, not UTF-8, over the cap, or JSON that is not an object.
    Unreadable,
    /// A JSON object.
    Object {
        status: Status,
        code: Code,
        /// Whether `data` has what a success of the operation needs: a `TransactionId`, or for a customer, an object.
        has_data: bool,
    },
}

impl Summary {
    pub(crate) fn of(envelope: Option<&Envelope<'_>>, has_data: bool) -> Self {
        envelope.map_or(Self::Unreadable, |envelope| Self::Object {
            status: envelope.status(),
            code: envelope.status_code(),
            has_data,
        })
    }
}

/// The search of a 4xx body for the id of a transaction. If the body has one, the request may have had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdSearch {
    /// The whole body was read, and no id is in it.
    NotFound,
    /// An id is in the body.
    Found,
    /// The body was cut, is over the limit or is encoded, so an id may be in the part that was not read.
    Impossible,
}

/// What a response to a `POST` means. The request moves money, so whatever is not certain is [`Meaning::Unclear`].
///
/// The body can turn an HTTP 2xx into a failure, but no other status into a success.
#[expect(clippy::match_same_arms, reason = "one arm for each row of the table")]
pub(crate) fn meaning_for_payment(http: StatusCode, summary: Summary, search: IdSearch) -> Meaning {
    match (HttpClass::of(http), summary) {
        (HttpClass::Success, Summary::Object { status: Status::Failure, code, .. })
            if is_consistent_with_failure(code) =>
        {
            Meaning::RefusedByService
        }
        (
            HttpClass::Success,
            Summary::Object {
                status: Status::Success | Status::Absent,
                code: Code::Number(PAYMENT_PROCESSED),
                has_data: true,
            },
        ) => Meaning::Processed,
        (HttpClass::Success, Summary::Object { .. } | Summary::Unreadable) => Meaning::Unclear,

        (HttpClass::Refusal | HttpClass::OtherRefusal, _) if search == IdSearch::Impossible => {
            Meaning::Unclear
        }
        (
            HttpClass::Refusal | HttpClass::OtherRefusal,
            Summary::Object { status: Status::Success | Status::Other, .. },
        ) => Meaning::Unclear,
        (HttpClass::Refusal | HttpClass::OtherRefusal, Summary::Object { code, .. })
            if !is_consistent_with_failure(code) =>
        {
            Meaning::Unclear
        }
        (HttpClass::Refusal | HttpClass::OtherRefusal, Summary::Object { status: Status::Failure, .. }) => {
            Meaning::RefusedByService
        }
        (HttpClass::Refusal, Summary::Object { .. } | Summary::Unreadable)
            if search == IdSearch::NotFound =>
        {
            Meaning::RefusedByIntermediary
        }
        (HttpClass::Refusal | HttpClass::OtherRefusal, Summary::Object { .. } | Summary::Unreadable) => {
            Meaning::Unclear
        }

        (HttpClass::AmbiguousRefusal | HttpClass::Other, Summary::Object { .. } | Summary::Unreadable) => {
            Meaning::Unclear
        }
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

/// What a response to a `GET` means. The request moves no money.
#[expect(clippy::match_same_arms, reason = "one arm for each line of the table's last row")]
pub(crate) fn meaning_for_lookup(http: StatusCode, summary: Summary) -> Meaning {
    match (HttpClass::of(http), summary) {
        (HttpClass::Success, Summary::Object { status: Status::Failure, .. }) => Meaning::RefusedByService,
        (
            HttpClass::Success,
            Summary::Object {
                status: Status::Success | Status::Absent,
                code: Code::Number(LOOKUP_FOUND),
                has_data: true,
            },
        ) => Meaning::Processed,
        (HttpClass::Success, Summary::Object { .. } | Summary::Unreadable) => Meaning::Unclear,
        (
            HttpClass::Refusal | HttpClass::OtherRefusal | HttpClass::AmbiguousRefusal,
            Summary::Object { status: Status::Failure, .. },
        ) => Meaning::RefusedByService,
        (
            HttpClass::Refusal | HttpClass::OtherRefusal | HttpClass::AmbiguousRefusal,
            Summary::Object { .. } | Summary::Unreadable,
        ) => Meaning::RefusedByIntermediary,
        (HttpClass::Other, Summary::Object { .. } | Summary::Unreadable) => Meaning::Unclear,
    }
}

/// The `status_code` of a processed `POST` (the interface, Endpoints). In the numbering of 100, 200 means declined, 101 pending and
/// 110 partial.
const PAYMENT_PROCESSED: i64 = 100;

/// The `status_code` of a successful `GET` (the interface, Endpoints).
const LOOKUP_FOUND: i64 = 200;

/// HTTP statuses by what they prove about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HttpClass {
    /// 2xx except 204. A 204 has no body, so a body that a stack returns for it does not belong to this request.
    Success,
    /// A 4xx that is a refusal even if an intermediary sent it.
    Refusal,
    /// Any other 4xx: a refusal only if the service itself sent it. 403 is one of these, because firewalls that inspect responses
    /// send it after the service has acted (as the outbound rules of `ModSecurity` do).
    OtherRefusal,
    /// 408, 409 and 425: the request, or an earlier one like it, may be in progress.
    AmbiguousRefusal,
    /// 1xx as a final status, 204, 3xx, 5xx and above.
    Other,
}

impl HttpClass {
    fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            200..=203 | 205..=299 => Self::Success,
            400 | 401 | 404 | 405 | 411 | 413 | 414 | 415 | 417 | 421 | 422 | 429 | 431 => Self::Refusal,
            408 | 409 | 425 => Self::AmbiguousRefusal,
            400..=499 => Self::OtherRefusal,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every HTTP status with every summary of a body.
    fn every_response() -> impl Iterator<Item = (StatusCode, Summary)> {
        let statuses = [Status::Absent, Status::Success, Status::Failure, Status::Other, Status::Unreadable];
        let numbers = [0, 100, 101, 110, 200, 201, 399, 400, 404, 408, 409, 425, 499, 500, 502, 600];
        let codes = [Code::Absent, Code::Unreadable].into_iter().chain(numbers.map(Code::Number));
        let mut summaries = vec![Summary::Unreadable];
        for code in codes {
            for status in statuses {
                summaries.extend([true, false].map(|has_data| Summary::Object { status, code, has_data }));
            }
        }
        (100..1000).flat_map(move |http| {
            let http = StatusCode::from_u16(http).expect("three digits");
            summaries.clone().into_iter().map(move |summary| (http, summary))
        })
    }

    /// The same, with every search of the body.
    fn every_payment() -> impl Iterator<Item = (StatusCode, Summary, Meaning)> {
        every_response().flat_map(|(http, summary)| {
            [IdSearch::NotFound, IdSearch::Found, IdSearch::Impossible]
                .map(|search| (http, summary, meaning_for_payment(http, summary, search)))
        })
    }

    #[test]
    fn a_payment_is_processed_only_if_http_and_body_both_say_so_d05() {
        for (http, summary, meaning) in every_payment() {
            let says_processed = matches!(
                summary,
                Summary::Object {
                    status: Status::Success | Status::Absent,
                    code: Code::Number(100),
                    has_data: true
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
            if meaning == Meaning::RefusedByService {
                assert!(
                    matches!(summary, Summary::Object { status: Status::Failure, .. }),
                    "{http} {summary:?}"
                );
                assert!(http.is_success() || http.is_client_error(), "{http} {summary:?}");
            }
        }
    }

    #[test]
    fn a_payment_is_unclear_if_its_code_is_not_a_refusal_d06_d09() {
        for (http, summary, meaning) in every_payment() {
            let Summary::Object { status: _, code, .. } = summary else { continue };
            let is_refusal = match code {
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
            if matches!(summary, Summary::Object { status: Status::Other, .. }) {
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
        for http in 100..1000 {
            let status = StatusCode::from_u16(http).expect("three digits");
            let expected =
                if named.contains(&http) { Meaning::RefusedByIntermediary } else { Meaning::Unclear };
            assert_eq!(
                meaning_for_payment(status, Summary::Unreadable, IdSearch::NotFound),
                expected,
                "{http}"
            );
        }
    }

    #[test]
    fn an_intermediary_refusal_names_no_transaction_d10() {
        for (http, summary) in every_response() {
            assert_ne!(
                meaning_for_payment(http, summary, IdSearch::Found),
                Meaning::RefusedByIntermediary,
                "{http} {summary:?}"
            );
        }
    }

    #[test]
    fn a_4xx_that_was_not_read_whole_is_unclear_with_any_words_d09_d10() {
        for (http, summary) in every_response().filter(|(http, _)| http.is_client_error()) {
            let meaning = meaning_for_payment(http, summary, IdSearch::Impossible);
            assert_eq!(meaning, Meaning::Unclear, "{http} {summary:?}");
        }
    }
}
