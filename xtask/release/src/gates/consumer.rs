//! A crate outside the workspace that does what the README says, with nothing but the packages.
//!
//! Its manifest is what the README tells to paste, its programs are the README's. The one that makes a charge is run
//! against `payments sandbox`, which is built from the packages as well.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::{Commit, Verdict};
use crate::package;
use crate::readme::{Program, Readme};
use crate::snippets;
use crate::unpacked::Unpacked;
use crate::workspace::Workspace;

/// The address of the service in the README.
const ADDRESS: &str = "https://pay.example.com/api/v1/public";

/// What a charge prints that is made.
const PROCESSED: &str = "processed: ";

/// The command that serves the sandbox.
const COMMAND: &str = "payments";

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let readme = Readme::read(&as_released(workspace)?)?;
    ensure!(!readme.programs.is_empty(), "README.md has no example in Rust");

    let mut unpacked = Unpacked::new(workspace, &package::pack_tree(commit)?)?;
    let asks = readme.programs.iter().any(|program| program.is_caller);
    let sandbox = if asks { Some(Sandbox::start(&unpacked, workspace)?) } else { None };
    let address = sandbox.as_ref().map_or(Ok(""), |sandbox| sandbox.says("base_url"))?;
    let files: Vec<_> = std::iter::once(("Cargo.toml".to_owned(), manifest(&readme)))
        .chain(readme.programs.iter().map(|program| (path(program), program.text.replace(ADDRESS, address))))
        .collect();
    unpacked.add(NAME, &files)?;
    unpacked.cargo(&["build", "--package", NAME, "--bins", "--examples"], &[]).context(
        "what the README says cannot be built with the packages alone: the words of cargo are above",
    )?;

    let mut findings = Vec::new();
    for program in &readme.programs {
        if let Err(error) = run(&unpacked, program, sandbox.as_ref()) {
            findings.push(format!("README.md:{}: {error:#}", program.line));
        }
    }
    Ok(Verdict::of(findings, format!("{} examples", readme.programs.len())))
}

/// The README with the versions that `prepare` writes into it.
fn as_released(workspace: &Workspace) -> anyhow::Result<String> {
    let crates: Vec<_> = workspace.crates().map(|member| member.name.as_str()).collect();
    let version = &workspace.version;
    Ok(snippets::update(&workspace.read("README.md")?, &crates, version, version))
}

/// The name of the crate that is made of the README.
const NAME: &str = "readme";

fn manifest(readme: &Readme) -> String {
    format!("[package]\nname = {NAME:?}\nedition = \"2024\"\n\n{}", readme.manifest)
}

/// An example sees what is depended on for tests, and a program does not.
fn path(program: &Program) -> String {
    let folder = if program.is_for_tests { "examples" } else { "src/bin" };
    format!("{folder}/{}.rs", name(program))
}

fn name(program: &Program) -> String {
    format!("readme-line-{}", program.line)
}

fn run(unpacked: &Unpacked<'_>, program: &Program, sandbox: Option<&Sandbox>) -> anyhow::Result<()> {
    let folder = if program.is_for_tests { "examples/" } else { "" };
    let mut call = unpacked.built(&format!("{folder}{}", name(program)));
    if let Some(sandbox) = sandbox {
        call = call.env("PAYMENTS_API_KEY", sandbox.says("api_key")?);
    }
    let output = call.ignore_status().output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    ensure!(output.status.success(), "it ended with {}\n{said}\n{complained}", output.status);
    let is_processed = said.lines().any(|line| line.starts_with(PROCESSED));
    if program.is_caller && !is_processed {
        bail!(
            "the sandbox takes this charge, and the program does not say `{PROCESSED}…`\n{said}\n{complained}"
        );
    }
    Ok(())
}

/// A running sandbox, from the packages; dropping it kills it.
struct Sandbox {
    process: Child,
    /// Kept open, because a sandbox may write to it as long as it runs.
    _stdout: BufReader<ChildStdout>,
    ready: Value,
}

impl Sandbox {
    fn start(unpacked: &Unpacked<'_>, workspace: &Workspace) -> anyhow::Result<Self> {
        let package = workspace.crates().find(|member| member.has_program(COMMAND));
        let package = package
            .with_context(|| format!("README.md calls a service, and no crate has the command {COMMAND}"))?;
        let call = ["build", "--package", &package.name, "--bin", COMMAND];
        unpacked.cargo(&call, &[]).with_context(|| format!("{COMMAND} cannot be built: see above"))?;
        let mut sandbox = Command::from(unpacked.built(COMMAND).args(["sandbox", "--log", "off"]));
        // With its log off it writes less than a pipe holds.
        let sandbox = sandbox.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = sandbox.spawn()?;
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().expect("it was asked for"));
        stdout.read_line(&mut line)?;
        let Ok(ready) = serde_json::from_str(&line) else {
            let mut complained = String::new();
            process.stderr.take().expect("it was asked for").read_to_string(&mut complained)?;
            bail!("the sandbox does not begin with its ready line, but with {line:?}\n{complained}");
        };
        Ok(Self { process, _stdout: stdout, ready })
    }

    fn says(&self, key: &str) -> anyhow::Result<&str> {
        self.ready[key].as_str().with_context(|| format!("the sandbox's ready line has no {key}"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Both fail for a process that has ended, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_manifest_is_what_the_readme_tells_to_paste() {
        let readme = Readme::read("```toml\n[dependencies]\na = \"0.1.0\"\n```\n").unwrap();
        assert_eq!(
            manifest(&readme),
            "[package]\nname = \"readme\"\nedition = \"2024\"\n\n[dependencies]\na = \"0.1.0\"\n\n[dev-dependencies]\n"
        );
    }

    #[test]
    fn only_what_is_for_tests_may_need_what_is_depended_on_for_tests() {
        let program = |is_for_tests| Program { line: 7, text: String::new(), is_caller: false, is_for_tests };
        assert_eq!(path(&program(false)), "src/bin/readme-line-7.rs");
        assert_eq!(path(&program(true)), "examples/readme-line-7.rs");
    }
}
