//! `publish`: the only step that cannot be undone. It can be interrupted at any point and run again.
//!
//! The order is: gates, signed tag, upload, comparison with the index, push. Only a commit that has passed every gate gets
//! the tag, so an interrupted run continues from the tag. Cargo packs the same commit into the same bytes, so the bytes on
//! the registry show whether a crate of this release is published.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::json;

use crate::changelog;
use crate::check::{self, Commit};
use crate::gates;
use crate::git::{BRANCH, Git, tag_of};
use crate::index::Published;
use crate::package::{self, Package, in_release_folder};
use crate::workspace::cargo;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Sign the tag, publish, push.
    #[arg(long)]
    execute: bool,
    /// The registry's name in cargo's configuration; by default crates.io.
    #[arg(long)]
    registry: Option<String>,
    /// How many seconds to wait in total for a busy or slow registry. The default is enough for a first release to
    /// crates.io, which accepts some new crates at once and one more every ten minutes.
    #[arg(long, value_name = "SECONDS", default_value_t = 7_200)]
    patience: u64,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let commit = Commit::load(options.registry.as_deref())?;
    let publication = Publication {
        tag: tag_of(&commit.workspace.version),
        git: Git(&commit.workspace.shell),
        head: Git(&commit.workspace.shell).head()?,
        commit: &commit,
    };
    if options.execute {
        publication.execute(Duration::from_secs(options.patience))
    } else {
        publication.show()
    }
}

struct Publication<'a> {
    commit: &'a Commit,
    git: Git<'a>,
    tag: String,
    /// The commit that is checked, signed and published.
    head: String,
}

