//! A 4xx body that cannot be read to its end, or that is encoded, proves nothing about a payment.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_core::{
    ApiKey, Endpoint, Error, ErrorKind, GetTransaction, LookupError, Operation, Outcome, TransportError,
    TransportErrorKind,
};

const REFUSAL: &[u8] = br#"{"status":"failed","status_code":400,"msg":"bad request error: invalid token","data":{"BaseAmount":10.50,"Balance":-1.5E+2}}"#;
const KEY: &str = "sk_canary_7Qz";

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new(KEY).unwrap()).unwrap()
}

fn response(status: u16, headers: &[(HeaderName, &[u8])], body: &'static [u8]) -> http::Response<Bytes> {
    let mut response = http::Response::builder().status(status).body(Bytes::from_static(body)).unwrap();
    for (name, value) in headers {
        response.headers_mut().append(name, HeaderValue::from_bytes(value).unwrap());
    }
    response
}

fn pay(status: u16, headers: &[(HeaderName, &[u8])], body: &'static [u8]) -> Error {
    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive);
    payment.build().unwrap().read(&endpoint(), response(status, headers, body)).unwrap_err()
}

fn look_up(status: u16, headers: &[(HeaderName, &[u8])], body: &'static [u8]) -> LookupError {
    let lookup = GetTransaction::new("t".parse().unwrap());
    lookup.read(&endpoint(), response(status, headers, body)).unwrap_err()
}

#[test]
fn encoded_4xx_is_unknown_whatever_it_says_d09_d10() {
    let one = |coding: &'static [u8]| vec![(CONTENT_ENCODING, coding)];
    let headers = [
        one(b"gzip"),
        one(b"x-gzip"),
        one(b"deflate"),
        one(b"compress"),
        one(b"br"),
        one(b"zstd"),
        one(b"exi"),
        one(b"GZIP"),
        one(b" gzip "),
        one(b"gzip, identity"),
        one(b"identity,gzip"),
        one(b"identity;q=1"),
        one(b"\xff"),
        vec![(CONTENT_ENCODING, b"identity"), (CONTENT_ENCODING, b"br")],
        vec![(CONTENT_ENCODING, b""), (CONTENT_ENCODING, b"gzip")],
        vec![(TRANSFER_ENCODING, b"gzip, chunked")],
    ];
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
    for headers in headers {
        for status in 400..=499 {
            for body in [REFUSAL, gzip, b"<html>", b""] {
                let error = pay(status, &headers, body);
                assert_eq!(error.outcome(), Outcome::Unknown, "HTTP {status}, {headers:?}");
                assert!(
                    error.failed_call().content_coding().is_some()
                        && error.kind() != ErrorKind::RefusedByIntermediary,
                    "{error:?}"
                );
            }
        }
        let void = Void::new("txn_1".parse().unwrap());
        let body = br#"{"status":"failed","data":{"TransactionId":"txn_1"}}"#;
        let error = void.read(&endpoint(), response(400, &headers, body)).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{headers:?}");
    }
}

