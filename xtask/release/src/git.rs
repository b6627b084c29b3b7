//! What git knows, and the two things that a release changes in it: a signed tag, and what `origin` has.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use semver::Version;
use xshell::{Shell, cmd};

use crate::workspace::program;

/// The branch that releases are made from.
pub(crate) const BRANCH: &str = "main";

/// Where a release is pushed to.
const REMOTE: &str = "origin";

/// A tag is made only of a commit that has passed every gate, and its message says so.
pub(crate) const CHECKED: &str = "Release-Check: passed";

/// And for which registry: another one may have other crates of these names.
const FOR: &str = "Release-Registry: ";

const CANNOT_SIGN: &str =
    "nothing can be signed: git needs user.signingkey (and gpg.format=ssh for a key of ssh)";

pub(crate) fn tag_of(version: &Version) -> String {
    format!("v{version}")
}

/// The repository around the shell's current folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Git<'a>(pub(crate) &'a Shell);

impl Git<'_> {
    /// Fails if anything is changed, added or left lying about.
    pub(crate) fn must_be_clean(self) -> anyhow::Result<()> {
        let status = self.read("status --porcelain --untracked-files=normal")?;
        ensure!(
            status.is_empty(),
            "the tree is not clean: commit, ignore or remove what git lists here\n{status}"
        );
        // Neither git nor cargo sees that such a file has changed, and it would be published as it lies here.
        let files = self.read("ls-files -v")?;
        let hidden: Vec<_> = files.lines().filter(|line| !line.starts_with("H ")).collect();
        ensure!(
            hidden.is_empty(),
            "git was told not to look at some files, so nobody knows whether they are as committed: git update-index \
             --no-skip-worktree --no-assume-unchanged (or git sparse-checkout disable)\n{}",
            hidden.join("\n")
        );
        Ok(())
    }

    pub(crate) fn must_be_on_the_branch(self) -> anyhow::Result<()> {
        let branch = cmd!(self.0, "git symbolic-ref --quiet --short HEAD").quiet().ignore_status().read()?;
        ensure!(
            branch == BRANCH,
            "releases are made from {BRANCH}, and this is {branch:?}: git switch {BRANCH}"
        );
        Ok(())
    }

    pub(crate) fn head(self) -> anyhow::Result<String> {
        self.read("rev-parse --verify HEAD")
    }

    /// Whether this commit joins two others.
    pub(crate) fn is_merge(self) -> bool {
        self.try_read("rev-parse --verify --quiet HEAD^2").is_some()
    }

    /// The text of a file as a commit has it.
    pub(crate) fn file_at(self, commit: &str, path: &str) -> Option<String> {
        self.try_read(&format!("show {commit}:{path}"))
    }

    /// The files that are in a commit, or will be in the next, as paths from the root.
    pub(crate) fn files(self) -> anyhow::Result<BTreeSet<String>> {
        Ok(self.read("-c core.quotePath=false ls-files")?.lines().map(str::to_owned).collect())
    }

    /// The folders in a folder, whose name ends with a slash, as a commit has them.
    pub(crate) fn folders_at(self, commit: &str, folder: &str) -> anyhow::Result<Vec<String>> {
        let listed = self.read(&format!("ls-tree -d --name-only {commit} {folder}"))?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// The versions that were released up to this commit, and tags that only look like a release.
    pub(crate) fn releases(self) -> anyhow::Result<(Vec<Version>, Vec<String>)> {
        let tags = self.read("tag --no-column --list v* --merged HEAD")?;
        let (mut releases, mut others) = (Vec::new(), Vec::new());
        for tag in tags.lines() {
            let Some(version) = version_of(tag) else { continue };
            if self.annotation(tag).is_some_and(|tag_object| is_of_release(&tag_object, tag)) {
                releases.push(version);
            } else {
                others.push(tag.to_owned());
            }
        }
        releases.sort();
        Ok((releases, others))
    }

    /// Fails if this clone does not have every release that `origin` has: what is not here looks as if it had never been.
    pub(crate) fn must_know_every_release(self) -> anyhow::Result<()> {
        ensure!(
            self.read("rev-parse --is-shallow-repository")? != "true",
            "this clone is shallow, and the last release may be older than what is here: git fetch --unshallow --tags"
        );
        let listed = self.read(&format!("ls-remote --tags {REMOTE} v*"))?;
        // Only what is annotated is listed a second time, with what it stands at; no other tag can be a release.
        let is_annotated = |tag: &str| listed.lines().any(|line| line.ends_with(&format!("/{tag}^{{}}")));
        let tags = listed.lines().filter_map(|line| line.split_once("\trefs/tags/"));
        let missing = tags.filter(|(object, tag)| {
            version_of(tag).is_some() && is_annotated(tag) && self.object(tag).as_deref() != Some(object)
        });
        let missing: Vec<_> = missing.map(|(_, tag)| tag).collect();
        ensure!(
            missing.is_empty(),
            "{REMOTE} has tags of versions that are not here, or are other ones here: {}. Each may be a release (git fetch \
             --tags --force {REMOTE})",
            missing.join(", ")
        );
        Ok(())
    }

    /// Whether the tag stands at this commit, signed, as `publish` makes it. Anything else of that name is an error.
    pub(crate) fn is_tagged(self, tag: &str) -> anyhow::Result<bool> {
        let name = format!("refs/tags/{tag}");
        let Some(kind) = self.try_read(&format!("cat-file -t {name}")) else { return Ok(false) };
        let advice = format!("if it was never pushed, remove it (git tag --delete {tag}) and run this again");
        ensure!(kind == "tag", "the tag {tag} is not annotated: {advice}");
        let (commit, head) = (self.read(&format!("rev-parse --verify {name}^{{commit}}"))?, self.head()?);
        ensure!(
            commit == head,
            "the tag {tag} is misplaced: it stands at {commit}, and this is {head}. If that release is done, prepare the \
             next one; if it has begun, go on from there (git switch --detach {tag}); {advice}"
        );
        let verified = cmd!(self.0, "git verify-tag --raw {name}").quiet().ignore_status().output()?;
        ensure!(
            verified.status.success(),
            "the signature of the tag {tag} cannot be verified: {}\n(for a key of ssh, git needs \
             gpg.ssh.allowedSignersFile); {advice}",
            String::from_utf8_lossy(&verified.stderr).trim()
        );
        let annotation = self.annotation(tag).unwrap_or_default();
        let own_name = annotation.lines().find_map(|line| line.strip_prefix("tag ")).unwrap_or_default();
        ensure!(own_name == tag, "the tag {tag} was signed as {own_name}, another release: {advice}");
        ensure!(
            is_of_release(&annotation, tag),
            "the tag {tag} does not say `{CHECKED}`, so `publish` has not made it: {advice}"
        );
        Ok(true)
    }

    /// Fails if the tag, which is here, was made for a release to another registry than the one with this index.
    pub(crate) fn must_be_for(self, tag: &str, index: &str) -> anyhow::Result<()> {
        let annotation = self.annotation(tag).unwrap_or_default();
        let made_for = annotation.lines().find_map(|line| line.strip_prefix(FOR)).unwrap_or("no registry");
        ensure!(
            made_for == index,
            "the tag {tag} was made for a release to {made_for}, whose gates were asked, and not to {index}: go on there, \
             or prepare another version for here"
        );
        Ok(())
    }

    /// Fails if a tag could not be signed, or nobody could verify it: told by a commit that nothing ever names.
    pub(crate) fn must_be_able_to_sign(self) -> anyhow::Result<()> {
        let message = "A signature, to see whether it can be made";
        let tree = "HEAD^{tree}";
        let signed = cmd!(self.0, "git commit-tree --gpg-sign -m {message} {tree}").quiet().read();
        let signed = signed.context(CANNOT_SIGN)?;
        self.read(&format!("verify-commit {signed}")).context(
            "a signature of yours cannot be verified: for a key of ssh, git needs gpg.ssh.allowedSignersFile",
        )?;
        Ok(())
    }

    /// Signs the tag of this commit, which every gate has passed.
    pub(crate) fn sign(self, tag: &str, index: &str) -> anyhow::Result<()> {
        let message = format!("Release {}\n\n{CHECKED}\n{FOR}{index}\n", &tag[1..]);
        let sign = cmd!(self.0, "git tag --sign --cleanup=verbatim --file=- {tag}").quiet().stdin(message);
        sign.run().context(CANNOT_SIGN)?;
        ensure!(self.is_tagged(tag)?, "git signed the tag {tag} and does not have it");
        Ok(())
    }

    /// Fails if `origin` would refuse this commit as its branch, or has another tag of that name: what cannot be pushed
    /// would be on the registry and nowhere else.
    pub(crate) fn must_be_pushable(self, tag: &str) -> anyhow::Result<()> {
        let (branch, remote_tag) = self.remote(tag)?;
        if let Some(theirs) = &branch {
            let advice = if self.object(tag).is_none() {
                "git pull --rebase puts the release on top of them".to_owned()
            } else {
                // What was published cannot be published again from another commit.
                format!(
                    "the tag {tag} stands here, and crates may have been published from it. Join the two on {BRANCH} \
                     (git pull --no-rebase {REMOTE} {BRANCH}, git push {REMOTE} {BRANCH}), go back to the tag (git \
                     switch --detach {tag}) and run this again"
                )
            };
            ensure!(
                self.is_ancestor(theirs, "HEAD") || self.is_ancestor("HEAD", theirs),
                "{REMOTE} has commits on {BRANCH} that are not here: {advice}"
            );
        }
        ensure!(
            remote_tag.is_none() || remote_tag == self.object(tag),
            "{REMOTE} has another tag {tag}: if it is the release, fetch it (git fetch {REMOTE} tag {tag} --force)"
        );
        Ok(())
    }

    /// Whether `origin` has the commit of the tag on its branch, which may have gone on since, and the tag.
    pub(crate) fn is_pushed(self, tag: &str) -> anyhow::Result<bool> {
        let (branch, remote_tag) = self.remote(tag)?;
        Ok(self.has_release(branch.as_deref(), tag) && remote_tag.is_some() && remote_tag == self.object(tag))
    }

    /// Pushes branch and tag, both or neither; with `--dry-run` it only asks `origin` and the hooks here.
    pub(crate) fn push(self, tag: &str, options: &[&str]) -> anyhow::Result<()> {
        let (branch, _) = self.remote(tag)?;
        // A branch that has gone on since must not be set back.
        let commit = format!("refs/tags/{tag}^{{commit}}:refs/heads/{BRANCH}");
        let commit = (!self.has_release(branch.as_deref(), tag)).then_some(commit);
        // Of the tags this one alone, whatever the developer has configured to follow it.
        let push = program(self.0, "git").args(["push", "--atomic"]).args(options).arg("--no-follow-tags");
        Ok(push.arg(REMOTE).args(commit).arg(format!("refs/tags/{tag}")).run()?)
    }

    /// The commit of the branch that `origin` has, and the object of the tag.
    fn remote(self, tag: &str) -> anyhow::Result<(Option<String>, Option<String>)> {
        // Neither is named: an address may hold a password.
        ensure!(
            self.read(&format!("remote get-url {REMOTE}"))?
                == self.read(&format!("remote get-url --push --all {REMOTE}"))?,
            "{REMOTE} is read at one address and pushed to another, or to several, and what is asked before a release \
             would not be asked where it is pushed: git config --unset-all remote.{REMOTE}.pushurl (or \
             url.….pushInsteadOf)"
        );
        let (branch, tag) = (format!("refs/heads/{BRANCH}"), format!("refs/tags/{tag}"));
        let listed = self.read(&format!("ls-remote {REMOTE} {branch} {tag}"));
        let listed = listed.with_context(|| format!("{REMOTE} does not answer"))?;
        let find = |name: &str| {
            let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
            lines.find(|(_, listed)| *listed == name).map(|(object, _)| object.to_owned())
        };
        let branch = find(&branch);
        if let Some(commit) = &branch {
            // To be compared with what is here, it has to be here.
            self.read(&format!("fetch --quiet --no-tags --no-write-fetch-head {REMOTE} {commit}"))?;
        }
        Ok((branch, find(&tag)))
    }

    fn has_release(self, branch: Option<&str>, tag: &str) -> bool {
        branch.is_some_and(|branch| self.is_ancestor(&format!("refs/tags/{tag}^{{commit}}"), branch))
    }

    fn is_ancestor(self, older: &str, newer: &str) -> bool {
        self.try_read(&format!("merge-base --is-ancestor {older} {newer}")).is_some()
    }

    /// The object of an annotated tag as git keeps it.
    fn annotation(self, tag: &str) -> Option<String> {
        self.try_read(&format!("cat-file tag refs/tags/{tag}"))
    }

    fn object(self, tag: &str) -> Option<String> {
        self.try_read(&format!("rev-parse --verify --quiet refs/tags/{tag}"))
    }

    fn read(self, call: &str) -> anyhow::Result<String> {
        Ok(self.0.cmd("git").args(call.split(' ')).quiet().read()?)
    }

    fn try_read(self, call: &str) -> Option<String> {
        self.0.cmd("git").args(call.split(' ')).quiet().ignore_stderr().read().ok()
    }
}

fn version_of(tag: &str) -> Option<Version> {
    tag.strip_prefix('v')?.parse().ok()
}

/// Whether this is how `publish` makes the tag of that name. Who signed it, years ago perhaps, is not asked.
fn is_of_release(annotation: &str, tag: &str) -> bool {
    let has_line = |expected: &str| annotation.lines().any(|line| line == expected);
    has_line(&format!("tag {tag}")) && has_line(CHECKED)
}
