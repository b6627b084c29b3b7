//! `publish`: the one step that cannot be taken back, cut so that it can be run again after anything.
//!
//! The order is: gates, signed tag, upload, a look at the index, push. The tag is made only of a commit that has passed
//! every gate, so a tag that stands here says that they were passed, and a run that was cut off goes on from it. What
//! is on the registry already is told by its bytes: cargo packs the same commit into the same bytes.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail, ensure};

use crate::changelog;
use crate::check;
use crate::credentials;
use crate::flags::Publish;
use crate::gates::{self, Commit};
use crate::git::{self, Git};
use crate::package::{self, Package};
use crate::patience::Patience;
use crate::registry::Registry;
use crate::upload::{self, Upload};
use crate::workspace::Workspace;

/// Enough for a first release to crates.io, which takes some new crates at once and the rest ten minutes apart.
const PATIENCE: Duration = Duration::from_hours(2);

pub(crate) fn run(asked: &Publish) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let registry = Registry::open(&workspace, asked.registry.as_deref())?;
    let commit = Commit { workspace, registry };
    let patience = asked.patience.map_or(PATIENCE, Duration::from_secs);
    let mut publication = Publication {
        tag: git::tag_of(&commit.workspace.version),
        commit: &commit,
        patience: Patience::new(patience),
    };
    if asked.execute { publication.execute() } else { publication.rehearse() }
}

struct Publication<'a> {
    commit: &'a Commit,
    tag: String,
    patience: Patience,
}

impl Publication<'_> {
    /// Everything that can be done without changing anything.
    fn rehearse(&mut self) -> anyhow::Result<()> {
        if !self.stand()? {
            check::all_gates(self.commit)?;
        }
        let packages = package::pack(&self.commit.workspace)?;
        let missing = self.missing(&packages)?;
        println!("\nNothing was changed. With --execute this would:");
        if !self.git().is_tagged(&self.tag)? {
            println!("  sign the tag {}", self.tag);
        }
        for package in &missing {
            println!(
                "  publish {} {} (sha256 {})",
                package.name, self.commit.workspace.version, package.checksum
            );
        }
        if !self.git().is_pushed(&self.tag)? {
            println!("  push {} and {}, both or neither", git::BRANCH, self.tag);
        }
        Ok(())
    }

    fn execute(&mut self) -> anyhow::Result<()> {
        let is_tagged = self.stand()?;
        credentials::must_be_safe(self.commit)?;
        if !is_tagged {
            check::all_gates(self.commit)?;
            self.git().sign(&self.tag, &self.commit.workspace.version)?;
            println!("signed the tag {}", self.tag);
        }
        let packages = package::pack(&self.commit.workspace)?;
        self.upload(&packages)?;
        self.verify(&packages)?;
        if self.git().is_pushed(&self.tag)? {
            println!("{} and {} are pushed already", git::BRANCH, self.tag);
        } else {
            self.git().push(&self.tag)?;
            println!("pushed {} and {}", git::BRANCH, self.tag);
        }
        self.print_notes()
    }

    /// What must hold at every start. Tells whether an earlier run has signed the tag.
    fn stand(&self) -> anyhow::Result<bool> {
        gates::must_be_version_commit(self.commit)?;
        let is_tagged = self.git().is_tagged(&self.tag)?;
        self.git().must_be_pushable(&self.tag)?;
        if is_tagged {
            println!("the tag {} stands at this commit: every gate was passed, and this goes on", self.tag);
        }
        Ok(is_tagged)
    }

    /// The packages that the registry does not have. One that it has with other bytes is an error: of two things with
    /// one name nobody can tell which they got.
    fn missing<'p>(&self, packages: &'p [Package]) -> anyhow::Result<Vec<&'p Package>> {
        let version = &self.commit.workspace.version;
        let mut missing = Vec::new();
        for package in packages {
            let name = &package.name;
            match self.commit.registry.find(name, version)? {
                None => missing.push(package),
                Some(theirs) => ensure!(
                    theirs.checksum == package.checksum,
                    "{name} {version} is on the registry with other bytes (sha256 {}, and {} here): it was published \
                     from another commit. Find out by whom, and prepare another version",
                    theirs.checksum,
                    package.checksum
                ),
            }
        }
        Ok(missing)
    }

    /// Publishes what is missing, and goes on after every trouble that passes.
    fn upload(&mut self, packages: &[Package]) -> anyhow::Result<()> {
        let mut left = usize::MAX;
        let mut trouble: Option<upload::Trouble> = None;
        loop {
            let missing = match self.missing(packages) {
                Ok(missing) => missing,
                // The index may be in the same trouble as the rest.
                Err(error) if trouble.is_some() => {
                    println!("{error:#}");
                    self.wait(None).with_context(|| self.again())?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if missing.is_empty() {
                println!("the registry has all {} packages", packages.len());
                return Ok(());
            }
            if missing.len() < left {
                self.patience.renew();
                left = missing.len();
            }
            if let Some(upload::Trouble { passes, asked, words }) = trouble {
                ensure!(passes, "the registry has refused: {words}\n{}", self.again());
                self.wait(asked).with_context(|| format!("{words}\n{}", self.again()))?;
            }
            let names: Vec<_> = missing.iter().map(|package| package.name.as_str()).collect();
            println!("publishing {}", names.join(", "));
            trouble = match upload::run(self.commit, &names)? {
                Upload::Done => None,
                Upload::Failed(trouble) => Some(trouble),
            };
        }
    }

    /// Waits until the index lists everything with our bytes.
    fn verify(&mut self, packages: &[Package]) -> anyhow::Result<()> {
        loop {
            let missing = self.missing(packages)?;
            let Some(first) = missing.first() else {
                println!("the index lists all {} packages with the bytes of this commit", packages.len());
                return Ok(());
            };
            println!("the index does not list {} yet", first.name);
            self.wait(None).with_context(|| self.again())?;
        }
    }

    fn wait(&mut self, asked: Option<Duration>) -> anyhow::Result<()> {
        let Some(wait) = self.patience.next(asked) else {
            bail!("the registry was waited for as long as --patience allows");
        };
        println!("waiting {} s", wait.as_secs());
        std::thread::sleep(wait);
        Ok(())
    }

    /// What to do about a run that ends in the middle.
    fn again(&self) -> String {
        format!(
            "what is published stays, and the tag {} stands here unpushed: run the same command again, and it goes on",
            self.tag
        )
    }

    fn print_notes(&self) -> anyhow::Result<()> {
        let workspace = &self.commit.workspace;
        let log = workspace.read(changelog::FILE)?;
        let notes = changelog::notes(&log, &workspace.version).unwrap_or_default();
        println!(
            "\n{} {} is released.\n\n{notes}",
            self.tag,
            humantime::format_rfc3339_seconds(SystemTime::now())
        );
        Ok(())
    }

    fn git(&self) -> Git<'_> {
        Git::new(&self.commit.workspace.shell)
    }
}
