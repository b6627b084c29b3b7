//! Does every HTTP status with every kind of body have the result of the table, for every operation?
//!
//! The table is written by hand and shares no code with the SDK.

use http::StatusCode;
use payments_core::Client;
use payments_fake::unversioned::{ErrorEnvelope, SuccessEnvelope};
use payments_fake::{Fault, FaultKind, ManualClock, ScriptedTransport, block_on};
use payments_tests::{LedgerCheck, PHASES, ResponseBody, expectation, status_row};

use crate::calls::{Call, Failed, unknown_id};
use crate::test_setup::Network;

/// Several bodies of one kind.
fn bodies(call: Call, body: ResponseBody, status: u16) -> Vec<Vec<u8>> {
    match body {
        ResponseBody::Refusal => {
            // A rejection may have `status_code` 200, but no other 2xx. Under a 2xx the code is the HTTP status.
            let code = if (200..=299).contains(&status) { status } else { 200 };
            let declined = format!(
                r#"{{"status":"DECLINED","status_code":{code},"message":"no","data":{{"TransactionId":"txn_9"}}}}"#
            );
            vec![
                ErrorEnvelope::new(StatusCode::from_u16(status).unwrap(), "no").encode(),
                declined.into_bytes(),
            ]
        }
        ResponseBody::Success if call.operation().moves_money() => {
            vec![SuccessEnvelope::post("done", r#"{"TransactionId":"txn_9"}"#)]
        }
        ResponseBody::Success => {
            let data = r#"{"TransactionId":"txn_9","CustomerId":"cus_1"}"#;
            vec![SuccessEnvelope::get("found", data)]
        }
        _ => ["", "<html>busy</html>", r#"{"status":"failed",}"#, r#"{"message":"Forbidden"}"#, "[]"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec(),
    }
}

#[test]
fn every_status_with_every_body_has_result_of_table_d05_d06_d07_d08_d09_d10_d11_d12() {
    let endpoint = payments_fake::FakeGateway::new().endpoint();
    for call in Call::ALL {
        for status in 200..=599 {
            for body in ResponseBody::ALL {
                let expected = status_row(status, body).result(call.operation());
                for bytes in bodies(call, body, status) {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let script = ScriptedTransport::new().respond_json(status, bytes);
                    let client = Client::builder(endpoint.clone(), script, ManualClock::auto());
                    let client = client.lookup_retries(0).build();
                    let result = block_on(call.make(&client, &unknown_id()));
                    let outcome = result.as_ref().err().map(Failed::outcome);
                    assert_eq!(outcome, expected.outcome, "{call:?}, HTTP {status}, {text}: {result:?}");
                }
            }
        }
    }
}

/// The same with the fake: its response for every status, and whether it charged or voided.
#[tokio::test]
async fn every_status_fault_has_outcome_of_table_d06_d08_d09_d10_d11() {
    for call in [Call::Card, Call::Void] {
        let setup = Network::InProcess.setup().await;
        let client = setup.client.with_lookup_retries(0);
        for status in (200..=599).map(|status| StatusCode::from_u16(status).unwrap()) {
            for kind in [FaultKind::Status { status }, FaultKind::Html { status }] {
                for phase in PHASES {
                    setup.gateway.reset();
                    let target = call.prepare(&client).await;
                    let ledger = LedgerCheck::of(&setup.gateway);
                    let fault = Fault::on(call.operation()).at(phase).show(kind);
                    let case = format!("{call:?}, {fault} {status}");
                    setup.gateway.arm(fault);
                    let result = call.make(&client, &target).await;
                    let expected = expectation(call.operation(), kind, phase);
                    assert_eq!(result.err().map(|error| error.outcome()), expected.result.outcome, "{case}");
                    ledger.assert_effect(call.operation(), expected.effect, &case);
                }
            }
        }
    }
}
