//! A crate outside the workspace that follows the documents and has only the packages.
//!
//! Its dependencies come from the documents' `cargo add` lines, and its programs are their examples. Those that charge
//! something run against `payments sandbox`, which is also built from the packages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use semver::Version;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};
use xshell::Shell;

use crate::check::Commit;
use crate::gates::must_be_empty;
use crate::git::Git;
use crate::package;
use crate::workspace::{Workspace, cargo, program};

/// The service's address in the documents.
const ADDRESS: &str = "https://pay.example.com/api/v1/public";

/// The beginning of the line that an example prints after a successful charge.
const PROCESSED: &str = "processed: ";

pub(crate) fn check(commit: &Commit) -> anyhow::Result<String> {
    let workspace = &commit.workspace;
    let mut consumer = Consumer { newest: newest(&workspace.read("Cargo.lock")?)?, ..Consumer::default() };
    for path in Git(&workspace.shell).files()?.iter().filter(|path| is_for_users(path)) {
        consumer.follow(path, &workspace.read(path)?)?;
    }
    ensure!(!consumer.programs.is_empty(), "the documents have no Rust example: add one to README.md");

    let folder = Folder::create(commit)?;
    let sandbox = if consumer.programs.iter().any(|program| program.charges) {
        folder.cargo("build --offline --quiet --package payments-cli --bin payments")?;
        Some(Sandbox::start(&folder)?)
    } else {
        None
    };
    let address = sandbox.as_ref().map_or(Ok(ADDRESS), |sandbox| sandbox.ready_value("base_url"))?;
    let manifest = format!("[package]\nname = \"readme\"\nedition = \"2024\"\n\n{}", consumer.manifest);
    folder.shell.write_file("readme/Cargo.toml", manifest)?;
    for program in &consumer.programs {
        let path = format!("readme/{}/{}.rs", program.folder(), program.name());
        // Rustdoc adds the same attribute.
        let text = format!("#![allow(unused)] {}", program.text.replace(ADDRESS, address));
        folder.shell.write_file(path, text)?;
    }
    folder.cargo("build --offline --quiet --package readme --bins --examples")?;

    let mut findings = Vec::new();
    for program in &consumer.programs {
        if let Err(error) = run(&folder, program, sandbox.as_ref()) {
            findings.push(format!("{}:{}: {error:#}", program.document, program.line));
        }
    }
    must_be_empty(&findings)?;
    Ok(format!("{} examples", consumer.programs.len()))
}

fn newest(lock_file: &str) -> anyhow::Result<BTreeMap<String, Version>> {
    let lock_file: DocumentMut = lock_file.parse()?;
    let mut newest = BTreeMap::new();
    for package in lock_file["package"].as_array_of_tables().into_iter().flatten() {
        let text = |key: &str| package.get(key).and_then(Item::as_str).unwrap_or_default();
        let version = Version::parse(text("version"))?;
        let known = newest.entry(text("name").to_owned()).or_insert_with(|| version.clone());
        *known = version.max(known.clone());
    }
    Ok(newest)
}

/// Whether this is the README, a crate's README or a guide.
fn is_for_users(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["README.md"] | ["crates", _, "README.md"] => true,
        ["docs", guide] => matches!(guide.rsplit_once('.'), Some((_, "md"))),
        _ => false,
    }
}

fn run(folder: &Folder<'_>, program: &Program, sandbox: Option<&Sandbox>) -> anyhow::Result<()> {
    let place = if program.is_for_tests { "examples/" } else { "" };
    let mut call = folder.built(&format!("{place}{}", program.name()));
    // Files that it writes are removed with the folder.
    call.current_dir(folder.shell.current_dir());
    if let Some(sandbox) = sandbox {
        call.env("PAYMENTS_API_KEY", sandbox.ready_value("api_key")?);
    }
    let output = call.output()?;
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "this example failed with {}: fix it\n{printed}", output.status);
    let is_processed = printed.lines().any(|line| line.starts_with(PROCESSED));
    ensure!(
        is_processed || !program.charges,
        "this example must charge the sandbox and print `{PROCESSED}…`, and printed:\n{printed}"
    );
    Ok(())
}

