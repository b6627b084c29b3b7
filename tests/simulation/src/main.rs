//! The command behind `cargo xtask simulate`: runs the simulation and prints the figures. It fails if an invariant is violated.

#![allow(clippy::print_stdout, reason = "a command prints its result")]

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use payments_simulation::Simulation;

/// Simulate payments over a bad network and search for a violated invariant.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask simulate")]
struct Options {
    #[command(flatten)]
    simulation: Simulation,
    /// Print each combination of operation, fault, phase and ending that did not occur.
    #[arg(long)]
    coverage: bool,
}

fn main() -> ExitCode {
    let Options { simulation, coverage } = Options::parse();
    let started = Instant::now();
    match simulation.run() {
        Ok(figures) => {
            if coverage {
                for (operation, cause, ending) in figures.coverage.missing() {
                    println!("did not occur: {operation} {ending} after {cause:?}");
                }
            }
            println!("{figures}\ntime           {:>12.1} s", started.elapsed().as_secs_f64());
            println!(
                "\nNo invariant was violated. The same seed and number of charges repeat this run exactly."
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}
