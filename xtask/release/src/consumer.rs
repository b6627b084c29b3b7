//! A crate outside the workspace that does what the README says, with nothing but the packages.
//!
//! Its manifest is what the README tells to paste, its programs are the README's. The one that makes a charge is run
//! against `payments sandbox`, which is built from the packages as well.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table};
use xshell::Shell;

use crate::check::Commit;
use crate::gates::nothing_in;
use crate::package;
use crate::prepare::with_version;
use crate::workspace::{Workspace, cargo, program};

/// The address of the service in the README.
const ADDRESS: &str = "https://pay.example.com/api/v1/public";

/// What a charge prints that is made.
const PROCESSED: &str = "processed: ";

pub(crate) fn check(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let crates: Vec<_> = workspace.crates().map(|member| member.name.as_str()).collect();
    // With the versions that `prepare` writes into it.
    let readme = with_version(&workspace.read("README.md")?, &crates, &workspace.version, &workspace.version);
    let readme = Readme::read(&readme)?;
    ensure!(!readme.programs.is_empty(), "README.md has no example in Rust");

    let folder = Folder::create(commit)?;
    let sandbox = if readme.programs.iter().any(|program| program.is_caller) {
        folder.cargo("build --offline --quiet --package payments-cli --bin payments")?;
        Some(Sandbox::start(&folder)?)
    } else {
        None
    };
    let address = sandbox.as_ref().map_or(Ok(ADDRESS), |sandbox| sandbox.says("base_url"))?;
    let manifest = format!("[package]\nname = \"readme\"\nedition = \"2024\"\n\n{}", readme.manifest);
    folder.shell.write_file("readme/Cargo.toml", manifest)?;
    for program in &readme.programs {
        let path = format!("readme/{}/{}.rs", program.folder(), program.name());
        folder.shell.write_file(path, program.text.replace(ADDRESS, address))?;
    }
    folder.cargo("build --offline --quiet --package readme --bins --examples")?;

    let mut findings = Vec::new();
    for program in &readme.programs {
        if let Err(error) = run(&folder, program, sandbox.as_ref()) {
            findings.push(format!("README.md:{}: {error:#}", program.line));
        }
    }
    nothing_in(&findings)?;
    Ok(format!("{} examples", readme.programs.len()))
}

fn run(folder: &Folder<'_>, program: &Program, sandbox: Option<&Sandbox>) -> anyhow::Result<()> {
    let place = if program.is_for_tests { "examples/" } else { "" };
    let mut call = folder.built(&format!("{place}{}", program.name()));
    if let Some(sandbox) = sandbox {
        call.env("PAYMENTS_API_KEY", sandbox.says("api_key")?);
    }
    let output = call.output()?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "it ended with {}\n{said}", output.status);
    let is_processed = said.lines().any(|line| line.starts_with(PROCESSED));
    ensure!(
        is_processed || !program.is_caller,
        "the sandbox takes this charge, and the program does not say `{PROCESSED}…`\n{said}"
    );
    Ok(())
}

/// A workspace of the packages alone, as somebody has them who has nothing else of this repository: each finds the others
/// as if they were on crates.io already.
///
/// It is always the same folder, so that what is built in it is built in place of what the last run has built.
struct Folder<'a> {
    workspace: &'a Workspace,
    shell: Shell,
}

impl<'a> Folder<'a> {
    fn create(commit: &'a Commit) -> anyhow::Result<Self> {
        let workspace = &commit.workspace;
        let packages = package::pack(workspace, &commit.registry, &["--allow-dirty"])?;
        let root = package::folder(workspace).join("consumer");
        workspace.shell.remove_path(&root)?;
        workspace.shell.create_dir(&root)?;
        let (mut members, mut patches) = (vec!["readme".to_owned()], String::new());
        for package in packages {
            package.unpack(workspace, &root)?;
            let folder = format!("{}-{}", package.name, workspace.version);
            writeln!(patches, "{} = {{ path = {folder:?} }}", package.name)?;
            members.push(folder);
        }
        let manifest =
            format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[patch.crates-io]\n{patches}");
        fs::write(root.join("Cargo.toml"), manifest)?;
        // What is depended on is what this commit was tested with.
        workspace.shell.copy_file("Cargo.lock", &root)?;
        let shell = Shell::new()?;
        shell.change_dir(&root);
        // Until the README's own is written.
        shell.write_file("readme/Cargo.toml", "[package]\nname = \"readme\"\n")?;
        shell.write_file("readme/src/lib.rs", "")?;
        Ok(Self { workspace, shell })
    }

    /// Calls cargo there. What it needs of other crates has to be on this machine.
    fn cargo(&self, call: &str) -> anyhow::Result<()> {
        let built = package::apart(cargo(&self.shell, call), self.workspace).run();
        built.context("what the README says cannot be built with the packages alone: see above")
    }

    /// A program that was built there.
    fn built(&self, name: &str) -> Command {
        let path = package::folder(self.workspace).join("debug").join(name);
        Command::from(program(&self.shell, path.with_extension(std::env::consts::EXE_EXTENSION)))
    }
}

/// What a reader who follows all of the README has in the end.
struct Readme {
    /// `[dependencies]` and `[dev-dependencies]` of all the examples together.
    manifest: DocumentMut,
    programs: Vec<Program>,
}

/// One example in Rust.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    /// The line of the README that it begins in.
    line: usize,
    text: String,
    /// Whether it asks the service.
    is_caller: bool,
    /// Whether it needs what stands under `[dev-dependencies]`.
    is_for_tests: bool,
}

