//! `publish`: the one step that cannot be taken back, cut so that it can be run again after anything.
//!
//! The order is: gates, signed tag, upload, a look at the index, push. The tag is made only of a commit that has passed
//! every gate, so a tag that stands here says that they were passed, and a run that was cut off goes on from it. What
//! is on the registry already is told by its bytes: cargo packs the same commit into the same bytes.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use crate::changelog;
use crate::check;
use crate::credentials::Credentials;
use crate::flags::Publish;
use crate::gates::{self, Commit};
use crate::git::{self, Git};
use crate::package::{self, Package};
use crate::patience::Patience;
use crate::registry::{Busy, Published, Registry};
use crate::upload::{self, Upload};
use crate::workspace::Workspace;

/// Enough for a first release to crates.io, which takes some new crates at once and the rest ten minutes apart.
const PATIENCE: Duration = Duration::from_hours(2);

pub(crate) fn run(asked: &Publish) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let registry = Registry::open(&workspace, asked.registry.as_deref())?;
    let head = Git::new(&workspace.shell).head()?;
    let commit = Commit { workspace, registry };
    let patience = asked.patience.map_or(PATIENCE, Duration::from_secs);
    let mut publication = Publication {
        tag: git::tag_of(&commit.workspace.version),
        commit: &commit,
        head,
        patience: Patience::new(patience),
    };
    if asked.execute { publication.execute() } else { publication.rehearse() }
}

struct Publication<'a> {
    commit: &'a Commit,
    /// What stood here at the start, and is the one thing that is checked, signed and published.
    head: String,
    tag: String,
    patience: Patience,
}

