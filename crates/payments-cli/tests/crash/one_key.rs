//! Sixteen processes charge with one key at once.

use std::process::Child;

use serde_json::Value;

use crate::command::Workspace;
use crate::fault_plan::FaultPlan;
use crate::service::{Service, cents};

const PROCESSES: usize = 16;

/// Each round uses a new key: sixteen processes, one transmission, one charge.
pub(crate) fn many_processes_send_once(rounds: u64) {
    let mut service = Service::start();
    service.arm(&FaultPlan::none());
    let workspace = Workspace::new(&service.base_url, &service.api_key, "payment.json");
    for round in 0..rounds {
        let key = format!("inv-{round}");
        let payment = format!(
            r#"{{"TokenId":"tok_approved","Amount":{}.50,"ConvenienceFeeActive":false,"ReferenceNo":"{key}"}}"#,
            round + 1
        );
        std::fs::write(&workspace.file, payment).unwrap();
        let all: Vec<_> = (0..PROCESSES).map(|_| workspace.charge(&key)).collect();
        let results: Vec<_> = all.into_iter().map(finish).collect();
        assert_eq!(service.transmissions().get(&key).map(Vec::len), Some(1), "{results:?}");
        let entries = &service.ledger()[&key];
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(entries[0].cents, cents(&format!("{}.50", round + 1).into()));
        // Each process reports the charge, or that it is in flight in another process.
        let processed = results.iter().filter(|(code, _)| *code == 0).count();
        assert!(processed >= 1 && results.iter().all(|(code, _)| [0, 5].contains(code)), "{results:?}");
        for (_, document) in results.iter().filter(|(code, _)| *code == 0) {
            assert_eq!(document["data"]["TransactionId"], entries[0].transaction_id.as_str(), "{document}");
        }
    }
}

fn finish(child: Child) -> (i32, Value) {
    let output = child.wait_with_output().unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {:?} {}", output.status, String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap(), document)
}

#[test]
fn sixteen_processes_with_one_key_send_once() {
    many_processes_send_once(3);
}
