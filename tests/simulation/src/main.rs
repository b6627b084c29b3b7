//! The command behind `cargo xtask simulate`: runs the simulation and prints the figures. It fails if an invariant is violated.

#![allow(clippy::print_stdout, reason = "a command prints its result")]

mod flags;

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Instant;

use flags::Simulate;
use payments_simulation::Simulation;

fn main() -> ExitCode {
    let Simulate { charges, seed, threads, sabotage, only, coverage } = Simulate::from_env_or_exit();
    let mut simulation = Simulation::new(charges.unwrap_or(100_000), seed.unwrap_or(1));
    simulation = simulation.threads(threads.unwrap_or(NonZeroUsize::MIN));
    if let Some(sabotage) = sabotage {
        simulation = simulation.sabotage(sabotage);
    }
    if let Some(only) = only {
        simulation = simulation.only(only);
    }
    let started = Instant::now();
    match simulation.run() {
        Ok(figures) => {
            if coverage {
                println!("{}\n", figures.coverage);
                for (operation, cause, ending) in figures.coverage.missing() {
                    println!("did not occur: {operation} {ending} after {cause}");
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
