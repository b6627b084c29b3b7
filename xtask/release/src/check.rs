//! `check`: runs every gate of a release, prints one table, and fails if a gate has failed. A gate that cannot run has
//! failed.

use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use semver::Version;
use xshell::Cmd;

use crate::workspace::{Workspace, cargo};
use crate::{api, changelog, packages};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// The registry's name in cargo's configuration.
    #[arg(long, default_value = "crates-io")]
    registry: String,
    /// Run only the gate with this title. You can repeat this option.
    #[arg(long, value_name = "TITLE")]
    only: Vec<String>,
}

/// A title, which says what must be true, and the check.
type Gate = (&'static str, fn(&Workspace) -> anyhow::Result<()>);

/// All gates, cheap ones first.
const GATES: &[Gate] = &[
    ("a clean tree on the version's commit", version_commit),
    ("each crate has what crates.io requires", required_fields),
    ("the public API matches tests/api", api::check),
    ("the version fits the changes since the last release", compatible_version),
    ("licenses, advisories, duplicates and sources of dependencies", dependencies),
    ("every combination of features compiles", features),
    ("the declared Rust version is enough", rust_version),
    ("each package builds from its own files alone", packages::build),
    ("cargo xtask test", tests),
];

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace { registry: options.registry.clone(), ..Workspace::load()? };
    if let Some(unknown) = options.only.iter().find(|only| GATES.iter().all(|(title, _)| title != only)) {
        let titles: Vec<_> = GATES.iter().map(|(title, _)| *title).collect();
        bail!("there is no gate {unknown:?}. The gates are:\n  {}", titles.join("\n  "));
    }
    run_gates(&workspace, |title| options.only.is_empty() || options.only.iter().any(|only| only == title))
}

/// Runs every gate, even after a failure.
pub(crate) fn all(workspace: &Workspace) -> anyhow::Result<()> {
    run_gates(workspace, |_| true)
}

fn run_gates(workspace: &Workspace, is_selected: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let (mut rows, mut failed) = (Vec::new(), 0);
    for (title, gate) in GATES.iter().filter(|(title, _)| is_selected(title)) {
        println!("\n── {title}");
        let started = Instant::now();
        let result = gate(workspace);
        let seconds = started.elapsed().as_secs_f64();
        rows.push(match &result {
            Ok(()) => format!("    ok {seconds:>7.1} s  {title}"),
            Err(error) => format!("FAILED {seconds:>7.1} s  {title}\n{error:#}").replace('\n', "\n      "),
        });
        failed += usize::from(result.is_err());
    }
    println!("\n── the gates of {}\n{}", workspace.version, rows.join("\n"));
    ensure!(
        failed == 0,
        "{failed} of {} gates failed: fix what the table reports, then run each again with `check --only TITLE`",
        rows.len()
    );
    println!("\n{0} of {0} gates passed", rows.len());
    Ok(())
}

/// Only the commit that `prepare` created is released: no changelog mentions later changes.
pub(crate) fn version_commit(workspace: &Workspace) -> anyhow::Result<()> {
    workspace.must_be_clean()?;
    let (file, version) = (changelog::FILE, &workspace.version);
    let text = workspace.read(file)?;
    let has_section = |text: &str| changelog::notes(text, version).is_some();
    ensure!(
        has_section(&text),
        "{file} has no section for {version}: create it with cargo xtask release prepare VERSION --execute"
    );
    ensure!(
        !changelog::has_unreleased(&text),
        "{file} has entries under `Unreleased`, which belong to no version yet: prepare the next version"
    );
    let before = workspace.try_git(&format!("show HEAD^:{file}")).unwrap_or_default();
    ensure!(
        !has_section(&before) && workspace.try_git("rev-parse --verify --quiet HEAD^2").is_none(),
        "{version} was prepared by an earlier commit, and later changes belong to no version. If nothing is published yet, \
         squash the commits (git reset --soft, git commit --amend); otherwise describe the later changes under \
         `Unreleased`, and prepare the next version"
    );
    Ok(())
}

