//! The sandbox's time of day, changed over the admin interface.

use std::time::{Duration, SystemTime};

use payments_fake::FakeGateway;
use payments_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::raw_client::{RawClient, start, start_with};

fn post(client: &mut RawClient, body: &Value) -> (u16, Value) {
    let response = client.admin("POST", "/clock", &body.to_string());
    (response.status(), response.json())
}

fn pay(client: &mut RawClient) -> Option<String> {
    client.pay("");
    client.response().header("date").map(str::to_owned)
}

fn processed_at(client: &mut RawClient) -> Vec<String> {
    let state = client.read("/state");
    let at = |transaction: &Value| transaction["ProcessedAt"].as_str().unwrap().to_owned();
    state["transactions"].as_array().unwrap().iter().map(at).collect()
}

#[test]
fn a_frozen_clock_dates_responses_and_the_ledger() {
    let (_sandbox, mut client) = start();
    // Frozen and set in one request, it shows exactly this time.
    let set = post(&mut client, &json!({"freeze": true, "set": "2030-01-31T12:00:00Z"}));
    assert_eq!(set, (200, json!({"now": "2030-01-31T12:00:00.000Z", "frozen": true})));
    assert_eq!(pay(&mut client).as_deref(), Some("Thu, 31 Jan 2030 12:00:00 GMT"));
    assert_eq!(post(&mut client, &json!({"advance_ms": 86_400_001})).1["now"], "2030-02-01T12:00:00.001Z");
    assert_eq!(pay(&mut client).as_deref(), Some("Fri, 01 Feb 2030 12:00:00 GMT"));
    post(&mut client, &json!({"set": "2029-12-31T23:59:59Z", "advance_ms": 1000}));
    assert_eq!(pay(&mut client).as_deref(), Some("Tue, 01 Jan 2030 00:00:00 GMT"));
    let at = [
        "2030-01-31T12:00:00.000000000Z",
        "2030-02-01T12:00:00.001000000Z",
        "2030-01-01T00:00:00.000000000Z",
    ];
    assert_eq!(processed_at(&mut client), at);
    assert_eq!(client.read("/requests")["requests"][2]["received_at"], at[2]);

    let freed = post(&mut client, &json!({"freeze": false})).1;
    assert_eq!(freed["frozen"], false);
    assert!(freed["now"].as_str().unwrap() >= "2030-01-01T00:00:00.000Z");
    assert_eq!(client.read("/clock")["frozen"], false);
}

#[test]
fn a_running_clock_continues_from_the_set_time_until_a_reset() {
    let (_sandbox, mut client) = start();
    post(&mut client, &json!({"set": "2040-01-01T00:00:00Z"}));
    assert!(pay(&mut client).unwrap().contains("Jan 2040"));
    let now = client.read("/clock")["now"].clone();
    assert!(now.as_str().unwrap() >= "2040-01-01T00:00:00.000Z", "{now}");

    client.admin("POST", "/reset", "");
    let is_system_time = |now: &Value| {
        let now = humantime::parse_rfc3339(now.as_str().unwrap()).unwrap();
        SystemTime::now().duration_since(now).is_ok_and(|since| since < Duration::from_hours(1))
    };
    assert!(is_system_time(&client.read("/clock")["now"]));
}

#[test]
fn an_invalid_change_is_refused_and_changes_nothing() {
    let (_sandbox, mut client) = start();
    post(&mut client, &json!({"freeze": true, "set": "2030-01-31T12:00:00Z"}));
    for body in [
        json!({}),
        json!([]),
        json!({"freeze": "yes"}),
        json!({"freeze": null}),
        json!({"set": "tomorrow", "freeze": false}),
        json!({"set": "2030-01-31T12:00:00"}),
        json!({"set": 7}),
        json!({"set": "1969-12-31T23:59:59Z"}),
        json!({"advance_ms": -1}),
        json!({"advance_ms": 1.5}),
        json!({"advance_ms": u64::MAX, "freeze": false}),
        json!({"set": "9000-01-01T00:00:00Z", "freeze": false}),
        json!({"freeze": false, "advance": 5}),
    ] {
        let (status, refused) = post(&mut client, &body);
        assert_eq!((status, &refused["status"]), (400, &json!("failed")), "{body}: {refused}");
    }
    assert_eq!(client.admin("POST", "/clock", "").status(), 400);
    let clock = client.read("/clock");
    assert_eq!(clock, json!({"now": "2030-01-31T12:00:00.000Z", "frozen": true}));
}

#[test]
fn a_provided_gateway_keeps_its_own_clock() {
    let gateway = FakeGateway::new();
    let (_sandbox, mut client) = start_with(Sandbox::builder().gateway(gateway));
    assert_eq!(post(&mut client, &json!({"freeze": true})).0, 409);
    assert_eq!(client.admin("GET", "/clock", "").status(), 409);
    assert_eq!(client.admin("POST", "/reset", "").status(), 200);
}
