//! Publishes the workspace's crates to a registry. Run it with `cargo xtask release`.
//!
//! [`prepare`] creates the commit of a version, [`check`] looks for everything in that commit that could harm a user, and
//! [`publish`] is the only step that cannot be undone. Cargo orders, packs and uploads the crates. No file records the
//! progress: git and the registry's index show what has happened, so you can always run the same command again.

#![allow(clippy::print_stdout, reason = "a command reports to the person who ran it")]

mod api;
mod changelog;
mod check;
mod consumer;
mod contents;
mod gates;
mod git;
mod index;
mod package;
mod prepare;
mod publish;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Publish the workspace's crates to a registry. The usual order is prepare, check, publish. Run `prepare` and `publish`
/// first without `--execute`, then with it. If a command is interrupted, run it again.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask release")]
enum Release {
    /// Commit a new version; without `--execute`, only show what would change. Uses no network.
    Prepare(prepare::Options),
    /// Run every gate on this commit, and change nothing.
    Check(check::Options),
    /// Publish this commit; without `--execute`, only show what would happen. After an interruption, run it again.
    Publish(publish::Options),
    /// Write the public API of each library as text, to be committed and reviewed.
    Api(api::Options),
}

fn main() -> ExitCode {
    let done = match Release::parse() {
        Release::Prepare(options) => prepare::run(&options),
        Release::Check(options) => check::run(&options),
        Release::Publish(options) => publish::run(&options),
        Release::Api(options) => api::run(&options),
    };
    if let Err(error) = done {
        println!("\nerror: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
