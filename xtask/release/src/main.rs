//! Publishes the workspace's crates to a registry. Run it with `cargo xtask release`.
//!
//! [`prepare`] creates the commit of a version, [`check`] runs every gate on it, and [`publish`] uploads it with
//! `cargo publish`. No file records the progress: git and the registry show what has happened, so you can always run the
//! same command again.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a command reports to the person who ran it")]

mod api;
mod changelog;
mod check;
mod packages;
mod prepare;
mod publish;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Publish the workspace's crates to a registry: prepare, check, publish. Run `prepare` and `publish` first without
/// `--execute`, then with it. If a command is interrupted, run it again.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask release")]
enum Release {
    /// Commit a new version; without `--execute`, only show it. Uses no network.
    Prepare(prepare::Options),
    /// Run every gate on this commit.
    Check(check::Options),
    /// Publish this commit; without `--execute`, only show what would happen.
    Publish(publish::Options),
    /// Write the public API of each library as text, to be committed and reviewed.
    Api(api::Options),
    /// Pack every crate, and compile the documents' examples with only these packages.
    Packages,
}

fn main() -> ExitCode {
    let done = match Release::parse() {
        Release::Prepare(options) => prepare::run(&options),
        Release::Check(options) => check::run(&options),
        Release::Publish(options) => publish::run(&options),
        Release::Api(options) => api::run(&options),
        Release::Packages => packages::run(),
    };
    if let Err(error) = done {
        eprintln!("\nerror: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
