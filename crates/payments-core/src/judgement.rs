//! The heart of the SDK: one exhaustive function from what an answer says to what it means for the money.

use http::StatusCode;
use payments_model::{Body, Code, Status};

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// The service says that it did what was asked.
    Processed,
    /// The service's own error body says no.
    RejectedByService,
    /// Something answered no, and not in the service's words: a proxy, a gateway, a firewall.
    RejectedByIntermediary,
    /// A payment may have been made.
    Unknown,
    /// A look-up found out nothing; nothing was moved.
    NotProcessed,
}

/// As much of an answer's body as the judgement may rest on. Message text is no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Truncated, empty, HTML, encoded, not UTF-8, over the cap, or JSON that is not an object.
    Unreadable,
    /// A JSON object.
    Said {
        status: Status,
        code: Code,
        /// Whether `data` holds what the operation's success must hold: a `TransactionId`, or for a customer, an object.
        has_data: bool,
    },
}

impl Claim {
    pub(crate) fn of(body: &Body<'_>, has_data: bool) -> Self {
        match body {
            Body::Object(answer) => {
                Self::Said { status: answer.status(), code: answer.status_code(), has_data }
            }
            _ => Self::Unreadable,
        }
    }
}

/// The outcome of an answered `POST`. It moves money, so what is not certain is [`Judgement::Unknown`].
///
/// The body can demote an HTTP 2xx; it can never promote anything else.
#[expect(clippy::match_same_arms, reason = "an arm for each row of the table")]
pub(crate) fn judge_payment(http: StatusCode, claim: Claim) -> Judgement {
    match (HttpClass::of(http), claim) {
        (HttpClass::Success, Claim::Said { status: Status::Failure, .. }) => Judgement::RejectedByService,
        (
            HttpClass::Success,
            Claim::Said {
                status: Status::Success | Status::Absent,
                code: Code::Number(PAYMENT_PROCESSED),
                has_data: true,
            },
        ) => Judgement::Processed,
        (HttpClass::Success, Claim::Said { .. } | Claim::Unreadable) => Judgement::Unknown,

        (
            HttpClass::Refusal | HttpClass::OtherRefusal,
            Claim::Said { status: Status::Success, .. }
            | Claim::Said { code: Code::Number(PAYMENT_PROCESSED), .. },
        ) => Judgement::Unknown,
        (HttpClass::Refusal | HttpClass::OtherRefusal, Claim::Said { status: Status::Failure, .. }) => {
            Judgement::RejectedByService
        }
        (HttpClass::Refusal, Claim::Said { .. } | Claim::Unreadable) => Judgement::RejectedByIntermediary,
        (HttpClass::OtherRefusal, Claim::Said { .. } | Claim::Unreadable) => Judgement::Unknown,

        (HttpClass::AmbiguousRefusal | HttpClass::Other, Claim::Said { .. } | Claim::Unreadable) => {
            Judgement::Unknown
        }
    }
}

/// The outcome of an answered `GET`. It moves nothing, so it is never [`Judgement::Unknown`].
#[expect(clippy::match_same_arms, reason = "an arm for each line of the table's last row")]
pub(crate) fn judge_lookup(http: StatusCode, claim: Claim) -> Judgement {
    match (HttpClass::of(http), claim) {
        (HttpClass::Success, Claim::Said { status: Status::Failure, .. }) => Judgement::RejectedByService,
        (
            HttpClass::Success,
            Claim::Said {
                status: Status::Success | Status::Absent,
                code: Code::Number(LOOKUP_FOUND),
                has_data: true,
            },
        ) => Judgement::Processed,
        (HttpClass::Success, Claim::Said { .. } | Claim::Unreadable) => Judgement::NotProcessed,
        (
            HttpClass::Refusal | HttpClass::OtherRefusal | HttpClass::AmbiguousRefusal,
            Claim::Said { status: Status::Failure, .. },
        ) => Judgement::RejectedByService,
        (
            HttpClass::Refusal | HttpClass::OtherRefusal | HttpClass::AmbiguousRefusal,
            Claim::Said { .. } | Claim::Unreadable,
        ) => Judgement::RejectedByIntermediary,
        (HttpClass::Other, Claim::Said { .. } | Claim::Unreadable) => Judgement::NotProcessed,
    }
}

/// The `status_code` of a processed `POST` (the interface, Endpoints). 200 is not it: in the numbering that 100 belongs
/// to, 200 means declined, 101 pending and 110 partial.
const PAYMENT_PROCESSED: i64 = 100;

