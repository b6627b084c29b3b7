//! The packages of this workspace: their contents, and whether the README works with only them.

use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "builds the packages: `cargo xtask test` runs it in a separate step"]
fn the_readme_works_with_the_packages_alone() {
    let gates = ["each package contains only the intended files", "the README works with the packages alone"];
    let mut check = Command::new(env!("CARGO_BIN_EXE_payments-release"));
    check.arg("check").args(gates.iter().flat_map(|gate| ["--only", gate]));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(check.current_dir(root).status().unwrap().success(), "a gate failed: see above");
}
