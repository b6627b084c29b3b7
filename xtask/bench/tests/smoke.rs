//! Whether the benchmarks still run, in any build. No figure is checked.

use std::path::Path;
use std::process::Command;

#[test]
fn benchmarks_finish_with_tiny_counts() {
    let bench = env!("CARGO_BIN_EXE_payments-bench");
    build_command_if_missing(bench);
    let output = Command::new(bench).args(["sandbox", "batch", "--smoke"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for figure in ["ready, in memory", "GET among", "most memory", "goals: "] {
        assert!(text.contains(figure), "no {figure:?} in\n{text}");
    }
}

#[test]
fn an_unknown_benchmark_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_payments-bench")).arg("clients").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("there is no benchmark clients"), "{text}");
}

/// If the whole workspace is tested, cargo has already built `payments` for its own tests. That program is kept, because those
/// tests may be running it.
fn build_command_if_missing(bench: &str) {
    let folder = Path::new(bench).parent().expect("the program is in a folder");
    if folder.join(format!("payments{}", std::env::consts::EXE_SUFFIX)).exists() {
        return;
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--package", "payments-cli"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let target = folder.parent().expect("the build folder is in the target folder");
    let status = cargo.env("CARGO_TARGET_DIR", target).status().expect("cargo runs this test");
    assert!(status.success(), "cannot build `payments`");
}
