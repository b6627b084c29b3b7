//! What a call costs, counted by valgrind from outside of the program that makes it: the same on a busy machine as on an idle
//! one, so that a change of a few percent can be seen.
//!
//! A program is run twice with different numbers of calls, and the difference is what the calls in between cost. The start of
//! the process and what only first calls do (connecting, growing a buffer) is in both runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Why nothing can be counted where [`is_installed`] says no.
pub(crate) const IS_MISSING: &str = "valgrind is not installed";

pub(crate) fn is_installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A program that makes as many calls as its command line says.
pub(crate) struct Counted<'a> {
    program: PathBuf,
    arguments: Box<dyn Fn(u32) -> Vec<String> + 'a>,
}

impl<'a> Counted<'a> {
    /// `arguments` gives the command line for a number of calls.
    pub(crate) fn new(program: &Path, arguments: impl Fn(u32) -> Vec<String> + 'a) -> Self {
        Self { program: program.to_owned(), arguments: Box::new(arguments) }
    }

    /// Of all threads of the program, and of nothing else: what the kernel does is not in it.
    pub(crate) fn instructions_per_call(&self, few: u32, many: u32) -> anyhow::Result<f64> {
        let count = |calls| {
            let said = self.run(&["--tool=callgrind", "--callgrind-out-file=/dev/null"], calls)?;
            collected(&said).context("callgrind told no total")
        };
        Ok(share(count(many)?, count(few)?, many - few))
    }

    /// What a call asks of the allocator. It may have given it back before it ended.
    pub(crate) fn heap_per_call(&self, few: u32, many: u32) -> anyhow::Result<Heap> {
        let count = |calls| {
            let options = ["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"];
            let said = self.run(&options, calls)?;
            heap_usage(&said).context("memcheck told no use of the heap")
        };
        let (many_usage, few_usage) = (count(many)?, count(few)?);
        Ok(Heap {
            allocations: share(many_usage.0, few_usage.0, many - few),
            bytes: share(many_usage.1, few_usage.1, many - few),
        })
    }

    /// What valgrind says, the program's own words among it.
    fn run(&self, options: &[&str], calls: u32) -> anyhow::Result<String> {
        let arguments = (self.arguments)(calls);
        let output = Command::new("valgrind")
            .args(options)
            .arg(&self.program)
            .args(&arguments)
            .output()
            .context("valgrind cannot be run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`valgrind {} {} {}` ended with {}:\n{}{said}",
            options.join(" "),
            self.program.display(),
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
        );
        Ok(said.into_owned())
    }
}

/// Per call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heap {
    pub(crate) allocations: f64,
    pub(crate) bytes: f64,
}

#[expect(clippy::cast_precision_loss, reason = "no count gets near 2^52")]
fn share(many: u64, few: u64, calls: u32) -> f64 {
    many.saturating_sub(few) as f64 / f64::from(calls)
}

/// `==7== Collected : 12345`
fn collected(said: &str) -> Option<u64> {
    let numbers = own_words(said).find_map(|line| line.strip_prefix("Collected : "))?;
    numbers.split(' ').next()?.parse().ok()
}

/// `==7==   total heap usage: 1,234 allocs, 1,200 frees, 56,789 bytes allocated`, as allocations and bytes.
fn heap_usage(said: &str) -> Option<(u64, u64)> {
    let usage = own_words(said).find_map(|line| line.strip_prefix("total heap usage: "))?.replace(',', "");
    let mut words = usage.split(' ');
    let allocations = words.next()?.parse().ok()?;
    Some((allocations, words.nth(3)?.parse().ok()?))
}

/// The lines that valgrind marks with the number of the process, without the mark.
fn own_words(said: &str) -> impl Iterator<Item = &str> {
    said.lines().filter_map(|line| Some(line.strip_prefix("==")?.split_once("== ")?.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_callgrind_is_found_among_the_rest() {
        let said = "==7== Callgrind, a call-graph generating cache profiler\nCollected : 1\n==7== \n\
                    ==7== Events    : Ir\n==7== Collected : 62847551\n==7== \n==7== I   refs:      62,847,551\n";
        assert_eq!(collected(said), Some(62_847_551));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }

    #[test]
    fn the_use_of_the_heap_is_found_with_its_separators() {
        let said = "==7== HEAP SUMMARY:\n==7==     in use at exit: 9,180 bytes in 18 blocks\n\
                    ==7==   total heap usage: 17,218 allocs, 17,200 frees, 5,638,129 bytes allocated\n";
        assert_eq!(heap_usage(said), Some((17_218, 5_638_129)));
        assert_eq!(heap_usage("==7==   total heap usage: none\n"), None);
    }

    #[test]
    fn what_both_runs_did_is_not_counted() {
        assert!((share(1_700, 700, 500) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_program_that_fails_is_told_with_what_it_said() {
        if !is_installed() {
            return;
        }
        let program = Counted::new(Path::new("ls"), |calls| vec![format!("--no-such-flag-{calls}")]);
        let text = program.instructions_per_call(1, 2).unwrap_err().to_string();
        assert!(text.contains("ended with") && text.contains("no-such-flag-2"), "{text}");
    }
}
