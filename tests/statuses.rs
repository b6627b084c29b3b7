//! Does every HTTP status with every kind of body mean what the table says, for every operation?
//!
//! The table is written out by statuses and shares no code with the SDK's own.

use http::StatusCode;
use payments_core::Client;
use payments_core::model::unversioned::{ErrorEnvelope, SuccessEnvelope};
use payments_fake::{Fault, FaultKind, ManualClock, ScriptedTransport, block_on};
use payments_tests::{AnswerBody, Books, PHASES, status_row, what_happens};

use crate::calls::{Call, Failed, nobodys};
use crate::rig::Network;

/// Bodies that mean the same.
fn bodies(call: Call, body: AnswerBody, status: u16) -> Vec<Vec<u8>> {
    match body {
        AnswerBody::Refusal => {
            // 200 stands beside a no, and no other 2xx does.
            let code = if (200..=299).contains(&status) { status } else { 200 };
            let declined = format!(
                r#"{{"status":"DECLINED","status_code":{code},"message":"no","data":{{"TransactionId":"txn_9"}}}}"#
            );
            vec![ErrorEnvelope::new(status, "no").encode(), declined.into_bytes()]
        }
        AnswerBody::Success if call.operation().moves_money() => {
            vec![SuccessEnvelope::post("done", r#"{"TransactionId":"txn_9"}"#)]
        }
        AnswerBody::Success => {
            let data = r#"{"TransactionId":"txn_9","CustomerId":"cus_1"}"#;
            vec![SuccessEnvelope::get("found", data)]
        }
        _ => ["", "<html>busy</html>", r#"{"status":"failed","#, r#"{"message":"Forbidden"}"#, "[]"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec(),
    }
}

#[test]
fn every_status_with_every_body_means_what_the_table_says_d05_d06_d07_d08_d09_d10_d11_d12() {
    let endpoint = payments_fake::FakeGateway::new().endpoint();
    for call in Call::ALL {
        for status in 200..=599 {
            for body in AnswerBody::ALL {
                let told = status_row(status, body).told(call.operation());
                for bytes in bodies(call, body, status) {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let script = ScriptedTransport::new().answer(status, bytes);
                    let client = Client::builder(endpoint.clone(), script, ManualClock::auto());
                    let client = client.lookup_retries(0).build();
                    let result = block_on(call.make(&client, &nobodys()));
                    let outcome = result.as_ref().err().map(Failed::outcome);
                    assert_eq!(outcome, told.outcome, "{call:?}, HTTP {status}, {text}: {result:?}");
                }
            }
        }
    }
}

/// The same from the other side: what the fake shows under any status, and whether it charged or voided.
#[tokio::test]
async fn every_status_of_a_fault_has_the_outcome_of_the_table_d06_d08_d09_d10_d11() {
    for call in [Call::Card, Call::Void] {
        let rig = Network::InProcess.rig().await;
        let client = rig.client.with_lookup_retries(0);
        for status in (200..=599).map(|status| StatusCode::from_u16(status).unwrap()) {
            for kind in [FaultKind::Status { status }, FaultKind::Html { status }] {
                for phase in PHASES {
                    rig.gateway.reset();
                    let target = call.prepare(&client).await;
                    let books = Books::of(&rig.gateway);
                    let fault = Fault::on(call.operation()).at(phase).show(kind);
                    let case = format!("{call:?}, {fault} {status}");
                    rig.gateway.arm(fault);
                    let result = call.make(&client, &target).await;
                    let fact = what_happens(call.operation(), kind, phase);
                    assert_eq!(result.err().map(|error| error.outcome()), fact.told.outcome, "{case}");
                    books.assert_effect(call.operation(), fact.effect, &case);
                }
            }
        }
    }
}
