//! Benchmarks, each figure with its goal: `cargo xtask bench [NAME...]`.
//!
//! Each file is about one question. Two things are compared in the same run, because figures from another day or another machine
//! are not comparable. valgrind counts instructions, so a busy machine does not change them.

#![allow(clippy::print_stderr, clippy::print_stdout, reason = "a benchmark prints its results")]

mod bare_server;
mod batch;
mod build;
mod call;
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
    /// Run only these benchmarks: call, sandbox, batch, build.
    names: Vec<String>,
    /// Use tiny counts, to check that everything still runs; the figures mean nothing.
    #[arg(long)]
    smoke: bool,
    /// Write the figures to this file as JSON.
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
    PlainCharges { base_url: String, api_key: String, count: u32 },
}

type Benchmark = fn(&mut Report) -> anyhow::Result<()>;

const BENCHMARKS: &[(&str, Benchmark)] = &[
    ("call", call::measure),
    ("sandbox", sandbox::measure),
    ("batch", batch::measure),
    ("build", build::measure),
];

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.child {
        Some(Child::BareServer) => bare_server::run().map(|()| true),
        Some(Child::PlainCharges { base_url, api_key, count }) => {
            batch::charge_plainly(base_url, api_key, *count).map(|()| true)
        }
        None => measure(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether every goal is met. A smoke test has no goals.
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
            benchmark(&mut report).with_context(|| format!("the benchmark {name} failed"))?;
        }
    }
    if let Some(file) = &options.json {
        report.write(file)?;
    }
    Ok(report.close() || options.smoke)
}
