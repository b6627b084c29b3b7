//! `cargo xtask test --quick`.

use anyhow::ensure;
use xshell::{Shell, cmd};
use xtask::Metadata;

use crate::shell::{has_nextest, run_all};

/// Checks the changed packages: formatting, lints, tests, and the repository's rules.
pub(super) fn run(shell: &Shell) -> anyhow::Result<()> {
    let files = changed_files(shell)?;
    let packages = Metadata::read(shell)?.packages;
    // `tests/canary` is inside `tests`: a file belongs to the package with the longest path.
    let package_of = |file: &str| {
        let around = packages.iter().filter(|package| file.starts_with(&format!("{}/", package.folder)));
        around.max_by_key(|package| package.folder.len())
    };
    let mut names: Vec<_> =
        files.iter().filter_map(|file| package_of(file)).map(|package| package.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    ensure!(
        !names.is_empty(),
        "nothing was checked: no package has uncommitted changes. Run `cargo xtask test` to check everything"
    );
    let selection = format!(" --package {}", names.join(" --package "));
    let (test, skipped) = if has_nextest(shell) {
        ("nextest run --no-fail-fast --profile quick", "slow tests, and packages that depend on these")
    } else {
        ("test --no-fail-fast", "packages that depend on these")
    };
    run_all(
        shell,
        &[
            "fmt --all --check".to_owned(),
            format!("clippy --locked --all-targets{selection} -- -D warnings"),
            format!("{test} --locked{selection}"),
            "test --quiet --locked --package xtask --test tidy".to_owned(),
        ],
    )?;
    println!("all checks of {} passed; not checked: {skipped}", names.join(", "));
    Ok(())
}

/// The paths from the root.
fn changed_files(shell: &Shell) -> anyhow::Result<Vec<String>> {
    // Without `-z`, git puts some paths in quotation marks.
    let status =
        cmd!(shell, "git status --porcelain -z --no-renames --untracked-files=all").quiet().read()?;
    Ok(status.split('\0').filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_may_have_any_name() {
        let shell = Shell::new().unwrap();
        let folder = shell.create_temp_dir().unwrap();
        shell.change_dir(folder.path());
        cmd!(shell, "git init --quiet").run().unwrap();
        shell.write_file("a folder/\"é\".rs", "").unwrap();
        assert_eq!(changed_files(&shell).unwrap(), ["a folder/\"é\".rs"]);
    }
}
