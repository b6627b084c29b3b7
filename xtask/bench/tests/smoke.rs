//! Whether the benchmarks still work, in whatever build this is. No figure is looked at.

use std::path::Path;
use std::process::Command;

#[test]
fn every_benchmark_runs_to_its_end_with_tiny_counts() {
    let bench = env!("CARGO_BIN_EXE_payments-bench");
    build_the_command_unless_it_is_there(bench);
    let output = Command::new(bench).args(["gateway", "sandbox", "batch", "--smoke"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for figure in ["card-payment", "FakeTransport", "ready, in memory", "GET among", "most memory", "goals: "]
    {
        assert!(text.contains(figure), "no {figure:?} in\n{text}");
    }
}

#[test]
fn a_benchmark_that_does_not_exist_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_payments-bench")).arg("clients").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("there is no benchmark clients"), "{text}");
}

/// Where the whole workspace is tested, cargo has built `payments` for the tests of its own package, and it is left as it
/// is, because those tests may be running it.
fn build_the_command_unless_it_is_there(bench: &str) {
    let folder = Path::new(bench).parent().expect("a program is in a folder");
    if folder.join(format!("payments{}", std::env::consts::EXE_SUFFIX)).exists() {
        return;
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--package", "payments-cli"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let target = folder.parent().expect("the folder of a build is in the target folder");
    let status = cargo.env("CARGO_TARGET_DIR", target).status().expect("cargo runs this test");
    assert!(status.success(), "`payments` cannot be built");
}