/// Otherwise an upload could fail after half of the crates are published.
fn required_fields(workspace: &Workspace) -> anyhow::Result<()> {
    let fields = ["description", "license", "readme", "repository"];
    let missing = workspace.crates.iter().flat_map(|member| {
        let missing = fields.iter().filter(|field| member.others[**field].as_str().is_none_or(str::is_empty));
        missing.map(|field| {
            format!("{}: its manifest has no {field}, which its page needs: add it", member.name)
        })
    });
    let missing: Vec<_> = missing.collect();
    ensure!(missing.is_empty(), "{}", missing.join("\n"));
    Ok(())
}

fn compatible_version(workspace: &Workspace) -> anyhow::Result<()> {
    // A clone without the last release's tag would look like the first release.
    workspace.git("fetch --quiet --tags origin").context("cannot ask origin for the tags of releases")?;
    ensure!(
        workspace.git("rev-parse --is-shallow-repository")? != "true",
        "this clone is shallow, and the last release may be older than its history: git fetch --unshallow"
    );
    let check = tool(workspace, "semver-checks")?;
    let tags = workspace.git("tag --list v* --merged HEAD")?;
    let versions = tags.lines().filter_map(|tag| Version::parse(tag.strip_prefix('v')?).ok());
    let Some(last) = versions.filter(|last| last.pre.is_empty() && *last < workspace.version).max() else {
        println!("this is the first release: there is nothing to compare with");
        return Ok(());
    };
    let last = &format!("v{last}");
    let old = workspace.crates_at(last).flat_map(|member| ["--package", &member.name]);
    let check = check.args(["--color", "never", "--baseline-rev", last]).args(old);
    check.run().with_context(|| {
        format!(
            "{} breaks programs that use {last}: see above, and undo the change or prepare a version that may break",
            workspace.version
        )
    })
}

fn dependencies(workspace: &Workspace) -> anyhow::Result<()> {
    const RULES: &str = "xtask/release/deny.toml";

    // Without this file cargo-deny would use its defaults.
    workspace.read(RULES)?;
    let deny = tool(workspace, "deny")?.args(["--locked", "--config", RULES, "check"]);
    deny.args(["--deny", "unmatched-skip"]).run().with_context(|| {
        format!(
            "see above: use another dependency or version, or add an exception with its reason to {RULES}"
        )
    })
}

fn features(workspace: &Workspace) -> anyhow::Result<()> {
    hack(workspace, &["--feature-powerset"])
}

fn rust_version(workspace: &Workspace) -> anyhow::Result<()> {
    hack(workspace, &["--all-features", "--rust-version"])
}

/// Compiles each crate, in a target folder of its own: another Rust version would rebuild the shared one.
fn hack(workspace: &Workspace, options: &[&str]) -> anyhow::Result<()> {
    let check = tool(workspace, "hack")?.args(["check", "--locked", "--quiet"]).args(options);
    let check = check.args(workspace.selection()).env("CARGO_TARGET_DIR", workspace.target.join("hack"));
    check.run().context("a crate does not compile: see above for the crate and its features")
}

fn tests(workspace: &Workspace) -> anyhow::Result<()> {
    // With `--complete`, a step that this machine would skip fails instead.
    let test = cargo(&workspace.shell, "xtask test --complete").run();
    test.context("see above for the step that failed")
}

/// A cargo subcommand that must be installed.
fn tool<'a>(workspace: &'a Workspace, name: &str) -> anyhow::Result<Cmd<'a>> {
    let version = cargo(&workspace.shell, name).arg("--version").ignore_stdout().ignore_stderr().run();
    ensure!(version.is_ok(), "cargo-{name} is not installed: cargo install --locked cargo-{name}");
    Ok(cargo(&workspace.shell, name))
}
