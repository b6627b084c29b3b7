//! `check`: runs every gate, prints one table, and fails if a gate has failed.

use std::time::Instant;

use anyhow::{bail, ensure};

use crate::gates::{GATES, Gate};
use crate::index::Registry;
use crate::workspace::Workspace;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// The registry's name in cargo's configuration; by default crates.io.
    #[arg(long)]
    registry: Option<String>,
    /// Run only the gate with this title. You can repeat this option.
    #[arg(long, value_name = "TITLE")]
    only: Vec<String>,
}

/// What a gate checks.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) workspace: Workspace,
    pub(crate) registry: Registry,
}

impl Commit {
    pub(crate) fn load(registry: Option<&str>) -> anyhow::Result<Self> {
        let workspace = Workspace::load()?;
        let registry = Registry::open(&workspace, registry)?;
        Ok(Self { workspace, registry })
    }
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let commit = Commit::load(options.registry.as_deref())?;
    if options.only.is_empty() {
        return all(&commit);
    }
    if let Some(unknown) = options.only.iter().find(|title| GATES.iter().all(|(known, _)| known != title)) {
        let titles: Vec<_> = GATES.iter().map(|(title, _)| *title).collect();
        bail!("there is no gate {unknown:?}. The gates are:\n  {}", titles.join("\n  "));
    }
    let is_selected = |(title, _): &&Gate| options.only.iter().any(|only| only == title);
    run_gates(&commit, &GATES.iter().filter(is_selected).copied().collect::<Vec<_>>())?;
    println!("no other gate was run");
    Ok(())
}

/// Runs every gate, even after a failure, and fails if one has failed.
pub(crate) fn all(commit: &Commit) -> anyhow::Result<()> {
    run_gates(commit, GATES)
}

fn run_gates(commit: &Commit, gates: &[Gate]) -> anyhow::Result<()> {
    commit.workspace.must_build_for_this_machine()?;
    let (mut rows, mut failed) = (Vec::new(), 0);
    for (index, (title, gate)) in gates.iter().enumerate() {
        println!("\n── gate {} of {}: {title}", index + 1, gates.len());
        let started = Instant::now();
        let result = gate(commit);
        failed += usize::from(result.is_err());
        let row = row(title, started.elapsed().as_secs_f64(), &result);
        println!("{row}");
        rows.push(row);
    }
    println!("\n── the gates of {} {}", commit.workspace.version, "─".repeat(60));
    println!("{}", rows.join("\n"));
    ensure!(
        failed == 0,
        "{failed} of {} gates failed: fix what the table reports, then run each again with `check --only TITLE`",
        gates.len()
    );
    println!("\n{0} of {0} gates passed", gates.len());
    Ok(())
}

fn row(title: &str, seconds: f64, result: &anyhow::Result<String>) -> String {
    let (word, rest) = match result {
        Ok(figure) if figure.is_empty() => ("ok", String::new()),
        Ok(figure) => ("ok", format!(" ({figure})")),
        Err(error) => ("FAILED", format!("\n{error:#}").replace('\n', "\n                  ")),
    };
    format!("{word:>6} {seconds:>7.1} s  {title}{rest}")
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::row;

    #[test]
    fn a_row_says_what_to_do() {
        assert_eq!(row("the title", 1.25, &Ok(String::new())), "    ok     1.2 s  the title");
        assert_eq!(row("the title", 1.25, &Ok("7 of 9".to_owned())), "    ok     1.2 s  the title (7 of 9)");
        let indent = " ".repeat(18);
        assert_eq!(
            row("the title", 1.25, &Err(anyhow!("a: fix\nit"))),
            format!("FAILED     1.2 s  the title\n{indent}a: fix\n{indent}it")
        );
    }
}
