//! The release as its user sees it: the program, a workspace of the same shape as ours, a bare `origin`, keys of ssh, and a
//! registry on loopback that fails as registries do. No network.

#![cfg(unix)]
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "tests")]

mod check;
mod credentials;
mod faults;
mod fixture;
mod kills;
mod moving_ground;
mod prepare;
mod publish;
mod registry;
mod tags;
mod world;