/// A workspace that has only the packages, as a user gets them. They depend on each other as if they were on crates.io.
///
/// Its path is always the same, so each run replaces what the last one has built.
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
        // The dependencies have the versions that this commit was tested with.
        workspace.shell.copy_file("Cargo.lock", &root)?;
        let shell = Shell::new()?;
        shell.change_dir(&root);
        // A placeholder until the real manifest is written.
        shell.write_file("readme/Cargo.toml", "[package]\nname = \"readme\"\n")?;
        shell.write_file("readme/src/lib.rs", "")?;
        Ok(Self { workspace, shell })
    }

    /// Runs cargo in this workspace. All other dependencies must already be on this machine.
    fn cargo(&self, call: &str) -> anyhow::Result<()> {
        let built = package::in_release_folder(cargo(&self.shell, call), self.workspace).run();
        built.context("the documents' examples do not build with the packages alone: see above")
    }

    /// A program that was built in this workspace.
    fn built(&self, name: &str) -> Command {
        let path = package::folder(self.workspace).join("debug").join(name);
        Command::from(program(&self.shell, path.with_extension(std::env::consts::EXE_EXTENSION)))
    }
}

/// The crate of a reader who has followed every document.
#[derive(Default)]
struct Consumer {
    /// `[dependencies]` and `[dev-dependencies]` of all the examples together.
    manifest: DocumentMut,
    programs: Vec<Program>,
    /// The newest version of each package that this commit was tested with.
    newest: BTreeMap<String, Version>,
}

/// One Rust example.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    document: String,
    /// The line where it begins.
    line: usize,
    text: String,
    /// Whether it must charge the sandbox.
    charges: bool,
    /// Whether it needs `[dev-dependencies]`.
    is_for_tests: bool,
}

impl Program {
    fn name(&self) -> String {
        let document = self.document.trim_end_matches(".md").replace('/', "-").to_lowercase();
        format!("{document}-line-{}", self.line)
    }

    /// Cargo builds examples with dev-dependencies, and programs without them.
    fn folder(&self) -> &str {
        if self.is_for_tests { "examples" } else { "src/bin" }
    }
}

impl Consumer {
    fn follow(&mut self, document: &str, text: &str) -> anyhow::Result<()> {
        let mut programs = Vec::new();
        let mut lines = text.lines().zip(1..);
        while let Some((line, number)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else { continue };
            let block = lines.by_ref().map(|(line, _)| line).take_while(|line| !line.starts_with("```"));
            match info {
                "console" => {
                    for call in block.filter_map(|line| line.strip_prefix("$ cargo add ")) {
                        self.add(call).with_context(|| format!("{document}:{number}"))?;
                    }
                }
                "rust" | "rust,no_run" => {
                    let block = block.map(|line| line.strip_prefix("# ").unwrap_or(line));
                    let block: String = block.flat_map(|line| [line, "\n"]).collect();
                    let is_program = block.contains("fn main()");
                    let text = if is_program { block } else { format!("fn main() {{\n{block}}}\n") };
                    let charges = is_program && info == "rust,no_run";
                    let document = document.to_owned();
                    programs.push(Program { document, line: number, text, charges, is_for_tests: false });
                }
                _ if info.starts_with("rust") => {
                    bail!(
                        "{document}:{number}: cannot run a block marked {info}: use `rust` or `rust,no_run`"
                    )
                }
                _ => block.for_each(drop),
            }
        }
        let for_tests = self.manifest.get("dev-dependencies").and_then(Item::as_table);
        let for_tests = for_tests.into_iter().flat_map(Table::iter).map(|(name, _)| name.replace('-', "_"));
        for name in for_tests {
            for program in &mut programs {
                program.is_for_tests |= program.text.contains(&name);
            }
        }
        self.programs.extend(programs);
        Ok(())
    }

    /// Adds the dependencies that `cargo add` would add. Features of several lines are combined.
    fn add(&mut self, call: &str) -> anyhow::Result<()> {
        let (mut table, mut names, mut features) = ("dependencies", Vec::new(), Vec::new());
        let mut words = call.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--dev" => table = "dev-dependencies",
                "--features" => features.extend(words.next().unwrap_or_default().split(',')),
                _ if word.starts_with('-') => {
                    bail!("cannot follow `cargo add {call}`: use only --dev and --features")
                }
                name => names.push(name),
            }
        }
        for name in names {
            let known = &mut self.manifest.entry(table).or_insert_with(toml_edit::table)[name];
            let mut wanted: Vec<_> = features.iter().map(|feature| (*feature).to_owned()).collect();
            let before = known.get("features").and_then(Item::as_array).into_iter().flat_map(Array::iter);
            wanted.extend(before.filter_map(|feature| feature.as_str()).map(str::to_owned));
            let wanted: Array = wanted.into_iter().collect();
            let version =
                self.newest.get(name).with_context(|| format!("Cargo.lock has no package {name}"))?;
            let version = Value::from(version.to_string());
            *known = InlineTable::from_iter([("version", version), ("features", wanted.into())]).into();
        }
        Ok(())
    }
}

