//! Sixteen processes that all mean the same charge.

use std::process::Child;

use serde_json::Value;

use crate::command::Desk;
use crate::service::{Service, cents};
use crate::weather::Weather;

const PROCESSES: usize = 16;

/// Sixteen at once with one key, in each round another: one transmission and one charge.
pub(crate) fn many_processes_send_once(rounds: u64) {
    let mut service = Service::start();
    service.arm(&Weather::fair());
    let desk = Desk::new(&service.base_url, &service.api_key, "payment.json");
    for round in 0..rounds {
        let key = format!("inv-{round}");
        let payment = format!(
            r#"{{"TokenId":"tok_approved","Amount":{}.50,"ConvenienceFeeActive":false,"ReferenceNo":"{key}"}}"#,
            round + 1
        );
        std::fs::write(&desk.file, payment).unwrap();
        let all: Vec<_> = (0..PROCESSES).map(|_| desk.charge(&key)).collect();
        let said: Vec<_> = all.into_iter().map(said).collect();
        assert_eq!(service.transmissions().get(&key).map(Vec::len), Some(1), "{said:?}");
        let entries = &service.ledger()[&key];
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(entries[0].cents, cents(&format!("{}.50", round + 1).into()));
        // Each is told that it is processed, or that another has it in flight.
        let processed = said.iter().filter(|(code, _)| *code == 0).count();
        assert!(processed >= 1 && said.iter().all(|(code, _)| [0, 5].contains(code)), "{said:?}");
        for (_, document) in said.iter().filter(|(code, _)| *code == 0) {
            assert_eq!(document["data"]["TransactionId"], entries[0].transaction_id.as_str(), "{document}");
        }
    }
}

fn said(child: Child) -> (i32, Value) {
    let output = child.wait_with_output().unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {:?} {}", output.status, String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap(), document)
}

#[test]
fn sixteen_processes_with_one_key_send_it_once() {
    many_processes_send_once(20);
}