/// The `status_code` of a successful `GET` (the interface, Endpoints).
const LOOKUP_FOUND: i64 = 200;

/// HTTP statuses by what they prove about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HttpClass {
    /// 2xx, but for 204: that has no body, so what a stack hands over as one is no answer to this request.
    Success,
    /// A 4xx by which even an intermediary says that it did not let the request through.
    Refusal,
    /// Any other 4xx: a no if the service itself says it, and nothing otherwise.
    OtherRefusal,
    /// 408, 409 and 425: the request may be under way, or be a repetition of one that was.
    AmbiguousRefusal,
    /// 1xx as a final status, 204, 3xx, 5xx and what no standard names.
    Other,
}

impl HttpClass {
    fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            200..=203 | 205..=299 => Self::Success,
            400 | 401 | 403 | 404 | 405 | 411 | 413 | 414 | 415 | 417 | 421 | 422 | 429 | 431 => {
                Self::Refusal
            }
            408 | 409 | 425 => Self::AmbiguousRefusal,
            400..=499 => Self::OtherRefusal,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every status that HTTP can carry with every claim that a body can make.
    fn everything() -> impl Iterator<Item = (StatusCode, Claim)> {
        let statuses = [Status::Absent, Status::Success, Status::Failure, Status::Other];
        let codes = [Code::Absent, Code::Unreadable, Code::Number(100), Code::Number(101), Code::Number(200)];
        let mut claims = vec![Claim::Unreadable];
        for status in statuses {
            for code in codes {
                claims.extend([true, false].map(|has_data| Claim::Said { status, code, has_data }));
            }
        }
        (100..1000).flat_map(move |http| {
            let http = StatusCode::from_u16(http).expect("three digits");
            claims.clone().into_iter().map(move |claim| (http, claim))
        })
    }

    #[test]
    fn d05_a_payment_is_processed_only_if_http_and_body_both_say_so() {
        for (http, claim) in everything() {
            let said = matches!(
                claim,
                Claim::Said {
                    status: Status::Success | Status::Absent,
                    code: Code::Number(100),
                    has_data: true
                }
            );
            assert_eq!(
                judge_payment(http, claim) == Judgement::Processed,
                said && http.is_success() && http != StatusCode::NO_CONTENT,
                "{http} {claim:?}"
            );
        }
    }

    #[test]
    fn d06_d09_a_payment_is_rejected_by_the_service_only_in_its_own_words() {
        for (http, claim) in everything() {
            if judge_payment(http, claim) == Judgement::RejectedByService {
                assert!(matches!(claim, Claim::Said { status: Status::Failure, .. }), "{http} {claim:?}");
                assert!(http.is_success() || http.is_client_error(), "{http} {claim:?}");
            }
        }
    }

    #[test]
    fn d08_d12_whatever_comes_with_a_204_is_no_answer() {
        for (http, claim) in everything().filter(|(http, _)| *http == StatusCode::NO_CONTENT) {
            assert_eq!(judge_payment(http, claim), Judgement::Unknown, "{claim:?}");
            assert_eq!(judge_lookup(http, claim), Judgement::NotProcessed, "{claim:?}");
        }
    }

    #[test]
    fn d11_no_body_promotes_an_ambiguous_status() {
        for (http, claim) in everything() {
            let ambiguous = matches!(http.as_u16(), 100..=199 | 300..=399 | 408 | 409 | 425 | 500..);
            if ambiguous {
                assert_eq!(judge_payment(http, claim), Judgement::Unknown, "{http} {claim:?}");
            }
        }
    }

    #[test]
    fn d10_d11_only_the_named_statuses_are_refusals_in_foreign_words() {
        let named = [400, 401, 403, 404, 405, 411, 413, 414, 415, 417, 421, 422, 429, 431];
        for http in 100..1000 {
            let judgement =
                judge_payment(StatusCode::from_u16(http).expect("three digits"), Claim::Unreadable);
            let expected =
                if named.contains(&http) { Judgement::RejectedByIntermediary } else { Judgement::Unknown };
            assert_eq!(judgement, expected, "{http}");
        }
    }

    #[test]
    fn d12_a_lookup_is_never_unknown_and_a_payment_never_left_unprocessed_by_an_answer() {
        for (http, claim) in everything() {
            assert_ne!(judge_lookup(http, claim), Judgement::Unknown, "{http} {claim:?}");
            assert_ne!(judge_payment(http, claim), Judgement::NotProcessed, "{http} {claim:?}");
        }
    }
}
