//! Takes the workspace to a registry, called as `cargo xtask release`.
//!
//! [`prepare`] makes the commit of a version, [`check`] asks of that commit whatever would hurt a user, and [`publish`]
//! is the one step that cannot be taken back. Cargo orders, packages, verifies and uploads; what is here is the part
//! that cargo leaves to people: what must be true before, and how to go on after a run that was cut off. There is no file
//! of progress. What has happened is read from git and from the registry's index, so that the same command can always be
//! run again.

#![allow(clippy::print_stdout, reason = "a command speaks to the person who ran it")]

mod api;
mod changelog;
mod check;
mod checksum;
mod credentials;
mod flags;
mod gates;
mod git;
mod package;
mod patience;
mod prepare;
mod publish;
mod readme;
mod registry;
mod rustdoc;
mod snippets;
mod unpacked;
mod upload;
mod version;
mod workspace;

use std::process::ExitCode;

use flags::{Release, ReleaseCmd};

fn main() -> ExitCode {
    let done = match Release::from_env_or_exit().subcommand {
        ReleaseCmd::Prepare(asked) => prepare::run(&asked),
        ReleaseCmd::Check(asked) => check::run(&asked),
        ReleaseCmd::Api(asked) => api::run(&asked),
        ReleaseCmd::Publish(asked) => publish::run(&asked),
    };
    if let Err(error) = done {
        println!("\nerror: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
