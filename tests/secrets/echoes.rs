//! A service that sends the request straight back must not make the client print it.

use bytes::Bytes;
use payments_canary::Canaries;
use payments_core::model::{CardTransaction, TransactionRecord};
use payments_core::{Error, Operation, Success};

use super::calls::tell_result;
use super::page::{Page, tell};
use super::requests::{ach_payment, card_payment, endpoint};

#[test]
fn d62_d64_an_answer_that_is_the_request_is_scrubbed() {
    Page::assert_clean("what is told of an echo", echoed);
}

fn echoed(canaries: &Canaries) -> Page {
    let page = Page::default();
    let endpoint = endpoint(canaries);
    let (card, ach) = (card_payment(canaries), ach_payment(canaries));
    for status in [200, 302, 400, 402, 500] {
        for wrap in [
            "{}",
            r#"{"status":"failed","msg":"no","data":{}}"#,
            r#"{"status":"failed","msg":"no","error":{}}"#,
            r#"{"status":"success","status_code":100,"data":{"TransactionId":"t","echo":{}}}"#,
            r#"{"status":"pending","status_code":101,"data":{"TransactionId":"t","Status":{},"CardNumber":{}}}"#,
            "<html>{}</html>",
        ] {
            let answer = |body: &Bytes| {
                let body = wrap.replace("{}", str::from_utf8(body).unwrap());
                http::Response::builder().status(status).body(Bytes::from(body)).unwrap()
            };
            let request = card.request(&endpoint).unwrap();
            page.debug(request.headers());
            tell_record(&page, &card.read(&endpoint, answer(request.body())));
            let request = ach.request(&endpoint).unwrap();
            tell_record(&page, &ach.read(&endpoint, answer(request.body())));
        }
        for said in said(canaries) {
            let answer = http::Response::builder().status(status);
            // Where services put what they quote, the headers included.
            let answer = answer.header("x-request-id", canaries.key());
            tell_record(&page, &card.read(&endpoint, answer.body(Bytes::from(said)).unwrap()));
        }
    }
    page
}

/// A secret in each of the members of which the client makes something.
fn said(canaries: &Canaries) -> Vec<String> {
    let mut all = vec![format!("key {} refused", canaries.key())];
    for secret in [canaries.card(), canaries.key()] {
        for id in [secret.to_owned(), format!("txn-{secret}")] {
            // Not as the id of a success: who is told that a payment went through must be told by which id.
            all.push(format!(
                r#"{{"status":"success","status_code":101,"data":{{"TransactionId":"{id}"}}}}"#
            ));
            all.push(format!(
                r#"{{"status":"success","status_code":100,"data":{{"TransactionId":"t","Status":["{id}"],"BillingCity":["{id}"]}}}}"#
            ));
            all.push(format!(
                r#"{{"status":"failed","msg":"{id}","data":{{"TransactionId":"{id}","Status":"{id}"}}}}"#
            ));
            all.push(format!(r#"{{"status":"{id}","status_code":"{id}","data":{{"TransactionId":"{id}""#));
            all.push(format!(r#"{{"status":"failed","error":{{"message":"{id}"}}}}"#));
        }
    }
    all
}

/// Some programs write a record out on purpose; what in it only echoes the request must not come along.
fn tell_record(page: &Page, answer: &Result<Success<TransactionRecord>, Error>) {
    tell_result(page, answer);
    if let Ok(success) = answer {
        tell!(page, *success.data());
    }
}

#[test]
fn d62_no_violation_shows_a_value() {
    Page::assert_clean("violations", violations);
}

fn violations(canaries: &Canaries) -> Page {
    let page = Page::default();
    let (card, cvv, expiry, account) =
        (canaries.card(), canaries.cvv(), canaries.expiry(), canaries.account());
    let json = format!(
        r#"{{"Amount":"{card}","CardNumber":"{card}0","Cvv":{cvv},"ExpiryDate":"{expiry}1","{card}":1,"{account}":3,"BillingEmail":"{card}","IpAddress":"{cvv}","SuggestedMode":"Card","CardNumber":"{card}"}}"#
    );
    for cut in 0..=json.len() {
        let error = CardTransaction::from_json(&json.as_bytes()[..cut]).unwrap_err();
        tell!(&page, error);
    }
    page
}
