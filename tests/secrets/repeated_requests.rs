//! A service that sends the request straight back must not make the client print it.
//!
//! What a program reads out of a record, its JSON included, is what the service sent (decision 62): a card number and what
//! stands under the name of a secret are redacted there, and nothing else is looked for.

use bytes::Bytes;
use payments_canary::Canaries;
use payments_core::model::{CardTransaction, TransactionRecord};
use payments_core::{Error, Operation, Success};

use super::calls::tell_result_without_json;
use super::page::{Page, tell};
use super::requests::{ach_payment, card_payment, endpoint};

#[test]
fn a_response_that_is_the_request_is_not_printed_d62_d64() {
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
            for json in tell_all_but_json(&page, &card.read(&endpoint, answer(request.body()))) {
                page.write(&json);
            }
            let request = ach.request(&endpoint).unwrap();
            for json in tell_all_but_json(&page, &ach.read(&endpoint, answer(request.body()))) {
                // `AccountNumber` is redacted, and `Whatever` is no name of a secret.
                let account = format!(r#""Whatever":"{}""#, canaries.account());
                canaries.assert_absent("the JSON of an echo", json.replace(&account, "").as_bytes());
            }
        }
        for said in said(canaries) {
            let answer = http::Response::builder().status(status);
            // Where services put what they quote, the headers included.
            let answer = answer.header("x-request-id", canaries.key());
            let read = card.read(&endpoint, answer.body(Bytes::from(said)).unwrap());
            for json in tell_all_but_json(&page, &read) {
                let sightings = canaries.sightings(json.as_bytes());
                assert!(sightings.iter().all(|sighting| sighting.secret == "key"), "{sightings:?}");
            }
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

/// Some programs write a record out on purpose: returns the JSON of the record, in both forms.
fn tell_all_but_json(page: &Page, read: &Result<Success<TransactionRecord>, Error>) -> Vec<String> {
    tell_result_without_json(page, read);
    let record = match read {
        Ok(success) => Some(success.data()),
        Err(error) => error.record(),
    };
    record.map_or_else(Vec::new, |record| vec![record.to_json(), serde_json::to_string(record).unwrap()])
}

#[test]
fn no_violation_shows_a_value_d62() {
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
