//! The handler of each admin path.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Method, Response, StatusCode};
use payments_core::OperationName;
use payments_fake::test_values::test_values_json;
use payments_fake::unversioned::ErrorEnvelope;
use payments_fake::{ArmedFault, DocumentError, Fault, RecordedRequest, Tenant};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::Admin;
use super::request::{AdminRequest, bad_request};
use crate::body::{Body, full};
use crate::page;
use crate::wall_clock::WallClock;

type HandlerResult = Result<Response<Body>, ErrorEnvelope>;

type Handler = fn(&Admin, &AdminRequest<'_>) -> HandlerResult;

/// The method, the path, the allowed query parameters and the handler.
pub(super) const ROUTES: &[(Method, &str, &[&str], Handler)] = &[
    (Method::GET, "/health", &[], |admin, _| admin.health()),
    (Method::POST, "/reset", &[], Admin::reset),
    (Method::POST, "/save", &[], |admin, _| admin.save()),
    (Method::GET, "/state", &["api_key"], |admin, request| done(admin.tenant(request)?.state_json())),
    (Method::POST, "/customers", &["api_key"], |admin, request| {
        let added = admin.tenant(request)?.add_customer_json(request.body);
        done(added.map_err(|error| invalid(request, r#"{"CustomerId":"cus_7"}"#, &error))?)
    }),
    (Method::POST, "/tokens", &["api_key"], |admin, request| {
        let added = admin.tenant(request)?.add_token_json(request.body);
        done(added.map_err(|error| invalid(request, r#"{"TokenId":"tok_7"}"#, &error))?)
    }),
    (Method::GET, "/requests", &["operation", "limit"], Admin::requests),
    (Method::DELETE, "/requests", &[], |admin, _| {
        admin.info.gateway.clear_requests();
        done("{}")
    }),
    (Method::GET, "/faults", &[], |admin, _| {
        list("faults", admin.info.gateway.faults().iter().map(ArmedFault::to_json))
    }),
    (Method::POST, "/faults", &[], Admin::arm),
    (Method::DELETE, "/faults", &["id"], Admin::disarm),
    (Method::POST, "/deliver-late", &[], |admin, _| {
        done(json!({"delivered": admin.info.gateway.deliver_late()}).to_string())
    }),
    (Method::GET, "/magic", &[], |_, _| done(test_values_json())),
    (Method::GET, "/openapi.json", &[], |_, _| done(crate::OPENAPI)),
    (Method::GET, "/clock", &[], |admin, _| shown(admin.clock()?)),
    (Method::POST, "/clock", &[], Admin::set_clock),
    (Method::GET, "/ui", &[], |_, _| Ok(page::page())),
    (Method::GET, "/events", &[], |admin, _| Ok(admin.feed.events())),
];

/// Says what a body has to be if it is no JSON at all: the position alone helps nobody.
fn invalid(request: &AdminRequest<'_>, example: &str, error: &DocumentError) -> ErrorEnvelope {
    bad_request(match serde_json::from_str::<IgnoredAny>(request.body) {
        Ok(_) => error.to_string(),
        Err(_) => format!("the body must be a JSON object such as {example}: {error}"),
    })
}

#[allow(clippy::unnecessary_wraps, reason = "every handler returns a result")]
fn done(json: impl Into<String>) -> HandlerResult {
    let mut line = json.into();
    // For people who use a shell.
    if !line.ends_with('\n') {
        line.push('\n');
    }
    let response = Response::builder().header(CONTENT_TYPE, "application/json");
    Ok(response.body(full(line)).expect("the header is valid"))
}

/// The items are JSON already.
fn list(name: &str, items: impl Iterator<Item = String>) -> HandlerResult {
    let items = items.collect::<Vec<_>>().join(",");
    done(format!(r#"{{"{name}":[{items}]}}"#))
}

impl Admin {
    fn health(&self) -> HandlerResult {
        let tenants: Vec<_> = self.info.gateway.tenants().collect();
        let health = json!({
            "status": "ok",
            "version": crate::VERSION,
            "seed": self.info.seed,
            "tenants": tenants.len(),
            "transactions": tenants.iter().map(Tenant::transaction_count).sum::<usize>(),
            "faults": self.info.gateway.faults().len(),
            "base_url": self.info.base_url,
        });
        done(health.to_string())
    }

    /// Starts over: with the fixtures for `{"keep_fixtures": true}`, without records for `{}` or no body.
    fn reset(&self, request: &AdminRequest<'_>) -> HandlerResult {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Reset {
            keep_fixtures: bool,
        }
        const RULE: &str = r#"the body must be {"keep_fixtures": true}, {"keep_fixtures": false} or empty"#;
        let body = if request.body.trim().is_empty() { "{}" } else { request.body };
        let Reset { keep_fixtures } = members(body).ok_or_else(|| bad_request(RULE))?;
        // First, so that no entry of the new ledger is dated by the old clock.
        if let Some(clock) = &self.clock {
            clock.reset();
        }
        if keep_fixtures {
            self.info.gateway.reset_to(&self.fixtures);
        } else {
            self.info.gateway.reset();
        }
        done("{}")
    }

    fn save(&self) -> HandlerResult {
        let Some(file) = &self.info.data_file else {
            let message = "this sandbox has no data file; start it with one (payments sandbox --data FILE)";
            return Err(ErrorEnvelope::new(StatusCode::CONFLICT, message));
        };
        match file.save(&self.info.gateway) {
            Ok(()) => done(json!({"saved": file.path()}).to_string()),
            Err(error) => Err(ErrorEnvelope::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
        }
    }

    /// The tenant of the key in the query, or the first one.
    fn tenant(&self, request: &AdminRequest<'_>) -> Result<Tenant, ErrorEnvelope> {
        match request.parameter("api_key") {
            None => Ok(self.info.gateway.first_tenant()),
            Some(key) => self.info.gateway.tenant(key).ok_or_else(|| {
                ErrorEnvelope::new(StatusCode::NOT_FOUND, "this sandbox does not accept that api_key")
            }),
        }
    }

    /// Newest last; `limit` keeps the newest.
    fn requests(&self, request: &AdminRequest<'_>) -> HandlerResult {
        let operation = request.parameter("operation").map(operation_named).transpose()?;
        let limit = match request.parameter("limit") {
            None => usize::MAX,
            Some(text) => text.parse().map_err(|_| bad_request("limit must be a whole number"))?,
        };
        let mut requests = self.info.gateway.requests();
        if let Some(operation) = operation {
            requests.retain(|request| request.operation == Some(operation));
        }
        let newest = &requests[requests.len().saturating_sub(limit)..];
        list("requests", newest.iter().map(RecordedRequest::to_json))
    }

    fn arm(&self, request: &AdminRequest<'_>) -> HandlerResult {
        const EXAMPLE: &str = r#"{"operation":"transaction","phase":"after_commit","kind":"close"}"#;
        let fault = Fault::from_json(request.body).map_err(|error| invalid(request, EXAMPLE, &error))?;
        let id = self.info.gateway.arm(fault);
        let armed = self.info.gateway.faults().into_iter().find(|fault| fault.id == id);
        done(armed.map_or_else(|| "{}".to_owned(), |fault| fault.to_json()))
    }

    /// Removes all faults, or the one with this `id`.
    fn disarm(&self, request: &AdminRequest<'_>) -> HandlerResult {
        match request.parameter("id") {
            None => self.info.gateway.disarm_all(),
            Some(id) => {
                let named = self.info.gateway.faults().into_iter().find(|fault| fault.id.to_string() == id);
                if !named.is_some_and(|fault| self.info.gateway.disarm(fault.id)) {
                    return Err(ErrorEnvelope::new(StatusCode::NOT_FOUND, "no armed fault has this id"));
                }
            }
        }
        done("{}")
    }

    /// `{"freeze": true}`, `{"set": "2030-01-31T12:00:00Z"}`, `{"advance_ms": 60000}`, or several of them. A clock that is
    /// frozen and set in one request shows exactly that time; `advance_ms` is added last.
    fn set_clock(&self, request: &AdminRequest<'_>) -> HandlerResult {
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
        let invalid = || {
            bad_request(
                r#"the body must have freeze (true or false), set (such as "2030-01-31T12:00:00Z") or advance_ms"#,
            )
        };
        let clock = self.clock()?;
        let ClockChange { freeze, set, advance_ms } = match members(request.body) {
            Some(ClockChange { freeze: None, set: None, advance_ms: None }) | None => return Err(invalid()),
            Some(change) => change,
        };
        let set = set.map(|set| humantime::parse_rfc3339(&set).map_err(|_| invalid())).transpose()?;
        let advance = Duration::from_millis(advance_ms.unwrap_or_default());
        // The header `Date` has four digits for the year; the limit leaves time for the clock to run on.
        let last = humantime::parse_rfc3339("9000-01-01T00:00:00Z").expect("a valid time");
        let changed =
            clock.change(freeze, |now| set.unwrap_or(now).checked_add(advance).filter(|to| *to < last));
        changed.ok_or_else(|| bad_request("the clock cannot be set beyond the year 9000"))?;
        shown(clock)
    }

    fn clock(&self) -> Result<&WallClock, ErrorEnvelope> {
        self.clock.as_ref().ok_or_else(|| {
            ErrorEnvelope::new(
                StatusCode::CONFLICT,
                "this sandbox serves a gateway with its own clock; change it in the program that started the sandbox",
            )
        })
    }
}

fn operation_named(name: &str) -> Result<OperationName, ErrorEnvelope> {
    OperationName::from_name(name).ok_or_else(|| {
        let names: Vec<_> = OperationName::ALL.iter().map(|operation| operation.as_str()).collect();
        bad_request(format!("operation must be one of {}", names.join(", ")))
    })
}

/// The members of a JSON object. Serde alone would accept an array for a struct too.
fn members<'de, T: Deserialize<'de>>(json: &'de str) -> Option<T> {
    serde_json::from_str(json).ok().filter(|_| json.trim_start().starts_with('{'))
}

/// Refuses `null`: a member that is present must have a value.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(member: D) -> Result<Option<T>, D::Error> {
    T::deserialize(member).map(Some)
}

fn shown(clock: &WallClock) -> HandlerResult {
    let now = humantime::format_rfc3339_millis(clock.now()).to_string();
    done(json!({"now": now, "frozen": clock.is_frozen()}).to_string())
}
