//! How fast and how large things are, each figure beside its goal; called as `cargo xtask bench [NAME]`.
//!
//! A file for each question, and what they share: a [`load`] generator that is much cheaper than what it measures, [`server`]
//! processes, and a [`report`]. What is compared is measured within one run, because a figure of another day or another machine
//! says nothing about this one.

#![allow(clippy::print_stdout, reason = "a benchmark speaks to the person who ran it")]

mod answer;
mod bare_server;
mod batch;
mod call;
mod client_run;
mod clients;
mod cold;
mod cores;
mod fixed_server;
mod flags;
mod growth;
mod handle;
mod https_server;
mod in_process;
mod load;
mod open_files;
mod plan;
mod report;
mod requests;
mod sandbox;
mod server;
mod statistics;
mod throughput;
mod valgrind;
mod weight;

use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};

use flags::{Bench, BenchCmd, Run};
use plan::Plan;
use report::Report;

/// What can be measured: the name, what it answers, and how.
const QUESTIONS: &[(&str, &str, Measure)] = &[
    ("sandbox", "what a payment costs in `payments sandbox`", sandbox::measure),
    ("batch", "what the journal costs a billing run", batch::measure),
    ("call", "what a call costs this SDK and its peers, in instructions and on the heap", call::measure),
    ("handle", "what a request costs in the state machine alone, in instructions", handle::measure),
    ("cold", "what the first call of a process and of a connection costs", cold::measure),
    ("throughput", "how many calls one core of a client makes, beside other clients", throughput::measure),
    ("growth", "what a call costs among many, and what many leave behind", growth::measure),
    ("weight", "what a program that charges costs to build and to ship", weight::measure),
    ("in-process", "what a test without a network costs", in_process::measure),
];

type Measure = fn(&Plan, &mut Report) -> anyhow::Result<()>;

fn main() -> ExitCode {
    let done = match Bench::from_env_or_exit().subcommand {
        BenchCmd::Run(run) => measure(&run),
        BenchCmd::Draw(_) => report::draw_saved().map(|()| ExitCode::SUCCESS),
        BenchCmd::ServeBare(_) => bare_server::run().map(|()| ExitCode::SUCCESS),
        BenchCmd::ServeFixed(asked) => fixed_server::run(asked.awake).map(|()| ExitCode::SUCCESS),
        BenchCmd::ChargePlain(asked) => batch::charge_plainly(&asked).map(|()| ExitCode::SUCCESS),
        BenchCmd::StartTls(_) => cold::start_tls().map(|()| ExitCode::SUCCESS),
        BenchCmd::TestLoop(asked) => in_process::run_loop(asked.tests).map(|()| ExitCode::SUCCESS),
        BenchCmd::HandleLoop(calls) => handle::run_loop(&calls.case, calls.calls).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        println!("\nerror: {error:#}");
        ExitCode::FAILURE
    })
}

fn measure(Run { name, rows, smoke, report_only, save }: &Run) -> anyhow::Result<ExitCode> {
    let asked: Vec<_> =
        QUESTIONS.iter().filter(|(own, ..)| name.as_ref().is_none_or(|name| name == own)).collect();
    if asked.is_empty() {
        let names: Vec<_> = QUESTIONS.iter().map(|(name, about, _)| format!("{name}: {about}")).collect();
        bail!("there is no benchmark of that name; there are\n  {}", names.join("\n  "));
    }
    ensure!(!(*save && (*smoke || cfg!(debug_assertions))), "figures that mean nothing are not saved");
    let mut plan = if *smoke { Plan::SMOKE } else { Plan::FULL };
    plan.long_run = rows.unwrap_or(plan.long_run);
    let mut report = Report::default();
    println!("{}", plan.heading());
    for (name, about, measure) in asked {
        report.begin(name, about);
        measure(&plan, &mut report).with_context(|| format!("the benchmark {name} could not go on"))?;
    }
    if *save {
        report.save()?;
        println!("\nsaved in {}", report::results().display());
    }
    let missed = report.close();
    Ok(if missed == 0 || *report_only || *smoke { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
