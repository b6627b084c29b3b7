//! What a collector gets for one payment, with a collector that this test runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use payments_core::OperationName;
use payments_fake::Fault;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::shop::Shop;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// The exported documents.
type Exported = Arc<Mutex<Vec<Value>>>;

/// An OTLP collector on loopback.
fn collector(runtime: &Runtime) -> (String, Exported) {
    async fn keep(State(exported): State<Exported>, Json(document): Json<Value>) -> Json<Value> {
        exported.lock().unwrap().push(document);
        Json(Value::Object(serde_json::Map::new()))
    }

    let exported = Exported::default();
    let routes = Router::new().route("/v1/traces", post(keep)).route("/v1/metrics", post(keep));
    let routes = routes.with_state(Arc::clone(&exported));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, routes).await });
    (format!("http://{address}"), exported)
}

#[test]
fn payment_is_one_trace_from_browser_to_service_with_metrics() {
    let runtime = Runtime::new().unwrap();
    let (collector, exported) = collector(&runtime);
    let shop = Shop::open();
    let instance = shop.start_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector)]);
    let sender = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let headers = [("traceparent", &*sender), ("x-request-id", "req-17")];
    assert_eq!(instance.post("/orders/17/pay", "tok_approved", &headers).unwrap().0, 200);
    instance.signal("TERM");
    assert_eq!(instance.end(), Some(0), "the exit code of a shutdown");

    let exported = exported.lock().unwrap();
    let spans: Vec<_> = inside(&exported, "resourceSpans", "scopeSpans", "spans").collect();
    let requests = shop.gateway().requests();
    let header = |name: &str| requests[0].headers[name].to_str().unwrap();
    let attempt = spans.iter().find(|span| span["name"] == "POST /api/v1/public/token-transaction").unwrap();
    let attempt = attempt["spanId"].as_str().unwrap();
    assert_eq!(header("traceparent"), format!("00-{TRACE}-{attempt}-01"));
    assert_eq!(header("x-request-id"), "req-17");

    let mut text = String::new();
    write_spans(&mut text, &spans, "00f067aa0ba902b7", 0);
    let written = text.lines().filter(|line| !line.contains(" = ")).count();
    assert_eq!(written, spans.len(), "not every span is in the browser's trace: {spans:#?}");
    for metric in inside(&exported, "resourceMetrics", "scopeMetrics", "metrics") {
        write_metric(&mut text, metric, &["histogram", "sum"]);
    }
    check_readme(&text, 0);
}

#[test]
fn unknown_payment_is_in_the_gauges_and_alerts_name_them() {
    let runtime = Runtime::new().unwrap();
    let (collector, exported) = collector(&runtime);
    let shop = Shop::open();
    let instance = shop.start_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector)]);
    shop.gateway().arm(Fault::response_lost(OperationName::TokenTransaction));
    assert_eq!(instance.pay("18", "tok_approved").0, 202);
    instance.signal("TERM");
    assert_eq!(instance.end(), Some(0), "the exit code of a shutdown");

    let exported = exported.lock().unwrap();
    let mut text = String::new();
    let mut names = Vec::new();
    // Those of the last export, at the shutdown.
    let last = exported.iter().rfind(|document| document["resourceMetrics"].is_array()).unwrap();
    for metric in inside(std::slice::from_ref(last), "resourceMetrics", "scopeMetrics", "metrics") {
        write_metric(&mut text, metric, &["gauge"]);
        // As Prometheus spells it.
        let unit = if metric["unit"] == "s" { "_seconds" } else { "" };
        names.push(format!("{}{unit}", metric["name"].as_str().unwrap().replace('.', "_")));
    }
    check_readme(&text, 1);

    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, rules) = readme.split_once("```yaml\n").expect("the README has alert rules");
    let rules: Vec<_> = rules.lines().filter(|line| line.contains("expr:")).collect();
    assert_eq!(rules.len(), 2);
    for rule in rules {
        let (_, rest) = rule.split_once("max(").unwrap();
        let (name, labels) = rest.split_once('{').unwrap();
        assert!(names.iter().any(|exported| exported == name), "{name}: {names:?}");
        assert!(labels.starts_with("payment_state=\"unknown\"}"), "{rule}");
    }
}

/// The innermost objects of all exports.
fn inside<'a>(
    exported: &'a [Value],
    resources: &'a str,
    scopes: &'a str,
    name: &'a str,
) -> impl Iterator<Item = &'a Value> {
    fn all<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        value[name].as_array().into_iter().flatten()
    }

    let resources = exported.iter().flat_map(move |document| all(document, resources));
    resources.flat_map(move |it| all(it, scopes)).flat_map(move |it| all(it, name))
}

/// Writes the spans below `parent`, each with its attributes.
fn write_spans(text: &mut String, spans: &[&Value], parent: &str, depth: usize) {
    for span in spans.iter().filter(|span| span["parentSpanId"] == parent) {
        write_named(text, span["name"].as_str().unwrap(), span, depth);
        write_spans(text, spans, span["spanId"].as_str().unwrap(), depth + 1);
    }
}

/// Writes the points of a metric of these kinds that are not zero.
fn write_metric(text: &mut String, metric: &Value, kinds: &[&str]) {
    for point in kinds.iter().filter_map(|kind| metric[kind]["dataPoints"].as_array()).flatten() {
        let value = ["count", "asInt", "asDouble"].iter().find_map(|name| point.get(name)).unwrap();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let name = metric["name"].as_str().unwrap();
        let unit = metric["unit"].as_str().filter(|unit| !unit.is_empty());
        let unit = unit.map(|unit| format!(" in {unit}")).unwrap_or_default();
        let value = match value.parse::<f64>().unwrap() {
            0.0 => continue,
            _ if name.ends_with("_age") => "AGE",
            _ => &value,
        };
        write_named(text, &format!("{name}{unit}: {value}"), point, 0);
    }
}

/// Writes the name, and below it the attributes by name, without those about the source code.
fn write_named(text: &mut String, name: &str, object: &Value, depth: usize) {
    let pairs = object["attributes"].as_array().unwrap().iter().map(|pair| {
        let value = pair["value"].as_object().unwrap().values().next().unwrap();
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (pair["key"].as_str().unwrap(), value)
    });
    let prefixes = ["error.", "http.", "key", "payment.", "server.", "url."];
    let mut pairs: BTreeMap<_, _> =
        pairs.filter(|(name, _)| prefixes.iter().any(|it| name.starts_with(it))).collect();
    for (differs_in_each_run, shown) in [("server.port", "PORT"), ("payment.call_id", "CALL_ID")] {
        pairs.entry(differs_in_each_run).and_modify(|value| shown.clone_into(value));
    }
    let indent = "  ".repeat(depth);
    writeln!(text, "{indent}{name}").unwrap();
    for (name, value) in pairs {
        writeln!(text, "{indent}    {name} = {value}").unwrap();
    }
}

/// Compares the text with a block of text in the README. `UPDATE_DOCS=1` rewrites it there.
fn check_readme(text: &str, block: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (begin, fence) = readme.match_indices("```text\n").nth(block).expect("the README has that block");
    let (before, rest) = readme.split_at(begin + fence.len());
    let (shown, after) = rest.split_once("```\n").unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return fs::write(&path, format!("{before}{text}```\n{after}")).unwrap();
    }
    assert_eq!(shown, text, "UPDATE_DOCS=1 rewrites the README");
}
