//! Two ways to measure that a busy machine hardly affects: counting with valgrind, and alternating runs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

/// What a call costs, over all threads of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) instructions: f64,
    pub(crate) allocations: f64,
}

/// The cost of one call: runs a program twice under valgrind, with a few calls and with many, and divides the difference.
///
/// What both runs do, such as starting and connecting, cancels out.
pub(crate) fn cost(
    program: &Path,
    arguments: impl Fn(u32) -> Vec<String>,
    (few, many): (u32, u32),
) -> anyhow::Result<Cost> {
    let difference = |options: &[&str], read: fn(&str) -> Option<f64>| {
        let count = |calls| {
            let output = Command::new("valgrind").args(options).arg(program).args(arguments(calls)).output();
            let output = output.context("valgrind cannot be started: install it")?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{} failed: {}\n{stderr}", program.display(), output.status);
            read(&stderr).with_context(|| format!("valgrind reports no total:\n{stderr}"))
        };
        let difference = (count(many)? - count(few)?) / f64::from(many - few);
        ensure!(difference > 0.0, "{many} calls cost no more than {few}");
        Ok(difference)
    };
    let heap = ["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"];
    Ok(Cost {
        instructions: difference(&["--tool=callgrind", "--callgrind-out-file=/dev/null"], collected)?,
        allocations: difference(&heap, allocations)?,
    })
}

/// The total in `==7== Collected : 12345`.
fn collected(stderr: &str) -> Option<f64> {
    let total = stderr.lines().find_map(|line| line.strip_prefix("==")?.split_once("== Collected : "))?.1;
    total.parse().ok()
}

/// The first number in `==7==   total heap usage: 1,234 allocs, 1,200 frees, 56,789 bytes allocated`.
fn allocations(stderr: &str) -> Option<f64> {
    let usage = stderr.lines().find_map(|line| line.strip_prefix("==")?.split_once("total heap usage: "))?.1;
    usage.split_once(" allocs")?.0.replace(',', "").parse().ok()
}

/// Two things measured in turns. A disturbance of the machine affects both, so the ratio within a turn is steadier than either
/// value.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) first: f64,
    pub(crate) second: f64,
    /// The first divided by the second in each turn: minimum, median and maximum.
    pub(crate) ratio: [f64; 3],
}

impl Turns {
    pub(crate) fn take(
        count: u32,
        mut first: impl FnMut() -> anyhow::Result<f64>,
        mut second: impl FnMut() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        let mut pairs = Vec::new();
        for turn in 0..count {
            // The order alternates, so that a machine that slows down steadily favors neither.
            pairs.push(if turn % 2 == 0 {
                let first = first()?;
                (first, second()?)
            } else {
                let second = second()?;
                (first()?, second)
            });
        }
        let ratios = sorted(pairs.iter().map(|(first, second)| first / second));
        Ok(Self {
            first: median(pairs.iter().map(|(first, _)| *first)),
            second: median(pairs.iter().map(|(_, second)| *second)),
            ratio: [ratios[0], ratios[ratios.len() / 2], ratios[ratios.len() - 1]],
        })
    }

    pub(crate) fn median(&self) -> f64 {
        self.ratio[1]
    }

    pub(crate) fn note(&self) -> String {
        let [minimum, _, maximum] = self.ratio;
        format!("{:.0} against {:.0}; turns {minimum:.2} to {maximum:.2}", self.first, self.second)
    }
}

/// The median of an odd number of values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let sorted = sorted(values);
    sorted[sorted.len() / 2]
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_from_valgrinds_own_lines() {
        let stderr = "==7== Callgrind\nCollected : 1\n==7== Events    : Ir\n==7== Collected : 62847551\n\
                      ==7==   total heap usage: 17,218 allocs, 17,200 frees, 5,638,129 bytes allocated\n";
        assert_eq!((collected(stderr), allocations(stderr)), (Some(62_847_551.0), Some(17_218.0)));
        assert_eq!((collected("==7== Events    : Ir\n"), allocations("")), (None, None));
    }

    #[test]
    fn ratios_are_computed_within_a_turn() {
        let (mut first, mut second) = ([10.0, 200.0, 30.0].into_iter(), [20.0, 100.0, 10.0].into_iter());
        let turns = Turns::take(3, || Ok(first.next().unwrap()), || Ok(second.next().unwrap())).unwrap();
        let expected = [0.5, 2.0, 3.0];
        assert!(turns.ratio.iter().zip(expected).all(|(ratio, expected)| (ratio - expected).abs() < 1e-9));
    }

    #[test]
    fn the_order_alternates() {
        let order = std::cell::RefCell::new(String::new());
        let note = |name: char| {
            order.borrow_mut().push(name);
            Ok(1.0)
        };
        Turns::take(3, || note('a'), || note('b')).unwrap();
        assert_eq!(order.into_inner(), "abbaab");
    }
}
