//! The log of the sandbox: a line on stderr for each request.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use payments_core::OperationName;
use payments_fake::{FaultKind, RecordedRequest, RequestEffect};
use payments_sandbox::{Exchange, IdleClose};
use serde_json::json;

use crate::args::sandbox::LogShape;
use crate::stderr;
use crate::style::{self, Style, Tone};

/// Writes a line to stderr for each request, in the requested format.
pub(super) fn writer(shape: LogShape) -> Option<impl Fn(&Exchange)> {
    let line: fn(&Exchange) -> String = match shape {
        LogShape::Off => return None,
        LogShape::Text => |exchange| style::for_terminal(&exchange.to_string()),
        LogShape::Pretty => |exchange| pretty(exchange, SystemTime::now(), stderr::style()),
        LogShape::Json => as_json,
    };
    Some(move |exchange: &Exchange| stderr::write(line(exchange) + "\n"))
}

/// Writes a line to stderr for each idle connection that is closed. Without a log, it only warns when all connections are in use.
pub(super) fn idle_writer(shape: LogShape) -> impl Fn(&IdleClose) {
    let next_warning = Mutex::new(Instant::now());
    move |closed: &IdleClose| match (shape, closed.reached_limit) {
        (LogShape::Off, None) => {}
        (LogShape::Off, Some(limit)) => {
            let mut next = next_warning.lock().unwrap_or_else(PoisonError::into_inner);
            if Instant::now() >= *next {
                *next = Instant::now() + WARNING_PAUSE;
                stderr::write(format!(
                    "payments sandbox: warning: all {limit} connections are in use: idle ones are closed, the oldest first\n"
                ));
            }
        }
        (LogShape::Text, _) => stderr::write(format!("{closed}\n")),
        (LogShape::Pretty, _) => {
            let line = format!("{}  {closed}", time_of_day(SystemTime::now()));
            stderr::write(stderr::style().paint(Tone::Dim, &line) + "\n");
        }
        (LogShape::Json, limit) => {
            let line = json!({
                "client": closed.client.to_string(),
                "closed_after_ms": u64::try_from(closed.idle.as_millis()).unwrap_or(u64::MAX),
                "connection_limit": limit,
            });
            stderr::write(format!("{line}\n"));
        }
    }
}

const WARNING_PAUSE: Duration = Duration::from_mins(1);

fn time_of_day(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string()[11..19].to_owned()
}

/// `05:29:57  token-transaction        99.00  charged     saw nothing             0.4 ms  invoice 19            after_commit close`
fn pretty(exchange: &Exchange, now: SystemTime, style: Style) -> String {
    let time = style.paint(Tone::Dim, &time_of_day(now));
    let recorded = exchange.recorded.as_ref();
    let request = recorded
        .and_then(|request| request.operation)
        .map_or_else(|| "unknown path".to_owned(), |operation| operation.to_string());
    let amount =
        recorded.and_then(RecordedRequest::amount).map(|amount| amount.to_string()).unwrap_or_default();
    let effect = recorded.map_or(RequestEffect::Nothing, |request| request.effect);
    let is_authorization =
        recorded.and_then(|request| request.field("TransactionType")).is_some_and(|code| code == "2");
    let did = match effect {
        RequestEffect::Charged if is_authorization => "authorized",
        effect => effect.as_str(),
    };
    let did = format!("{:10}", did.replace('_', " "));
    let did = match effect {
        RequestEffect::Charged | RequestEffect::Voided => style.paint(Tone::Success, &did),
        RequestEffect::Declined | RequestEffect::Refused => style.paint(Tone::Error, &did),
        _ => style.paint(Tone::Dim, &did),
    };
    let saw = match (exchange.status, exchange.symptom) {
        (Some(status), _) => format!("saw HTTP {}", status.as_u16()),
        (None, Some(FaultKind::Garbage)) => "saw garbage".to_owned(),
        (None, Some(FaultKind::Truncate { .. })) => "saw half a response".to_owned(),
        (None, Some(FaultKind::Drip { .. })) => "saw a slow response".to_owned(),
        _ => "saw nothing".to_owned(),
    };
    let saw = format!("{saw:19}");
    let saw = if exchange.moved_without_response() { style.paint(Tone::Warning, &saw) } else { saw };
    let took = format!("{:>9}", format!("{:.1} ms", exchange.took.as_secs_f64() * 1000.0));
    let took = style.paint(Tone::Dim, &took);
    let fault = recorded.and_then(|request| request.fault.as_ref()).map(|fault| {
        let fault = format!("{} {}", fault.phase().as_str(), fault.kind().as_str());
        style.paint(Tone::Warning, &fault)
    });
    let subject = style::for_terminal(&subject(exchange));
    let refused = recorded.filter(|request| request.effect == RequestEffect::Refused);
    let reason = refused.and_then(|request| request.reason.as_deref()).map(style::for_terminal);
    let why = [fault, reason].into_iter().flatten().collect::<Vec<_>>().join("  ");
    let line = format!("{time}  {request:17}  {amount:>11}  {did}  {saw}  {took}  {subject:20}  {why}");
    line.trim_end().to_owned()
}

