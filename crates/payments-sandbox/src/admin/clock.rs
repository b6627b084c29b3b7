use std::time::{Duration, SystemTime};

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::{Admin, Ask};
use crate::wall_clock::WallClock;

pub(super) fn get(admin: &Admin, _: &Ask<'_>) -> Result<String, Refusal> {
    Ok(shown(clock(admin)?))
}

/// `{"freeze": true}`, `{"set": "2030-01-31T12:00:00Z"}`, `{"advance_ms": 60000}`, or several of them: the clock is frozen or
/// freed first, so that a frozen one stands at exactly the time that is set, and advanced last.
pub(super) fn post(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    let clock = clock(admin)?;
    let Ok(members) = serde_json::from_str::<Map<String, Value>>(ask.body()) else {
        return Err(Refusal::bad_request(RULE));
    };
    if members.is_empty()
        || members.keys().any(|name| !["freeze", "set", "advance_ms"].contains(&name.as_str()))
    {
        return Err(Refusal::bad_request(RULE));
    }
    let freeze = read(&members, "freeze", Value::as_bool)?;
    let set = read(&members, "set", |value| humantime::parse_rfc3339(value.as_str()?).ok())?;
    let advance = read(&members, "advance_ms", Value::as_u64)?.map_or(Duration::ZERO, Duration::from_millis);
    let to = set.unwrap_or_else(|| clock.now()).checked_add(advance).filter(|to| *to < last());
    let to = to.ok_or_else(|| Refusal::bad_request("the clock cannot be set beyond the year 9000"))?;
    if let Some(frozen) = freeze {
        clock.freeze(frozen);
    }
    if set.is_some() || !advance.is_zero() {
        clock.set(to);
    }
    Ok(shown(clock))
}

const RULE: &str =
    r#"the body must have freeze (true or false), set (such as "2030-01-31T12:00:00Z") or advance_ms"#;

fn read<T>(
    members: &Map<String, Value>,
    name: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    match members.get(name) {
        None => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| Refusal::bad_request(RULE)),
    }
}

/// The header `Date` has four digits for the year; some room is left for the clock to run on.
fn last() -> SystemTime {
    humantime::parse_rfc3339("9000-01-01T00:00:00Z").expect("a valid time")
}

fn clock(admin: &Admin) -> Result<&WallClock, Refusal> {
    admin.clock.as_ref().ok_or_else(|| {
        Refusal::new(
            StatusCode::CONFLICT,
            "the program that started this sandbox gave it a gateway with a clock of its own",
        )
    })
}

fn shown(clock: &WallClock) -> String {
    let now = humantime::format_rfc3339_millis(clock.now()).to_string();
    json!({"now": now, "frozen": clock.is_frozen()}).to_string()
}
