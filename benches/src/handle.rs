//! What a request costs in [`FakeGateway::handle`] alone, without HTTP, a socket or a lock that others want.
//!
//! It is counted in instructions, by valgrind's callgrind: that number is the same on a busy machine as on an idle one,
//! so that a change of a few percent can be seen. The profile of a call is in what callgrind leaves behind:
//!
//! ```text
//! valgrind --tool=callgrind target/release/payments-benches handle-loop card-payment 1000
//! callgrind_annotate --inclusive=yes callgrind.out.*
//! ```

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use payments_fake::{FakeGateway, Reply};

use crate::plan::Plan;
use crate::report::{Goal, Report};
use crate::requests::{CARD_PAYMENT, transaction_id};

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    for Case { name, about, .. } in CASES {
        if has_valgrind {
            let per_call = instructions_per_call(folder.path(), name, plan.calls)?;
            report.figure(about, f64::from(per_call), "instructions", Goal::None, "");
        } else {
            report.not_measured(about, "valgrind is not installed");
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
        .header("user-agent", "payments-benches")
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
        .header("user-agent", "payments-benches")
        .header("accept", "application/json")
        .header(AUTHORIZATION, gateway.api_key())
        .body(Bytes::new())
        .expect("an id makes a path")
}

/// What the calls after the first ones cost: the start of the process is in both counts.
fn instructions_per_call(folder: &Path, name: &str, calls: u32) -> anyhow::Result<u32> {
    let (few, many) = (instructions(folder, name, calls)?, instructions(folder, name, 2 * calls)?);
    let per_call = many.saturating_sub(few) / u64::from(calls);
    per_call.try_into().context("a call takes more instructions than can be true")
}

fn instructions(folder: &Path, name: &str, calls: u32) -> anyhow::Result<u64> {
    let file = folder.join(format!("{name}-{calls}"));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe()?)
        .args(["handle-loop", name, &calls.to_string()])
        .output()?;
    ensure!(
        output.status.success(),
        "valgrind ended with {}:\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let profile = std::fs::read_to_string(&file).context("callgrind left no profile")?;
    total(&profile).context("callgrind's profile has no total")
}

/// The line that sums up a profile of callgrind.
fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| {
        line.strip_prefix("summary:").or_else(|| line.strip_prefix("totals:"))?.trim().parse().ok()
    })
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

    #[test]
    fn the_total_is_found_under_either_name() {
        assert_eq!(total("events: Ir\nsummary: 12345\n\n"), Some(12_345));
        assert_eq!(total("events: Ir\nfn=(1)\n1 5\ntotals: 678\n"), Some(678));
        assert_eq!(total("events: Ir\n"), None);
    }
}
