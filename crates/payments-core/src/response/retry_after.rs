use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// When the service asks to be called again, from its `Retry-After` header.
///
/// For a charge it is information for a person, never a reason to send again. For a lookup it sets the pause before
/// the next attempt, if the deadline allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryAfter {
    /// After this pause.
    Delay(Duration),
    /// Not before this time, by the service's clock. Do not compare it with this machine's:
    /// [`retry_after_delay`](crate::FailedCall::retry_after_delay) is the pause.
    Date(SystemTime),
}

impl RetryAfter {
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that does not fit is longer than any patience.
            return Some(Self::Delay(Duration::from_secs(text.parse().unwrap_or(u64::MAX))));
        }
        httpdate::parse_http_date(text).ok().map(Self::Date)
    }

    /// The pause that the header asks for. A date is compared with the response's own `Date`, so that the clocks of the two machines
    /// need not agree. Without that header there is no pause.
    pub(crate) fn pause(self, response_date: Option<SystemTime>) -> Option<Duration> {
        match self {
            Self::Delay(pause) => Some(pause),
            Self::Date(date) => response_date.map(|now| date.duration_since(now).unwrap_or_default()),
        }
    }
}

/// The response's `Date`.
pub(crate) fn response_date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(text: &'static str) -> Option<RetryAfter> {
        RetryAfter::read(&HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]))
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date_d20() {
        assert_eq!(read("120"), Some(RetryAfter::Delay(Duration::from_mins(2))));
        let date = read("Fri, 31 Dec 1999 23:59:59 GMT").unwrap();
        let before = httpdate::parse_http_date("Fri, 31 Dec 1999 23:59:29 GMT").unwrap();
        assert_eq!(date.pause(Some(before)), Some(Duration::from_secs(30)));
        assert_eq!(date.pause(Some(before + Duration::from_secs(99))), Some(Duration::ZERO));
        assert_eq!(date.pause(None), None);
    }

    #[test]
    fn an_unreadable_retry_after_is_none_d20() {
        for text in ["", "soon", "-1", "1.5"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_retry_after_that_does_not_fit_is_the_longest_d54() {
        for text in ["18446744073709551615", "18446744073709551616", "99999999999999999999999"] {
            assert_eq!(read(text), Some(RetryAfter::Delay(Duration::from_secs(u64::MAX))), "{text}");
        }
    }

    #[test]
    fn the_date_of_a_response_is_read_d20() {
        let headers = |date| HeaderMap::from_iter([(DATE, HeaderValue::from_static(date))]);
        let date = "Fri, 31 Dec 1999 23:59:59 GMT";
        assert_eq!(response_date(&headers(date)), httpdate::parse_http_date(date).ok());
        assert!(response_date(&headers(date)).is_some());
        assert_eq!(response_date(&headers("now")), None);
        assert_eq!(response_date(&HeaderMap::new()), None);
    }
}
