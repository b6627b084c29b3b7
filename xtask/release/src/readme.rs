//! The README as its reader uses it: dependencies to paste, and programs to run.

use anyhow::{Context as _, bail, ensure};
use toml_edit::{DocumentMut, Item, Table};

/// What a reader who follows all of it has in the end.
#[derive(Debug)]
pub(crate) struct Readme {
    /// `[dependencies]` and `[dev-dependencies]` of all the examples together.
    pub(crate) manifest: DocumentMut,
    pub(crate) programs: Vec<Program>,
}

/// One example in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The line of the README that it begins in.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Whether it asks the service, and so is not run where there is none.
    pub(crate) is_caller: bool,
    /// Whether it needs what stands under `[dev-dependencies]`.
    pub(crate) is_for_tests: bool,
}

const TABLES: [&str; 2] = ["dependencies", "dev-dependencies"];

impl Readme {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let mut readme = Self { manifest: DocumentMut::new(), programs: Vec::new() };
        for table in TABLES {
            readme.manifest[table] = Item::Table(Table::new());
        }
        for block in blocks(text) {
            let mut words = block.info.split(',').map(str::trim);
            match words.next() {
                Some("toml") => readme.depend(&block)?,
                Some("rust") => readme.programs.push(program(&block, &words.collect::<Vec<_>>())?),
                _ => {}
            }
        }
        let for_tests = readme.manifest["dev-dependencies"].as_table().into_iter().flat_map(Table::iter);
        let for_tests: Vec<_> = for_tests.map(|(name, _)| name.replace('-', "_")).collect();
        for program in &mut readme.programs {
            program.is_for_tests = for_tests.iter().any(|name| program.text.contains(name));
        }
        Ok(readme)
    }

    /// Adds what a block says under the two tables. Other TOML is no part of a manifest.
    fn depend(&mut self, block: &Block<'_>) -> anyhow::Result<()> {
        let place = || format!("README.md:{}", block.line);
        let manifest: DocumentMut = block.text.parse().with_context(place)?;
        for table in TABLES {
            for (name, wanted) in
                manifest.get(table).and_then(Item::as_table).into_iter().flat_map(Table::iter)
            {
                let known = &mut self.manifest[table][name];
                let is_same = known.is_none() || known.to_string().trim() == wanted.to_string().trim();
                ensure!(is_same, "{}: another block asks for another {name}", place());
                *known = wanted.clone();
            }
        }
        Ok(())
    }
}

fn program(block: &Block<'_>, attributes: &[&str]) -> anyhow::Result<Program> {
    let is_caller = match attributes {
        [] => false,
        ["no_run"] => true,
        _ => bail!("README.md:{}: how is a block that is {} to be tried?", block.line, attributes.join(", ")),
    };
    // As rustdoc does it.
    let text = match block.text {
        program if program.contains("fn main()") => program.to_owned(),
        part => format!("#![allow(unused)]\nfn main() {{\n{part}}}\n"),
    };
    Ok(Program { line: block.line, text, is_caller, is_for_tests: false })
}

/// A fenced block.
struct Block<'a> {
    /// Of its first fence, from one.
    line: usize,
    info: &'a str,
    text: &'a str,
}

fn blocks(document: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut begun: Option<(usize, &str, usize)> = None;
    let mut at = 0;
    for (index, line) in document.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        match begun.take() {
            None => begun = Some((index + 1, info.trim(), at)),
            Some((line, info, from)) => blocks.push(Block { line, info, text: &document[from..start] }),
        }
    }
    blocks
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
    }

    #[test]
    fn two_blocks_may_ask_for_the_same_and_not_for_different_things() {
        let with = |more: &str| Readme::read(&format!("{TEXT}```toml\n[dependencies]\n{more}\n```\n"));
        assert!(with("a = \"1\"\nb = \"2\"").unwrap().manifest.to_string().contains("b = \"2\""));
        assert_eq!(
            with("a = \"2\"").unwrap_err().to_string(),
            "README.md:32: another block asks for another a"
        );
    }

    #[test]
    fn a_block_that_nobody_could_run_is_no_example() {
        let error = Readme::read("```rust,ignore\nfn main() {}\n```\n").unwrap_err();
        assert_eq!(error.to_string(), "README.md:1: how is a block that is ignore to be tried?");
    }
}
