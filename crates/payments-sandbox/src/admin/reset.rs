use serde_json::Value;

use super::refusal::Refusal;
use super::{Admin, Ask};

/// `{"keep_fixtures": true}` begins again with the fixtures, `{}` or no body with nothing.
pub(super) fn post(admin: &Admin, ask: &Ask<'_>) -> Result<String, Refusal> {
    let keep_fixtures = match ask.body().trim() {
        "" => false,
        body => keep_fixtures(body).ok_or_else(|| {
            Refusal::bad_request(
                r#"the body must be {"keep_fixtures": true}, {"keep_fixtures": false} or empty"#,
            )
        })?,
    };
    // First, so that nothing in the new books is dated by the old clock.
    if let Some(clock) = &admin.clock {
        clock.reset();
    }
    if keep_fixtures {
        admin.gateway.reset_to(&admin.fixtures);
    } else {
        admin.gateway.reset();
    }
    Ok("{}".to_owned())
}

fn keep_fixtures(body: &str) -> Option<bool> {
    let body: Value = serde_json::from_str(body).ok()?;
    match body.as_object()?.iter().next() {
        None => Some(false),
        Some((name, value)) if name == "keep_fixtures" && body.as_object()?.len() == 1 => value.as_bool(),
        Some(_) => None,
    }
}
