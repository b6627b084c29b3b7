//! How fast and how large things are, each figure beside its goal: `cargo xtask bench [NAME...]`.
//!
//! A file for each question. Two things are compared side by side in one run, because a figure of another day or
//! another machine says nothing about this one. Instructions are counted by valgrind, so a busy machine does not change
//! them.

#![allow(clippy::print_stdout, reason = "a benchmark reports to the person who ran it")]

mod bare_server;
mod batch;
mod build;
mod call;
mod fleet;
mod gateway;
mod load;
mod measure;
mod process;
mod report;
mod responses;
mod sandbox;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::Parser;

use report::Report;

/// Measures, and fails if a goal is missed.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", args_conflicts_with_subcommands = true)]
struct Options {
    /// Some benchmarks alone: call, gateway, sandbox, batch, fleet, build.
    names: Vec<String>,
    /// Tiny counts, whose figures mean nothing: does everything still run?
    #[arg(long)]
    smoke: bool,
    /// Where the figures are written as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    child: Option<Child>,
}

/// A process that a benchmark starts.
#[derive(clap::Subcommand, Debug)]
#[command(hide = true)]
enum Child {
    BareServer,
    GatewayLoop { case: String, calls: u32 },
    PlainCharges { base_url: String, api_key: String, count: u32 },
}

type Benchmark = fn(&mut Report) -> anyhow::Result<()>;

const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("call", call::measure),
    ("gateway", gateway::measure),
    ("sandbox", sandbox::measure),
    ("batch", batch::measure),
    ("fleet", fleet::measure),
    ("build", build::measure),
];

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.child {
        Some(Child::BareServer) => bare_server::run().map(|()| true),
        Some(Child::GatewayLoop { case, calls }) => gateway::run_loop(case, *calls).map(|()| true),
        Some(Child::PlainCharges { base_url, api_key, count }) => {
            batch::charge_plainly(base_url, api_key, *count).map(|()| true)
        }
        None => measure(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether every goal is met; tiny counts have none.
fn measure(options: &Options) -> anyhow::Result<bool> {
    for name in &options.names {
        ensure!(
            BENCHMARKS.iter().any(|(known, _)| known == name),
            "there is no benchmark {name}: see --help"
        );
    }
    let mut report = Report::new(options.smoke);
    for (name, benchmark) in BENCHMARKS {
        if options.names.is_empty() || options.names.iter().any(|wanted| wanted == name) {
            report.begin(name);
            benchmark(&mut report).with_context(|| format!("the benchmark {name} could not be finished"))?;
        }
    }
    if let Some(file) = &options.json {
        report.write(file)?;
    }
    Ok(report.close() || options.smoke)
}