/// What a person recognizes a request by.
fn subject(exchange: &Exchange) -> String {
    let Exchange { method, path, recorded, .. } = exchange;
    let recorded = recorded.as_ref();
    let reference = recorded.and_then(|request| request.field("ReferenceNo"));
    let transaction_id = recorded.and_then(|request| {
        let id = request.transaction_id.as_ref().map(ToString::to_string);
        id.or_else(|| request.field("TransactionId").map(Cow::into_owned))
    });
    match (recorded.and_then(|request| request.operation), reference, transaction_id) {
        (None, ..) => format!("{method} {path}"),
        (_, Some(reference), _) => reference.into_owned(),
        (_, None, Some(id)) => id,
        (Some(OperationName::GetTransaction | OperationName::GetCustomer), None, None) => {
            path.rsplit('/').next().unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

fn as_json(exchange: &Exchange) -> String {
    let line = json!({
        "client": exchange.client.to_string(),
        "method": exchange.method.as_str(),
        "path": exchange.path,
        "status": exchange.status.map(|status| status.as_u16()),
        "fault": exchange.symptom.map(FaultKind::as_str),
        "request_id": exchange.request_id,
        "took_us": u64::try_from(exchange.took.as_micros()).unwrap_or(u64::MAX),
    });
    style::in_json(&line.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::sync::Arc;
    use std::time::UNIX_EPOCH;

    use payments_fake::FakeGateway;
    use payments_sandbox::Sandbox;

    use super::*;

    /// The log lines of these requests, each with its fault, as if each took 1.5 ms.
    fn logged(
        line: impl Fn(&Exchange) -> String + Send + Sync + 'static,
        requests: &[(Option<&str>, &str, &str)],
    ) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&lines);
        let sandbox =
            Sandbox::builder().fresh_gateway(FakeGateway::builder().seed(7)).on_exchange(move |exchange| {
                let mut exchange = exchange.clone();
                exchange.took = Duration::from_micros(1500);
                log.lock().unwrap().push(line(&exchange));
            });
        let sandbox = sandbox.start_blocking().unwrap();
        for (fault, request, body) in requests {
            let fault = fault.map(|fault| format!("Sandbox-Fault: {fault}\r\n")).unwrap_or_default();
            let mut socket = TcpStream::connect(sandbox.local_addr()).unwrap();
            let (key, length) = (sandbox.api_key(), body.len());
            write!(
                socket,
                "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\nConnection: close\r\n{fault}\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .unwrap();
            let _ = socket.read_to_end(&mut Vec::new());
        }
        drop(sandbox);
        Arc::into_inner(lines).unwrap().into_inner().unwrap()
    }

    fn in_style(style: Style) -> impl Fn(&Exchange) -> String {
        move |exchange| pretty(exchange, UNIX_EPOCH + Duration::from_secs(3723), style)
    }

    const PAY: &str = "POST /api/v1/public/token-transaction";

    #[test]
    fn pretty_lines_are_aligned() {
        let payment = |token: &str, amount: &str| {
            format!(
                r#"{{"TokenId":"{token}","Amount":{amount},"ConvenienceFeeActive":false,"ReferenceNo":"invoice 19"}}"#
            )
        };
        let authorization = serde_json::to_string(&json!({
            "Amount": 7.25, "CardNumber": "4242424242424242", "Cvv": "123", "ExpiryDate": "1230", "SuggestedMode": "Card",
            "BillingCustomerName": "Ada Example", "BillingEmail": "ada@example.com", "BillingCountryCode": "+44",
            "BillingPhoneNumber": "020 7946 0000", "BillingCountry": "GB", "BillingPostalCode": "SW1A 1AA",
            "IpAddress": "203.0.113.7", "ConvenienceFeeActive": false, "TransactionType": "2",
        }));
        let authorization = authorization.unwrap();
        let (approved, declined) = (payment("tok_approved", "99.00"), payment("tok_declined", "1250.50"));
        let lines = logged(
            in_style(Style::Plain),
            &[
                (None, PAY, &approved),
                (None, PAY, &declined),
                (Some("after_commit=close"), PAY, &approved),
                (Some("before_commit=reset"), PAY, &approved),
                (Some("late=truncate"), PAY, &approved),
                (Some("after_commit=html"), PAY, &approved),
                (None, "GET /api/v1/public/customer/cus_1", ""),
                (None, PAY, r#"{"TokenId":"tok_approved","Amount":1,"ConvenienceFeeActive":false}"#),
                (None, "DELETE /missing/4242424242424242/\u{9b}2J", ""),
                (None, "POST /api/v1/public/transaction", &authorization),
                (None, "POST /api/v1/public/void", r#"{"TransactionId":"txn_9","Reason":"by mistake"}"#),
            ],
        );
        let expected = [
            "01:02:03  token-transaction        99.00  charged     saw HTTP 200            1.5 ms  invoice 19",
            "01:02:03  token-transaction      1250.50  declined    saw HTTP 200            1.5 ms  invoice 19",
            "01:02:03  token-transaction        99.00  charged     saw nothing             1.5 ms  invoice 19            after_commit close",
            "01:02:03  token-transaction        99.00  nothing     saw nothing             1.5 ms  invoice 19            before_commit reset",
            "01:02:03  token-transaction        99.00  late        saw half a response     1.5 ms  invoice 19            late truncate",
            "01:02:03  token-transaction        99.00  charged     saw HTTP 502            1.5 ms  invoice 19            after_commit html",
            "01:02:03  get-customer                    looked up   saw HTTP 200            1.5 ms  cus_1",
            "01:02:03  token-transaction            1  charged     saw HTTP 200            1.5 ms  txn_df0f9924a3016430",
            "01:02:03  unknown path                    refused     saw HTTP 404            1.5 ms  DELETE /missing/************4242/\\u{9b}2J  Path not found",
            "01:02:03  transaction               7.25  authorized  saw HTTP 200            1.5 ms  txn_e12e5d006cd3d6af",
            "01:02:03  void                            refused     saw HTTP 400            1.5 ms  txn_9                 invalid transaction id",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn colour_marks_a_client_without_the_outcome() {
        let approved = r#"{"TokenId":"tok_approved","Amount":5.00,"ConvenienceFeeActive":false}"#;
        let lines = logged(
            in_style(Style::Coloured),
            &[
                (None, PAY, approved),
                (Some("after_commit=close"), PAY, approved),
                (Some("after_commit=delay;delay_ms=0"), PAY, approved),
            ],
        );
        let untold = "\u{1b}[1;33msaw nothing        \u{1b}[0m";
        assert!(lines.iter().all(|line| line.contains("\u{1b}[32mcharged   \u{1b}[0m")), "{lines:?}");
        let is_untold: Vec<_> = lines.iter().map(|line| line.contains(untold)).collect();
        assert_eq!(is_untold, [false, true, false], "{lines:?}");
        assert!(lines[2].contains("  saw HTTP 200         "), "{}", lines[2]);
    }

    #[test]
    fn json_escapes_control_characters() {
        let lines = logged(as_json, &[(None, "GET /\u{9b}2J", "")]);
        assert!(lines[0].contains(r#""path":"/\u009b2J""#), "{lines:?}");
    }
}
