//! The outcome table of the documentation is generated from the rows in this file, and every row is tested.

use std::fmt::Write;

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction, Void};
use payments_core::{
    ApiKey, Delivery, Endpoint, GetTransaction, LookupError, Operation, Outcome, TransportError,
    TransportErrorKind,
};

/// One row: the evidence, what it means, and cases to test it with.
struct Row {
    number: u32,
    evidence: &'static str,
    means: Means,
    cases: &'static [Case],
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Means {
    Ok,
    Failed(Outcome),
    /// A `LookupError`, either a rejection or not.
    LookupFailed {
        is_rejected: bool,
    },
}

enum Case {
    Unsent,
    Lost,
    Response(u16, &'static str),
    /// With this `Content-Encoding`.
    Encoded(u16, &'static str, &'static str),
    /// The transport reports that the response ended too early.
    Cut(u16, &'static str),
}
use Case::{Cut, Encoded, Lost, Response, Unsent};

const NOT_PROCESSED: Means = Means::Failed(Outcome::NotProcessed);
const REJECTED: Means = Means::Failed(Outcome::Rejected);
const UNKNOWN: Means = Means::Failed(Outcome::Unknown);

const PAYMENT: &[Row] = &[
    Row {
        number: 1,
        evidence: "the request is invalid or the client is configured wrongly: refused locally",
        means: NOT_PROCESSED,
        cases: &[],
    },
    Row {
        number: 2,
        evidence: "name resolution, TCP or TLS failed, or a pooled connection was dead before a byte was written",
        means: NOT_PROCESSED,
        cases: &[Unsent],
    },
    Row {
        number: 3,
        evidence: "any byte may have been written; then a reset, a close, a deadline, a cancellation or a protocol error",
        means: UNKNOWN,
        cases: &[Lost],
    },
    Row {
        number: 4,
        evidence: "HTTP/2: the peer refused the stream (`REFUSED_STREAM`)",
        means: NOT_PROCESSED,
        cases: &[Unsent],
    },
    Row {
        number: 4,
        evidence: "HTTP/2: any other end of a stream, every `GOAWAY` included",
        means: UNKNOWN,
        cases: &[Lost],
    },
    Row {
        number: 5,
        evidence: "2xx with `status_code` 100, `status` `success` or none, and a `TransactionId`",
        means: Means::Ok,
        cases: &[
            Response(
                200,
                r#"{"status":"success","status_code":100,"message":"m","data":{"TransactionId":"t"}}"#,
            ),
            Response(201, r#"{"status":"SUCCESS","status_code":"100","data":{"TransactionId":17}}"#),
            Response(200, r#"{"status":null,"status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(299, r#"{"status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, "\u{feff}{\"status_code\":100,\"data\":{\"TransactionId\":\"t\"}}"),
        ],
    },
    Row {
        number: 6,
        evidence: "2xx whose `status` is `failed`, `failure`, `error`, `declined` or `rejected`, with a `status_code` that is absent, 200, or 400 to 499 without 408, 409 and 425",
        means: REJECTED,
        cases: &[
            Response(
                200,
                r#"{"status":"failed","status_code":200,"message":"m","data":{"TransactionId":"t"}}"#,
            ),
            Response(200, r#"{"status":"Failure"}"#),
            Response(202, r#"{"status":"ERROR","status_code":402,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"declined","status_code":null}"#),
            Response(200, r#"{"status":"rejected","status_code":"499","data":null}"#),
        ],
    },
    Row {
        number: 6,
        evidence: "2xx with such a `status` and any other `status_code`: the two contradict each other",
        means: UNKNOWN,
        cases: &[
            Response(202, r#"{"status":"ERROR","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"FAILED","status_code":"100"}"#),
            Response(200, r#"{"status":"declined","status_code":101}"#),
            Response(200, r#"{"status":"failed","status_code":110}"#),
            Response(200, r#"{"status":"failed","status_code":408}"#),
            Response(200, r#"{"status":"failed","status_code":409}"#),
            Response(200, r#"{"status":"failed","status_code":425}"#),
            Response(200, r#"{"status":"error","status_code":500}"#),
            Response(200, r#"{"status":"error","status_code":502,"message":"upstream timed out"}"#),
            Response(200, r#"{"status":"failed","status_code":"no number"}"#),
        ],
    },
    Row {
        number: 6,
        evidence: "2xx with any other `status`, such as `pending`",
        means: UNKNOWN,
        cases: &[
            Response(200, r#"{"status":"pending","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":true,"status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"failed_over","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"not failed","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success ","status_code":100,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 7,
        evidence: "2xx with a `status_code` that is missing, unreadable or not 100; 200 is not 100",
        means: UNKNOWN,
        cases: &[
            Response(200, r#"{"status":"success","data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":200,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":101,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":110,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":"a hundred","data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":[100],"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":1000,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 8,
        evidence: "204, or a 2xx that is empty, truncated, HTML, not JSON, over the cap, or without `data` or `TransactionId`",
        means: UNKNOWN,
        cases: &[
            Response(200, ""),
            Response(204, ""),
            Response(204, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(204, r#"{"status":"failed","status_code":200}"#),
            Response(200, "<html><body>OK</body></html>"),
            Response(200, "null"),
            Response(200, "[]"),
            Response(200, "100"),
            Response(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}}"#),
            Response(200, r#"{"status":"success","status_code":100}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":null}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":[]}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":{}}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":""}}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":null}}"#),
            Response(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":1.5}}"#),
        ],
    },
    Row {
        number: 9,
        evidence: "4xx, except those of row 11, with the service's error body (`status` and `status_code` as in row 6)",
        means: REJECTED,
        cases: &[
            Response(
                400,
                r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid postal code"}"#,
            ),
            Response(401, r#"{"status":"failed","status_code":401,"msg":"Unauthorized: Invalid API Key"}"#),
            Response(402, r#"{"status":"failed","status_code":402,"msg":"m"}"#),
            Response(403, r#"{"status":"failed","status_code":403,"msg":"m"}"#),
            Response(400, r#"{"status":"declined","data":{"TransactionId":"t"}}"#),
            Response(451, r#"{"status":"error"}"#),
        ],
    },
    Row {
        number: 9,
        evidence: "4xx whose body claims success (`status` `success` or `status_code` 100), or whose `status` is any other text (such as `pending`), or whose `status_code` row 6 does not accept; a JSON object that is not UTF-8, repeats a member of the envelope or is followed by more; a body in any other form with a claim of success in it",
        means: UNKNOWN,
        cases: &[
            Response(400, r#"{"status":"success","status_code":400}"#),
            Response(422, r#"{"status":"failed","status_code":100}"#),
            Response(401, r#"{"status_code":"100"}"#),
            Response(404, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(400, r#"{"status":"pending","status_code":400}"#),
            Response(422, r#"{"status":"failed over"}"#),
            Response(400, r#"{"status":"failed","status_code":101,"msg":"m"}"#),
            Response(400, r#"{"status":"failed","status_code":500,"msg":"m"}"#),
            Response(400, r#"{"status":"failed","status_code":"no number","msg":"m"}"#),
            Response(400, r#"{"status_code":504,"message":"upstream timed out"}"#),
            Response(400, r#"{"status":"success","status":"failed","status_code":100}"#),
            Response(400, r#"{"status":"failed","status_code":400} and then some"#),
            Response(422, r#"{"status":"success",}"#),
            Response(404, r#"<pre>{"status":"success"}</pre>"#),
            Response(403, r#"[{"status_code":100}]"#),
        ],
    },
    Row {
        number: 10,
        evidence: "400, 401, 404, 405, 411, 413, 414, 415, 417, 421, 422, 429 or 431 with any other body that was read whole",
        means: REJECTED,
        cases: &[
            Response(400, "<html>Bad Request</html>"),
            Response(401, ""),
            Response(400, r#"{"timestamp":1,"status":400,"error":"Bad Request","path":"/transaction"}"#),
            Response(400, r#"{"status":"","message":"m"}"#),
            Response(400, r#"{"message":"TransactionId: required"}"#),
            Response(404, "null"),
            Response(405, ""),
            Response(411, ""),
            Response(413, ""),
            Response(414, ""),
            Response(415, ""),
            Response(417, ""),
            Response(421, ""),
            Response(422, r#"{"status":"failed",}"#),
            Response(429, ""),
            Response(431, ""),
        ],
    },
    Row {
        number: 10,
        evidence: "the same, if a `TransactionId` can be read from the body (for a void, an id other than the one it sent)",
        means: UNKNOWN,
        cases: &[
            Response(400, r#"{"message":"m","data":{"TransactionId":"t"}}"#),
            Response(400, r#"{"data":{"TransactionId":17},"#),
            Response(404, r#"<html><pre>{"TransactionId": "t"}</pre></html>"#),
            Response(404, "<pre>{&quot;TransactionId&quot;:&quot;t&quot;}</pre>"),
            Response(422, r#"{"upstream":"{\"data\":{\"TransactionId\":\"t\"}}"}"#),
            Response(429, r#"{"TransactionId":"a"}{"TransactionId":"b"}"#),
            Response(400, r#"{"data":{"TransactionId":-5}}"#),
            Response(400, r#"{"data":{"Transaction\u0049d":"t"}}"#),
            Response(401, r#"{"TransactionId":"t"} and then some"#),
        ],
    },
    Row {
        number: 10,
        evidence: "any 4xx whose body was cut, is over the limit, or is encoded although `identity` was asked for, with any words; a body with control characters that no text needs counts as encoded",
        means: UNKNOWN,
        cases: &[
            Response(400, r#"{"status":"failed","status_code":400,"msg":"bad request error: inv"#),
            Response(401, r#"{"status":"failed","#),
            Response(422, "[{"),
            Response(403, r#"{"message":"Forbidden"#),
            Encoded(400, "gzip", r#"{"status":"failed","status_code":400,"msg":"m"}"#),
            Encoded(402, "br", r#"{"status":"failed","status_code":402,"msg":"m"}"#),
            Encoded(404, "zstd", ""),
            Response(400, r#"{"status":"success","status_code":100,"data":{"BaseAmount":10."#),
            Response(400, "\u{1}\0"),
            Cut(400, r#"{"status":"failed","status_code":400,"msg":"m"}"#),
            Cut(413, ""),
            Cut(429, "<html>"),
        ],
    },
    Row {
        number: 11,
        evidence: "1xx as the final status, 3xx, 408, 409, 425, 5xx, and every status not named above, with any body",
        means: UNKNOWN,
        cases: &[
            Response(100, ""),
            Response(199, ""),
            Response(301, ""),
            Response(307, ""),
            Response(402, "<html>"),
            Response(403, r#"{"message":"Forbidden"}"#),
            Response(403, "<html>"),
            Response(406, ""),
            Response(408, r#"{"status":"failed","status_code":408,"msg":"m"}"#),
            Response(409, r#"{"status":"failed","status_code":409,"msg":"m"}"#),
            Response(425, ""),
            Response(500, r#"{"status":"failed","status_code":500,"msg":"m"}"#),
            Response(502, "<html>Bad Gateway</html>"),
            Response(503, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(504, ""),
            Response(600, ""),
            Response(999, ""),
        ],
    },
];

const LOOKUP: &[Row] = &[
    Row {
        number: 12,
        evidence: "a lookup: 2xx with `status_code` 200, no contradicting `status`, and the record",
        means: Means::Ok,
        cases: &[
            Response(200, r#"{"status_code":200,"message":"m","data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"success","status_code":"200","data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 12,
        evidence: "a lookup: a 4xx that was read whole, or a 2xx whose `status` is one of row 6's",
        means: Means::LookupFailed { is_rejected: true },
        cases: &[
            Response(404, r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#),
            Response(404, "<html>"),
            Response(408, ""),
            Response(200, r#"{"status":"failed","status_code":200,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 12,
        evidence: "a lookup: anything else, after the retries that its deadline allows",
        means: Means::LookupFailed { is_rejected: false },
        cases: &[
            Unsent,
            Lost,
            Response(200, r#"{"status_code":100,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status":"pending","status_code":200,"data":{"TransactionId":"t"}}"#),
            Response(200, r#"{"status_code":200,"data":{}}"#),
            Response(200, ""),
            Response(204, r#"{"status_code":200,"data":{"TransactionId":"t"}}"#),
            Response(301, ""),
            Response(500, ""),
            Response(503, "<html>"),
            Encoded(404, "gzip", r#"{"status":"failed","status_code":404}"#),
            Encoded(200, "gzip", r#"{"status":"failed","status_code":404}"#),
            Response(404, r#"{"status":"failed","status_code":"#),
            Cut(404, r#"{"status":"failed","status_code":404}"#),
        ],
    },
];

#[test]
fn every_row_of_the_table_is_true_for_a_payment_d01_d02_d03_d04_d05_d06_d07_d08_d09_d10_d11() {
    let payment = token_payment();
    check(PAYMENT, |case| run(&payment, case).map_err(|error| Means::Failed(error.outcome())));
}

#[test]
fn every_row_of_the_table_is_true_for_a_lookup_d12() {
    let lookup = GetTransaction::new("t".parse().unwrap());
    let means =
        |error: LookupError| Means::LookupFailed { is_rejected: error.failed_call().refused_by().is_some() };
    check(LOOKUP, |case| run(&lookup, case).map_err(means));
}

#[test]
fn the_id_that_a_void_sent_is_not_evidence_d10() {
    let void = Void::new("txn_1".parse().unwrap());
    let outcome = |body| run(&void, &Response(400, body)).unwrap_err().outcome();
    assert_eq!(outcome(r#"{"echo":{"TransactionId":"txn_1"}}"#), Outcome::Rejected);
    assert_eq!(
        outcome(r#"{"echo":{"TransactionId":"txn_1"},"data":{"TransactionId":"t"}}"#),
        Outcome::Unknown
    );
}

#[test]
fn a_refusal_that_is_cut_is_unknown_with_any_words_d10() {
    let payment = token_payment();
    for kind in [
        TransportErrorKind::Timeout,
        TransportErrorKind::Closed,
        TransportErrorKind::BodyTruncated,
        TransportErrorKind::BodyTooLarge,
        TransportErrorKind::Other,
    ] {
        for (body, id) in [
            (&br#"{"data":{"TransactionId":"t9","#[..], Some("t9")),
            (br#"{"TransactionId":"a"}{"TransactionId":"b"}"#, None),
            (br#"{"data":{"TransactionId":"t9"#, None),
            (br#"{"status":"failed","status_code":400,"msg":"m"}"#, None),
            (b"<html>", None),
            (b"", None),
        ] {
            for status in 400..=499 {
                let partial =
                    http::Response::builder().status(status).body(Bytes::from_static(body)).unwrap();
                let error =
                    payment.error_from_transport(&endpoint(), TransportError::answered(kind, partial));
                let found = error.transaction_id().map(ToString::to_string);
                assert_eq!((error.outcome(), found.as_deref()), (Outcome::Unknown, id), "{kind:?} {status}");
            }
        }
    }
}

#[test]
fn an_intermediary_refusal_with_two_transactions_is_unknown_and_reports_neither_d10() {
    let id = |status, body| {
        let error = run(&token_payment(), &Response(status, body)).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
        error.transaction_id().map(ToString::to_string)
    };
    let two = r#"{"data":{"TransactionId":"a"},"x":{"TransactionId":"b"}}"#;
    assert_eq!(id(400, two), None);
    assert_eq!(id(400, r#"{"data":{"TransactionId":"a"},"x":{"TransactionId":"a"}}"#).as_deref(), Some("a"));
    assert_eq!(id(502, two).as_deref(), Some("a"), "the id in its documented place");
    for body in [
        r#"{"status":"pending","data":{"TransactionId":"a"},"x":{"TransactionId":"b"}}"#,
        r#"{"status":"failed","status_code":"101","data":{"TransactionId":"a"},"x":{"TransactionId":"b"}}"#,
        r#"{"status":"success","data":{"TransactionId":"a"},"x":{"TransactionId":"b"}}"#,
    ] {
        assert_eq!(id(400, body).as_deref(), Some("a"), "{body}");
    }
}

fn check(rows: &[Row], run: impl Fn(&Case) -> Result<(), Means>) {
    for row in rows {
        for case in row.cases {
            let result = run(case).err().unwrap_or(Means::Ok);
            let shown = match case {
                Unsent => "unsent".to_owned(),
                Lost => "lost".to_owned(),
                Response(status, body) | Cut(status, body) => format!("HTTP {status} {body}"),
                Encoded(status, coding, body) => format!("HTTP {status} {coding} {body}"),
            };
            assert_eq!(result, row.means, "row {} ({}): {shown}", row.number, row.evidence);
        }
    }
}

fn token_payment() -> TokenTransaction {
    TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive).build().unwrap()
}

fn endpoint() -> Endpoint {
    Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("key").unwrap()).unwrap()
}

fn run<O: Operation>(operation: &O, case: &Case) -> Result<(), O::Error> {
    match case {
        Unsent => {
            let error = TransportError::not_processed(TransportErrorKind::Connect);
            assert_eq!(error.delivery(), Delivery::NotProcessed);
            Err(operation.error_from_transport(&endpoint(), error))
        }
        Lost => {
            Err(operation
                .error_from_transport(&endpoint(), TransportError::unknown(TransportErrorKind::Closed)))
        }
        Response(status, body) => operation.read(&endpoint(), response(*status, body)).map(drop),
        Encoded(status, coding, body) => {
            let mut response = response(*status, body);
            response.headers_mut().insert("content-encoding", HeaderValue::from_static(coding));
            operation.read(&endpoint(), response).map(drop)
        }
        Cut(status, body) => {
            let kind = TransportErrorKind::BodyTruncated;
            Err(operation
                .error_from_transport(&endpoint(), TransportError::answered(kind, response(*status, body))))
        }
    }
}

fn response(status: u16, body: &'static str) -> http::Response<Bytes> {
    let mut response = http::Response::new(Bytes::from_static(body.as_bytes()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// The table in the documentation. Run with `UPDATE_DOCS=1` to rewrite it.
#[test]
fn the_documented_table_has_these_rows() {
    let mut table = String::from("| # | evidence | outcome |\n|---|---|---|\n");
    for row in PAYMENT.iter().chain(LOOKUP) {
        let means = match row.means {
            Means::Ok => "`Ok`".to_owned(),
            Means::Failed(outcome) => format!("`{outcome:?}`"),
            Means::LookupFailed { is_rejected: true } => "`LookupError`, rejected".to_owned(),
            Means::LookupFailed { is_rejected: false } => "`LookupError`".to_owned(),
        };
        writeln!(table, "| {} | {} | {means} |", row.number, row.evidence).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/outcome-table.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        table,
        "run this test with UPDATE_DOCS=1 and review the change"
    );
}