impl Publication<'_> {
    /// Checks everything, and shows what `--execute` would do.
    fn show(&self) -> anyhow::Result<()> {
        if !self.is_signed()? {
            check::all(self.commit)?;
        }
        let packages = package::pack(&self.commit.workspace, &self.commit.registry, &[])?;
        let missing = self.missing(&packages)?;
        let (is_tagged, is_pushed) = (self.git.is_tagged(&self.tag)?, self.git.is_pushed(&self.tag)?);
        if missing.is_empty() && is_tagged && is_pushed {
            println!("\nNothing was changed, and nothing is left to do: {} is released", self.tag);
            return Ok(());
        }
        println!("\nNothing was changed. With --execute, this command would:");
        if !is_tagged {
            println!("  sign the tag {}", self.tag);
        }
        for Package { name, checksum, .. } in &missing {
            println!("  publish {name} {} (sha256 {checksum})", self.commit.workspace.version);
        }
        if !is_pushed {
            println!("  push {BRANCH} and {}, both or neither", self.tag);
        }
        Ok(())
    }

    fn execute(&self, patience: Duration) -> anyhow::Result<()> {
        if self.is_signed()? {
            println!("this commit has the tag {}, so every gate has passed: continuing", self.tag);
        } else {
            // Checked first, because the gates take long.
            self.must_have_token()?;
            self.git.must_be_able_to_sign()?;
            check::all(self.commit)?;
            // The gates take minutes and run the project's own code.
            self.must_be_unchanged()?;
            self.is_signed()?;
            self.git.sign(&self.tag, &self.commit.registry.index)?;
            println!("signed the tag {}", self.tag);
        }
        let packages = package::pack(&self.commit.workspace, &self.commit.registry, &[])?;
        self.upload(&packages, patience)?;
        println!("the index lists all {} packages with the bytes of this commit", packages.len());
        if self.git.is_pushed(&self.tag)? {
            println!("{BRANCH} and {} are already pushed", self.tag);
        } else {
            self.git.push(&self.tag, &[]).with_context(|| {
                let tag = &self.tag;
                format!("everything is published, but origin refused {BRANCH} and {tag}: fix that, then run this again")
            })?;
            println!("pushed {BRANCH} and {}", self.tag);
        }
        let log = self.commit.workspace.read(changelog::FILE)?;
        let notes = changelog::notes(&log, &self.commit.workspace.version).unwrap_or_default();
        println!("\n{} is released.\n\n{notes}", self.tag);
        Ok(())
    }

    /// Whether an earlier run has signed the tag. Fails if something is wrong that every run must check.
    fn is_signed(&self) -> anyhow::Result<bool> {
        gates::version_commit(self.commit)?;
        let is_tagged = self.git.is_tagged(&self.tag)?;
        if is_tagged {
            self.git.must_be_for(&self.tag, &self.commit.registry.index)?;
        }
        self.git.must_be_pushable(&self.tag)?;
        Ok(is_tagged)
    }

    /// Fails if somebody has changed this folder: cargo would publish its current files.
    fn must_be_unchanged(&self) -> anyhow::Result<()> {
        let (now, head) = (self.git.head()?, &self.head);
        ensure!(now == *head, "{now} is not the commit that was checked, {head}. {}", self.how_to_continue());
        self.git.must_be_clean().with_context(|| {
            format!("files have changed since this command started. {}", self.how_to_continue())
        })
    }

    /// The packages that the registry does not have. Fails if it has one with different bytes: users could not tell the
    /// two apart.
    fn missing<'p>(&self, packages: &'p [Package]) -> anyhow::Result<Vec<&'p Package>> {
        let version = &self.commit.workspace.version;
        let (mut missing, mut yanked) = (Vec::new(), Vec::new());
        for package in packages {
            let Package { name, checksum, .. } = package;
            match self.commit.registry.find(name, version)? {
                None => missing.push(package),
                Some(Published { checksum: theirs, .. }) if theirs != *checksum => bail!(
                    "{name} {version} is on the registry with different bytes (sha256 {theirs}, and {checksum} here): it was \
                     published from another commit, or packed by another cargo. If another machine has published this \
                     release, continue there; otherwise prepare another version"
                ),
                Some(published) if published.yanked => yanked.push(name.as_str()),
                Some(_) => {}
            }
        }
        ensure!(
            missing.is_empty() || yanked.is_empty(),
            "{version} of {} was yanked before the release was complete, so the other crates cannot depend on it: undo that \
             (cargo yank --undo) and run this again, or prepare another version",
            yanked.join(", ")
        );
        Ok(missing)
    }

    /// Publishes the missing packages, and waits until the index lists all of them with our bytes.
    fn upload(&self, packages: &[Package], mut patience: Duration) -> anyhow::Result<()> {
        if self.missing(packages)?.is_empty() {
            return Ok(());
        }
        self.must_have_token()?;
        self.git.push(&self.tag, &["--dry-run", "--quiet"]).with_context(|| {
            format!(
                "nothing more was published, because origin would refuse {BRANCH} and {}: fix that, then run this again",
                self.tag
            )
        })?;
        // `cargo publish` would build the packages with the token in the environment, where build scripts could read it.
        package::verify(&self.commit.workspace, &self.commit.registry)
            .with_context(|| self.how_to_fix(packages))?;
        let (mut is_uploaded, mut pause) = (false, Duration::from_secs(1));
        loop {
            let missing = self.missing(packages)?;
            let Some(first) = missing.first() else { return Ok(()) };
            let mut why = format!("the index does not list {} yet", first.name);
            if !is_uploaded {
                self.must_be_unchanged()?;
                ensure!(
                    self.git.is_tagged(&self.tag)?,
                    "the tag {} no longer exists here, and nothing is published without it. {}",
                    self.tag,
                    self.how_to_continue()
                );
                match self.publish(&missing)? {
                    None => is_uploaded = true,
                    Some(message) if is_temporary(&message) => why = message,
                    Some(message) => {
                        bail!("waiting will not help: {message}\n{}", self.how_to_fix(packages))
                    }
                }
            }
            if self.missing(packages)?.is_empty() {
                return Ok(());
            }
            patience = patience.checked_sub(pause).with_context(|| {
                format!(
                    "{why}\nThis command has waited as long as --patience allows. {}",
                    self.how_to_continue()
                )
            })?;
            println!("{why}\nwaiting {} s", pause.as_secs());
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_mins(10));
        }
    }

    /// Publishes these verified crates. Returns cargo's error message if it failed.
    fn publish(&self, packages: &[&Package]) -> anyhow::Result<Option<String>> {
        let names: Vec<_> = packages.iter().map(|package| package.name.as_str()).collect();
        println!("publishing {}", names.join(", "));
        let workspace = &self.commit.workspace;
        let publish = cargo(&workspace.shell, "publish --locked --no-verify --color never --registry")
            .arg(&self.commit.registry.name)
            .args(names.iter().flat_map(|name| ["--package", name]));
        let mut publish = Command::from(in_release_folder(publish, workspace));
        if let Some(token) = self.token() {
            let variable = self.variable_prefix();
            publish.env(format!("{variable}_TOKEN"), token);
            // A configured credential provider would not read the environment.
            publish.env(format!("{variable}_CREDENTIAL_PROVIDER"), "cargo:token");
        }
        let mut child = publish.stderr(Stdio::piped()).spawn()?;
        let mut printed = String::new();
        for line in BufReader::new(child.stderr.take().context("cargo has no stderr")?).lines() {
            let line = line?;
            println!("  {line}");
            printed = format!("{printed}\n{line}");
        }
        if child.wait()?.success() {
            return Ok(None);
        }
        // Compiler warnings come before the error, and can contain any text.
        let from = printed.rfind("\nerror: ").unwrap_or_default();
        Ok(Some(printed[from..].trim().to_owned()))
    }

    /// Fails unless the environment has a token, or a credential provider is configured that reads no plain-text file.
    fn must_have_token(&self) -> anyhow::Result<()> {
        let own = match self.commit.registry.name.as_str() {
            "crates-io" => "registry.credential-provider".to_owned(),
            name => format!("registries.{name}.credential-provider"),
        };
        let plain = [json!("cargo:token"), json!(["cargo:token"])];
        let is_configured = |key: &str| {
            self.commit.workspace.configured(key).is_some_and(|provider| !plain.contains(&provider))
        };
        ensure!(
            self.token().is_some()
                || is_configured(&own)
                || is_configured("registry.global-credential-providers"),
            "there is no token: set {}_TOKEN for this command only, or configure a credential provider ({own}) that reads a \
             keyring. This command does not use a token from cargo's credentials file, which is plain text",
            self.variable_prefix()
        );
        Ok(())
    }

    /// The registry's token in the environment.
    fn token(&self) -> Option<OsString> {
        std::env::var_os(format!("{}_TOKEN", self.variable_prefix())).filter(|token| !token.is_empty())
    }

    /// The prefix of the registry's environment variables.
    fn variable_prefix(&self) -> String {
        match self.commit.registry.name.as_str() {
            "crates-io" => "CARGO_REGISTRY".to_owned(),
            name => format!("CARGO_REGISTRIES_{}", name.to_ascii_uppercase().replace('-', "_")),
        }
    }

    /// How to continue an interrupted run.
    fn how_to_continue(&self) -> String {
        match self.git.is_tagged(&self.tag) {
            Ok(true) => format!(
                "Published crates stay published, and this commit has the tag {}: run the same command again to continue",
                self.tag
            ),
            Ok(false) => "Run the same command again: it finds out which crates are published, and continues"
                .to_owned(),
            Err(_) => format!(
                "Published crates stay published: return to the tag (git switch --detach {}), then run the same command \
                 again to continue",
                self.tag
            ),
        }
    }

    /// How to fix a run that may have published nothing.
    fn how_to_fix(&self, packages: &[Package]) -> String {
        match self.missing(packages) {
            Ok(missing) if missing.len() == packages.len() => format!(
                "Nothing is published. If the crates must change, remove the tag (git tag --delete {}), remove the commit \
                 (git reset --hard HEAD^) and prepare the version again; otherwise run the same command again",
                self.tag
            ),
            _ => self.how_to_continue(),
        }
    }
}

/// Whether cargo's message is about a busy or slow registry, and not about the upload itself.
fn is_temporary(message: &str) -> bool {
    const SIGNS: [&str; 8] = [
        "got 429",
        "got 5",
        "status 429",
        "status 5",
        "timed out",
        "already uploaded",
        "already exists",
        "[52]",
    ];
    SIGNS.iter().any(|sign| message.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::is_temporary;

    #[test]
    fn a_busy_registry_is_temporary_and_a_refusal_is_not() {
        for message in [
            "error: failed to publish\n\nCaused by:\n  failed to get a 200 OK response, got 503\nheaders:\n",
            "error: x\n\nCaused by:\n  the remote server responded with an error (status 429 Too Many Requests): slowly",
            "error: x\n\nCaused by:\n  [28] Timeout was reached (Operation timed out)",
            "error: x\n\nCaused by:\n  [52] Server returned nothing (no headers, no data) (Empty reply from server)",
            "error: crate a@1.0.0 already exists on registry `x`",
        ] {
            assert!(is_temporary(message), "{message}");
        }
        for message in ["error: x\n  (status 403 Forbidden): not an owner", "error: failed to verify", ""] {
            assert!(!is_temporary(message), "{message}");
        }
    }
}
