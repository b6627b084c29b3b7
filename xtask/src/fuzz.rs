//! `cargo xtask fuzz [TARGET]`: lets libFuzzer look for inputs that break what must hold for any bytes.
//!
//! Stable Rust is enough: the compiler's pass that counts what code was reached is asked for by its name, and libFuzzer
//! itself is C++ that the crate `libfuzzer-sys` brings. No sanitizer is used, because there is no unsafe code here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use xshell::{Shell, cmd};

use crate::flags::Fuzz;
use crate::workspace::{Workspace, cargo, has_extension, shell};

/// Builds every target, runs each for its time, and prints one line for each. All run, also after one has failed.
pub(crate) fn run(asked: &Fuzz) -> anyhow::Result<()> {
    let shell = shell()?;
    let workspace = Workspace::load()?;
    let targets = chosen(asked.target.as_deref(), targets(&workspace))?;
    let seconds = asked.seconds.unwrap_or(SECONDS);
    let folder = workspace.root.join(&workspace.target).join("fuzz");
    let host = host(&shell)?;

    println!("building {} with counters of reached code", counted(targets.len(), "target"));
    build(&shell, &targets, &folder, &host)?;
    println!(
        "{:<26} {:>12} {:>10} {:>9} {:>11}",
        "target", "executions", "a second", "coverage", "new inputs"
    );
    let mut broken = 0;
    for target in &targets {
        let program = folder.join(&host).join("release").join(target);
        let found = Run { shell: &shell, folder: &folder, target, seconds }.execute(&program)?;
        println!("{target:<26} {found}");
        broken += usize::from(!found.crashes.is_empty());
    }
    if broken > 0 {
        bail!(
            "{} of {} found an input for which something does not hold",
            counted(broken, "target"),
            targets.len()
        );
    }
    println!("new inputs are in {}; the committed corpus is as it was", folder.join("corpus").display());
    Ok(())
}

/// One run of one target.
struct Run<'a> {
    shell: &'a Shell,
    folder: &'a Path,
    target: &'a str,
    seconds: u32,
}

impl Run<'_> {
    fn execute(&self, program: &Path) -> anyhow::Result<Found> {
        // libFuzzer writes to the first folder alone.
        let own = self.folder.join("corpus").join(self.target);
        let crashes = self.folder.join("crashes").join(self.target);
        for folder in [&own, &crashes] {
            self.shell.create_dir(folder)?;
        }
        let known = listed(&crashes)?;
        let committed = committed_folders(&self.shell.current_dir(), self.target);
        let time = format!("-max_total_time={}", self.seconds);
        let prefix = format!("-artifact_prefix={}/", crashes.display());
        let options =
            ["-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048", "-max_len=8192", "-verbosity=1"];
        let output = cmd!(self.shell, "{program} {own} {committed...} {time} {prefix} {options...}")
            .quiet()
            .ignore_status()
            .output()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut crashes = listed(&crashes)?;
        crashes.retain(|path| !known.contains(path));
        if crashes.is_empty() && !output.status.success() {
            bail!("{} ended with {} and no input:\n{text}", self.target, output.status);
        }
        let replays = crashes.iter().map(|path| replay(self.target, path)).collect();
        let story = if crashes.is_empty() { None } else { Some(panic_message(&text)) };
        Ok(Found { statistics: Statistics::read(&text), story, crashes: replays })
    }
}

/// What a run found.
struct Found {
    statistics: Statistics,
    story: Option<String>,
    /// The command that shows each of them again.
    crashes: Vec<String>,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { statistics, story, crashes } = self;
        let Statistics { executions, a_second, coverage, new_inputs } = statistics;
        write!(f, "{executions:>12} {a_second:>10} {coverage:>9} {new_inputs:>11}")?;
        if let Some(story) = story {
            write!(f, "\n  BROKEN {story}")?;
        }
        crashes.iter().try_for_each(|replay| write!(f, "\n  to see it again: {replay}"))
    }
}

/// The figures that libFuzzer ends with, as it writes them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Statistics {
    executions: String,
    a_second: String,
    coverage: String,
    new_inputs: String,
}

impl Statistics {
    fn read(output: &str) -> Self {
        let statistic = |name: &str| {
            let lines = output.lines().filter_map(|line| line.strip_prefix("stat::"));
            let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            values.next_back().map_or_else(|| "-".to_owned(), |value| value.trim().to_owned())
        };
        let words: Vec<&str> = output.split_whitespace().collect();
        let coverage = words.windows(2).rev().find(|pair| pair[0] == "cov:").map_or("-", |pair| pair[1]);
        Self {
            executions: statistic("number_of_executed_units"),
            a_second: statistic("average_exec_per_sec"),
            coverage: coverage.to_owned(),
            new_inputs: statistic("new_units_added"),
        }
    }
}

fn build(shell: &Shell, targets: &[String], folder: &Path, host: &str) -> anyhow::Result<()> {
    let folder = folder.display().to_string();
    let mut arguments =
        vec!["build", "--quiet", "--release", "--locked", "--package", PACKAGE, "--target", host];
    arguments.extend(["--target-dir", &folder]);
    arguments.extend(targets.iter().flat_map(|target| ["--bin", target.as_str()]));
    // With a target named, the flags are not those of build scripts, which have nobody to tell what they reached.
    let built = cargo(shell, arguments).env("RUSTFLAGS", FLAGS.join(" ")).run();
    built.context("the targets cannot be built; libFuzzer needs a C++ compiler (g++ or clang++)")
}

