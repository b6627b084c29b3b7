//! What a program can print about a call contains neither the API key nor the card.

use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use http::StatusCode;

use crate::child::Child;
use crate::connection::Connection;
use crate::contract::{Contract, own_name};
use crate::logs::write_logs_to_stderr;
use crate::script::{Act, response};
use crate::secrets::must_not_hold;
use crate::situations::{MEDIUM, SHORT_WITH_CONNECT, echo_except, send_and};
use crate::test_request::{API_KEY, CARD_NUMBER, TestRequest};
use crate::violation::{Rule, Violation};
use crate::{AnyStack, Verdict};

/// The server puts the card number into every part of a response, and breaks the response.
///
/// Neither the card number nor the API key may be in the `Debug` or `Display` output or the source chain of the result. The
/// same check runs after every call of every other contract, and on the transport's own `Debug` output if the stack
/// provides it.
pub fn what_comes_back_shows_no_secret(stack: &dyn AnyStack) -> Verdict {
    let why = "errors are logged, and a log with a card number is a leak that must be reported";
    Contract::new(own_name!(), why).check(stack, |harness| {
        for response in [
            format!("{CARD_NUMBER}\r\n\r\n"),
            format!("HTTP/1.1 {CARD_NUMBER}\r\n\r\n"),
            format!("HTTP/1.1 200 {CARD_NUMBER}\r\nContent-Length: {CARD_NUMBER}x\r\n\r\n"),
            format!("HTTP/1.1 200 OK\r\n{CARD_NUMBER} {CARD_NUMBER}\r\n\r\n"),
            format!("HTTP/1.1 200 OK\r\nX-Card: {CARD_NUMBER}\r\nContent-Length: 100\r\n\r\n{CARD_NUMBER}"),
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{CARD_NUMBER}\r\n{CARD_NUMBER}\r\n"),
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {CARD_NUMBER}\r\n\r\n"),
            format!("HTTP/1.1 307 Moved\r\nLocation: http://{CARD_NUMBER}/\r\nContent-Length: 0\r\n\r\n"),
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 16\r\n\r\n{CARD_NUMBER}"),
        ] {
            let what = format!("responds with {:?}", response.replace(CARD_NUMBER, "[card number]"));
            let script = echo_except(0, send_and(response, Connection::close));
            harness.with_server(&what, script, |run| {
                run.send(run.charge().total(MEDIUM))?.must_not_be_not_processed()
            })?;
        }
        Ok(())
    })
}

/// A child process makes payments that succeed, fail, get redirected, garbled or truncated responses or none, or are not
/// sent at all. It logs everything from `log` and `tracing` up to DEBUG, and its environment sets `SSLKEYLOGFILE`.
///
/// Its stdout and stderr must contain neither the API key, nor the card number, nor the customer's name, in upper or
/// lower case, in plain, escaped (JSON, Rust, percent-encoding), in hexadecimal digits, as a list of bytes or in base64.
/// Nothing may be written to the key log file, because that file and a recording of the network reveal every payment. TRACE is not
/// checked, because some libraries document that they log whole heads there.
///
/// Like [`the_proxy_of_the_environment_is_ignored`](crate::contracts::environment::the_proxy_of_the_environment_is_ignored)
/// this applies only in a test created by [`contract_tests!`](crate::contract_tests).
pub fn what_is_logged_shows_no_secret(stack: &dyn AnyStack) -> Verdict {
    let name = own_name!();
    if let Some(child) = Child::of_this_process(name) {
        return make_logged_calls(name, stack, &child);
    }
    let why = "logs are copied to places that are not secured for card data. A single DEBUG line, enabled to find another \
               problem, leaks the API key and every card charged meanwhile";
    Contract::scripted(name, why).starting_a_child().check(stack, |harness| {
        let page = response(StatusCode::SERVICE_UNAVAILABLE, "<html>Service unavailable</html>");
        let mut redirect = response(StatusCode::TEMPORARY_REDIRECT, "");
        redirect.headers_mut().insert("location", http::HeaderValue::from_static("/elsewhere"));
        let cut = Act::Truncate { answer: response(StatusCode::OK, "{\"status\":\"success\"}"), bytes: 9 };
        let acts = [
            Act::Echo,
            Act::Echo,
            Act::Answer(page),
            Act::Answer(redirect),
            Act::Garbage("nonsense\r\n\r\n".into()),
            cut,
            Act::Close,
            Act::Reset,
            Act::Silence,
            Act::Echo,
        ];
        harness.with_script("responds in many ways to a process that logs everything", acts, |run| {
            let port = run.base_url.split(':').nth(2).and_then(|rest| rest.split('/').next());
            let file = format!("payments-conformance-{}-{}", process::id(), port.unwrap_or_default());
            let key_log = env::temp_dir().join(file);
            let [said, logged] = without_keys(Child::command(harness, &run.base_url)?, &key_log)?;
            for (place, text) in [("stdout", &said), ("a log or stderr", &logged)] {
                let secrets =
                    [("card number", CARD_NUMBER), ("API key", API_KEY), ("customer's name", CUSTOMER)];
                must_not_hold(place, text, &secrets)?;
            }
            let arrived = run.arrivals.requests();
            if arrived == 0 {
                let found = "not checked: no call of the child process arrived";
                return Err(Violation::new(found).detail("the process", format!("{said}\n{logged}").trim()));
            }
            let lines = said.lines().count() + logged.lines().count();
            harness.figure(format!("{lines} lines were logged or printed about {arrived} requests"));
            Ok(())
        })
    })
}

