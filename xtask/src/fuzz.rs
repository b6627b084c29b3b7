//! `cargo xtask fuzz [TARGET]`: runs cargo-fuzz on each target, with the committed corpus and the inputs of earlier runs.

use anyhow::{Context as _, ensure};
use xshell::cmd;
use xtask::{Metadata, cargo};

use crate::shell::shell;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Run only this target, such as `read_amount`.
    target: Option<String>,
    /// How many seconds each target runs.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
}

/// Runs each target for its time, even after an earlier one has found a crash.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    /// The folders of the corpus that several targets share.
    const SHARED: [&str; 2] = ["answers", "json"];

    let shell = shell()?;
    let installed = cargo(&shell, "fuzz --version").ignore_stdout().ignore_stderr().run();
    installed.context("cargo-fuzz is not installed: cargo install --locked cargo-fuzz")?;
    let corpus = shell.current_dir().join("tests/fuzz/corpus");
    let folders = shell.read_dir(&corpus)?;
    let names = folders.iter().filter_map(|path| path.file_name()?.to_str());
    let is_selected = |name: &&str| options.target.as_deref().is_none_or(|target| target == *name);
    let names: Vec<_> = names.filter(|name| !SHARED.contains(name)).filter(is_selected).collect();
    ensure!(!names.is_empty(), "there is no such target: tests/fuzz/corpus has a folder for each");

    let folder = Metadata::read(&shell)?.target_directory.join("fuzz");
    let time = options.seconds.to_string();
    let mut broken = Vec::new();
    for name in names {
        // libFuzzer writes only to the first folder, so the committed corpus stays unchanged.
        let found = folder.join("corpus").join(name);
        shell.create_dir(&found)?;
        let committed = [name, SHARED[0], SHARED[1]].map(|folder| corpus.join(folder));
        // Sanitizers look for memory errors, and this workspace has no unsafe code.
        let limits = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=8192"];
        let fuzz = cmd!(
            shell,
            "rustup run nightly cargo fuzz run --fuzz-dir tests/fuzz --sanitizer none --target-dir {folder} fuzz {found} {committed...} -- -max_total_time={time} {limits...}"
        );
        println!("\n── {name}");
        if fuzz.env("FUZZ_TARGET", name).env_remove("RUSTUP_TOOLCHAIN").run().is_err() {
            broken.push(name);
        }
    }
    ensure!(
        broken.is_empty(),
        "fuzzing found failing inputs for {}: see above, and turn each into a test",
        broken.join(", ")
    );
    Ok(())
}
