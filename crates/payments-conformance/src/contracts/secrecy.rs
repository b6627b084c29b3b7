//! What a program may print of a call holds neither the key nor the card.

use std::{env, fs, process};

use http::StatusCode;
use payments_core::Transport;

use crate::breach::{Breach, SHOWS_A_SECRET};
use crate::charge::{API_KEY, CARD_NUMBER, Charge};
use crate::child::Child;
use crate::contract::Contract;
use crate::conversation::Conversation;
use crate::journal::Received;
use crate::logs::write_logs_to_stderr;
use crate::script::{Act, answer};
use crate::secrets::must_not_hold;
use crate::situations::{CONNECTED_BY_THEN, NOT_LONG};
use crate::{Ability, Stack, Verdict};

/// The server sends the card number back wherever an answer has room for it, and breaks the answer.
///
/// Nothing of it is in the `Debug`, the `Display` or the chain of sources of what the call gives, nor is the API key.
/// The same is searched for after every call of every other contract, and in the transport's own `Debug` if the stack
/// shows it.
pub fn what_comes_back_shows_no_secret(stack: &impl Stack) -> Verdict {
    let why = "errors are logged, and a log with a card number is a leak that has to be reported";
    Contract::new("what_comes_back_shows_no_secret", why).check(stack, |stage| {
        for answer in [
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
            let what = format!("answers {:?}", answer.replace(CARD_NUMBER, "[card number]"));
            let fate = move |connection: &mut Conversation, _: &Received| {
                connection.write(&answer);
                connection.close();
            };
            stage.first_meets(&what, fate, |charge| charge.total(NOT_LONG), |_, seen| {
                seen.must_not_be_not_processed()?;
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
    Contract::as_data(name, why).check(stack, |stage| {
        let page = answer(StatusCode::SERVICE_UNAVAILABLE, "<html>Service unavailable</html>");
        let mut redirect = answer(StatusCode::TEMPORARY_REDIRECT, "");
        redirect.headers_mut().insert("location", http::HeaderValue::from_static("/elsewhere"));
        let cut = Act::Truncate { answer: answer(StatusCode::OK, "{\"status\":\"success\"}"), bytes: 9 };
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
        let requests = acts.len();
        stage.scripted("responds in every way to a process that logs everything", acts, |trial| {
            let port = trial.base_url().split(':').nth(2).and_then(|rest| rest.split('/').next());
            let file = format!("payments-conformance-{}-{}", process::id(), port.unwrap_or_default());
            let key_log = env::temp_dir().join(file);
            let setup = stage.setup(trial.journal().clone(), None);
            let mut child = Child::command(name, &test, trial.base_url(), &setup)?;
            child.env("SSLKEYLOGFILE", &key_log);
            let output = child.output().map_err(|error| Breach::new(format!("no process: {error}")))?;
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
                return Err(Breach::owed(found, SHOWS_A_SECRET));
            }
            let arrived = trial.journal().requests();
            if arrived < requests {
                let found = format!(
                    "this could not be checked: {arrived} of {requests} calls of the process of its own arrived"
                );
                return Err(Breach::new(found));
            }
            stage.figure(format!("{} lines were logged or printed", said.lines().count() + logged.lines().count()));
            Ok(())
        })
    })
}

/// What the process does that was started to be read.
fn make_logged_calls(name: &'static str, stack: &impl Stack, child: &Child) -> Verdict {
    write_logs_to_stderr();
    let transport = stack.transport(child.setup());
    let mut calls = vec![Charge::look_up(child.base_url(), "look-up-00001".to_owned())];
    for number in 1..=9 {
        calls.push(Charge::of_customer(CUSTOMER, child.base_url(), format!("charge-{number:05}")));
    }
    // Nobody listens there.
    let nobody = calls[1].clone().uri("http://127.0.0.1:1/transaction");
    stack.block_on(async {
        for call in calls.into_iter().chain([nobody]) {
            let call = call.total(CONNECTED_BY_THEN);
            // Whatever it gives: another contract looks into that.
            drop(transport.send(call.into_transport_request()).await);
        }
    });
    drop(transport);
    Verdict::kept(name, Vec::new())
}

/// In both cases, and no ASCII: a log may escape it.
const CUSTOMER: &str = "Zo\u{eb} \u{c5}ngstr\u{f6}m-\u{141}UKASIEWICZ";