fn host(shell: &Shell) -> anyhow::Result<String> {
    let version = cmd!(shell, "rustc --version --verbose").quiet().read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// The folders of the committed corpus that the target reads, by what its package says of it.
fn committed_folders(root: &Path, target: &str) -> Vec<PathBuf> {
    let corpus = root.join("tests/fuzz/corpus");
    let shared =
        SHARED.iter().filter(|(prefixes, _)| prefixes.iter().any(|prefix| target.starts_with(prefix)));
    let folders = std::iter::once(target).chain(shared.map(|(_, folder)| *folder));
    folders.map(|folder| corpus.join(folder)).collect()
}

/// The names of all targets: those of their programs.
fn targets(workspace: &Workspace) -> Vec<String> {
    let paths = workspace.files.iter().filter_map(|path| path.strip_prefix("tests/fuzz/fuzz_targets/"));
    paths
        .filter(|path| has_extension(path, "rs"))
        .filter_map(|path| Some(path.strip_suffix(".rs")?.to_owned()))
        .collect()
}

fn chosen(name: Option<&str>, targets: Vec<String>) -> anyhow::Result<Vec<String>> {
    let Some(name) = name else { return Ok(targets) };
    if !targets.iter().any(|target| target == name) {
        bail!("there is no target {name}, but {}", targets.join(", "));
    }
    Ok(vec![name.to_owned()])
}

fn replay(target: &str, path: &Path) -> String {
    format!("cargo run --package {PACKAGE} --bin {target} -- {}", path.display())
}

/// The panic, without what libFuzzer says of it.
fn panic_message(output: &str) -> String {
    let from = output.find("panicked at").unwrap_or(0);
    let message = output[from..].lines().take_while(|line| !ENDS.iter().any(|end| line.starts_with(end)));
    message.take(8).collect::<Vec<_>>().join("\n  ")
}

fn listed(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// What follows the message of a panic.
const ENDS: [&str; 3] = ["note: ", "stack backtrace:", "=="];

const PACKAGE: &str = "payments-fuzz";

/// Long enough to see whether a change broke something; a search by night is told another number.
const SECONDS: u32 = 30;

/// Folders that several targets share: the package's own table, by the names in it.
const SHARED: [(&[&str], &str); 2] = [
    (&["decode_"], "answers"),
    (&["decode_", "parse_", "load_fixtures", "read_fault", "read_record", "mask_text"], "json"),
];

/// What makes a program that libFuzzer can steer.
const FLAGS: [&str; 8] = [
    "--cfg fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_out_of_what_libfuzzer_says() {
        let output = "#2\tINITED cov: 10 ft: 11\n#9\tDONE   cov: 345 ft: 700 corp: 3/9b\n\
                      stat::number_of_executed_units: 123456\nstat::average_exec_per_sec:     4115\n\
                      stat::new_units_added:          78\n";
        let [executions, a_second, coverage, new_inputs] = ["123456", "4115", "345", "78"].map(str::to_owned);
        assert_eq!(Statistics::read(output), Statistics { executions, a_second, coverage, new_inputs });
        assert_eq!(Statistics::read("").executions, "-");
    }

    #[test]
    fn a_target_that_does_not_exist_is_told_with_those_that_do() {
        let all = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(chosen(None, all()).unwrap().len(), 2);
        assert_eq!(chosen(Some("b"), all()).unwrap(), ["b"]);
        assert!(chosen(Some("c"), all()).unwrap_err().to_string().contains("a, b"));
    }

    #[test]
    fn every_folder_of_the_corpus_is_read_by_a_target() {
        let workspace = Workspace::load().unwrap();
        let targets = targets(&workspace);
        let read: Vec<PathBuf> =
            targets.iter().flat_map(|target| committed_folders(&workspace.root, target)).collect();
        assert!(read.iter().all(|folder| folder.is_dir()), "{read:?}");
        for folder in listed(&workspace.root.join("tests/fuzz/corpus")).unwrap() {
            assert!(!folder.is_dir() || read.contains(&folder), "{folder:?}");
        }
    }

    #[test]
    fn folders_are_shared_as_the_package_says() {
        let workspace = Workspace::load().unwrap();
        let table = workspace.read("tests/fuzz/src/target.rs").unwrap();
        for target in targets(&workspace) {
            let row = table.lines().find(|line| line.contains(&format!("\"{target}\""))).expect(&target);
            let says = |word: &str| row.contains(&format!("also: {word}"));
            let folders = committed_folders(&workspace.root, &target);
            let shares = |name: &str| folders.iter().any(|folder| folder.ends_with(name));
            assert_eq!(
                (says("ANSWERS"), says("ANSWERS") || says("JSON")),
                (shares("answers"), shares("json")),
                "{row}"
            );
        }
    }

    #[test]
    fn the_story_of_a_crash_is_the_panic() {
        let output = "INFO: x\n\nthread '<unnamed>' panicked at a.rs:1:2:\nboom\nnote: run with\n==1== ERROR";
        assert_eq!(panic_message(output), "panicked at a.rs:1:2:\n  boom");
    }
}
