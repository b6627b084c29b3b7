use payments_fake::test_values::{TEST_VALUES, TestValue};
use serde_json::json;

/// The table of [test values](payments_fake::test_values) as JSON: `{"values": [{"field", "value", "effect", "result"}]}`.
pub fn magic_json() -> String {
    let rows = TEST_VALUES.iter().map(|TestValue { field, value, effect, result, .. }| {
        json!({"field": field.as_str(), "value": value, "effect": effect.as_str(), "result": result})
    });
    json!({"values": rows.collect::<Vec<_>>()}).to_string()
}
