//! What a test of a program that takes payments costs in process: no port, no runtime, one thread.
//!
//! Each call is timed by itself and the median counts: a moment in which the machine did something else does not
//! decide. What runs here can be profiled as one process:
//!
//! ```text
//! perf record -g target/release/payments-bench test-loop 100000
//! ```

use std::hint::black_box;
use std::time::Instant;

use anyhow::Context as _;
use payments_core::model::{Amount, CardTransaction};
use payments_fake::{FakeGateway, block_on};

use crate::plan::Plan;
use crate::report::{Goal, Report};
use crate::requests::CARD_PAYMENT;
use crate::statistics::Sample;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let payment = payment()?;
    let gateways = sample(plan.tests, || Ok(FakeGateway::new()))?;
    report.spread("FakeGateway::new", &gateways, "µs", Goal::AtMost(5.0), "");

    let client = FakeGateway::new().client();
    let payments = sample(plan.tests, || Ok(block_on(client.process_card(&payment))?))?;
    report.spread(
        "process_card, FakeTransport",
        &payments,
        "µs",
        Goal::AtMost(25.0),
        "one gateway takes all",
    );

    let tests = sample(plan.tests, || test(&payment))?;
    let name = "a test: gateway, client, payment, assertion";
    report.spread(name, &tests, "µs", Goal::None, "with what is freed at its end");
    Ok(())
}

/// The body of a test, again and again; whatever watches does so from outside.
pub(crate) fn run_loop(tests: u32) -> anyhow::Result<()> {
    let payment = payment()?;
    (0..tests).try_for_each(|_| test(&payment))
}

fn test(payment: &CardTransaction) -> anyhow::Result<()> {
    let gateway = FakeGateway::new();
    block_on(gateway.client().process_card(payment))?;
    gateway.ledger().assert_charged_once(AMOUNT);
    Ok(())
}

/// With all 27 fields of the interface.
fn payment() -> anyhow::Result<CardTransaction> {
    CardTransaction::from_json(CARD_PAYMENT.as_bytes()).context("the example breaks a rule")
}

/// What [`CARD_PAYMENT`] pays.
const AMOUNT: Amount = Amount::from_cents(124_950);

/// How many microseconds each of these calls takes. Dropping what it gives is not part of it.
fn sample<T>(calls: u32, mut call: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<Sample> {
    let timed = (0..calls).map(|_| {
        let started = Instant::now();
        let given = black_box(call()?);
        let taken = started.elapsed();
        drop(given);
        Ok(taken.as_secs_f64() * 1e6)
    });
    Ok(timed.collect::<anyhow::Result<Vec<_>>>()?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_is_the_test_that_is_measured() {
        run_loop(2).unwrap();
    }

    #[test]
    fn a_call_that_fails_is_not_a_fast_one() {
        assert!(sample(2, || -> anyhow::Result<()> { anyhow::bail!("refused") }).is_err());
    }
}