/// `{"status":"success","status_code":100,"data":{"TransactionId":"txn_1"}}` in codings that proxies and old servers use.
const WITHOUT_A_HEADER: [(&str, &[u8]); 9] = [
    ("gzip", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*.I,)-V\xb2R*.MNN-.V\xd2\x81\x0a\xc5'\xe7\xa7\xa4*Y\x19\x1a\x18\xe8(\xa5$\x96$*YU+\x85\x14%\xe6\x15'&\x97d\xe6\xe7y\xa6\x00\xf5\x94T\xe4\xc5\x1b*\xd5\xd6\x02\x00\x1dz\x89\xf4G\x00\x00\x00"),
    ("zlib", b"x\x9c\xabV*.I,)-V\xb2R*.MNN-.V\xd2\x81\x0a\xc5'\xe7\xa7\xa4*Y\x19\x1a\x18\xe8(\xa5$\x96$*YU+\x85\x14%\xe6\x15'&\x97d\xe6\xe7y\xa6\x00\xf5\x94T\xe4\xc5\x1b*\xd5\xd6\x02\x00r\x11\x18L"),
    ("zlib, level 3", b"x^\xabV*.I,)-V\xb2R*.MNN-.V\xd2\x81\x0a\xc5'\xe7\xa7\xa4*Y\x19\x1a\x18\xe8(\xa5$\x96$*YU+\x85\x14%\xe6\x15'&\x97d\xe6\xe7y\xa6\x00\xf5\x94T\xe4\xc5\x1b*\xd5\xd6\x02\x00r\x11\x18L"),
    ("zlib, small window", b"\x18\x95\xabV*.I,)-V\xb2R*.MNN-.V\xd2\x81\x0a\xc5'\xe7\xa7\xa4*Y\x19\x1a\x18\xe8(\xa5$\x96$*YU+\x85\x14%\xe6\x15'&\x97d\xe6\xe7y\xa6\x00\xf5\x94T\xe4\xc5\x1b*\xd5\xd6\x02\x00r\x11\x18L"),
    ("raw deflate", b"\xabV*.I,)-V\xb2R*.MNN-.V\xd2\x81\x0a\xc5'\xe7\xa7\xa4*Y\x19\x1a\x18\xe8(\xa5$\x96$*YU+\x85\x14%\xe6\x15'&\x97d\xe6\xe7y\xa6\x00\xf5\x94T\xe4\xc5\x1b*\xd5\xd6\x02\x00"),
    ("bzip2", b"BZh91AY&SYCgjp\x00\x00\"\x1f\x80\x10\x04`\x10\x00 \x04\x00\xae!\x9eJ \x00Hj\x9f\xaamM7\xaay#L\xd4\x0d#A\xa6\x80\x06\xc0xy\xa9($\x8e\xf0\xcc\x07\x84\xbeNoA\xafWx\xebV\xad\xa9<\xb4\xcd\xe0c\xd6$\x88G\x83:\x96\xbe \xc2\xeeH\xa7\x0a\x12\x08l\xedN\x00"),
    ("xz", b"\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4F\x02\x00!\x01\x16\x00\x00\x00t/\xe5\xa3\xe0\x00F\x00C]\x00=\x88\x8ag\x83y\xd0\xbd\xc7(\xdbq6\x98\xaa\xab\xad\x14x&\xef\xe6\xb0g\x96\x17\x88\x05!\xe3H\xe2z)\xcf1\x04\xad\xafq\xfd\xc46#n\x9d\xfc\xf2_\xe1:\x1b\xb9<\xe0\x0f^Da\x80+\xe2\xf37\x0bl&\x00\x00cae\x09nb\xf3w\x00\x01_G\x83 \x1d\xf5\x1f\xb6\xf3}\x01\x00\x00\x00\x00\x04YZ"),
    ("UTF-16", b"\xff\xfe{\x00\"\x00s\x00t\x00a\x00t\x00u\x00s\x00\"\x00:\x00\"\x00s\x00u\x00c\x00c\x00e\x00s\x00s\x00\"\x00,\x00\"\x00s\x00t\x00a\x00t\x00u\x00s\x00_\x00c\x00o\x00d\x00e\x00\"\x00:\x001\x000\x000\x00,\x00\"\x00d\x00a\x00t\x00a\x00\"\x00:\x00{\x00\"\x00T\x00r\x00a\x00n\x00s\x00a\x00c\x00t\x00i\x00o\x00n\x00I\x00d\x00\"\x00:\x00\"\x00t\x00x\x00n\x00_\x001\x00\"\x00}\x00}\x00"),
    ("UTF-32", b"\x00\x00\x00{\x00\x00\x00\"\x00\x00\x00s\x00\x00\x00t\x00\x00\x00a\x00\x00\x00t\x00\x00\x00u\x00\x00\x00s\x00\x00\x00\"\x00\x00\x00:\x00\x00\x00\"\x00\x00\x00s\x00\x00\x00u\x00\x00\x00c\x00\x00\x00c\x00\x00\x00e\x00\x00\x00s\x00\x00\x00s\x00\x00\x00\"\x00\x00\x00,\x00\x00\x00\"\x00\x00\x00s\x00\x00\x00t\x00\x00\x00a\x00\x00\x00t\x00\x00\x00u\x00\x00\x00s\x00\x00\x00_\x00\x00\x00c\x00\x00\x00o\x00\x00\x00d\x00\x00\x00e\x00\x00\x00\"\x00\x00\x00:\x00\x00\x001\x00\x00\x000\x00\x00\x000\x00\x00\x00,\x00\x00\x00\"\x00\x00\x00d\x00\x00\x00a\x00\x00\x00t\x00\x00\x00a\x00\x00\x00\"\x00\x00\x00:\x00\x00\x00{\x00\x00\x00\"\x00\x00\x00T\x00\x00\x00r\x00\x00\x00a\x00\x00\x00n\x00\x00\x00s\x00\x00\x00a\x00\x00\x00c\x00\x00\x00t\x00\x00\x00i\x00\x00\x00o\x00\x00\x00n\x00\x00\x00I\x00\x00\x00d\x00\x00\x00\"\x00\x00\x00:\x00\x00\x00\"\x00\x00\x00t\x00\x00\x00x\x00\x00\x00n\x00\x00\x00_\x00\x00\x001\x00\x00\x00\"\x00\x00\x00}\x00\x00\x00}"),
];