impl Program {
    fn name(&self) -> String {
        format!("readme-line-{}", self.line)
    }

    /// An example sees what is depended on for tests, and a program does not.
    fn folder(&self) -> &str {
        if self.is_for_tests { "examples" } else { "src/bin" }
    }
}

impl Readme {
    fn read(text: &str) -> anyhow::Result<Self> {
        let mut readme = Self { manifest: DocumentMut::new(), programs: Vec::new() };
        let mut lines = text.lines().zip(1..);
        while let Some((line, number)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let block = lines.by_ref().map(|(line, _)| line).take_while(|line| !line.starts_with("```"));
            let block: String = block.flat_map(|line| [line, "\n"]).collect();
            match info {
                "toml" => readme.depend(&block).with_context(|| format!("README.md:{number}"))?,
                "rust" | "rust,no_run" => {
                    // As rustdoc does it.
                    let text = match block {
                        program if program.contains("fn main()") => program,
                        part => format!("#![allow(unused)]\nfn main() {{\n{part}}}\n"),
                    };
                    let is_caller = info == "rust,no_run";
                    readme.programs.push(Program { line: number, text, is_caller, is_for_tests: false });
                }
                _ if info.starts_with("rust") => {
                    bail!("README.md:{number}: how is a block that is {info} to be tried?")
                }
                _ => {}
            }
        }
        let for_tests = readme.manifest.get("dev-dependencies").and_then(Item::as_table);
        let for_tests = for_tests.into_iter().flat_map(Table::iter).map(|(name, _)| name.replace('-', "_"));
        for name in for_tests {
            for program in &mut readme.programs {
                program.is_for_tests |= program.text.contains(&name);
            }
        }
        Ok(readme)
    }

    /// Adds what a block says under the two tables. Other TOML is no part of a manifest.
    fn depend(&mut self, block: &str) -> anyhow::Result<()> {
        let block: DocumentMut = block.parse()?;
        for table in ["dependencies", "dev-dependencies"] {
            for (name, wanted) in block.get(table).and_then(Item::as_table).into_iter().flat_map(Table::iter)
            {
                let known = &mut self.manifest.entry(table).or_insert_with(toml_edit::table)[name];
                let is_same = known.is_none() || known.to_string().trim() == wanted.to_string().trim();
                ensure!(is_same, "another block asks for another {name}");
                *known = wanted.clone();
            }
        }
        Ok(())
    }
}

/// A running sandbox, from the packages; dropping it kills it.
struct Sandbox {
    process: Child,
    /// Kept open, because a sandbox may write to it as long as it runs.
    _stdout: BufReader<ChildStdout>,
    ready: Value,
}

impl Sandbox {
    fn start(folder: &Folder<'_>) -> anyhow::Result<Self> {
        let mut sandbox = folder.built("payments");
        let sandbox = sandbox.args(["sandbox", "--log", "off"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = sandbox.spawn()?;
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().context("it was asked for")?);
        stdout.read_line(&mut line)?;
        let ready = serde_json::from_str(&line)
            .with_context(|| format!("the sandbox does not begin with its ready line, but with {line:?}"))?;
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

    const TEXT: &str = "# A\n\n```toml\n[dependencies]\na = \"1\"\n\n[dev-dependencies]\na-fake = \"1\"\n```\n\n\
        ```rust,no_run\nfn main() { a::call() }\n```\n\n```rust\nuse a_fake::A;\nfn main() {}\n```\n\n\
        ```rust\nstruct Mine;\n```\n\n```toml\n[profiles.a]\nb = 1\n```\n\n```console\n$ a\n```\n";

    #[test]
    fn dependencies_and_programs_are_what_a_reader_would_paste() {
        let readme = Readme::read(TEXT).unwrap();
        let manifest = "[dependencies]\na = \"1\"\n\n[dev-dependencies]\na-fake = \"1\"\n";
        assert_eq!(readme.manifest.to_string(), manifest);
        let program = |line, text: &str, is_caller, is_for_tests| {
            let text = text.to_owned();
            Program { line, text, is_caller, is_for_tests }
        };
        let part = "#![allow(unused)]\nfn main() {\nstruct Mine;\n}\n";
        let expected = [
            program(11, "fn main() { a::call() }\n", true, false),
            program(15, "use a_fake::A;\nfn main() {}\n", false, true),
            program(20, part, false, false),
        ];
        assert_eq!(readme.programs, expected);
        // Only what is for tests may need what is depended on for tests.
        assert_eq!([expected[0].folder(), expected[1].folder()], ["src/bin", "examples"]);
    }

    #[test]
    fn two_blocks_may_ask_for_the_same_and_not_for_different_things() {
        let with = |more: &str| Readme::read(&format!("{TEXT}```toml\n[dependencies]\n{more}\n```\n"));
        assert!(with("a = \"1\"\nb = \"2\"").unwrap().manifest.to_string().contains("b = \"2\""));
        let error = with("a = \"2\"").err().unwrap();
        assert_eq!(format!("{error:#}"), "README.md:32: another block asks for another a");
    }

    #[test]
    fn a_block_that_nobody_could_run_is_no_example() {
        let error = Readme::read("```rust,ignore\nfn main() {}\n```\n").err().unwrap();
        assert_eq!(error.to_string(), "README.md:1: how is a block that is rust,ignore to be tried?");
    }
}