impl Publication<'_> {
    /// Everything that can be done without changing anything.
    fn rehearse(&mut self) -> anyhow::Result<()> {
        if !self.stand()? {
            check::all_gates(self.commit)?;
        }
        let packages = package::pack(self.commit)?;
        let missing = self.missing(&packages)?;
        let is_tagged = self.git().is_tagged(&self.tag)?;
        let is_pushed = self.git().is_pushed(&self.tag)?;
        if missing.is_empty() && is_tagged && is_pushed {
            println!("\nNothing was changed, and nothing is left to be done: {} is released", self.tag);
            return Ok(());
        }
        println!("\nNothing was changed. With --execute this would:");
        if !is_tagged {
            println!("  sign the tag {}", self.tag);
        }
        for package in &missing {
            println!(
                "  publish {} {} (sha256 {})",
                package.name, self.commit.workspace.version, package.checksum
            );
        }
        if !is_pushed {
            println!("  push {} and {}, both or neither", git::BRANCH, self.tag);
        }
        if !missing.is_empty()
            && let Err(error) = Credentials::find(self.commit)
        {
            println!("and before anything else it would fail: {error:#}");
        }
        Ok(())
    }

    fn execute(&mut self) -> anyhow::Result<()> {
        if self.stand()? {
            println!("the tag {} stands at this commit: every gate was passed, and this goes on", self.tag);
        } else {
            // Asked now, so that nobody waits for the gates in vain.
            Credentials::find(self.commit)?;
            self.git().must_be_able_to_sign()?;
            check::all_gates(self.commit)?;
            // Minutes have passed, and the gates have run the project's own code.
            self.must_stand_still()?;
            self.stand()?;
            let (version, registry) = (&self.commit.workspace.version, self.commit.registry.location());
            self.git().sign(&self.tag, version, &self.head, registry)?;
            println!("signed the tag {}", self.tag);
        }
        let packages = package::pack(self.commit)?;
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
        if is_tagged {
            self.git().must_be_for(&self.tag, self.commit.registry.location())?;
        }
        self.git().must_be_pushable(&self.tag)?;
        Ok(is_tagged)
    }

    /// Fails if somebody has gone on working in this folder: cargo would publish what lies here now.
    fn must_stand_still(&self) -> anyhow::Result<()> {
        let now = self.git().head()?;
        ensure!(
            now == self.head,
            "{now} stands here now, which is not the commit that was checked, {}. {}",
            self.head,
            self.again()
        );
        self.git().must_be_clean().with_context(|| format!("changed since this began. {}", self.again()))
    }

    /// The packages that the registry does not have. One that it has with other bytes is an error: of two things with
    /// one name nobody can tell which they got.
    fn missing<'p>(&mut self, packages: &'p [Package]) -> anyhow::Result<Vec<&'p Package>> {
        let version = &self.commit.workspace.version;
        let (mut missing, mut yanked) = (Vec::new(), Vec::new());
        for package in packages {
            let name = &package.name;
            match self.find(name)? {
                None => missing.push(package),
                Some(theirs) if theirs.checksum == package.checksum => {
                    if theirs.yanked {
                        yanked.push(name.as_str());
                    }
                }
                Some(theirs) => bail!(
                    "{name} {version} is on the registry with other bytes (sha256 {}, and {} here): it was published \
                     from another commit, or packed by another cargo. Find out by whom: if it was this release from \
                     another machine, go on there; else prepare another version",
                    theirs.checksum,
                    package.checksum
                ),
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

    /// What the index has of this version, however long it takes to say it.
    fn find(&mut self, name: &str) -> anyhow::Result<Option<Published>> {
        loop {
            let found = self.commit.registry.find(name, &self.commit.workspace.version);
            let asked = match &found {
                Err(error) => error.downcast_ref::<Busy>().map(|busy| busy.asked),
                Ok(_) => None,
            };
            let Some(asked) = asked else {
                return found;
            };
            let words = found.map_or_else(|error| format!("{error:#}"), |_| String::new());
            self.wait(asked, &words)?;
        }
    }

    /// Publishes what is missing, and goes on after every trouble that passes.
    fn upload(&mut self, packages: &[Package]) -> anyhow::Result<()> {
        let mut missing = self.missing(packages)?;
        if missing.is_empty() {
            return Ok(());
        }
        let credentials = Credentials::find(self.commit)?;
        // What cannot be pushed would be on the registry and nowhere else.
        self.git().must_let_push(&self.tag)?;
        let mut some_may_be_there = missing.len() < packages.len();
        // Built here and not by `cargo publish`, whose environment has the token: build scripts would see it.
        package::verify(self.commit)
            .with_context(|| if some_may_be_there { self.again() } else { self.anew() })?;
        while !missing.is_empty() {
            let names: Vec<_> = missing.iter().map(|package| package.name.as_str()).collect();
            self.must_stand_still()?;
            ensure!(
                self.git().is_tagged(&self.tag)?,
                "the tag {} is not here any more, and nothing is published without it. {}",
                self.tag,
                self.again()
            );
            println!("publishing {}", names.join(", "));
            let Upload::Failed(trouble) = upload::run(self.commit, &names, &credentials)? else {
                return Ok(());
            };
            ensure!(
                trouble.passes,
                "cargo has failed, and waiting will not help: {}\n{}",
                trouble.words,
                if some_may_be_there || trouble.took_some { self.again() } else { self.anew() }
            );
            self.wait(trouble.asked, &trouble.words)?;
            // An answer may have been lost, and the index may be late.
            some_may_be_there = true;
            let before = missing.len();
            missing = self.missing(packages)?;
            if missing.len() < before {
                self.patience.renew();
            }
        }
        Ok(())
    }

    /// Waits until the index lists everything with our bytes.
    fn verify(&mut self, packages: &[Package]) -> anyhow::Result<()> {
        loop {
            let missing = self.missing(packages)?;
            let Some(first) = missing.first() else {
                println!("the index lists all {} packages with the bytes of this commit", packages.len());
                return Ok(());
            };
            self.wait(None, &format!("the index does not list {} yet", first.name))?;
        }
    }

    fn wait(&mut self, asked: Option<Duration>, why: &str) -> anyhow::Result<()> {
        let Some(wait) = self.patience.next(asked) else {
            bail!("{why}\nThat is as long as --patience allows to wait. {}", self.again());
        };
        println!("{why}\nwaiting {} s", wait.as_secs());
        std::thread::sleep(wait);
        Ok(())
    }

    /// What to do about a run that ends in the middle.
    fn again(&self) -> String {
        match self.git().is_tagged(&self.tag) {
            Ok(true) => format!(
                "What is published stays, and the tag {} stands here: run the same command again, and it goes on",
                self.tag
            ),
            // It may have been here, and taken away in the middle.
            Ok(false) => "Run the same command again: it finds out what is published, and goes on".to_owned(),
            Err(_) => format!(
                "What is published stays: go back to the tag (git switch --detach {}), run the same command again, \
                 and it goes on",
                self.tag
            ),
        }
    }

    /// What to do about a run that ends before anything is published.
    fn anew(&self) -> String {
        format!(
            "Nothing is published. If the crates have to be changed, remove the tag (git tag --delete {}), take back the \
             commit (git reset --hard HEAD^) and prepare it again; else run the same command again",
            self.tag
        )
    }

    fn print_notes(&self) -> anyhow::Result<()> {
        let workspace = &self.commit.workspace;
        let log = workspace.read(changelog::FILE)?;
        let notes = changelog::notes(&log, &workspace.version).unwrap_or_default();
        println!("\n{} is released.\n\n{notes}", self.tag);
        Ok(())
    }

    fn git(&self) -> Git<'_> {
        Git::new(&self.commit.workspace.shell)
    }
}
