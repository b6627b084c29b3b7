//! The `payments` command as other programs see it: the real binary against servers on loopback.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails the test as the test itself does")]

mod batch_files;
mod batch_runs;
mod batch_stops;
mod cases;
mod charges;
mod check;
mod colours;
mod corrections;
mod documents;
mod dry_run;
mod faults;
mod help;
mod http;
mod input;
mod interrupts;
mod journal;
mod journal_files;
mod journal_place;
mod journal_postgres;
mod journal_read_only;
mod journal_reconcile;
mod lost_history;
mod messages;
mod never_sent;
mod outcomes;
mod pasted;
mod prelude;
mod proxy;
mod repeats;
mod resolving;
mod sandbox;
mod screens;
mod secrets;
mod services;
mod settings;
mod support;
mod tls;
mod usage;
mod verbose;
mod workspace;
