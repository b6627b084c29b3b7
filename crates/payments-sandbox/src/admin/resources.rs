//! What each path of the interface does.

use std::time::Duration;

use http::{Method, Response, StatusCode};
use payments_core::OperationName;
use payments_fake::{ArmedFault, Fault, RecordedRequest, Tenant};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::Admin;
use super::ask::{Ask, Refusal};
use crate::body::{self, Body, whole};
use crate::page;
use crate::wall_clock::WallClock;

type Answer = Result<Response<Body>, Refusal>;

/// Does what is asked.
type Handler = fn(&Admin, &Ask<'_>) -> Answer;

/// A method, its path, and the names that the query may have.
pub(super) const ROUTES: &[(Method, &str, &[&str], Handler)] = &[
    (Method::GET, "/health", &[], |admin, _| admin.health()),
    (Method::POST, "/reset", &[], Admin::reset),
    (Method::GET, "/state", &["api_key"], |admin, ask| done(admin.tenant(ask)?.state_json())),
    (Method::POST, "/customers", &["api_key"], |admin, ask| {
        done(admin.tenant(ask)?.add_customer_json(ask.body)?)
    }),
    (Method::POST, "/tokens", &["api_key"], |admin, ask| done(admin.tenant(ask)?.add_token_json(ask.body)?)),
    (Method::GET, "/requests", &["operation", "limit"], Admin::requests),
    (Method::DELETE, "/requests", &[], |admin, _| {
        admin.gateway.clear_requests();
        done("{}")
    }),
    (Method::GET, "/faults", &[], |admin, _| {
        let faults: Vec<_> = admin.gateway.faults().iter().map(ArmedFault::to_json).collect();
        done(format!(r#"{{"faults":[{}]}}"#, faults.join(",")))
    }),
    (Method::POST, "/faults", &[], Admin::arm),
    (Method::DELETE, "/faults", &["id"], Admin::disarm),
    // Commits what faults in the phase `late` held back.
    (Method::POST, "/deliver-late", &[], |admin, _| {
        done(json!({"delivered": admin.gateway.deliver_late()}).to_string())
    }),
    (Method::GET, "/magic", &[], |_, _| done(crate::magic_json())),
    (Method::GET, "/openapi.json", &[], |_, _| done(crate::OPENAPI)),
    (Method::GET, "/clock", &[], |admin, _| shown(admin.clock()?)),
    (Method::POST, "/clock", &[], Admin::set_clock),
    (Method::GET, "/ui", &[], |_, _| Ok(page::page())),
    (Method::GET, "/events", &[], |admin, _| Ok(admin.feed.events(admin.gateway.responder()))),
];

#[allow(clippy::unnecessary_wraps, reason = "every handler returns a result")]
fn done(json: impl Into<String>) -> Answer {
    let mut line = json.into();
    // For whoever asks from a shell.
    if !line.ends_with('\n') {
        line.push('\n');
    }
    Ok(body::json(StatusCode::OK, line).map(whole))
}

impl Admin {
    fn health(&self) -> Answer {
        let tenants: Vec<_> = self.gateway.tenants().collect();
        let health = json!({
            "status": "ok",
            "version": crate::VERSION,
            "seed": self.seed,
            "tenants": tenants.len(),
            "transactions": tenants.iter().map(Tenant::transaction_count).sum::<usize>(),
            "faults": self.gateway.faults().len(),
            "base_url": self.base_url,
        });
        done(health.to_string())
    }

    /// `{"keep_fixtures": true}` begins again with the fixtures, `{}` or no body with nothing.
    fn reset(&self, ask: &Ask<'_>) -> Answer {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Reset {
            keep_fixtures: bool,
        }
        const RULE: &str = r#"the body must be {"keep_fixtures": true}, {"keep_fixtures": false} or empty"#;
        let body = if ask.body.trim().is_empty() { "{}" } else { ask.body };
        let Reset { keep_fixtures } = members(body).ok_or_else(|| Refusal::bad_request(RULE))?;
        // First, so that nothing in the new ledger is dated by the old clock.
        if let Some(clock) = &self.clock {
            clock.reset();
        }
        if keep_fixtures {
            self.gateway.reset_to(&self.fixtures);
        } else {
            self.gateway.reset();
        }
        done("{}")
    }

    /// The tenant of the key in the query, or the first one.
    fn tenant(&self, ask: &Ask<'_>) -> Result<Tenant, Refusal> {
        match ask.parameter("api_key") {
            None => Ok(self.gateway.first_tenant()),
            Some(key) => self.gateway.tenant(key).ok_or_else(|| {
                Refusal::new(StatusCode::NOT_FOUND, "this sandbox does not accept that api_key")
            }),
        }
    }

    /// Newest last; `limit` keeps the newest.
    fn requests(&self, ask: &Ask<'_>) -> Answer {
        let operation = ask.parameter("operation").map(operation_named).transpose()?;
        let limit = match ask.parameter("limit") {
            None => usize::MAX,
            Some(text) => text.parse().map_err(|_| Refusal::bad_request("limit must be a whole number"))?,
        };
        let mut requests = self.gateway.requests();
        if let Some(operation) = operation {
            requests.retain(|request| request.operation() == Some(operation));
        }
        let newest = &requests[requests.len().saturating_sub(limit)..];
        let newest: Vec<_> = newest.iter().map(RecordedRequest::to_json).collect();
        done(format!(r#"{{"requests":[{}]}}"#, newest.join(",")))
    }

    fn arm(&self, ask: &Ask<'_>) -> Answer {
        let id = self.gateway.arm(Fault::from_json(ask.body)?);
        let armed = self.gateway.faults().into_iter().find(|fault| fault.id == id);
        done(armed.map_or_else(|| "{}".to_owned(), |fault| fault.to_json()))
    }

    /// All of them, or the one of `id`.
    fn disarm(&self, ask: &Ask<'_>) -> Answer {
        match ask.parameter("id") {
            None => self.gateway.disarm_all(),
            Some(id) => {
                let named = self.gateway.faults().into_iter().find(|fault| fault.id.to_string() == id);
                if !named.is_some_and(|fault| self.gateway.disarm(fault.id)) {
                    return Err(Refusal::new(StatusCode::NOT_FOUND, "no fault is armed with this id"));
                }
            }
        }
        done("{}")
    }

    /// `{"freeze": true}`, `{"set": "2030-01-31T12:00:00Z"}`, `{"advance_ms": 60000}`, or several of them: the clock is frozen
    /// or freed first, so that a frozen one stands at exactly the time that is set, and advanced last.
    fn set_clock(&self, ask: &Ask<'_>) -> Answer {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct ClockChange {
            #[serde(deserialize_with = "present")]
            freeze: Option<bool>,
            #[serde(deserialize_with = "present")]
            set: Option<String>,
            #[serde(deserialize_with = "present")]
            advance_ms: Option<u64>,
        }
        let wrong = || {
            Refusal::bad_request(
                r#"the body must have freeze (true or false), set (such as "2030-01-31T12:00:00Z") or advance_ms"#,
            )
        };
        let clock = self.clock()?;
        let ClockChange { freeze, set, advance_ms } = match members(ask.body) {
            Some(ClockChange { freeze: None, set: None, advance_ms: None }) | None => return Err(wrong()),
            Some(change) => change,
        };
        let set = set.map(|set| humantime::parse_rfc3339(&set).map_err(|_| wrong())).transpose()?;
        let advance = Duration::from_millis(advance_ms.unwrap_or_default());
        // The header `Date` has four digits for the year; some room is left for the clock to run on.
        let last = humantime::parse_rfc3339("9000-01-01T00:00:00Z").expect("a valid time");
        let to = set.unwrap_or_else(|| clock.now()).checked_add(advance).filter(|to| *to < last);
        let to = to.ok_or_else(|| Refusal::bad_request("the clock cannot be set beyond the year 9000"))?;
        clock.set(to, freeze.unwrap_or_else(|| clock.is_frozen()));
        shown(clock)
    }

    fn clock(&self) -> Result<&WallClock, Refusal> {
        self.clock.as_ref().ok_or_else(|| {
            Refusal::new(
                StatusCode::CONFLICT,
                "the program that started this sandbox gave it a gateway with a clock of its own",
            )
        })
    }
}

fn operation_named(name: &str) -> Result<OperationName, Refusal> {
    OperationName::from_name(name).ok_or_else(|| {
        let names: Vec<_> = OperationName::ALL.iter().map(|operation| operation.as_str()).collect();
        Refusal::bad_request(format!("operation must be one of {}", names.join(", ")))
    })
}

/// What a JSON object says; by itself serde takes an array for a struct, too.
fn members<'de, T: Deserialize<'de>>(json: &'de str) -> Option<T> {
    serde_json::from_str(json).ok().filter(|_| json.trim_start().starts_with('{'))
}

/// A member that is there must have a value: `null` is refused.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(member: D) -> Result<Option<T>, D::Error> {
    T::deserialize(member).map(Some)
}

fn shown(clock: &WallClock) -> Answer {
    let now = humantime::format_rfc3339_millis(clock.now()).to_string();
    done(json!({"now": now, "frozen": clock.is_frozen()}).to_string())
}
