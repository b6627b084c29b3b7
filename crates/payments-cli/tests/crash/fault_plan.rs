//! The fault of each request, and what its sender can learn from the response.

use fastrand::Rng;
use serde_json::{Value, json};

/// What a client can learn from a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// What really happened.
    Truthful,
    /// The request was refused before the service acted on it.
    Refusal,
    /// Nothing reliable.
    Inconclusive,
}

/// The fault that is armed from each request on, in the order in which the service receives the requests.
#[derive(Debug)]
pub(crate) struct FaultPlan(Vec<Option<Fault>>);

#[derive(Clone, Debug)]
struct Fault {
    document: Value,
    response: ResponseKind,
}

impl FaultPlan {
    /// Random faults for this many requests. Later requests have none.
    pub(crate) fn random(requests: usize, chance: &mut Rng) -> Self {
        // Faults that make the client wait or the run pause take time, and more of them prove no more.
        let (mut slow, mut refusals, mut stops) = (1, 1, u8::from(chance.u8(..4) == 0));
        let mut next = |chance: &mut Rng| loop {
            let fault = Fault::random(chance);
            let budget = match (&fault.document["kind"], fault.response) {
                (kind, ResponseKind::Inconclusive)
                    if kind == "stall" || kind == "drip" || kind == "delay" =>
                {
                    &mut slow
                }
                (_, ResponseKind::Refusal) if fault.document["status"] == 429 => &mut refusals,
                (_, ResponseKind::Refusal) => &mut stops,
                _ => return fault,
            };
            if let Some(left) = budget.checked_sub(1) {
                *budget = left;
                return fault;
            }
        };
        Self((0..requests).map(|_| (chance.u8(..4) == 0).then(|| next(chance))).collect())
    }

    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// The faults as documents of the admin interface.
    pub(crate) fn faults(&self) -> impl Iterator<Item = Value> {
        self.0.iter().enumerate().filter_map(|(number, fault)| {
            let mut document = fault.as_ref()?.document.clone();
            document["operation"] = json!("token-transaction");
            document["skip"] = json!(number);
            Some(document)
        })
    }

    /// What a response shows after the fault at this place fired, or without one.
    pub(crate) fn response_kind(&self, fired: Option<usize>) -> ResponseKind {
        self.fault(fired).map_or(ResponseKind::Truthful, |fault| fault.response)
    }

    fn fault(&self, place: Option<usize>) -> Option<&Fault> {
        self.0.get(place?)?.as_ref()
    }

    /// For the message of a failed assertion.
    pub(crate) fn describe(&self, fired: Option<usize>) -> String {
        match self.fault(fired) {
            Some(fault) => format!("a request with {}", fault.document),
            None => "a request without a fault".to_owned(),
        }
    }
}

impl Fault {
    fn random(chance: &mut Rng) -> Self {
        use ResponseKind::{Inconclusive, Refusal, Truthful};

        let mut phase = *chance.choice(&["before_commit", "after_commit", "late"]).unwrap();
        let (response, mut document) = match chance.u8(..16) {
            0 | 1 => (Inconclusive, json!({"kind": "close"})),
            2 | 3 => (Inconclusive, json!({"kind": "reset"})),
            4 => (Inconclusive, json!({"kind": "truncate", "bytes": chance.u32(..90)})),
            5 => (Inconclusive, json!({"kind": "garbage"})),
            6 => (Inconclusive, json!({"kind": "html", "status": 502})),
            7 => (Inconclusive, json!({"kind": "status", "status": 502})),
            8 => (Inconclusive, json!({"kind": "status", "status": 503, "retry_after": "0"})),
            9 => (Inconclusive, json!({"kind": "wrong_shape"})),
            10 => (Inconclusive, json!({"kind": "stall"})),
            11 => {
                let response = if phase == "after_commit" { Truthful } else { Inconclusive };
                (response, json!({"kind": "drip", "bytes": 20, "delay_ms": 1}))
            }
            12 if phase == "late" => (Inconclusive, json!({"kind": "delay", "delay_ms": 5})),
            12 | 13 => {
                phase = if phase == "late" { "after_commit" } else { phase };
                (Truthful, json!({"kind": "delay", "delay_ms": chance.u32(1..20)}))
            }
            // A client must trust a refusal, so the sandbox never refuses after it has acted.
            14 => {
                phase = "before_commit";
                (Refusal, json!({"kind": "status", "status": 429, "retry_after": "0"}))
            }
            _ => {
                phase = "before_commit";
                (Refusal, json!({"kind": "status", "status": if chance.bool() { 401 } else { 403 }}))
            }
        };
        document["phase"] = json!(phase);
        Self { document, response }
    }
}
