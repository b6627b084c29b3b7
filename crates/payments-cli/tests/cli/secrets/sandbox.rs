//! Secrets in what a sandbox stores, shows and logs of its requests, both killed and ended by a signal.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use payments_canary::Canaries;

use super::process::files_in;
use super::{Place, account_payment, assert_clean_places, card_payment};
use crate::prelude::*;

#[test]
fn s5_sandbox_leaks_no_secret() {
    for log in ["text", "json"] {
        assert_clean_places(|canaries| places_after_use(canaries, log));
    }
}

fn places_after_use(canaries: &Canaries, log: &str) -> Vec<Place> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("state.json");
    let start = || {
        let (running, ready) = started(payments([
            "sandbox",
            "--data",
            data.to_str().unwrap(),
            "--log",
            log,
            "--allow-unknown-fields",
        ]));
        (running, Service::of(&ready))
    };
    let (killed, service) = start();
    send_everything(canaries, &service);
    let mut places = vec![("the admin interface", admin_responses(&service))];
    assert!(service.send("POST /_sandbox/save", "", "").starts_with("HTTP/1.1 200"));
    killed.signal("KILL");
    places.push(("the log of a killed sandbox", output(killed)));
    places.push(("the files of a killed sandbox", Vec::new()));
    files_in(folder.path(), &mut places[2].1).unwrap();
    let (ended, service) = start();
    places.push(("the admin interface after a restart", admin_responses(&service)));
    send_everything(canaries, &service);
    ended.signal("TERM");
    places.push(("the log of an ended sandbox", output(ended)));
    places.push(("the files of an ended sandbox", Vec::new()));
    files_in(folder.path(), &mut places[5].1).unwrap();
    for place in [2, 5] {
        let file = String::from_utf8_lossy(&places[place].1);
        assert!(file.contains("8794") && file.contains("Ada Lovelace"), "the payments are missing");
    }
    for place in [1, 4] {
        assert!(places[place].1.len() > 1000, "no log: {}", String::from_utf8_lossy(&places[place].1));
    }
    places
}

fn output(running: Running) -> Vec<u8> {
    let ended = running.end();
    format!("{}{}", ended.stdout, ended.stderr).into_bytes()
}

struct Service {
    address: String,
    /// The path of the service, such as `/api/v1/public`.
    path: String,
    key: String,
}

impl Service {
    fn of(ready: &Value) -> Self {
        let url = ready["base_url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (address, path) = url.split_once('/').unwrap();
        let key = ready["api_key"].as_str().unwrap().to_owned();
        Self { address: address.to_owned(), path: format!("/{path}"), key }
    }

    /// Returns the response, as far as it arrived.
    fn send(&self, request_line: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let length = body.len();
        let request = format!(
            "{request_line} HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}",
            self.address
        );
        let mut response = Vec::new();
        // Some connections are closed early.
        let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut response));
        String::from_utf8_lossy(&response).into_owned()
    }

    fn post(&self, operation: &str, key: &str, headers: &str, body: &str) -> String {
        let headers = format!("authorization: {key}\r\ncontent-type: application/json\r\n{headers}");
        self.send(&format!("POST {}{operation}", self.path), &headers, body)
    }
}

