//! What a program may print of a call holds neither the key nor the card.

use std::{env, fs, process};

use http::StatusCode;
use payments_core::Transport;

use crate::violation::{Violation, SHOWS_A_SECRET};
use crate::test_request::{API_KEY, CARD_NUMBER, TestRequest};
use crate::child::Child;
use crate::contract::Contract;
use crate::connection::Connection;
use crate::journal::Received;
use crate::logs::write_logs_to_stderr;
use crate::script::{Act, response};
use crate::secrets::must_not_hold;
use crate::situations::{SHORT_WITH_CONNECT, MEDIUM};
use crate::{Ability, Stack, Verdict};

/// The server sends the card number back wherever an answer has room for it, and breaks the answer.
///
/// Nothing of it is in the `Debug`, the `Display` or the chain of sources of what the call gives, nor is the API key.
/// The same is searched for after every call of every other contract, and in the transport's own `Debug` if the stack
/// shows it.
pub fn what_comes_back_shows_no_secret(stack: &impl Stack) -> Verdict {
    let why = "errors are logged, and a log with a card number is a leak that has to be reported";
    Contract::new("what_comes_back_shows_no_secret", why).check(stack, |harness| {
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
            let what = format!("responds {:?}", response.replace(CARD_NUMBER, "[card number]"));
            let action = move |connection: &mut Connection, _: &Received| {
                connection.write(&response);
                connection.close();
            };
            harness.on_first_request(&what, action, |charge| charge.total(MEDIUM), |_, call| {
                call.must_not_be_not_processed()?;
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// A process of its own makes payments that are answered, refused, redirected, garbled, cut, lost and not sent at all. It
/// logs everything that goes to `log` and `tracing`, up to DEBUG, and its environment names an `SSLKEYLOGFILE`.
///
/// What the process writes to stdout and stderr holds neither the API key nor the card number, nor the customer's name,
/// in whichever capitals and encoding. Nothing is written to the file: whoever has it and a recording of the network
/// reads every payment. TRACE is not asked for, because some libraries log whole heads there, and say so.
///
/// Like [`the_proxy_of_the_environment_is_ignored`](crate::contracts::environment::the_proxy_of_the_environment_is_ignored)
/// it applies only in a test made by [`contract_tests!`](crate::contract_tests).
pub fn what_is_logged_shows_no_secret(stack: &impl Stack) -> Verdict {
    let name = "what_is_logged_shows_no_secret";
    if let Some(child) = Child::of_this_process(name) {
        return make_logged_calls(name, stack, &child);
    }
    let why = "a log is copied to places that nobody checked for cards. One line at DEBUG, switched on to find some other \
               fault, leaks the key and every card that is charged meanwhile";
    if let Some(reason) = stack.abilities().missing(Ability::Sockets) {
        return Verdict::not_applicable(name, reason.to_owned());
    }
    let test = match Child::test(name) {
        Ok(test) => test,
        Err(verdict) => return verdict,
    };
    Contract::scripted(name, why).check(stack, |harness| {
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
        harness.with_script("responds in every way to a process that logs everything", acts, |run| {
            let port = run.base_url().split(':').nth(2).and_then(|rest| rest.split('/').next());
            let file = format!("payments-conformance-{}-{}", process::id(), port.unwrap_or_default());
            let key_log = env::temp_dir().join(file);
            let setup = harness.setup(run.journal().clone(), None);
            let mut child = Child::command(name, &test, run.base_url(), &setup)?;
            child.env("SSLKEYLOGFILE", &key_log);
            let output = child.output().map_err(|error| Violation::new(format!("no process: {error}")))?;
            let keys = fs::read(&key_log).unwrap_or_default();
            drop(fs::remove_file(&key_log));
            let (said, logged) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            for (place, text) in [("stdout", &said), ("a log or stderr", &logged)] {
                let secrets = [("card number", CARD_NUMBER), ("API key", API_KEY), ("customer's name", CUSTOMER)];
                must_not_hold(place, text, &secrets)?;
            }
            if !keys.is_empty() {
                let found = "the transport wrote the keys of its TLS connections to the file that SSLKEYLOGFILE names; \
                             it should have written nothing";
                return Err(Violation::general(found, SHOWS_A_SECRET));
            }
            let arrived = run.journal().requests();
            if arrived == 0 {
                let found = "this could not be checked: no call of the process of its own arrived";
                return Err(Violation::new(found).detail("the process", said.trim()));
            }
            let lines = said.lines().count() + logged.lines().count();
            harness.figure(format!("{lines} lines were logged or printed about {arrived} requests"));
            Ok(())
        })
    })
}

/// What the process does that was started to be read.
fn make_logged_calls(name: &'static str, stack: &impl Stack, child: &Child) -> Verdict {
    write_logs_to_stderr();
    let transport = stack.transport(child.setup());
    let mut calls = vec![TestRequest::lookup(child.base_url(), "look-up-00001".to_owned())];
    // Nobody listens where the last one goes.
    for (number, base_url) in
        (1..=9).map(|number| (number, child.base_url())).chain([(10, "http://127.0.0.1:1")])
    {
        calls.push(TestRequest::charge_for(CUSTOMER, base_url, format!("charge-{number:05}")));
    }
    stack.block_on(async {
        for call in calls {
            let call = call.total(SHORT_WITH_CONNECT);
            // Whatever it gives: another contract looks into that.
            drop(transport.send(call.into_transport_request()).await);
        }
    });
    drop(transport);
    Verdict::kept(name, Vec::new())
}

/// In both cases, and no ASCII: a log may escape it.
const CUSTOMER: &str = "Zo\u{eb} \u{c5}ngstr\u{f6}m-\u{141}UKASIEWICZ";