/// What a child process writes to stdout and stderr. Fails if it writes to this key log file, and removes the file.
fn without_keys(mut child: Command, key_log: &Path) -> Result<[String; 2], Violation> {
    let child = child.env("SSLKEYLOGFILE", key_log).spawn();
    // The keys count also if the process hangs.
    let output = child.map_err(|error| Child::cannot_start(&error)).and_then(Child::output);
    let keys = fs::read(key_log).unwrap_or_default();
    drop(fs::remove_file(key_log));
    if !keys.is_empty() {
        let found = "the transport wrote the keys of its TLS connections to the file in SSLKEYLOGFILE; it must ignore that \
                     variable";
        return Err(Violation::general(found, Rule::ShowsNoSecret));
    }
    output
}

/// What the child process does.
fn make_logged_calls(name: &'static str, stack: &dyn AnyStack, child: &Child) -> Verdict {
    write_logs_to_stderr();
    let transport = stack.transport(&child.setup);
    let mut calls = vec![TestRequest::lookup(&child.base_url, "lookup-00001".to_owned())];
    // Nothing listens at the address of the last call.
    for (number, base_url) in
        (1..=9).map(|number| (number, child.base_url.as_str())).chain([(10, "http://127.0.0.1:1")])
    {
        calls.push(TestRequest::charge_for(CUSTOMER, base_url, format!("charge-{number:05}")));
    }
    stack.block_on(async {
        for call in calls {
            let call = call.total(SHORT_WITH_CONNECT);
            // Other contracts check the result.
            drop(transport.send(call.into_transport_request()).await);
        }
    });
    drop(transport);
    Verdict::kept(name, Vec::new())
}

/// Upper and lower case, and not ASCII, because a log may escape it.
const CUSTOMER: &str = "Zo\u{eb} \u{c5}ngstr\u{f6}m-\u{141}UKASIEWICZ";

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn keys_are_found_and_removed_however_the_process_ends() {
        let key_log = env::temp_dir().join(format!("payments-conformance-{}-keys", process::id()));
        let missing = env::temp_dir().join("payments-conformance-no-such-program");
        for program in [env::current_exe().unwrap(), missing] {
            // As if the process had written it.
            fs::write(&key_log, "CLIENT_RANDOM").unwrap();
            let mut child = Command::new(&program);
            child.arg("--list").stdout(Stdio::null());
            let violation = without_keys(child, &key_log).unwrap_err();
            assert!(violation.to_string().contains("SSLKEYLOGFILE"), "{violation}");
            assert!(violation.is_dangerous && !key_log.exists(), "{program:?}");
        }
    }
}
