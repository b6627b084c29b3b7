//! What a program may print of a call holds neither the key nor the card.

use crate::charge::CARD_NUMBER;
use crate::contract::Contract;
use crate::conversation::Conversation;
use crate::journal::Received;
use crate::situations::NOT_LONG;
use crate::{Stack, Verdict};

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
