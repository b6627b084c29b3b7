//! The crates of this workspace as packages: what is in them, and whether the README works with nothing else.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "builds the packages, for which `cargo xtask test` has a step that gives it the whole machine"]
fn the_readme_works_with_the_packages_alone() {
    let gates = ["each package holds what belongs into it", "the README works with the packages alone"];
    let mut check = Command::new(env!("CARGO_BIN_EXE_payments-release"));
    check.arg("check").args(gates.iter().flat_map(|gate| ["--only", gate]));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(check.current_dir(root).status().unwrap().success(), "its words are above");
}
