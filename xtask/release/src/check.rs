//! `check`: every gate, one table, and a failure at the end.

use std::time::Instant;

use anyhow::bail;

use crate::flags::Check;
use crate::gates::{self, Commit, Gate, Verdict};
use crate::registry::Registry;
use crate::workspace::Workspace;

pub(crate) fn run(asked: &Check) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let registry = Registry::open(&workspace, asked.registry.as_deref())?;
    let commit = Commit { workspace, registry };
    if asked.only.is_empty() {
        return all_gates(&commit);
    }
    commit.workspace.must_build_for_this_machine()?;
    let mut gates = gates::all(&commit);
    if let Some(unknown) = asked.only.iter().find(|title| gates.iter().all(|gate| gate.title != **title)) {
        let titles: Vec<_> = gates.iter().map(|gate| gate.title.as_str()).collect();
        bail!("there is no gate {unknown:?}. The gates are:\n  {}", titles.join("\n  "));
    }
    gates.retain(|gate| asked.only.contains(&gate.title));
    ask(&commit, &gates)?;
    println!("no other gate was asked");
    Ok(())
}

/// Asks every gate, whatever the others said, and fails if one has.
pub(crate) fn all_gates(commit: &Commit) -> anyhow::Result<()> {
    commit.workspace.must_build_for_this_machine()?;
    ask(commit, &gates::all(commit))
}

fn ask(commit: &Commit, gates: &[Gate]) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for (index, gate) in gates.iter().enumerate() {
        println!("\n── gate {} of {}: {}", index + 1, gates.len(), gate.title);
        let started = Instant::now();
        let verdict = gate.ask(commit);
        let row = Row { title: &gate.title, verdict, seconds: started.elapsed().as_secs_f64() };
        println!("{}", row.line());
        rows.push(row);
    }
    println!("\n── the gates of {} {}", commit.workspace.version, "─".repeat(60));
    for row in &rows {
        println!("{}", row.line());
    }
    let failed = rows.iter().filter(|row| matches!(row.verdict, Verdict::Failed(_))).count();
    let unchecked = rows.iter().filter(|row| matches!(row.verdict, Verdict::NotChecked(_))).count();
    if failed > 0 {
        bail!("{failed} of {} gates refuse this commit", rows.len());
    }
    match unchecked {
        0 => println!("\nall {} gates are passed", rows.len()),
        _ => println!(
            "\n{} gates are passed, and {unchecked} could not be asked on this machine",
            rows.len() - unchecked
        ),
    }
    Ok(())
}

/// One gate with its answer.
struct Row<'a> {
    title: &'a str,
    verdict: Verdict,
    seconds: f64,
}

impl Row<'_> {
    fn line(&self) -> String {
        let (word, rest) = match &self.verdict {
            Verdict::Passed(figure) if figure.is_empty() => ("ok", String::new()),
            Verdict::Passed(figure) => ("ok", format!(" ({figure})")),
            Verdict::NotChecked(why) => ("not checked", format!("\n{INDENT}{why}")),
            Verdict::Failed(findings) => {
                let lines = findings.iter().flat_map(|finding| finding.lines());
                ("FAILED", lines.flat_map(|line| ["\n", INDENT, line]).collect())
            }
        };
        format!("{word:>11} {:>7.1} s  {}{rest}", self.seconds, self.title)
    }
}

/// As wide as what stands before a title.
const INDENT: &str = "                       ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_to_do() {
        let row = |verdict| Row { title: "the title", verdict, seconds: 1.25 }.line();
        assert_eq!(row(Verdict::Passed(String::new())), "         ok     1.2 s  the title");
        assert_eq!(row(Verdict::Passed("7 of 9".to_owned())), "         ok     1.2 s  the title (7 of 9)");
        assert_eq!(
            row(Verdict::Failed(vec!["a: mend\nit".to_owned(), "b".to_owned()])),
            format!("     FAILED     1.2 s  the title\n{INDENT}a: mend\n{INDENT}it\n{INDENT}b")
        );
        assert_eq!(
            row(Verdict::NotChecked("no second toolchain".to_owned())),
            format!("not checked     1.2 s  the title\n{INDENT}no second toolchain")
        );
    }
}
