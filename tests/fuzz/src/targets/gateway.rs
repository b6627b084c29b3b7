use std::time::{Duration, SystemTime};

use bytes::Bytes;
use payments_core::OperationName;
use payments_core::model::CardTransaction;
use payments_fake::{FakeGateway, Fault, Reply};
use payments_sandbox::unversioned::fault_from_header;

use crate::digits::has_check_digit;
use crate::http_text;
use crate::json::Json;

/// A sequence of requests to the fake service, separated by lines of `---`. Each has a head and a body.
///
/// The header `Sandbox-Fault` requests a fault, as in the sandbox.
pub(crate) fn handle_requests(data: &[u8]) {
    let gateway = FakeGateway::builder().seed(1).ignore_unfired_faults().build();
    let mut now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let mut rest = data;
    for _ in 0..MAX_REQUESTS {
        let end = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        let (piece, after) =
            end.map_or((rest, &[][..]), |end| (&rest[..end], &rest[end + SEPARATOR.len()..]));
        if let Some(request) = http_text::request(piece) {
            exchange(&gateway, now, request);
        }
        if after.is_empty() {
            break;
        }
        (now, rest) = (now + Duration::from_secs(1), after);
    }
    let late = charged(&gateway) + gateway.deliver_late();
    assert!(charged(&gateway) <= late);
}

fn exchange(gateway: &FakeGateway, now: SystemTime, mut request: http::Request<Bytes>) {
    let body = request.body().clone();
    let fault = request.headers().get("sandbox-fault").and_then(|text| text.to_str().ok());
    if let Some(Ok(fault)) = fault.map(fault_from_header) {
        request.extensions_mut().insert(fault);
    }
    let has_fault = request.extensions().get::<Fault>().is_some();
    let (_, shown_path) = gateway.core().loggable(&request);
    let (before, records) = (charged(gateway), gateway.requests().len());
    let state = gateway.first_tenant().state_json();

    let reply = gateway.handle(now, request);
    let arrived = gateway.requests().split_off(records).pop();
    let operation = arrived.and_then(|request| request.operation);
    let after = charged(gateway);
    if let Reply::Response(response) | Reply::Delayed { response, .. } = &reply {
        let succeeds = reports_success(response, operation);
        match operation {
            Some(OperationName::Transaction | OperationName::TokenTransaction) if !has_fault => {
                assert_eq!(after, before + usize::from(succeeds), "{reply:?}");
            }
            Some(OperationName::Transaction | OperationName::TokenTransaction) => {
                assert!(after <= before + 1 && (!succeeds || after == before + 1), "{reply:?}");
            }
            Some(OperationName::Void) => assert!(after <= before && before - after <= 1),
            _ => assert_eq!(gateway.first_tenant().state_json(), state, "a lookup changed the state"),
        }
    }
    assert!(after <= before + 1, "charged twice for one request");
    check_no_card_number(gateway, &body, &shown_path);
}

/// Nothing that the gateway keeps contains the card number of the request.
fn check_no_card_number(gateway: &FakeGateway, body: &[u8], shown_path: &str) {
    let Ok(card) = CardTransaction::from_json(body) else { return };
    let number = card.card_number().expose_secret();
    // A number that belongs to no network may also be a time or a counter.
    if !number.starts_with(['3', '4', '5', '6']) || !has_check_digit(number) {
        return;
    }
    let recorded = gateway.requests().last().map(payments_fake::RecordedRequest::to_json).unwrap_or_default();
    let kept = [gateway.first_tenant().state_json(), recorded, shown_path.to_owned()];
    for text in kept {
        let is_digit = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
        let separate = text.match_indices(number).find(|(at, _)| {
            let (before, after) = (&text[..*at], &text[at + number.len()..]);
            !is_digit(before.chars().next_back()) && !is_digit(after.chars().next())
        });
        assert!(separate.is_none(), "the card number is kept in {text}");
    }
}

fn reports_success(response: &http::Response<Bytes>, operation: Option<OperationName>) -> bool {
    let is_error = !response.status().is_success();
    let Ok(body) = str::from_utf8(response.body()) else { return false };
    let Ok(body) = Json::read(body) else { return false };
    let code = match body.once("status_code") {
        Some(Json::Number(code)) => code.as_str(),
        _ => "",
    };
    let moves_money = operation.is_some_and(OperationName::moves_money);
    assert!(!is_error || code != "100", "an error with a success code");
    !is_error && moves_money && code == "100"
}

fn charged(gateway: &FakeGateway) -> usize {
    gateway.ledger().charged().count()
}

const SEPARATOR: &[u8] = b"\n---\n";
const MAX_REQUESTS: usize = 8;
