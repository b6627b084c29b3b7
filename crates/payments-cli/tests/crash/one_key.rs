//! Sixteen processes charge with one key at once.

use crate::command::Workspace;
use crate::fault_plan::FaultPlan;
use crate::service::{Service, cents};
use crate::support::Running;

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
        let all: Vec<_> = (0..PROCESSES).map(|_| workspace.charge(&key, payment.clone())).collect();
        let results: Vec<_> = all.into_iter().map(Running::end).collect();
        assert_eq!(service.transmissions().get(&key).map(Vec::len), Some(1), "{results:?}");
        let entries = &service.ledger()[&key];
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(entries[0].cents, cents(&format!("{}.50", round + 1).into()));
        // Each process reports the charge, or that it is in flight in another process.
        let (processed, others): (Vec<_>, Vec<_>) = results.iter().partition(|ended| ended.code == Some(0));
        assert!(!processed.is_empty(), "{results:?}");
        for ended in others {
            ended.failed(5);
        }
        for ended in processed {
            assert_eq!(ended.paid_id(), entries[0].transaction_id);
        }
    }
}

#[test]
fn sixteen_processes_with_one_key_send_once() {
    many_processes_send_once(3);
}
