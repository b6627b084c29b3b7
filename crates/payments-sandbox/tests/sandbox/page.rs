//! The page and its event stream, without a browser.

use payments_sandbox::{BlockingSandbox, Sandbox};
use serde_json::{Value, json};

use crate::raw_client::{EVERYWHERE, RawClient, start, start_with};

/// Opens an event stream and reads its first bytes.
fn listen(sandbox: &BlockingSandbox) -> RawClient {
    let mut listener = RawClient::connect(sandbox);
    listener.send("GET /_sandbox/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let head = listener.read_head();
    for header in ["HTTP/1.1 200 ", "content-type: text/event-stream\r\n", "cache-control: no-store\r\n"] {
        assert!(head.contains(header), "{head}");
    }
    assert_eq!(next(&mut listener), ": open\n\n");
    listener
}

/// The next chunk, which is one event.
fn next(listener: &mut RawClient) -> String {
    let mut length = String::new();
    while !length.ends_with("\r\n") {
        length.push(listener.read_exactly(1)[0].into());
    }
    let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
    let mut event = listener.read_exactly(length + 2);
    event.truncate(length);
    String::from_utf8(event).unwrap()
}

/// The request of an event.
#[track_caller]
fn request(event: &str) -> Value {
    let data = event.strip_prefix("event: request\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
    serde_json::from_str(data.unwrap_or_else(|| panic!("{event}"))).unwrap()
}

const CHANGE: &str = "event: change\ndata: {}\n\n";

#[test]
fn the_policy_allows_only_the_pages_own_script_and_no_frame() {
    let (_sandbox, mut client) = start();
    let mut nonces = Vec::new();
    for _ in 0..2 {
        let response = client.request("GET", "/_sandbox/ui", "", "");
        assert_eq!(
            (response.status(), response.header("content-type"), response.header("x-content-type-options")),
            (200, Some("text/html; charset=utf-8"), Some("nosniff"))
        );
        let policy = response.header("content-security-policy").unwrap().to_owned();
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        let expected = format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
             trusted-types 'none'"
        );
        assert_eq!(policy, expected);
        let page = String::from_utf8(response.body).unwrap();
        assert_eq!(page.matches(&format!(" nonce=\"{nonce}\">")).count(), 2, "a style and a script");
        assert!(!page.contains("{nonce}") && !page.contains("innerHTML"));
        let is_outside = |line: &&str| line.contains("//") && !line.trim_start().starts_with("// ");
        let outside: Vec<_> = page.lines().filter(is_outside).collect();
        assert!(
            outside.len() == 1 && outside[0].contains("xmlns='http://www.w3.org/2000/svg'"),
            "{outside:?}"
        );
        nonces.push(nonce);
    }
    assert!(nonces[0].len() == 32 && nonces[0] != nonces[1], "{nonces:?}");
}

#[test]
fn only_its_own_page_may_control_the_sandbox() {
    let (_sandbox, mut client) = start();
    let mut status = |origin: &str| {
        let origin = format!("origin: {origin}\r\n");
        let read = client.request("GET", "/_sandbox/state", &origin, "").status();
        assert_eq!(client.request("POST", "/_sandbox/deliver-late", &origin, "").status(), read);
        read
    };
    // `RawClient` sends the host `localhost`.
    assert_eq!(status("http://localhost"), 200);
    for other in
        ["https://localhost", "http://localhost:8000", "http://evil.example", "null", "http://LOCALHOST", ""]
    {
        assert_eq!(status(other), 403, "{other}");
    }
    let own = "origin: http://evil.example\r\n";
    client.send(&format!(
        "POST /_sandbox/reset HTTP/1.1\r\nhost: evil.example\r\n{own}content-length: 0\r\n\r\n"
    ));
    assert_eq!(client.response().status(), 403);

    // Even where every host name is accepted, a page of another name is not the sandbox's own.
    let (_sandbox, mut client) = start_with(Sandbox::builder().listen(EVERYWHERE));
    for (headers, expected) in [("", 200), (own, 403)] {
        client.send(&format!(
            "POST /_sandbox/reset HTTP/1.1\r\nhost: evil.example\r\n{headers}content-length: 0\r\n\r\n"
        ));
        assert_eq!(client.response().status(), expected, "{headers}");
    }
}

#[test]
fn each_request_and_each_change_is_an_event() {
    let sandbox = Sandbox::builder().start_blocking().unwrap();
    let (mut first, mut second) = (listen(&sandbox), listen(&sandbox));
    let mut client = RawClient::connect(&sandbox);
    let fault = json!({"operation": "any", "phase": "after_commit", "kind": "reset"}).to_string();
    assert_eq!(client.admin("POST", "/faults", &fault).status(), 200);
    assert_eq!(client.admin("GET", "/faults", "").status(), 200);
    client.pay("");
    client.read_to_end();
    for listener in [&mut first, &mut second] {
        assert_eq!(next(listener), CHANGE);
        let request = request(&next(listener));
        let members =
            ["operation", "amount", "effect", "status", "symptom"].map(|name| request[name].clone());
        assert_eq!(
            members,
            [json!("token-transaction"), json!(10.50), json!("charged"), Value::Null, json!("reset")]
        );
        assert_eq!(request["headers"]["authorization"], "[redacted]");
    }
}

#[test]
fn a_slow_reader_delays_nothing_and_gets_a_change_event() {
    let sandbox = Sandbox::builder().start_blocking().unwrap();
    let mut slow = listen(&sandbox);
    let mut client = RawClient::connect(&sandbox);
    // More than fits into the buffers of the sockets and the stream.
    let path = format!("/customer/{}", "c".repeat(32 * 1024));
    for _ in 0..600 {
        assert_eq!(client.fetch(&path).status(), 404);
    }
    let mut requests = 0;
    while next(&mut slow) != CHANGE {
        requests += 1;
    }
    assert!(requests < 600, "{requests}");
}

#[test]
fn an_open_stream_ends_with_the_sandbox() {
    let sandbox = Sandbox::builder().start_blocking().unwrap();
    let mut listener = listen(&sandbox);
    drop(sandbox);
    let (rest, _) = listener.read_to_end();
    assert_eq!(rest, b"0\r\n\r\n", "it is complete");
}
