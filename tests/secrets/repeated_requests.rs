//! A service that repeats the request in its response must not make the client print it.
//!
//! The contents of a record, including its JSON, are what the service sent (decision 62). Only card numbers and the values of
//! fields named like a secret are redacted there.

use bytes::Bytes;
use payments_canary::Canaries;
use payments_core::model::{CardTransaction, TransactionRecord};
use payments_core::{Error, Operation, Success};

use super::calls::transcribe_result_without_json;
use super::requests::{ach_payment, card_payment, endpoint};
use super::transcript::{Transcript, transcribe};

#[test]
fn repeated_request_is_not_printed_d62_d64() {
    Transcript::assert_clean("the output for repeated requests", repeated_requests);
}

fn repeated_requests(canaries: &Canaries) -> Transcript {
    let transcript = Transcript::default();
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
            let response = |body: &Bytes| {
                let body = wrap.replace("{}", str::from_utf8(body).unwrap());
                http::Response::builder().status(status).body(Bytes::from(body)).unwrap()
            };
            let request = card.request(&endpoint).unwrap();
            transcript.debug(request.headers());
            for json in transcribe_without_json(&transcript, &card.read(&endpoint, response(request.body())))
            {
                transcript.write(&json);
            }
            let request = ach.request(&endpoint).unwrap();
            for json in transcribe_without_json(&transcript, &ach.read(&endpoint, response(request.body()))) {
                // `AccountNumber` is redacted. `Whatever` is not named like a secret, so it is not.
                let account = format!(r#""Whatever":"{}""#, canaries.account());
                canaries
                    .assert_absent("the JSON of a repeated request", json.replace(&account, "").as_bytes());
            }
        }
        for body in bodies_with_secrets(canaries) {
            let response = http::Response::builder().status(status);
            // A service may repeat a secret in a header too.
            let response = response.header("x-request-id", canaries.key());
            let read = card.read(&endpoint, response.body(Bytes::from(body)).unwrap());
            for json in transcribe_without_json(&transcript, &read) {
                let sightings = canaries.sightings(json.as_bytes());
                assert!(sightings.iter().all(|sighting| sighting.secret == "key"), "{sightings:?}");
            }
        }
    }
    transcript
}

/// Bodies with a secret in each member that the client reads.
fn bodies_with_secrets(canaries: &Canaries) -> Vec<String> {
    let mut all = vec![format!("key {} refused", canaries.key())];
    for secret in [canaries.card(), canaries.key()] {
        for id in [secret.to_owned(), format!("txn-{secret}")] {
            // Not as the id of a success, because the caller needs the real id of a payment.
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

/// Transcribes a result without the JSON of its record, which some programs print on purpose. Returns that JSON in both forms.
fn transcribe_without_json(
    transcript: &Transcript,
    read: &Result<Success<TransactionRecord>, Error>,
) -> Vec<String> {
    transcribe_result_without_json(transcript, read);
    let record = match read {
        Ok(success) => Some(success.data()),
        Err(error) => error.record(),
    };
    record.map_or_else(Vec::new, |record| vec![record.to_json(), serde_json::to_string(record).unwrap()])
}

#[test]
fn violations_show_no_value_d62() {
    Transcript::assert_clean("violations", violations);
}

fn violations(canaries: &Canaries) -> Transcript {
    let transcript = Transcript::default();
    let (card, cvv, expiry, account) =
        (canaries.card(), canaries.cvv(), canaries.expiry(), canaries.account());
    let json = format!(
        r#"{{"Amount":"{card}","CardNumber":"{card}0","Cvv":{cvv},"ExpiryDate":"{expiry}1","{card}":1,"{account}":3,"BillingEmail":"{card}","IpAddress":"{cvv}","SuggestedMode":"Card","CardNumber":"{card}"}}"#
    );
    for cut in 0..=json.len() {
        let error = CardTransaction::from_json(&json.as_bytes()[..cut]).unwrap_err();
        transcribe!(&transcript, error);
    }
    transcript
}
