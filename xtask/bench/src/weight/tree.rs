use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// How many crates a user's program has in it by this package, the package itself included.
pub(super) fn crates(workspace: &Path, package: &str) -> anyhow::Result<f64> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--package", package])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .output()
        .context("cargo cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo cannot tell the tree of {package}: {said}");
    Ok(f64::from(count(&String::from_utf8(output.stdout)?)?))
}

/// Counts a crate once, however many ways lead to it, and two versions of it as two.
fn count(tree: &str) -> Result<u32, std::num::TryFromIntError> {
    let crates: BTreeSet<_> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect();
    crates.len().try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_and_two_versions_of_it_twice() {
        let tree = "a v0.1.0 (/somewhere/a)\nb v1.0.0\nb v1.0.0 (*)\nb v2.0.0\nc v1.0.0 (proc-macro)\n\n";
        assert_eq!(count(tree), Ok(4));
    }
}
