use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// How long a response with these headers asks to wait. A date is compared with the response's own `Date`, so that the clocks of the
/// two machines need not agree. Without that header the pause is not known.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let asked = text(RETRY_AFTER)?;
    if !asked.is_empty() && asked.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is longer than any patience.
        return Some(Duration::from_secs(asked.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    let now = httpdate::parse_http_date(text(DATE)?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_unreadable_retry_after_is_none_d20() {
        for text in ["", "soon", "-1", "1.5"] {
            let headers = [(RETRY_AFTER, HeaderValue::from_static(text))];
            assert_eq!(retry_after(&HeaderMap::from_iter(headers)), None, "{text}");
        }
    }

    #[test]
    fn a_retry_after_that_does_not_fit_is_the_longest_d54() {
        for text in ["18446744073709551615", "18446744073709551616", "99999999999999999999999"] {
            let headers = [(RETRY_AFTER, HeaderValue::from_static(text))];
            let longest = Some(Duration::from_secs(u64::MAX));
            assert_eq!(retry_after(&HeaderMap::from_iter(headers)), longest, "{text}");
        }
    }
}
