//! Measures the cost of a durable change:
//!
//! `cargo test --release -p payments-journal --test journal sqlite_speed -- --ignored --nocapture --test-threads 1`

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use payments_journal::internals::{Change, IntentStore};
use payments_journal::{Journal, SqliteStore, StateName};
use rusqlite::Connection;
use tokio::task::JoinSet;

use crate::contract::{as_processed, at, begun};
use crate::sqlite::InAFile;

/// Begins and ends intents with this many concurrent callers; two changes each.
pub(crate) async fn charge<S: IntentStore>(
    store: &Arc<S>,
    callers: usize,
    each: usize,
    key: fn(usize) -> String,
) -> String {
    let (start, bytes) = (Instant::now(), written());
    let mut tasks = JoinSet::new();
    for caller in 0..callers {
        let store = store.clone();
        tasks.spawn(async move {
            for number in 0..each {
                let begun = begun(&*store, &key(number * 1000 + caller)).await;
                let end = Change::end_of(begun, as_processed("txn_0123456789abcdef"), at(1));
                assert!(store.apply(end).await.unwrap().written().is_some());
            }
        });
    }
    tasks.join_all().await;
    let changes = 2 * callers as u64 * each as u64;
    let rate = u128::from(changes) * 1_000_000 / start.elapsed().as_micros();
    format!("{rate}/s of {} bytes", (written() - bytes) / changes)
}

/// The bytes that this process has written so far.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let bytes = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

fn sequential(number: usize) -> String {
    format!("run-2026-11-{number:012}")
}

/// Only letters, so that all keys have one form.
fn random(number: usize) -> String {
    let mixed = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed =
        u128::from(mixed ^ (mixed >> 29)) << 64 | u128::from(mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9));
    let letter = |digit: u32| char::from(b'a' + u8::try_from((mixed >> (4 * digit)) & 15).unwrap());
    (0..32).rev().map(letter).collect()
}

/// The same in SQL.
const RANDOM: &str =
    "hex(randomblob(4)) || 'x' || hex(randomblob(4)) || 'x' || hex(randomblob(4)) || 'x' || n";

/// Inserts ended intents without the store.
fn fill(place: &InAFile, rows: u64, key: &str) {
    let connection = Connection::open(place.path()).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = OFF;
             UPDATE meta SET next_position = {rows} + 1;
             WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows}),
             made (key, id) AS MATERIALIZED (SELECT {key}, hex(randomblob(8)) FROM numbers)
             INSERT INTO intent (key, state, processed_as, is_void, service, document, stored_at)
             SELECT key, 'processed', 'txn_' || id, 0, 'https://pay.example.com', json_object(
                     'key', key,
                     'service', 'https://pay.example.com',
                     'request', json('{{\"operation\":\"token-transaction\",\"subject\":{{\"token\":\"tok_0123456789\"}},\"amount\":\"10.50\",\"transaction_type\":null,\"convenience_fee\":\"inactive\",\"reference\":\"invoice 17\"}}'),
                     'state', json_object('processed', json_object('transaction_id', 'txn_' || id)),
                     'attempt', hex(randomblob(16)), 'owner', hex(randomblob(16)), 'follows', null, 'attempts', 1,
                     'created_at', 1795000000000, 'begun_at', 1795000000000, 'changed_at', 1795000000000,
                     'revision', 2), 1795000000000
             FROM made;"
        ))
        .unwrap();
}

fn memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    format!("{} {}", line("VmRSS"), line("VmHWM"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn cost_of_a_change() {
    for (rows, keys, sql, key) in [
        (1_000, "sequential", "printf('run-2026-10-%012d', n)", sequential as fn(usize) -> String),
        (1_000, "random", RANDOM, random),
        (1_000_000, "sequential", "printf('run-2026-10-%012d', n)", sequential),
        (1_000_000, "random", RANDOM, random),
    ] {
        let place = InAFile::closed();
        fill(&place, rows, sql);
        let start = Instant::now();
        let store = Arc::new(SqliteStore::open(place.path()).unwrap());
        let opened = start.elapsed();
        let one = charge(&store, 1, 1_500, key).await;
        let many = charge(&store, 64, 250, |number| format!("{}-64", sequential(number))).await;
        let many_random = charge(&store, 64, 250, |number| random(number + 500_000_000)).await;
        let start = Instant::now();
        let journal = Journal::open(SqliteStore::open(place.path()).unwrap()).await.unwrap();
        let swept = start.elapsed();
        let start = Instant::now();
        let (mut pages, mut listed) = (journal.pages(StateName::ALL), 0);
        while let Some(intents) = pages.next().await.unwrap() {
            listed += intents.len();
        }
        println!(
            "{rows} rows, {keys} keys: changes: 1 caller {one}, 64 callers {many}, 64 callers of random keys \
             {many_random}; open {opened:?}, open with sweep {swept:?}, list of {listed} {:?}; file {} MB; {}",
            start.elapsed(),
            fs::metadata(place.path()).unwrap().len() / 1_000_000,
            memory()
        );
    }
}
