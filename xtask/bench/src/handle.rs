//! What a request costs in [`FakeGateway::handle`] alone, without HTTP, a socket or a lock that others want.
//!
//! It is counted in instructions, by [`valgrind`]. The profile of a call is in what callgrind leaves behind:
//!
//! ```text
//! valgrind --tool=callgrind target/release/payments-bench handle-loop card-payment 1000
//! callgrind_annotate --inclusive=yes callgrind.out.*
//! ```

use std::time::{Duration, SystemTime};

use anyhow::{bail, ensure};
use bytes::Bytes;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use payments_fake::{FakeGateway, Reply};

use crate::plan::Plan;
use crate::report::{Goal, Report};
use crate::requests::{CARD_PAYMENT, transaction_id};
use crate::valgrind::{self, Counted};

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let program = std::env::current_exe()?;
    let has_valgrind = valgrind::is_installed();
    for Case { name, about, .. } in CASES {
        if has_valgrind {
            let command = |calls: u32| vec!["handle-loop".to_owned(), (*name).to_owned(), calls.to_string()];
            let counted = Counted::new(&program, command);
            let per_call = counted.instructions_per_call(plan.calls, 2 * plan.calls)?;
            report.figure(about, per_call, "instructions", Goal::None, "");
        } else {
            report.not_measured(about, valgrind::IS_MISSING);
        }
    }
    Ok(())
}

/// A kind of request whose cost is worth knowing.
struct Case {
    name: &'static str,
    about: &'static str,
    request: fn(&FakeGateway) -> Request<Bytes>,
    status: u16,
}

const CASES: &[Case] = &[
    Case {
        name: "card-payment",
        about: "POST /transaction, 27 fields",
        request: |gateway| post(gateway, "transaction", CARD_PAYMENT),
        status: 200,
    },
    Case {
        name: "token-payment",
        about: "POST /token-transaction",
        request: |gateway| {
            let body = r#"{"TokenId":"tok_approved","Amount":10.50,"ConvenienceFeeActive":false,"ReferenceNo":"order-7"}"#;
            post(gateway, "token-transaction", body)
        },
        status: 200,
    },
    Case { name: "look-up", about: "GET /transaction/{id}", request: look_up, status: 200 },
    Case {
        name: "wrong-key",
        about: "POST /transaction with a wrong key",
        request: |gateway| {
            let mut request = post(gateway, "transaction", CARD_PAYMENT);
            request.headers_mut().insert(AUTHORIZATION, "wrong".parse().expect("a header's value"));
            request
        },
        status: 401,
    },
];

/// Makes the calls of one case; whatever counts them does so from outside.
pub(crate) fn run_loop(name: &str, calls: u32) -> anyhow::Result<()> {
    let Some(case) = CASES.iter().find(|case| case.name == name) else {
        let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        bail!("there is no case {name}; there are {}", names.join(", "));
    };
    let gateway = FakeGateway::new();
    let request = (case.request)(&gateway);
    for _ in 0..calls {
        let Reply::Answer(answer) = gateway.handle(now(), request.clone()) else {
            bail!("{name} got no answer");
        };
        ensure!(answer.status() == case.status, "{name}: HTTP {}", answer.status());
    }
    Ok(())
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + AFTER_EPOCH
}

/// Some hour of 2026.
const AFTER_EPOCH: Duration = Duration::from_hours(490_896);

fn post(gateway: &FakeGateway, operation: &str, body: &'static str) -> Request<Bytes> {
    Request::post(format!("/api/v1/public/{operation}"))
        .header("host", "127.0.0.1:4012")
        .header("user-agent", "payments-bench")
        .header("accept", "application/json")
        .header("content-length", body.len())
        .header(AUTHORIZATION, gateway.api_key())
        .header(CONTENT_TYPE, "application/json")
        .body(Bytes::from_static(body.as_bytes()))
        .expect("constants make a request")
}

fn look_up(gateway: &FakeGateway) -> Request<Bytes> {
    let Reply::Answer(answer) = gateway.handle(now(), post(gateway, "transaction", CARD_PAYMENT)) else {
        unreachable!("no fault is armed");
    };
    let id = transaction_id(answer.body()).expect("a payment has an id");
    Request::get(format!("/api/v1/public/transaction/{id}"))
        .header("host", "127.0.0.1:4012")
        .header("user-agent", "payments-bench")
        .header("accept", "application/json")
        .header(AUTHORIZATION, gateway.api_key())
        .body(Bytes::new())
        .expect("an id makes a path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_answered_as_it_says() {
        for case in CASES {
            run_loop(case.name, 2).unwrap();
        }
    }

    #[test]
    fn an_unknown_case_is_told_with_those_that_are_known() {
        assert!(run_loop("refund", 1).unwrap_err().to_string().contains("card-payment"));
    }
}
