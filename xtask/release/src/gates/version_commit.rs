//! The commit that made the version is the one that is released: what came after it is in no changelog.

use anyhow::ensure;

use super::{Commit, Verdict};
use crate::changelog;
use crate::git::{self, Git};

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let workspace = &commit.workspace;
    let git = Git::new(&workspace.shell);
    let version = &workspace.version;
    // A release that has begun is of its tag, wherever the branch has gone since.
    if !git.is_tagged(&git::tag_of(version))? {
        git.must_be_on_the_branch()?;
    }
    git.must_be_clean()?;
    let has_section = |text: &str| changelog::notes(text, version).is_some();
    let text = workspace.read(changelog::FILE)?;
    ensure!(
        has_section(&text),
        "{} has no section for {version}: cargo xtask release prepare --execute",
        changelog::FILE
    );
    ensure!(
        !changelog::has_unreleased(&text),
        "{} has words under `Unreleased`, which are in no version: prepare the next one",
        changelog::FILE
    );
    ensure!(
        !git.is_merge(),
        "a merge brings in what the changelog of {version} does not know of: prepare the version on {} itself",
        git::BRANCH
    );
    let before = git.file_at("HEAD^", changelog::FILE);
    ensure!(
        !before.is_some_and(|text| has_section(&text)),
        "{version} was prepared by an earlier commit, and what came after it is in no version. If nothing is pushed \
         yet, make one commit of the two (git reset --soft HEAD^, git commit --amend); else say under `Unreleased` what \
         came, and prepare the next version"
    );
    Ok(Verdict::Passed(format!("{version} at {}", &git.head()?[..12])))
}