/// A running sandbox, built from the packages. Dropping it kills it.
struct Sandbox {
    process: Child,
    /// Kept open because the sandbox may write to it.
    _stdout: BufReader<ChildStdout>,
    ready: serde_json::Value,
}

impl Sandbox {
    fn start(folder: &Folder<'_>) -> anyhow::Result<Self> {
        let mut sandbox = folder.built("payments");
        let sandbox = sandbox.args(["sandbox", "--log", "off"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = sandbox.spawn()?;
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().context("the sandbox has no stdout")?);
        stdout.read_line(&mut line)?;
        let ready = serde_json::from_str(&line)
            .with_context(|| format!("the sandbox's first line is not its ready line: {line:?}"))?;
        Ok(Self { process, _stdout: stdout, ready })
    }

    fn ready_value(&self, key: &str) -> anyhow::Result<&str> {
        self.ready[key].as_str().with_context(|| format!("the sandbox's ready line has no {key}"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Both fail if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A\n\n```console\n$ cargo add a b\n$ cargo add --dev a-fake\n```\n\n\
        ```rust,no_run\n# fn hidden() {}\nfn main() { a::call() }\n```\n\n```rust\nuse a_fake::A;\nfn main() {}\n```\n\n\
        ```rust\nstruct Mine;\n```\n\n```toml\n[profiles.a]\nb = 1\n```\n\n```console\n$ a\n```\n";

    fn follow(text: &str) -> anyhow::Result<Consumer> {
        let lock_file = "[[package]]\nname = \"a\"\nversion = \"1.10.0\"\n[[package]]\nname = \"a\"\nversion = \"1.9.0\"\n\
            [[package]]\nname = \"b\"\nversion = \"2.0.0\"\n[[package]]\nname = \"a-fake\"\nversion = \"3.0.0\"\n";
        let mut consumer = Consumer { newest: newest(lock_file)?, ..Consumer::default() };
        consumer.follow("docs/A.md", text)?;
        Ok(consumer)
    }

    #[test]
    fn dependencies_and_programs_come_from_the_documents() {
        let consumer = follow(TEXT).unwrap();
        let manifest = "[dependencies]\na = { version = \"1.10.0\", features = [] }\n\
            b = { version = \"2.0.0\", features = [] }\n\n\
            [dev-dependencies]\na-fake = { version = \"3.0.0\", features = [] }\n";
        assert_eq!(consumer.manifest.to_string(), manifest);
        let program = |line, text: &str, charges, is_for_tests| {
            let text = text.to_owned();
            Program { document: "docs/A.md".to_owned(), line, text, charges, is_for_tests }
        };
        let part = "fn main() {\nstruct Mine;\n}\n";
        let expected = [
            program(8, "fn hidden() {}\nfn main() { a::call() }\n", true, false),
            program(13, "use a_fake::A;\nfn main() {}\n", false, true),
            program(18, part, false, false),
        ];
        assert_eq!(consumer.programs, expected);
        assert_eq!(expected[0].name(), "docs-a-line-8");
        // Only an example may use dev-dependencies.
        assert_eq!([expected[0].folder(), expected[1].folder()], ["src/bin", "examples"]);
    }

    #[test]
    fn readmes_and_guides_are_for_users() {
        for (path, expected) in [
            ("README.md", true),
            ("crates/a/README.md", true),
            ("docs/journal.md", true),
            ("docs/sandbox.png", false),
            ("CONTRIBUTING.md", false),
            ("crates/a/docs/chapter.md", false),
            ("examples/axum/README.md", false),
        ] {
            assert_eq!(is_for_users(path), expected, "{path}");
        }
    }

    #[test]
    fn features_of_several_lines_are_combined() {
        let more = "```console\n$ cargo add a --features x,y\n$ cargo add a --features z\n```\n";
        let manifest = follow(&format!("{TEXT}{more}")).unwrap().manifest.to_string();
        assert!(manifest.contains(r#"a = { version = "1.10.0", features = ["z", "x", "y"] }"#), "{manifest}");
    }

    #[test]
    fn instructions_that_cannot_be_followed_are_refused() {
        let error = follow("```rust,ignore\nfn main() {}\n```\n").err().unwrap();
        assert_eq!(
            error.to_string(),
            "docs/A.md:1: cannot run a block marked rust,ignore: use `rust` or `rust,no_run`"
        );
        let error = follow("```console\n$ cargo add a --git b\n```\n").err().unwrap();
        assert_eq!(
            format!("{error:#}"),
            "docs/A.md:1: cannot follow `cargo add a --git b`: use only --dev and --features"
        );
    }
}
