//! `publish`: the one step that cannot be undone, cut so that it can be run again after anything.
//!
//! The order is: gates, signed tag, upload, a look at the index, push. The tag is made only of a commit that has passed
//! every gate, so a run that was cut off goes on from it. Whether a crate is published is told by its bytes: cargo packs
//! the same commit into the same bytes.

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
use crate::package::{self, Package, apart};
use crate::workspace::cargo;

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Sign the tag, publish, push.
    #[arg(long)]
    execute: bool,
    /// The registry as cargo's configuration names it; crates.io by default.
    #[arg(long)]
    registry: Option<String>,
    /// How many seconds to wait in all for a registry that is busy or late. The default is enough for a first release
    /// to crates.io, which takes some new crates at once and the rest ten minutes apart.
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
        publication.rehearse()
    }
}

struct Publication<'a> {
    commit: &'a Commit,
    git: Git<'a>,
    tag: String,
    /// The one commit that is checked, signed and published.
    head: String,
}

impl Publication<'_> {
    /// Everything that can be done without changing anything.
    fn rehearse(&self) -> anyhow::Result<()> {
        if !self.is_signed()? {
            check::all(self.commit)?;
        }
        let packages = package::pack(&self.commit.workspace, &self.commit.registry, &[])?;
        let missing = self.missing(&packages)?;
        let (is_tagged, is_pushed) = (self.git.is_tagged(&self.tag)?, self.git.is_pushed(&self.tag)?);
        if missing.is_empty() && is_tagged && is_pushed {
            println!("\nNothing was changed, and nothing is left to be done: {} is released", self.tag);
            return Ok(());
        }
        println!("\nNothing was changed. With --execute this would:");
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
            println!("the tag {} stands at this commit: every gate was passed, and this goes on", self.tag);
        } else {
            // Asked now, so that nobody waits for the gates in vain.
            self.must_have_a_token()?;
            self.git.must_be_able_to_sign()?;
            check::all(self.commit)?;
            // Minutes have passed, and the gates have run the project's own code.
            self.must_stand_still()?;
            self.is_signed()?;
            self.git.sign(&self.tag, &self.commit.registry.index)?;
            println!("signed the tag {}", self.tag);
        }
        let packages = package::pack(&self.commit.workspace, &self.commit.registry, &[])?;
        self.upload(&packages, patience)?;
        println!("the index lists all {} packages with the bytes of this commit", packages.len());
        if self.git.is_pushed(&self.tag)? {
            println!("{BRANCH} and {} are pushed already", self.tag);
        } else {
            self.git.push(&self.tag, &[]).with_context(|| {
                let tag = &self.tag;
                format!("everything is published, and origin did not take {BRANCH} and {tag}: fix that and run this again")
            })?;
            println!("pushed {BRANCH} and {}", self.tag);
        }
        let log = self.commit.workspace.read(changelog::FILE)?;
        let notes = changelog::notes(&log, &self.commit.workspace.version).unwrap_or_default();
        println!("\n{} is released.\n\n{notes}", self.tag);
        Ok(())
    }

    /// Whether an earlier run has signed the tag; and what must hold at every start.
    fn is_signed(&self) -> anyhow::Result<bool> {
        gates::version_commit(self.commit)?;
        let is_tagged = self.git.is_tagged(&self.tag)?;
        if is_tagged {
            self.git.must_be_for(&self.tag, &self.commit.registry.index)?;
        }
        self.git.must_be_pushable(&self.tag)?;
        Ok(is_tagged)
    }

    /// Fails if somebody has gone on working in this folder: cargo would publish what lies here now.
    fn must_stand_still(&self) -> anyhow::Result<()> {
        let (now, head) = (self.git.head()?, &self.head);
        ensure!(now == *head, "{now} is not the commit that was checked, {head}. {}", self.again());
        self.git.must_be_clean().with_context(|| format!("changed since this began. {}", self.again()))
    }

    /// The packages that the registry does not have. One that it has with other bytes is an error: of two things with
    /// one name nobody can tell which they got.
    fn missing<'p>(&self, packages: &'p [Package]) -> anyhow::Result<Vec<&'p Package>> {
        let version = &self.commit.workspace.version;
        let (mut missing, mut yanked) = (Vec::new(), Vec::new());
        for package in packages {
            let Package { name, checksum, .. } = package;
            match self.commit.registry.find(name, version)? {
                None => missing.push(package),
                Some(Published { checksum: theirs, .. }) if theirs != *checksum => bail!(
                    "{name} {version} is on the registry with other bytes (sha256 {theirs}, and {checksum} here): it was \
                     published from another commit, or packed by another cargo. If it was this release from another \
                     machine, go on there; else prepare another version"
                ),
                Some(published) if published.yanked => yanked.push(name.as_str()),
                Some(_) => {}
            }
        }
        ensure!(
            missing.is_empty() || yanked.is_empty(),
            "{version} of {} was yanked before the rest of the release came, which cannot be built on it: take that back \
             (cargo yank --undo) and run this again, or leave it so and prepare another version",
            yanked.join(", ")
        );
        Ok(missing)
    }

    /// Publishes what is missing until the index lists everything with our bytes.
    fn upload(&self, packages: &[Package], mut patience: Duration) -> anyhow::Result<()> {
        if self.missing(packages)?.is_empty() {
            return Ok(());
        }
        self.must_have_a_token()?;
        self.git.push(&self.tag, &["--dry-run", "--quiet"]).with_context(|| {
            format!("origin would not take {BRANCH} and {}, so nothing more is published", self.tag)
        })?;
        // Built here and not by `cargo publish`, whose environment has the token: build scripts would see it.
        package::verify(&self.commit.workspace, &self.commit.registry)
            .with_context(|| self.advice(packages))?;
        let (mut is_uploaded, mut pause) = (false, Duration::from_secs(1));
        loop {
            let missing = self.missing(packages)?;
            let Some(first) = missing.first() else { return Ok(()) };
            let mut why = format!("the index does not list {} yet", first.name);
            if !is_uploaded {
                self.must_stand_still()?;
                ensure!(
                    self.git.is_tagged(&self.tag)?,
                    "the tag {} is not here any more, and nothing is published without it. {}",
                    self.tag,
                    self.again()
                );
                match self.publish(&missing)? {
                    None => is_uploaded = true,
                    Some(words) if may_pass(&words) => why = words,
                    Some(words) => bail!("waiting will not help: {words}\n{}", self.advice(packages)),
                }
            }
            if self.missing(packages)?.is_empty() {
                return Ok(());
            }
            patience = patience.checked_sub(pause).with_context(|| {
                format!("{why}\nThat is as long as --patience allows to wait. {}", self.again())
            })?;
            println!("{why}\nwaiting {} s", pause.as_secs());
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_mins(10));
        }
    }

    /// Publishes these crates, which were verified. Returns the words of cargo if it failed.
    fn publish(&self, packages: &[&Package]) -> anyhow::Result<Option<String>> {
        let names: Vec<_> = packages.iter().map(|package| package.name.as_str()).collect();
        println!("publishing {}", names.join(", "));
        let workspace = &self.commit.workspace;
        let publish = cargo(&workspace.shell, "publish --locked --no-verify --color never --registry")
            .arg(&self.commit.registry.name)
            .args(names.iter().flat_map(|name| ["--package", name]));
        let mut publish = Command::from(apart(publish, workspace));
        if let Some(token) = self.token() {
            let variable = self.variable();
            publish.env(format!("{variable}_TOKEN"), token);
            // Whatever is configured: it would not look there.
            publish.env(format!("{variable}_CREDENTIAL_PROVIDER"), "cargo:token");
        }
        let mut child = publish.stderr(Stdio::piped()).spawn()?;
        let mut words = String::new();
        for line in BufReader::new(child.stderr.take().context("stderr was asked for")?).lines() {
            let line = line?;
            println!("  {line}");
            words = format!("{words}\n{line}");
        }
        if child.wait()?.success() {
            return Ok(None);
        }
        // What stands before the error are warnings of the compiler, which may say anything.
        let from = words.rfind("\nerror: ").unwrap_or_default();
        Ok(Some(words[from..].trim().to_owned()))
    }

    /// Fails unless there is a token in the environment, or a provider that reads no file in plain text.
    fn must_have_a_token(&self) -> anyhow::Result<()> {
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
            "there is no token that could be used: set {}_TOKEN for this one command, or configure a credential provider \
             ({own}) that asks a keyring. A token in cargo's credentials file lies in plain text and is not used here",
            self.variable()
        );
        Ok(())
    }

    /// The token for the registry that is in the environment.
    fn token(&self) -> Option<OsString> {
        std::env::var_os(format!("{}_TOKEN", self.variable())).filter(|token| !token.is_empty())
    }

    /// What the names of the registry's variables begin with.
    fn variable(&self) -> String {
        match self.commit.registry.name.as_str() {
            "crates-io" => "CARGO_REGISTRY".to_owned(),
            name => format!("CARGO_REGISTRIES_{}", name.to_ascii_uppercase().replace('-', "_")),
        }
    }

    /// What to do about a run that ends in the middle.
    fn again(&self) -> String {
        match self.git.is_tagged(&self.tag) {
            Ok(true) => format!(
                "What is published stays, and the tag {} stands here: run the same command again, and it goes on",
                self.tag
            ),
            Ok(false) => "Run the same command again: it finds out what is published, and goes on".to_owned(),
            Err(_) => format!(
                "What is published stays: go back to the tag (git switch --detach {}), run the same command again, \
                 and it goes on",
                self.tag
            ),
        }
    }

    /// The same for one that may have published nothing.
    fn advice(&self, packages: &[Package]) -> String {
        match self.missing(packages) {
            Ok(missing) if missing.len() == packages.len() => format!(
                "Nothing is published. If the crates have to be changed, remove the tag (git tag --delete {}), take back \
                 the commit (git reset --hard HEAD^) and prepare it again; else run the same command again",
                self.tag
            ),
            _ => self.again(),
        }
    }
}

/// Whether the words of cargo are about a registry that is busy, slow or late, and not about what was sent to it.
fn may_pass(words: &str) -> bool {
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
    SIGNS.iter().any(|sign| words.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::may_pass;

    #[test]
    fn a_busy_registry_is_waited_for_and_a_refusal_is_not() {
        for words in [
            "error: failed to publish\n\nCaused by:\n  failed to get a 200 OK response, got 503\nheaders:\n",
            "error: x\n\nCaused by:\n  the remote server responded with an error (status 429 Too Many Requests): slowly",
            "error: x\n\nCaused by:\n  [28] Timeout was reached (Operation timed out)",
            "error: x\n\nCaused by:\n  [52] Server returned nothing (no headers, no data) (Empty reply from server)",
            "error: crate a@1.0.0 already exists on registry `x`",
        ] {
            assert!(may_pass(words), "{words}");
        }
        for words in ["error: x\n  (status 403 Forbidden): not an owner", "error: failed to verify", ""] {
            assert!(!may_pass(words), "{words}");
        }
    }
}
