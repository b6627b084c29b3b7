//! `check`: every gate, one table, and a failure at the end.

use std::time::Instant;

use anyhow::{bail, ensure};

use crate::gates::{GATES, Gate};
use crate::index::Registry;
use crate::workspace::Workspace;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// The registry as cargo's configuration names it; crates.io by default.
    #[arg(long)]
    registry: Option<String>,
    /// One gate alone, by its title; may be given several times.
    #[arg(long, value_name = "TITLE")]
    only: Vec<String>,
}

/// What a gate may look at.
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
    let is_wanted = |(title, _): &&Gate| options.only.iter().any(|only| only == title);
    ask(&commit, &GATES.iter().filter(is_wanted).copied().collect::<Vec<_>>())?;
    println!("no other gate was asked");
    Ok(())
}

/// Asks every gate, whatever the others said, and fails if one has.
pub(crate) fn all(commit: &Commit) -> anyhow::Result<()> {
    ask(commit, GATES)
}

fn ask(commit: &Commit, gates: &[Gate]) -> anyhow::Result<()> {
    commit.workspace.must_build_for_this_machine()?;
    let (mut rows, mut failed) = (Vec::new(), 0);
    for (index, (title, gate)) in gates.iter().enumerate() {
        println!("\n── gate {} of {}: {title}", index + 1, gates.len());
        let started = Instant::now();
        let answer = gate(commit);
        failed += usize::from(answer.is_err());
        let row = row(title, started.elapsed().as_secs_f64(), &answer);
        println!("{row}");
        rows.push(row);
    }
    println!("\n── the gates of {} {}", commit.workspace.version, "─".repeat(60));
    println!("{}", rows.join("\n"));
    ensure!(failed == 0, "{failed} of {} gates refuse this commit", gates.len());
    println!("\nall {} gates are passed", gates.len());
    Ok(())
}

fn row(title: &str, seconds: f64, answer: &anyhow::Result<String>) -> String {
    let (word, rest) = match answer {
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
            row("the title", 1.25, &Err(anyhow!("a: mend\nit"))),
            format!("FAILED     1.2 s  the title\n{indent}a: mend\n{indent}it")
        );
    }
}
