//! `cargo xtask crash-test`: billing runs that are killed at any moment, in a release build.

use anyhow::bail;

use crate::flags::CrashTest;
use crate::workspace::{cargo, shell};

/// Lets the test speak; what it found is an error of this task.
pub(crate) fn run(asked: &CrashTest) -> anyhow::Result<()> {
    let call = "test --release --locked --quiet --package payments-cli --test crash -- --ignored --nocapture";
    println!("$ cargo {call}    (the first time it builds for minutes)");
    let shell = shell()?;
    let mut command = cargo(&shell, call.split(' '));
    for (name, number) in [("CRASH_TEST_ROUNDS", asked.rounds), ("CRASH_TEST_SEED", asked.seed)] {
        if let Some(number) = number {
            command = command.env(name, number.to_string());
        }
    }
    if command.run().is_err() {
        bail!("somebody may be charged twice, or the test could not run: see above");
    }
    Ok(())
}
