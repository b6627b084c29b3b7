//! TLS fails after the request was read. It looks like a failed handshake, but proves nothing.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http::StatusCode;

use super::broken_answers::HALF;
use crate::arrivals::Received;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::server::Security;
use crate::situations::{Counter, End, own_response_and_once, send_and, unknown_and_once};
use crate::violation::ensure;
use crate::{AnyStack, Verdict};

/// The server reads the whole request, sends a fatal TLS alert and closes. Among the alert codes are those that usually mean
/// a failed handshake.
///
/// The call must be `Unknown`, on a new and on a reused connection, and the request arrives once.
pub fn an_alert_after_the_request_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for (name, code) in [
            ("bad_record_mac", 20),
            ("handshake_failure", 40),
            ("bad_certificate", 42),
            ("unknown_ca", 48),
            ("access_denied", 49),
            ("internal_error", 80),
            ("unrecognized_name", 112),
            ("certificate_required", 116),
            ("no_application_protocol", 120),
        ] {
            let action = move |connection: &mut Connection, _: &Received| {
                connection.alert(code);
                connection.close();
            };
            let what = format!("reads the whole request, sends the TLS alert {name} and closes");
            harness.new_and_reused(&what, action, unknown_and_once)?;
        }
        Ok(())
    })
}

/// The server reads the whole request and responds with an invalid TLS record: with a wrong checksum, unencrypted, or
/// truncated.
///
/// The call must be `Unknown`, on a new and on a reused connection, and the request arrives once.
pub fn a_bad_record_after_the_request_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for (name, record) in BAD_RECORDS {
            let action = move |connection: &mut Connection, _: &Received| {
                connection.write_past_tls(record);
                connection.cut();
            };
            let what = format!("reads the whole request, sends {name}, then the connection is cut");
            harness.new_and_reused(&what, action, unknown_and_once)?;
        }
        Ok(())
    })
}

/// The connection is cut within the head of the response, without `close_notify`.
///
/// The call must be `Unknown`, on a new and on a reused connection, and the request arrives once.
pub fn a_line_cut_within_the_head_is_unknown(stack: &dyn AnyStack) -> Verdict {
    Contract::over_tls(own_name!(), MAY_BE_CHARGED).check(stack, |harness| {
        for half in ["", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"] {
            let what = format!("reads the whole request, sends {half:?}, then the connection is cut");
            harness.new_and_reused(&what, send_and(half, Connection::cut), unknown_and_once)?;
        }
        Ok(())
    })
}

/// TLS fails within the body of the response: the connection is cut, or the server sends an alert or a bad record.
///
/// After a cut the call must fail with `Answered` and keep what arrived. With an alert or a bad record the client may lose
/// the last bytes, so `Unknown` is also accepted. The call must not return a response, even if the body has no length, and
/// must not be `NotProcessed`. The request arrives once.
pub fn a_tls_failure_within_the_body_is_no_response(stack: &dyn AnyStack) -> Verdict {
    let why = "half a receipt accepted as whole records a payment that was never confirmed. NotProcessed makes the caller \
               charge again";
    Contract::over_tls(own_name!(), why).check(stack, |harness| {
        for framing in ["Content-Length: 100\r\n", ""] {
            for (name, fail) in FAILURES {
                let action = move |connection: &mut Connection, _: &Received| {
                    connection.write(format!("HTTP/1.1 200 OK\r\n{framing}\r\n{HALF}"));
                    // So that the client can read it first. A slow client may lose it.
                    thread::sleep(Duration::from_millis(20));
                    fail(connection);
                };
                let length = if framing.is_empty() { "without a length" } else { "with a length" };
                let what = format!("sends the beginning of a body {length}, then {name}");
                harness.new_and_reused(&what, action, |run, call| {
                    if name == CUT {
                        let kept = call.must_have_partial_response(StatusCode::OK)?.body();
                        call.must(kept == HALF, "the part of the body that arrived")?;
                    }
                    call.must_fail()?;
                    call.must_not_be_not_processed()?;
                    run.must_have_arrived_once(&call.id)
                })?;
            }
        }
        Ok(())
    })
}

/// The server offers 0-RTT: its session tickets allow early data, and it closes each connection after one response.
///
/// No request may be sent as early data, not even a lookup. Each arrives once and gets its own response.
pub fn early_data_is_never_sent(stack: &dyn AnyStack) -> Verdict {
    let why = "anyone who records early data can replay it and charge the card again. And a server that rejects early data \
               makes the client send the request a second time. Disable early data in the TLS configuration";
    Contract::over_tls(own_name!(), why).check(stack, |harness| {
        let mut config = Arc::unwrap_or_clone(harness.authority.server());
        config.max_early_data_size = 16 * 1024;
        let (early, resumed) = (Counter::default(), Counter::default());
        let (early_bytes, resumptions) = (early.clone(), resumed.clone());
        let script = move |connection: &mut Connection| {
            early_bytes.add(connection.read_early_data());
            resumptions.add(usize::from(connection.is_resumed()));
            if let Some(request) = connection.read_request() {
                let id = request.id();
                let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", id.len());
                connection.write(head + &id);
                connection.close();
            }
        };
        let what = "offers early data, and closes each connection after one response";
        harness.with_server_over(Security::Tls(Arc::new(config)), what, script, |run| {
            for charge in [run.charge(), run.charge(), run.lookup(), run.charge(), run.lookup()] {
                let call = run.send(charge)?;
                ensure!(
                    dangerous unless early.get() == 0,
                    "{} was sent as early data, which can be replayed; send requests only after the handshake completes",
                    call.id
                );
                own_response_and_once(run, &call)?;
            }
            harness.figure(format!("{} of 5 sessions were resumed, without early data", resumed.get()));
            Ok(())
        })
    })
}

/// The ways in which TLS fails within a body.
const FAILURES: [(&str, End); 3] = [
    (CUT, Connection::cut),
    ("sends the TLS alert internal_error and closes", |connection| {
        connection.alert(80);
        connection.close();
    }),
    ("sends a record with a wrong checksum and closes", |connection| {
        connection.write_past_tls(BAD_RECORDS[0].1);
        connection.cut();
    }),
];

const CUT: &str = "the connection is cut";

/// Records that every TLS client rejects.
const BAD_RECORDS: [(&str, &[u8]); 4] = [
    ("a TLS record with a wrong checksum", b"\x17\x03\x03\x00\x20................................"),
    ("an unencrypted TLS alert", b"\x15\x03\x03\x00\x02\x02\x28"),
    (
        "an unencrypted response",
        b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Length: 13\r\n\r\n<html></html>",
    ),
    ("part of a TLS record", b"\x17\x03\x03\x01\x00.........."),
];

const MAY_BE_CHARGED: &str = "the server may have charged the card before TLS failed. A transport that mistakes this for a \
     failed handshake reports NotProcessed, and its caller charges again";