#[test]
fn encoded_body_without_a_header_is_unknown_d10() {
    for (name, body) in WITHOUT_A_HEADER {
        for status in 400..=499 {
            let error = pay(status, &[], body);
            assert_eq!(error.outcome(), Outcome::Unknown, "HTTP {status}, {name}");
            assert_eq!(error.failed_call().content_coding(), Some("unknown"), "HTTP {status}, {name}");
        }
    }
    for text in [&b"\t<p>\r\n\x0c"[..], b"caf\xe9\x85", b"\x7f"] {
        assert_eq!(pay(400, &[], text).outcome(), Outcome::Rejected, "{text:?}");
    }
}

#[test]
fn a_4xx_that_claims_success_but_cannot_be_read_is_unknown_d09() {
    for body in [
        &b"{\"status\":\"success\",\"status_code\":100,\"message\":\"caf\xe9\"}"[..],
        br#"{"status":"success","status":"failed","status_code":100}"#,
        br#"{"\u0073tatus":"success","status":"failed"}"#,
        b"{\"status\":\"pending\",\"message\":\"caf\xe9\"}",
        br#"{"status":"failed"}{"status":"success"}"#,
        br#"{"status":"success","status_code":100} and then some"#,
        br#"{"status":"success","status_code":100,}"#,
        br"{'status':'success','status_code':100}",
        br#"[{"status":"success","status_code":100}]"#,
        br#""{\"status\":\"success\"}""#,
        br#"{"result":{"status_code":"100"}}"#,
        br#"<pre>{"status": "success"}</pre>"#,
        br#"answer({"status":"success"});"#,
        br#"{"title":"Bad Request","status":400,"detail":"{\u0022status\u0022:\u0022success\u0022}"}"#,
        br#"{"title":"Bad Request","status":400,"detail":"{\u0022data\u0022:{\u0022TransactionId\u0022:\u0022t\u0022},\u0022status_code\u0022:100}"}"#,
    ] {
        let shown = String::from_utf8_lossy(body);
        for status in (400..=499).filter(|status| !matches!(status, 408 | 409 | 425)) {
            let error = pay(status, &[], body);
            assert_eq!(
                (error.outcome(), error.kind()),
                (Outcome::Unknown, ErrorKind::Unclear),
                "{status} {shown}"
            );
        }
        let message = pay(400, &[], body).to_string();
        assert!(message.starts_with("token-transaction: the response is unclear, HTTP 400"), "{message}");
    }
    for body in
        [&br#"{"status":"failed",}"#[..], b"{'error'}", b"caf\xe9", br#"{"result":{"status":"failed"}}"#]
    {
        assert_eq!(pay(400, &[], body).outcome(), Outcome::Rejected, "{}", String::from_utf8_lossy(body));
    }
}

#[test]
fn identity_is_not_encoded_d10() {
    for coding in [&b""[..], b"identity", b" Identity ", b"identity, identity", b" , "] {
        let error = pay(400, &[(CONTENT_ENCODING, coding)], REFUSAL);
        assert_eq!((error.outcome(), error.reason()), (Outcome::Rejected, Some("invalid token")));
        assert_eq!(error.failed_call().content_coding(), None);
        let error = pay(400, &[(CONTENT_ENCODING, coding), (TRANSFER_ENCODING, b"chunked")], b"<html>");
        assert!(error.kind() == ErrorKind::RefusedByIntermediary && error.outcome() == Outcome::Rejected);
    }
}

#[test]
fn json_that_is_cut_without_an_error_is_unknown_d10() {
    // Ended by closing the connection: only the JSON shows it.
    for end in 1..REFUSAL.len() {
        let error = pay(400, &[], &REFUSAL[..end]);
        assert_eq!(error.outcome(), Outcome::Unknown, "{end}");
    }
    // A transport that does not compare the lengths.
    for length in ["1000", "18446744073709551615", "99999999999999999999999999"] {
        let error = pay(400, &[(CONTENT_LENGTH, length.as_bytes())], REFUSAL);
        assert_eq!(error.outcome(), Outcome::Unknown, "{length}");
    }
    let error = pay(400, &[(CONTENT_LENGTH, REFUSAL.len().to_string().as_bytes())], REFUSAL);
    assert_eq!(error.outcome(), Outcome::Rejected);
    for page in [&b"<html><body>Bad Requ"[..], b"Bad Request", b"{'error'", b"\xe9"] {
        assert_eq!(pay(400, &[], page).outcome(), Outcome::Rejected, "a foreign page has no known end");
    }
}

#[test]
fn message_names_the_coding_and_not_a_reason_d10() {
    let advice = "it may have been processed: do not send it again, \
                  reconcile it with the service by token, amount and time";
    for (status, what) in
        [(200, "HTTP 200"), (400, "HTTP 400: Bad Request"), (503, "HTTP 503: Service Unavailable")]
    {
        assert_eq!(
            pay(status, &[(CONTENT_ENCODING, b"Gzip")], REFUSAL).to_string(),
            format!(
                "token-transaction: the response is gzip-encoded although identity was asked for, {what}; {advice}"
            )
        );
    }
    assert_eq!(
        pay(422, &[], b"{").to_string(),
        format!("token-transaction: the response was truncated, HTTP 422: Unprocessable Entity; {advice}")
    );
    for status in [200, 404] {
        let message = look_up(status, &[(CONTENT_ENCODING, b"br")], REFUSAL).to_string();
        let start = "get-transaction: the response is br-encoded although identity was asked for, HTTP ";
        assert!(message.starts_with(start) && message.ends_with("it is safe to run it again"), "{message}");
    }
}

/// It proves neither that the transaction is unknown, nor that a proxy refused.
#[test]
fn lookup_whose_4xx_was_not_read_whole_is_unclear_d10_d12_d56() {
    let ambiguous = br#"{"status":"success","status":"failed"}"#;
    for status in 400..=499 {
        for (headers, body) in [
            (&[(CONTENT_ENCODING, &b"gzip"[..])][..], REFUSAL),
            (&[(TRANSFER_ENCODING, b"gzip, chunked")], b"<html>"),
            (&[(CONTENT_LENGTH, b"1000")], REFUSAL),
            (&[], &REFUSAL[..20]),
            (&[], b"\x1f\x8b\x08\0"),
            (&[], ambiguous),
        ] {
            let error = look_up(status, headers, body);
            assert_eq!(
                (error.kind(), error.failed_call().refused_by()),
                (ErrorKind::Unclear, None),
                "{error:?}"
            );
        }
        let partial =
            TransportError::answered(TransportErrorKind::BodyTruncated, response(status, &[], REFUSAL));
        let lookup = GetTransaction::new("t".parse().unwrap());
        let error = lookup.error_from_transport(&endpoint(), partial);
        assert_eq!(
            (error.kind(), error.failed_call().refused_by()),
            (ErrorKind::Interrupted, None),
            "{error:?}"
        );
    }
}

#[test]
fn coding_is_shown_masked_on_one_line_and_cut_d64() {
    let long = "y".repeat(5000);
    for coding in [KEY.as_bytes(), b"4242424242424242", b"a\tb", long.as_bytes()] {
        let error = pay(400, &[(CONTENT_ENCODING, coding)], REFUSAL);
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(KEY) && !shown.contains("4242424242"), "{shown}");
        assert!(error.failed_call().content_coding().unwrap().len() <= 40, "{error}");
        assert!(!error.to_string().contains('\t'), "{error}");
    }
}
