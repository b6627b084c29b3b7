//! The project's own tasks, called as `cargo xtask <task>`; `cargo xtask help` lists them.
//!
//! Everything that the project asks of its own source is here: one command that checks it all ([`mod@test`]), the rules
//! of the repository as ordinary tests ([`tidy`]), the list of decisions with the tests that hold them ([`decisions`]),
//! the benchmarks ([`mod@bench`]), the cost of a call beside that of its peers ([`instructions`]), and what looks for
//! longer than a check of every change can: [`fuzz`], [`simulate`], [`crash_test`], [`exhaustive_money`] and [`miri`].
//! [`release`] takes the crates to a registry. Nothing here is part of a published crate.

#![allow(clippy::print_stdout, reason = "a task speaks to the person who ran it")]

mod bench;
mod crash_test;
mod decisions;
mod exhaustive_money;
mod flags;
mod fuzz;
mod instructions;
mod miri;
mod release;
mod simulate;
mod source;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use flags::{Release, Xtask, XtaskCmd};

fn main() -> ExitCode {
    let asked = if release::is_asked_for() {
        XtaskCmd::Release(Release)
    } else {
        Xtask::from_env_or_exit().subcommand
    };
    let done = match asked {
        XtaskCmd::Test(asked) => test::run(&asked),
        XtaskCmd::Tidy(_) => tidy::run(),
        XtaskCmd::Decisions(_) => decisions::run(),
        XtaskCmd::Bench(asked) => bench::run(&asked),
        XtaskCmd::Instructions(_) => instructions::run(),
        XtaskCmd::CrashTest(asked) => crash_test::run(&asked),
        XtaskCmd::Fuzz(asked) => fuzz::run(&asked),
        XtaskCmd::ExhaustiveMoney(_) => exhaustive_money::run(),
        XtaskCmd::Miri(_) => miri::run(),
        XtaskCmd::Simulate(asked) => simulate::run(&asked),
        XtaskCmd::Release(_) => release::run(),
        XtaskCmd::Help(_) => {
            println!("{}", Xtask::help());
            Ok(())
        }
    };
    // Not returned from `main` as it is: a stack backtrace under it would hide the one line that says what to do.
    if let Err(error) = done {
        println!("\nerror: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
