//! What goes wrong with each request, and what whoever sent it can know then.

use fastrand::Rng;
use serde_json::{Value, json};

/// What the answer to a request says to whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// What really happened.
    Truth,
    /// That it was refused, provably before it was acted upon.
    Refusal,
    /// Nothing that could be relied upon.
    Nothing,
}

/// The fault of each request, in the order in which the service receives them.
#[derive(Debug)]
pub(crate) struct Weather(Vec<Option<Fault>>);

#[derive(Clone, Debug)]
struct Fault {
    document: Value,
    told: Told,
}

impl Weather {
    /// For so many requests; those after them meet none.
    pub(crate) fn of(requests: usize, chance: &mut Rng) -> Self {
        // What waits for the client's deadline, or makes the run pause, takes time and is not made more certain by more
        // of it.
        let (mut slow, mut refusals, mut stops) = (1, 1, u8::from(chance.u8(..4) == 0));
        let mut any = |chance: &mut Rng| loop {
            let fault = Fault::any(chance);
            let budget = match (&fault.document["kind"], fault.told) {
                (kind, Told::Nothing) if kind == "stall" || kind == "drip" || kind == "delay" => &mut slow,
                (_, Told::Refusal) if fault.document["status"] == 429 => &mut refusals,
                (_, Told::Refusal) => &mut stops,
                _ => return fault,
            };
            if let Some(left) = budget.checked_sub(1) {
                *budget = left;
                return fault;
            }
        };
        Self((0..requests).map(|_| (chance.u8(..4) == 0).then(|| any(chance))).collect())
    }

    /// Nothing goes wrong.
    pub(crate) fn fair() -> Self {
        Self(Vec::new())
    }

    /// What to arm.
    pub(crate) fn faults(&self) -> impl Iterator<Item = Value> {
        self.0.iter().enumerate().filter_map(|(number, fault)| {
            let mut document = fault.as_ref()?.document.clone();
            document["operation"] = json!("token-transaction");
            document["skip"] = json!(number);
            Some(document)
        })
    }

    pub(crate) fn told(&self, number: usize) -> Told {
        self.0.get(number).and_then(Option::as_ref).map_or(Told::Truth, |fault| fault.told)
    }

    pub(crate) fn is_bad(&self, number: usize) -> bool {
        self.0.get(number).is_some_and(Option::is_some)
    }

    /// For a person who reads of a broken promise.
    pub(crate) fn describe(&self, number: usize) -> String {
        match self.0.get(number).and_then(Option::as_ref) {
            Some(fault) => format!("request {number} met {}", fault.document),
            None => format!("request {number} met no fault"),
        }
    }
}

impl Fault {
    fn any(chance: &mut Rng) -> Self {
        let phase = *chance.choice(&["before_commit", "after_commit", "late"]).unwrap();
        let fault = |told, document: Value| Self { document, told };
        match chance.u8(..16) {
            0 | 1 => fault(Told::Nothing, json!({"phase": phase, "kind": "close"})),
            2 | 3 => fault(Told::Nothing, json!({"phase": phase, "kind": "reset"})),
            4 => fault(Told::Nothing, json!({"phase": phase, "kind": "truncate", "bytes": chance.u32(..90)})),
            5 => fault(Told::Nothing, json!({"phase": phase, "kind": "garbage"})),
            6 => fault(Told::Nothing, json!({"phase": phase, "kind": "html", "status": 502})),
            7 => fault(Told::Nothing, json!({"phase": phase, "kind": "status", "status": 502})),
            8 => fault(
                Told::Nothing,
                json!({"phase": phase, "kind": "status", "status": 503, "retry_after": "0"}),
            ),
            9 => fault(Told::Nothing, json!({"phase": phase, "kind": "wrong_shape"})),
            10 => fault(Told::Nothing, json!({"phase": phase, "kind": "stall"})),
            11 if phase != "after_commit" => {
                fault(Told::Nothing, json!({"phase": phase, "kind": "drip", "bytes": 20, "delay_ms": 1}))
            }
            11 => fault(Told::Truth, json!({"phase": phase, "kind": "drip", "bytes": 20, "delay_ms": 1})),
            12 if phase == "late" => {
                fault(Told::Nothing, json!({"phase": phase, "kind": "delay", "delay_ms": 5}))
            }
            12 | 13 => {
                let phase = if phase == "late" { "after_commit" } else { phase };
                fault(Told::Truth, json!({"phase": phase, "kind": "delay", "delay_ms": chance.u32(1..20)}))
            }
            // A service that lies about what it has done is believed, so these come before.
            14 => fault(
                Told::Refusal,
                json!({"phase": "before_commit", "kind": "status", "status": 429, "retry_after": "0"}),
            ),
            _ => {
                let status = if chance.bool() { 401 } else { 403 };
                fault(Told::Refusal, json!({"phase": "before_commit", "kind": "status", "status": status}))
            }
        }
    }
}