/// Sends every operation, with secrets in every part of a request, with and without faults.
fn send_everything(canaries: &Canaries, service: &Service) {
    let (card, account, key) = (canaries.card(), canaries.account(), canaries.key());
    let payments = [card_payment(canaries), account_payment(canaries)];
    let faults =
        ["", "close", "reset", "html", "garbage", "wrong_shape", "truncate;bytes=70", "status;status=503"];
    for fault in faults {
        for phase in ["before_commit", "after_commit", "late"] {
            let header = match fault {
                "" => String::new(),
                _ => format!("sandbox-fault: {phase}={fault}\r\n"),
            };
            for payment in &payments {
                service.post("/transaction", &service.key, &header, payment);
                // With the API key of another service.
                service.post("/transaction", key, &header, payment);
            }
        }
    }
    let paid = service.post("/transaction", &service.key, "", &payments[0]);
    let paid: Value = serde_json::from_str(paid.split_once("\r\n\r\n").unwrap().1).unwrap();
    let id = paid["data"]["TransactionId"].as_str().unwrap();
    let void =
        format!(r#"{{"TransactionId":"{id}","TransactionFor":"Void","Reason":"card {card}, key {key}"}}"#);
    service.post("/void", key, "", &void);
    service.post("/void", &service.key, "", &void.replace(key, "gone"));
    let token = r#"{"TokenId":"tok_approved","GatewayCustomerId":"gc_1","Amount":45.00,"ConvenienceFeeActive":false}"#;
    service.post(
        "/token-transaction",
        &service.key,
        "",
        &token.replace('}', &format!(r#","Description":"{card}"}}"#)),
    );
    // Secrets in the wrong fields.
    let grouped =
        card.as_bytes().chunks(4).map(|four| str::from_utf8(four).unwrap()).collect::<Vec<_>>().join(" ");
    for wrong in [
        payments[0].replace("Ada Lovelace", &grouped),
        payments[0].replace("94107", card),
        payments[0].replacen(
            '{',
            &format!(r#"{{"{card}":1,"Note":{{"pan":"{card}","deep":["{account}"]}},"#),
            1,
        ),
        payments[0].replace(r#""CardNumber""#, r#""cardnumber""#),
        payments[0][1..].to_owned(),
        format!("CardNumber={card}&Key={key}"),
        String::new(),
    ] {
        service.post("/transaction", &service.key, "", &wrong);
        service.post("/transaction", key, "", &wrong);
    }
    for header in [
        format!("x-api-key: {key}"),
        format!("cookie: card={card}; key={key}"),
        format!("x-note: {grouped}"),
        format!("user-agent: {key}"),
        format!("sandbox-fault: {card}"),
        format!("idempotency-key: {card}"),
        format!("authorization: Bearer {key}"),
    ] {
        service.post("/transaction", key, &format!("{header}\r\n"), &payments[0]);
    }
    let path = &service.path;
    for line in [
        format!("GET {path}/transaction/{card}"),
        format!("GET {path}/customer/{card}?key={key}&card={card}"),
        format!("GET /{key}/{card}"),
        format!("GET {path}/transaction/{key}"),
        format!("GET http://{key}@{}{path}/transaction/{card}", service.address),
        format!("{card} {path}/transaction"),
        format!("POST {path}/transaction/{card}"),
    ] {
        let with_key = format!("authorization: {key}\r\ncontent-type: application/json\r\n");
        // A key is recognized only if the request is sent with it.
        service.send(&line, &with_key, &payments[0]);
    }
    // With a content-length that is too short, the rest of the body is read as another request.
    let mut stream = TcpStream::connect(&service.address).unwrap();
    let short = format!(
        "POST {path}/void HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n{{{card} / HTTP/1.1\r\n\r\n"
    );
    stream.write_all(short.as_bytes()).unwrap();
    let document = format!(r#"{{"TokenId":"tok_own","CardNumber":"{card}"}}"#);
    service.send("POST /_sandbox/tokens", "content-type: application/json\r\n", &document);
    let document = format!(r#"{{"{card}":1,"kind":"{key}","operation":"{card}"}}"#);
    service.send("POST /_sandbox/faults", "content-type: application/json\r\n", &document);
}

/// Everything that the admin interface shows.
fn admin_responses(service: &Service) -> Vec<u8> {
    let mut responses = String::new();
    for path in ["requests", "state", "faults", "health", "clock"] {
        let response = service.send(&format!("GET /_sandbox/{path}"), "", "");
        assert!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
        writeln!(responses, "{response}").unwrap();
    }
    responses.into_bytes()
}

#[test]
fn s5_fault_header_of_these_tests_works() {
    // Otherwise the faults above would prove nothing.
    let (_running, ready) = started(payments("sandbox --log off"));
    let service = Service::of(&ready);
    let canaries = Canaries::set(0);
    let response = service.post(
        "/transaction",
        &service.key,
        "sandbox-fault: after_commit=status;status=503\r\n",
        &card_payment(&canaries),
    );
    begins(&response, "HTTP/1.1 503");
}
