//! The outcome table of the documentation is made from the rows here, and every row is put to the proof.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::fmt::Write;

use bytes::Bytes;
use http::StatusCode;
use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{
    ApiKey, Delivery, Endpoint, Error, GetTransaction, Operation, Outcome, TransportError, TransportErrorKind,
};

/// One row: what was seen, what it means, and cases that show it.
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
}

enum Case {
    Unsent,
    Lost,
    Answer(u16, &'static str),
}
use Case::{Answer, Lost, Unsent};

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
        evidence: "any byte may have been written; then a reset, a close, a deadline, a cancellation, a protocol error",
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
            Answer(
                200,
                r#"{"status":"success","status_code":100,"message":"m","data":{"TransactionId":"t"}}"#,
            ),
            Answer(201, r#"{"status":"SUCCESS","status_code":"100","data":{"TransactionId":17}}"#),
            Answer(200, r#"{"status":null,"status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(299, r#"{"status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, "\u{feff}{\"status_code\":100,\"data\":{\"TransactionId\":\"t\"}}"),
        ],
    },
    Row {
        number: 6,
        evidence: "2xx whose `status` is `failed`, `failure`, `error`, `declined` or `rejected`",
        means: REJECTED,
        cases: &[
            Answer(
                200,
                r#"{"status":"failed","status_code":200,"message":"m","data":{"TransactionId":"t"}}"#,
            ),
            Answer(200, r#"{"status":"Failure"}"#),
            Answer(202, r#"{"status":"ERROR","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"declined"}"#),
            Answer(200, r#"{"status":"rejected","data":null}"#),
        ],
    },
    Row {
        number: 6,
        evidence: "2xx with any other `status`, `pending` for one",
        means: UNKNOWN,
        cases: &[
            Answer(200, r#"{"status":"pending","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":true,"status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"failed_over","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"not failed","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success ","status_code":100,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 7,
        evidence: "2xx with a `status_code` that is missing, unreadable or not 100; 200 is not 100",
        means: UNKNOWN,
        cases: &[
            Answer(200, r#"{"status":"success","data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":200,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":101,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":110,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":"a hundred","data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":[100],"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":1000,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 8,
        evidence: "204, or a 2xx that is empty, truncated, HTML, not JSON, over the cap, or without `data` or `TransactionId`",
        means: UNKNOWN,
        cases: &[
            Answer(200, ""),
            Answer(204, ""),
            Answer(204, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(204, r#"{"status":"failed","status_code":200}"#),
            Answer(200, "<html><body>OK</body></html>"),
            Answer(200, "null"),
            Answer(200, "[]"),
            Answer(200, "100"),
            Answer(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}}"#),
            Answer(200, r#"{"status":"success","status_code":100}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":null}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":[]}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":{}}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":""}}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":null}}"#),
            Answer(200, r#"{"status":"success","status_code":100,"data":{"TransactionId":1.5}}"#),
        ],
    },
    Row {
        number: 9,
        evidence: "4xx, other than row 11's, with the service's error body (`status` as in row 6)",
        means: REJECTED,
        cases: &[
            Answer(
                400,
                r#"{"status":"failed","status_code":400,"msg":"bad request error: invalid postal code"}"#,
            ),
            Answer(401, r#"{"status":"failed","status_code":401,"msg":"Unauthorized: Invalid API Key"}"#),
            Answer(402, r#"{"status":"failed","status_code":402,"msg":"m"}"#),
            Answer(451, r#"{"status":"error"}"#),
        ],
    },
    Row {
        number: 9,
        evidence: "4xx whose body claims success (`status` `success` or `status_code` 100)",
        means: UNKNOWN,
        cases: &[
            Answer(400, r#"{"status":"success","status_code":400}"#),
            Answer(422, r#"{"status":"failed","status_code":100}"#),
            Answer(401, r#"{"status_code":"100"}"#),
            Answer(404, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 10,
        evidence: "400, 401, 403, 404, 405, 411, 413, 414, 415, 417, 421, 422, 429 or 431 with any other body",
        means: REJECTED,
        cases: &[
            Answer(400, "<html>Bad Request</html>"),
            Answer(401, ""),
            Answer(403, r#"{"message":"Forbidden"}"#),
            Answer(404, "null"),
            Answer(405, ""),
            Answer(411, ""),
            Answer(413, ""),
            Answer(414, ""),
            Answer(415, ""),
            Answer(417, ""),
            Answer(421, ""),
            Answer(422, r#"{"status":"failed","#),
            Answer(429, ""),
            Answer(431, ""),
        ],
    },
    Row {
        number: 11,
        evidence: "1xx as the final status, 3xx, 408, 409, 425, 5xx, and every status not named above, with any body",
        means: UNKNOWN,
        cases: &[
            Answer(100, ""),
            Answer(199, ""),
            Answer(301, ""),
            Answer(307, ""),
            Answer(402, "<html>"),
            Answer(406, ""),
            Answer(408, r#"{"status":"failed","status_code":408,"msg":"m"}"#),
            Answer(409, r#"{"status":"failed","status_code":409,"msg":"m"}"#),
            Answer(425, ""),
            Answer(500, r#"{"status":"failed","status_code":500,"msg":"m"}"#),
            Answer(502, "<html>Bad Gateway</html>"),
            Answer(503, r#"{"status":"success","status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(504, ""),
            Answer(600, ""),
            Answer(999, ""),
        ],
    },
];

const LOOKUP: &[Row] = &[
    Row {
        number: 12,
        evidence: "a look-up: 2xx with `status_code` 200, no contradicting `status`, and the record",
        means: Means::Ok,
        cases: &[
            Answer(200, r#"{"status_code":200,"message":"m","data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"success","status_code":"200","data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 12,
        evidence: "a look-up: 4xx, or a 2xx whose `status` is one of row 6's",
        means: REJECTED,
        cases: &[
            Answer(404, r#"{"status":"failed","status_code":404,"msg":"Transaction not found"}"#),
            Answer(404, "<html>"),
            Answer(408, ""),
            Answer(200, r#"{"status":"failed","status_code":200,"data":{"TransactionId":"t"}}"#),
        ],
    },
    Row {
        number: 12,
        evidence: "a look-up: anything else, after the repetitions that its deadline allows",
        means: NOT_PROCESSED,
        cases: &[
            Unsent,
            Lost,
            Answer(200, r#"{"status_code":100,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status":"pending","status_code":200,"data":{"TransactionId":"t"}}"#),
            Answer(200, r#"{"status_code":200,"data":{}}"#),
            Answer(200, ""),
            Answer(204, r#"{"status_code":200,"data":{"TransactionId":"t"}}"#),
            Answer(301, ""),
            Answer(500, ""),
            Answer(503, "<html>"),
        ],
    },
];

#[test]
fn d01_d02_d03_d04_d05_d06_d07_d08_d09_d10_d11_every_row_of_the_table_holds_for_a_payment() {
    let payment = TokenTransaction::builder("tok_1", Amount::from_cents(10_50), ConvenienceFee::Inactive)
        .build()
        .unwrap();
    prove(PAYMENT, &payment);
}

#[test]
fn d12_every_row_of_the_table_holds_for_a_lookup() {
    prove(LOOKUP, &GetTransaction::new("t".parse().unwrap()));
}

fn prove<O: Operation>(rows: &[Row], operation: &O)
where
    O::Data: std::fmt::Debug,
{
    for row in rows {
        for case in row.cases {
            let seen = match run(operation, case) {
                Ok(()) => Means::Ok,
                Err(error) => Means::Failed(error.outcome()),
            };
            let shown = match case {
                Unsent => "unsent".to_owned(),
                Lost => "lost".to_owned(),
                Answer(status, body) => format!("HTTP {status} {body}"),
            };
            assert_eq!(seen, row.means, "row {} ({}): {shown}", row.number, row.evidence);
        }
    }
}

fn run<O: Operation>(operation: &O, case: &Case) -> Result<(), Error> {
    let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new("key")?)?;
    match case {
        Unsent => {
            let error = TransportError::not_processed(TransportErrorKind::Connect);
            assert_eq!(error.delivery(), Delivery::NotProcessed);
            Err(operation.not_answered(&endpoint, error))
        }
        Lost => Err(operation.not_answered(&endpoint, TransportError::unknown(TransportErrorKind::Closed))),
        Answer(status, body) => {
            let mut answer = http::Response::new(Bytes::from_static(body.as_bytes()));
            *answer.status_mut() = StatusCode::from_u16(*status).unwrap();
            operation.read(&endpoint, answer).map(drop)
        }
    }
}

/// The table as the documentation shows it. Run with `UPDATE_DOCS=1` to write it anew.
#[test]
fn the_documented_table_is_made_of_these_rows() {
    let mut table = String::from("| # | evidence | outcome |\n|---|---|---|\n");
    for row in PAYMENT.iter().chain(LOOKUP) {
        let means = match row.means {
            Means::Ok => "`Ok`".to_owned(),
            Means::Failed(outcome) => format!("`{outcome:?}`"),
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
        "run this test with UPDATE_DOCS=1 and read the change"
    );
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    assert!(readme.contains(&table), "the README's table is not docs/outcome-table.md");
}
