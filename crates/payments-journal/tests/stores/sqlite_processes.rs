//! Many processes on one file.

use std::collections::BTreeSet;

use payments_journal::{Failure, IntentState, IntentStore, Journal, SqliteStore, StateName};

use crate::contract::key;
use crate::sqlite::InAFile;
use crate::sqlite_process::Process;

/// All open the same file, which is not there yet, at the same time.
fn start(count: usize, place: &InAFile) -> Vec<Process> {
    let mut processes: Vec<_> = (0..count).map(|_| Process::start(&place.path())).collect();
    for process in &mut processes {
        process.tell("open");
    }
    for process in &mut processes {
        assert_eq!(process.answer(), "opened");
    }
    processes
}

#[tokio::test]
async fn of_sixteen_processes_that_begin_one_key_one_wins() {
    const ROUNDS: usize = 100;
    let place = InAFile::new();
    let mut processes = start(16, &place);
    for round in 0..ROUNDS {
        for process in &mut processes {
            process.tell(&format!("begin round-{round}"));
        }
        let answers: Vec<_> = processes.iter_mut().map(Process::answer).collect();
        let winners = answers.iter().filter(|answer| *answer == "begun").count();
        assert_eq!(winners, 1, "round {round}: {answers:?}");
        assert!(answers.iter().all(|answer| answer == "begun" || answer == "kept"), "{answers:?}");
    }
    let store = SqliteStore::open(place.path()).unwrap();
    let intents = store.list(StateName::ALL, None, usize::MAX).await.unwrap().intents;
    assert_eq!(intents.len(), ROUNDS);
    assert!(intents.iter().all(|intent| intent.revision == 1 && intent.attempts == 1));
}

#[tokio::test]
async fn what_four_processes_write_at_once_is_all_there() {
    const KEYS: u32 = 100;
    let place = InAFile::new();
    let mut processes = start(4, &place);
    let mut charged = BTreeSet::new();
    // Keys of their own, then the same ones.
    for is_shared in [false, true] {
        for (number, process) in processes.iter_mut().enumerate() {
            let name = if is_shared { "shared-".to_owned() } else { format!("of-{number}-") };
            process.tell(&format!("charge {name} 0 {KEYS}"));
        }
        for process in &mut processes {
            loop {
                let answer = process.answer();
                match answer.split_once(' ') {
                    Some(("charged", key)) => assert!(charged.insert(key.to_owned()), "{key} twice"),
                    _ if answer == "kept" => assert!(is_shared),
                    _ if answer == "done" => break,
                    _ => panic!("{answer}"),
                }
            }
        }
    }
    assert_eq!(charged.len(), 5 * KEYS as usize);
    drop(processes);

    let store = SqliteStore::open(place.path()).unwrap();
    let intents = store.list(StateName::ALL, None, usize::MAX).await.unwrap().intents;
    let kept: BTreeSet<_> = intents.iter().map(|intent| intent.key.as_str().to_owned()).collect();
    assert_eq!(kept, charged);
    assert!(intents.iter().all(|intent| matches!(intent.state, IntentState::Processed { .. })));
}

/// The system lets go of a dead process's lock, and of nothing else.
#[tokio::test]
async fn what_a_killed_process_was_sending_is_unknown() {
    let place = InAFile::new();
    let mut processes = start(2, &place);
    assert_eq!(processes[0].ask("begin of-the-living"), "begun");
    assert_eq!(processes[1].ask("begin of-the-dead"), "begun");
    let state_of = async |name: &str| {
        let journal = Journal::open(SqliteStore::open(place.path()).unwrap()).await.unwrap();
        journal.find(&key(name)).await.unwrap().unwrap().state
    };
    assert_eq!(state_of("of-the-dead").await, IntentState::Sending);
    processes.pop().unwrap().kill();
    assert_eq!(state_of("of-the-dead").await, IntentState::Unknown(Failure::of_kind(Failure::CRASH)));
    assert_eq!(state_of("of-the-living").await, IntentState::Sending);
}
