use std::time::Duration;

use http::StatusCode;
use payments_core::TransportErrorKind;
use payments_fake::{Fault, FaultKind, FaultTarget, Phase};

use crate::{Cause, Symptom, WireFault};

/// What goes wrong with one call, drawn before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) cause: Cause,
    /// How many attempts of a lookup are affected.
    pub(crate) times: u32,
    /// The fault that the request asks the service for, if the cause is a fault of the service.
    pub(crate) fault: Option<Fault>,
    /// The error kind that the transport reports for a loss.
    pub(crate) kind: TransportErrorKind,
    /// How long the request takes to the service.
    pub(crate) request_latency: Duration,
    /// How long the response takes to the client.
    pub(crate) response_latency: Duration,
    /// The delay of the wire faults that delay something.
    pub(crate) delay: Duration,
    /// The number of polls after which the caller drops its future.
    pub(crate) dropped_after: Option<u32>,
}

impl Plan {
    pub(crate) fn draw(rng: &mut fastrand::Rng, causes: &[Cause]) -> Self {
        let cause = if rng.u8(..10) < 3 { Cause::Nothing } else { pick(rng, causes) };
        let latency = |rng: &mut fastrand::Rng, slow_in_ten| {
            let is_slow = rng.u8(..10) < slow_in_ten;
            if is_slow { Duration::from_micros(rng.u64(1..20_000)) } else { Duration::ZERO }
        };
        let fault = match cause {
            Cause::Gateway(symptom, moment) => Some(draw_fault(rng, Fault::on_any(), symptom, moment)),
            _ => None,
        };
        Self {
            cause,
            times: pick(rng, &[1, 1, 1, 2, 2, 3, 4]),
            fault,
            kind: pick(rng, &LOSSES),
            request_latency: latency(rng, 5),
            response_latency: latency(rng, 9),
            delay: Duration::from_millis(pick(rng, &[5, 40, 90, 3_000, 45_000, 100_000])),
            dropped_after: (rng.u8(..10) < 3).then(|| pick(rng, &[1, 1, 2, 2, 3])),
        }
    }

    /// The wire fault of this attempt.
    pub(crate) fn wire_fault(&self, attempt: u32) -> Option<WireFault> {
        match self.cause {
            Cause::Wire(fault) if attempt <= self.times => Some(fault),
            _ => None,
        }
    }

    /// The service fault of this attempt.
    pub(crate) fn requested_fault(&self, attempt: u32) -> Option<&Fault> {
        self.fault.as_ref().filter(|_| attempt <= self.times)
    }
}

/// A fault with this symptom, with its parameters drawn.
pub(crate) fn draw_fault(
    rng: &mut fastrand::Rng,
    target: FaultTarget,
    symptom: Symptom,
    moment: Phase,
) -> Fault {
    let status = |status| StatusCode::from_u16(status).expect("the catalogue holds statuses");
    let at = target.at(moment);
    let fault = match symptom {
        Symptom::Refuse => at.refuse(),
        Symptom::Close => at.close(),
        Symptom::Reset => at.reset(),
        Symptom::Stall => at.stall(),
        Symptom::Drip => {
            let every = Duration::from_millis(pick(rng, &[1, 15, 40, 2_000]));
            at.drip(pick(rng, &[60, 250, 4_000]), every)
        }
        Symptom::Truncate => at.truncate(rng.usize(..700)),
        Symptom::Garbage => at.garbage(),
        Symptom::Html(code) => at.show(FaultKind::Html { status: status(code) }),
        Symptom::Status(code) => at.status(status(code)),
        Symptom::Delay => at.delay(Duration::from_millis(pick(rng, &[10, 60, 700, 20_000, 90_000]))),
        Symptom::WrongShape => at.wrong_shape(),
    };
    match symptom {
        Symptom::Html(_) | Symptom::Status(_) if rng.u8(..4) == 0 => {
            fault.retry_after(pick(rng, &["0", "1", "3", "3600", "Tue, 01 Jan 2030 00:05:00 GMT", "soon"]))
        }
        _ => fault,
    }
}

/// One item, all equally likely.
pub(crate) fn pick<T: Copy>(rng: &mut fastrand::Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())]
}

/// The error kinds that a transport may report for an unknown outcome.
const LOSSES: [TransportErrorKind; 5] = [
    TransportErrorKind::Closed,
    TransportErrorKind::Protocol,
    TransportErrorKind::Timeout,
    TransportErrorKind::Cancelled,
    TransportErrorKind::Other,
];
