//! The rules of a row, the stores (one contract, tested on each, and what only one of them can do wrong), and the client.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod client;
mod contract;
mod decisions;
#[cfg(all(unix, feature = "sqlite", feature = "postgres"))]
mod fixtures;
mod history;
mod lost_history;
mod memory;
#[cfg(all(unix, feature = "postgres"))]
mod postgres;
#[cfg(unix)]
mod process;
mod rules;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_damage;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_disk;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_fork;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_missing_log;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_place;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_process;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_processes;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_read_only;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_speed;
#[cfg(all(unix, feature = "sqlite"))]
mod sqlite_witness;
