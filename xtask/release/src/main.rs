//! Takes the workspace to a registry, called as `cargo xtask release`.
//!
//! [`prepare`] makes the commit of a version, [`check`] checks everything about that commit that could hurt a user, and
//! [`publish`] is the one step that cannot be undone. Cargo orders, packs and uploads the crates. There is no file of
//! progress: git and the registry's index say what has happened, so the same command can always be run again.

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

/// Take the crates of the workspace to a registry. The usual order is prepare, check, publish, each first without and
/// then with `--execute`; whatever was cut off is run again.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask release")]
enum Release {
    /// Make the commit of a new version; shows what would change unless told to do it. No network.
    Prepare(prepare::Options),
    /// Check everything about this commit that could hurt a user, and change nothing.
    Check(check::Options),
    /// Publish this commit; shows what would happen unless told to do it. Run it again after anything.
    Publish(publish::Options),
    /// Write the public API of each library as text; the text is committed and reviewed.
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
