//! `cargo xtask exhaustive-money`: every amount of cents below a million, and as many random ones.

use crate::workspace::{cargo, shell};

/// Runs it in a release build, on as many threads as there are cores.
pub(crate) fn run() -> anyhow::Result<()> {
    let call = "run --release --locked --quiet --package payments-fuzz --example exhaustive-money";
    Ok(cargo(&shell()?, call.split(' ')).run()?)
}
