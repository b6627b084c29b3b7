//! What rustdoc knows of a crate, as JSON.
//!
//! Rustdoc writes JSON in a form that is not stable yet, so a stable toolchain refuses to, unless it is told to behave as a
//! nightly one. That is told to rustdoc alone: what cargo compiles on the way is the same as in any other task and is
//! shared with it.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use xshell::Shell;

use crate::package::output_folder;
use crate::workspace::{Member, Workspace, cargo};

/// What the library `public-api` reads. Formats 58 and 59 only added what may be absent.
const READABLE: RangeInclusive<u64> = 57..=59;

/// Stands in for rustdoc, and is written where cargo puts what it builds.
const PROGRAM: &str = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";

/// Which of a crate's features are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Features {
    None,
    Default,
    All,
}

/// How much of a crate is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Items {
    /// What is in its documentation.
    Documented,
    /// All that is written, as a comparison of two versions needs it.
    All,
}

/// Describes the crates of a workspace.
#[derive(Debug)]
pub(crate) struct Rustdoc<'a> {
    workspace: &'a Workspace,
    program: PathBuf,
}

impl<'a> Rustdoc<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> anyhow::Result<Self> {
        let program = output_folder(workspace).join("rustdoc");
        write_program(&workspace.shell, &program)
            .with_context(|| format!("cannot write {}", program.display()))?;
        Ok(Self { workspace, program })
    }

    /// The description of a crate: a file that the next call may overwrite.
    pub(crate) fn describe(
        &self,
        member: &Member,
        features: Features,
        items: Items,
    ) -> anyhow::Result<PathBuf> {
        let name = &member.name;
        let file = self.workspace.target.join("doc").join(format!("{}.json", name.replace('-', "_")));
        // What an earlier run has left must not pass for the answer.
        self.workspace.shell.remove_path(&file)?;
        let mut call = vec!["rustdoc", "--quiet", "--locked", "--offline", "--lib", "--package", name];
        call.extend(match features {
            Features::None => Some("--no-default-features"),
            Features::Default => None,
            Features::All => Some("--all-features"),
        });
        call.extend("-- -Z unstable-options --output-format json --cap-lints allow".split(' '));
        if items == Items::All {
            call.extend(["--document-private-items", "--document-hidden-items"]);
        }
        let described = cargo(&self.workspace.shell, call).env("RUSTDOC", &self.program).run();
        described.with_context(|| format!("rustdoc cannot describe {name}"))?;
        ensure!(file.is_file(), "rustdoc has written no {}", file.display());
        Ok(file)
    }
}

fn write_program(shell: &Shell, path: &Path) -> anyhow::Result<()> {
    // Not while another run may be executing it.
    if shell.read_file(path).is_ok_and(|text| text == PROGRAM) {
        return Ok(());
    }
    shell.write_file(path, PROGRAM)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// A description as a value, if it is in a form that is known here.
pub(crate) fn read(description: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(description)?;
    let value: Value = serde_json::from_str(&text).context("rustdoc's JSON is none")?;
    must_be_readable(&value)?;
    Ok(value)
}

fn must_be_readable(description: &Value) -> anyhow::Result<()> {
    let format = description["format_version"].as_u64().context("rustdoc's JSON does not name its format")?;
    let (first, last) = (READABLE.start(), READABLE.end());
    ensure!(
        READABLE.contains(&format),
        "the rustdoc of this toolchain writes its JSON in format {format}, and formats {first} to {last} are read here. \
         Take a toolchain that writes one of them (rustup toolchain install 1.95, and RUSTUP_TOOLCHAIN=1.95), or raise \
         public-api in xtask/release/Cargo.toml and READABLE in xtask/release/src/rustdoc.rs"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_that_is_not_known_is_not_guessed_at() {
        for format in [57, 59] {
            must_be_readable(&json!({ "format_version": format })).unwrap();
        }
        for format in [56, 60] {
            let error = must_be_readable(&json!({ "format_version": format })).unwrap_err().to_string();
            assert!(error.contains(&format!("format {format},")), "{error}");
        }
        assert!(must_be_readable(&json!({})).is_err());
    }
}
