//! One step: what it needs and reads, and how it runs.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use xshell::{Shell, cmd};
use xtask::{Metadata, Package};

pub(super) struct Step {
    pub(super) title: &'static str,
    pub(super) stage: Stage,
    /// If one of these is not met, the step is skipped and the summary says why.
    pub(super) needs: &'static [Need],
    /// All that decides its result besides the toolchain and [`ALWAYS_READ`]. If there is nothing, it may read any file.
    pub(super) reads: Option<Reads>,
    pub(super) run: Run,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stage {
    BeforeTests,
    Tests,
    /// It replaces no program that a test starts.
    BesideTests,
}

/// Some packages with the members that they depend on, and other files.
pub(super) struct Reads {
    pub(super) is_read: fn(&Package) -> bool,
    /// Whether their tests are read too. Those of the members that they depend on never are.
    pub(super) with_tests: bool,
    pub(super) other_files: &'static [&'static str],
}

impl Reads {
    /// As patterns of git.
    pub(super) fn patterns(&self, packages: &[Package]) -> Vec<String> {
        let mut read: Vec<_> = packages.iter().filter(|package| (self.is_read)(package)).collect();
        let first = read.len();
        let mut next = 0;
        while let Some(package) = read.get(next) {
            let with_tests = self.with_tests && next < first;
            let own = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
            let own = own.filter(|dependency| with_tests || dependency.kind.as_deref() != Some("dev"));
            let members = own.filter_map(|own| packages.iter().find(|package| package.name == own.name));
            let new: Vec<_> =
                members.filter(|member| read.iter().all(|known| known.name != member.name)).collect();
            read.extend(new);
            next += 1;
        }
        let mut patterns: Vec<_> = self.other_files.iter().map(|&pattern| pattern.to_owned()).collect();
        for (number, Package { folder, .. }) in read.iter().enumerate() {
            patterns.push(folder.clone());
            if !self.with_tests || number >= first {
                patterns.push(format!(":(exclude){folder}/tests"));
            }
        }
        patterns
    }
}

pub(super) type Run = fn(&Shell) -> anyhow::Result<()>;

/// A requirement of a step.
pub(super) struct Need {
    /// Whether the machine meets it.
    pub(super) is_met: fn(&Shell) -> bool,
    /// Why the step is skipped otherwise.
    pub(super) missing: &'static str,
}

impl Step {
    pub(super) fn run_here(&self, shell: &Shell, summary: &mut Vec<String>) -> anyhow::Result<()> {
        println!("\n── {}", self.title);
        let started = Instant::now();
        let result = (self.run)(shell);
        self.end(started.elapsed(), result, summary)
    }

    /// Runs it in a process of low priority, because tests have deadlines. What it prints is kept until the tests have printed
    /// theirs.
    pub(super) fn run_apart(&self, program: &Path, is_complete: bool) -> (String, anyhow::Result<()>) {
        let mut output = Vec::new();
        let result = (|| {
            let (mut reader, writer) = io::pipe()?;
            let mut command = Command::new(if cfg!(unix) { Path::new("nice") } else { program });
            command.args(cfg!(unix).then_some(program)).args(["test", "--only", self.title]);
            command.args(is_complete.then_some("--complete")).stdin(Stdio::null());
            let mut step = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
            // It holds the pipe open.
            drop(command);
            reader.read_to_end(&mut output)?;
            ensure!(step.wait()?.success(), "it failed");
            Ok(())
        })();
        if result.is_err() {
            println!("\n── FAILED: {}. What it printed follows when the tests have ended", self.title);
        }
        (String::from_utf8_lossy(&output).into_owned(), result)
    }

    pub(super) fn end(
        &self,
        took: Duration,
        result: anyhow::Result<()>,
        summary: &mut Vec<String>,
    ) -> anyhow::Result<()> {
        let word = if result.is_ok() { "ok" } else { "FAILED" };
        summary.push(format!("{word:>7}  {:>9}  {}", duration(took), self.title));
        result.with_context(|| {
            format!("see above, fix it, then run this step alone: cargo xtask test --only {:?}", self.title)
        })
    }
}

/// The manifests, the lock file and the steps themselves.
pub(super) const ALWAYS_READ: [&str; 5] = ["*Cargo.toml", "Cargo.lock", ".cargo", ".ci", "xtask/src"];

impl Step {
    /// If git cannot tell, for example in a clone without history, the answer is no.
    pub(super) fn reads_nothing_new(&self, shell: &Shell, commit: &str) -> bool {
        let (Some(reads), Ok(metadata)) = (&self.reads, Metadata::read(shell)) else { return false };
        let reads = &reads.patterns(&metadata.packages);
        let same = cmd!(shell, "git diff --quiet {commit} -- {ALWAYS_READ...} {reads...}");
        let new = cmd!(shell, "git ls-files --others --exclude-standard -- {ALWAYS_READ...} {reads...}");
        same.quiet().ignore_stderr().run().is_ok() && new.quiet().read().is_ok_and(|files| files.is_empty())
    }
}

pub(super) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:>2} s", seconds / 60, seconds % 60)
    }
}
