//! Tests of the release program with a workspace like ours, a bare `origin`, SSH keys, and a registry on loopback that can
//! fail. They use no network.

#![cfg(unix)]
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "tests")]

mod check;
mod concurrent_changes;
mod credentials;
mod faults;
mod fixture;
mod kills;
mod prepare;
mod publish;
mod registry;
mod tags;
mod world;
