use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{DATE, RETRY_AFTER};
use payments_core::{ApiKey, Endpoint, ErrorKind, GetTransaction, Operation};

use crate::http_text::line;

/// The headers `Retry-After` and `Date`, one per line. They are information and do not change the outcome.
pub(crate) fn read_retry_after(data: &[u8]) {
    let (retry_after, rest) = line(data);
    let key = ApiKey::new("sk_live_8Qw2Zr5T").expect("visible ASCII");
    let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", key).expect("a valid URL");
    let mut response = http::Response::new(Bytes::new());
    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    for (name, value) in [(RETRY_AFTER, retry_after), (DATE, line(rest).0)] {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            response.headers_mut().insert(name, value);
        }
    }
    let value = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::trim);
    let value = value.map(str::to_owned);
    let has_date = response.headers().contains_key(DATE);

    let lookup = GetTransaction::new("txn_1".parse().expect("a valid id"));
    let error = lookup.read(&endpoint, response).expect_err("HTTP 503");
    assert_eq!(error.kind(), ErrorKind::RefusedByIntermediary);
    match (error.retry_after(), value) {
        (delay, Some(value)) if is_digits(&value) => {
            assert_eq!(delay, Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX))), "{value}");
        }
        (Some(_), Some(_)) => assert!(has_date, "a date needs another one to be compared with"),
        (Some(delay), None) => panic!("{delay:?} without the header"),
        (None, _) => {}
    }
}

/// Whether the value is a number, which may be too large.
fn is_digits(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}
