//! The `payments` command as other programs see it: the real binary against servers on loopback.

#[cfg(unix)]
mod batch_files;
mod batch_fleet;
#[cfg(unix)]
mod batch_runs;
#[cfg(unix)]
mod batch_stops;
mod cases;
mod check;
mod colours;
mod completions;
#[cfg(unix)]
mod corrections;
mod demo;
mod documents;
mod dry_run;
mod faults;
mod help;
mod http;
mod input;
mod interrupts;
mod journal;
#[cfg(unix)]
mod journal_files;
#[cfg(unix)]
mod journal_place;
mod journal_postgres;
#[cfg(target_os = "linux")]
mod journal_read_only;
#[cfg(unix)]
mod journal_reconcile;
mod journaled_charges;
#[cfg(unix)]
mod messages;
mod never_sent;
mod outcomes;
mod output;
mod proxy;
mod sandbox;
mod sandbox_options;
mod screens;
mod secrets;
#[cfg(unix)]
mod services;
mod settings;
mod settings_of_tests;
mod support;
mod text;
mod tls;
mod usage;
mod verbose;
