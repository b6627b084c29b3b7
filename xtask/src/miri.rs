//! `cargo xtask miri`: the unit tests of payments-model and payments-core under Miri.
//!
//! Neither crate has unsafe code of its own, so what Miri looks at is how they use the unsafe code of others: the
//! borrowed raw values of `serde_json`, the owned buffers of `bytes`, the header values of `http`, and the zeroing on
//! drop. Whoever releases runs it; it is no part of `cargo xtask test`, because it needs a nightly toolchain.

use anyhow::{Context as _, bail};
use xshell::cmd;

use crate::workspace::shell;

/// Runs one crate after the other and stops at the first that fails.
pub(crate) fn run() -> anyhow::Result<()> {
    let shell = shell()?;
    if cmd!(shell, "rustup run nightly cargo miri --version").quiet().ignore_stderr().read().is_err() {
        bail!(
            "Miri is not there; to install it: rustup toolchain install nightly --component miri,rust-src --profile minimal"
        );
    }
    for package in PACKAGES {
        println!("\n── {package}");
        let mut arguments =
            vec!["run", "nightly", "cargo", "miri", "test", "--locked", "--package", package, "--lib"];
        arguments.push("--");
        arguments.extend(TOO_LONG.iter().flat_map(|name| ["--skip", name]));
        // rustup sets the toolchain of this program for its children; the one that is asked for must win.
        let tests =
            cmd!(shell, "rustup {arguments...}").quiet().env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC");
        // proptest asks where it is, to keep failures, and a property is not tested better by more cases here.
        let tests = tests.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
        tests.run().with_context(|| format!("Miri found something in the unit tests of {package}"))?;
    }
    Ok(())
}

const PACKAGES: [&str; 2] = ["payments-model", "payments-core"];

/// Tests that go through thousands of texts to find one that is wrong, each of which takes the same way through memory.
/// Miri, a hundred times slower and more, would need the better part of an hour for them.
const TOO_LONG: [&str; 2] = ["hostile_texts_and_many_secrets_end_in_time", "snippet::tests::d64_"];
