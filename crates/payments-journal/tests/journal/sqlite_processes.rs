//! Many processes on one file.

use std::collections::BTreeSet;

use payments_journal::{IntentState, SqliteStore};

use crate::contract::intents;
use crate::process::Process;
use crate::sqlite::InAFile;

/// Starts processes that open the same missing file at the same time.
pub(crate) fn start(count: usize, place: &InAFile) -> Vec<Process> {
    let mut processes: Vec<_> = (0..count).map(|_| Process::start(&place.path())).collect();
    for process in &mut processes {
        process.send("open");
    }
    for process in &mut processes {
        assert_eq!(process.response(), "opened");
    }
    processes
}

#[tokio::test]
async fn concurrent_writes_of_four_processes_are_all_stored() {
    const KEYS: u32 = 100;
    let place = InAFile::new();
    let mut processes = start(4, &place);
    let mut charged = BTreeSet::new();
    // First different keys, then the same ones.
    for is_shared in [false, true] {
        for (number, process) in processes.iter_mut().enumerate() {
            let name = if is_shared { "shared-".to_owned() } else { format!("of-{number}-") };
            process.send(&format!("charge {name} 0 {KEYS}"));
        }
        for process in &mut processes {
            loop {
                let response = process.response();
                match response.split_once(' ') {
                    Some(("charged", key)) => assert!(charged.insert(key.to_owned()), "{key} twice"),
                    _ if response == "kept" => assert!(is_shared),
                    _ if response == "done" => break,
                    _ => panic!("{response}"),
                }
            }
        }
    }
    assert_eq!(charged.len(), 5 * KEYS as usize);
    drop(processes);

    let store = SqliteStore::open(place.path()).unwrap();
    let intents = intents(&store).await;
    let kept: BTreeSet<_> = intents.iter().map(|intent| intent.key.as_str().to_owned()).collect();
    assert_eq!(kept, charged);
    assert!(intents.iter().all(|intent| matches!(intent.state, IntentState::Processed { .. })));
}
