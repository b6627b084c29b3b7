//! Reads git, and makes the two changes of a release: the signed tag, and the push to `origin`.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use semver::Version;
use xshell::{Shell, cmd};

use crate::workspace::program;

/// The branch that releases are made from.
pub(crate) const BRANCH: &str = "main";

/// The remote that a release is pushed to.
const REMOTE: &str = "origin";

/// The line of a tag's message that says that its commit has passed every gate.
pub(crate) const CHECKED: &str = "Release-Check: passed";

/// The line that names the registry: another registry may have different crates with the same names.
const FOR: &str = "Release-Registry: ";

const CANNOT_SIGN: &str = "git cannot sign: set user.signingkey (and gpg.format=ssh for an SSH key)";

pub(crate) fn tag_of(version: &Version) -> String {
    format!("v{version}")
}

/// The repository around the shell's current folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Git<'a>(pub(crate) &'a Shell);

impl Git<'_> {
    /// Fails if any file is changed, added or untracked.
    pub(crate) fn must_be_clean(self) -> anyhow::Result<()> {
        let status = self.read("status --porcelain --untracked-files=normal")?;
        ensure!(
            status.is_empty(),
            "the tree is not clean: commit, ignore or remove the files that git lists here\n{status}"
        );
        // Git and cargo do not notice changes to such a file, so cargo would publish them.
        let files = self.read("ls-files -v")?;
        let hidden: Vec<_> = files.lines().filter(|line| !line.starts_with("H ")).collect();
        ensure!(
            hidden.is_empty(),
            "git is configured to ignore changes to some files, so they may differ from the commit: run git update-index \
             --no-skip-worktree --no-assume-unchanged on them (or git sparse-checkout disable)\n{}",
            hidden.join("\n")
        );
        Ok(())
    }

    pub(crate) fn must_be_on_the_branch(self) -> anyhow::Result<()> {
        let branch = cmd!(self.0, "git symbolic-ref --quiet --short HEAD").quiet().ignore_status().read()?;
        ensure!(
            branch == BRANCH,
            "a release is made only from {BRANCH}, and this is {branch:?}: git switch {BRANCH}"
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

    /// The text of a file in a commit.
    pub(crate) fn file_at(self, commit: &str, path: &str) -> Option<String> {
        self.try_read(&format!("show {commit}:{path}"))
    }

    /// The tracked files, as paths from the root.
    pub(crate) fn files(self) -> anyhow::Result<BTreeSet<String>> {
        Ok(self.read("-c core.quotePath=false ls-files")?.lines().map(str::to_owned).collect())
    }

    /// The folders inside a folder of a commit. The folder's name ends with a slash.
    pub(crate) fn folders_at(self, commit: &str, folder: &str) -> anyhow::Result<Vec<String>> {
        let listed = self.read(&format!("ls-tree -d --name-only {commit} {folder}"))?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// The versions released up to this commit, and the tags that only look like a release.
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

    /// Fails if this clone lacks a release that `origin` has: it would be missing in the comparison.
    pub(crate) fn must_know_every_release(self) -> anyhow::Result<()> {
        ensure!(
            self.read("rev-parse --is-shallow-repository")? != "true",
            "this clone is shallow, and the last release may be older than its history: git fetch --unshallow --tags"
        );
        let listed = self.read(&format!("ls-remote --tags {REMOTE} v*"))?;
        // `ls-remote` lists an annotated tag a second time, with its commit. Only an annotated tag can be a release.
        let is_annotated = |tag: &str| listed.lines().any(|line| line.ends_with(&format!("/{tag}^{{}}")));
        let tags = listed.lines().filter_map(|line| line.split_once("\trefs/tags/"));
        let missing = tags.filter(|(object, tag)| {
            version_of(tag).is_some() && is_annotated(tag) && self.object(tag).as_deref() != Some(object)
        });
        let missing: Vec<_> = missing.map(|(_, tag)| tag).collect();
        ensure!(
            missing.is_empty(),
            "{REMOTE} has tags of versions that are missing or different here: {}. Each may be a release, so fetch them \
             (git fetch --tags --force {REMOTE})",
            missing.join(", ")
        );
        Ok(())
    }

    /// Whether this commit has the tag, signed by `publish`. Any other tag with that name is an error.
    pub(crate) fn is_tagged(self, tag: &str) -> anyhow::Result<bool> {
        let name = format!("refs/tags/{tag}");
        let Some(kind) = self.try_read(&format!("cat-file -t {name}")) else { return Ok(false) };
        let advice = format!("if it was never pushed, remove it (git tag --delete {tag}) and run this again");
        ensure!(kind == "tag", "the tag {tag} is not annotated: {advice}");
        let (commit, head) = (self.read(&format!("rev-parse --verify {name}^{{commit}}"))?, self.head()?);
        ensure!(
            commit == head,
            "the tag {tag} is at another commit: {commit}, and this is {head}. If that release is complete, prepare the next \
             one; if it has begun, continue from the tag (git switch --detach {tag}); {advice}"
        );
        let verified = cmd!(self.0, "git verify-tag --raw {name}").quiet().ignore_status().output()?;
        ensure!(
            verified.status.success(),
            "the signature of the tag {tag} cannot be verified: {}\nFor an SSH key, set gpg.ssh.allowedSignersFile; {advice}",
            String::from_utf8_lossy(&verified.stderr).trim()
        );
        let annotation = self.annotation(tag).unwrap_or_default();
        let own_name = annotation.lines().find_map(|line| line.strip_prefix("tag ")).unwrap_or_default();
        ensure!(
            own_name == tag,
            "the tag {tag} was signed as {own_name}, which is another release: {advice}"
        );
        ensure!(
            is_of_release(&annotation, tag),
            "the tag {tag} does not contain `{CHECKED}`, so `publish` did not create it: {advice}"
        );
        Ok(true)
    }

    /// Fails if the existing tag was created for a release to a registry with another index.
    pub(crate) fn must_be_for(self, tag: &str, index: &str) -> anyhow::Result<()> {
        let annotation = self.annotation(tag).unwrap_or_default();
        let registry = annotation.lines().find_map(|line| line.strip_prefix(FOR)).unwrap_or("no registry");
        ensure!(
            registry == index,
            "the tag {tag} was created for a release to {registry}, whose gates have passed, and not to {index}: continue \
             with that registry, or prepare another version for this one"
        );
        Ok(())
    }

    /// Fails if git cannot sign or verify. It tries this with a commit object that no branch or tag names.
    pub(crate) fn must_be_able_to_sign(self) -> anyhow::Result<()> {
        let message = "Check whether git can sign";
        let tree = "HEAD^{tree}";
        let signed = cmd!(self.0, "git commit-tree --gpg-sign -m {message} {tree}").quiet().read();
        let signed = signed.context(CANNOT_SIGN)?;
        self.read(&format!("verify-commit {signed}"))
            .context("git cannot verify your signature: for an SSH key, set gpg.ssh.allowedSignersFile")?;
        Ok(())
    }

    /// Signs the tag of this commit, which has passed every gate.
    pub(crate) fn sign(self, tag: &str, index: &str) -> anyhow::Result<()> {
        let message = format!("Release {}\n\n{CHECKED}\n{FOR}{index}\n", &tag[1..]);
        let sign = cmd!(self.0, "git tag --sign --cleanup=verbatim --file=- {tag}").quiet().stdin(message);
        sign.run().context(CANNOT_SIGN)?;
        ensure!(
            self.is_tagged(tag)?,
            "git reported success for signing the tag {tag}, but the tag is missing"
        );
        Ok(())
    }

    /// Fails if `origin` would refuse this commit as its branch, or has another tag of that name. A release that cannot be
    /// pushed would exist only on the registry.
    pub(crate) fn must_be_pushable(self, tag: &str) -> anyhow::Result<()> {
        let (branch, remote_tag) = self.remote(tag)?;
        if let Some(theirs) = &branch {
            let advice = if self.object(tag).is_none() {
                "put the release on top of them with git pull --rebase".to_owned()
            } else {
                // A published version cannot be published again from another commit.
                format!(
                    "the tag {tag} exists here, and crates may have been published from it. Merge the two on {BRANCH} (git \
                     pull --no-rebase {REMOTE} {BRANCH}, git push {REMOTE} {BRANCH}), return to the tag (git switch \
                     --detach {tag}) and run this again"
                )
            };
            ensure!(
                self.is_ancestor(theirs, "HEAD") || self.is_ancestor("HEAD", theirs),
                "{REMOTE} has commits on {BRANCH} that are not here: {advice}"
            );
        }
        ensure!(
            remote_tag.is_none() || remote_tag == self.object(tag),
            "{REMOTE} has a different tag {tag}: if it is the release, fetch it (git fetch {REMOTE} tag {tag} --force); \
             otherwise prepare another version"
        );
        Ok(())
    }

    /// Whether `origin` has the tag, and the tag's commit on its branch. The branch may have newer commits.
    pub(crate) fn is_pushed(self, tag: &str) -> anyhow::Result<bool> {
        let (branch, remote_tag) = self.remote(tag)?;
        Ok(self.has_release(branch.as_deref(), tag) && remote_tag.is_some() && remote_tag == self.object(tag))
    }

    /// Pushes the branch and the tag, both or neither. With `--dry-run` it only runs the checks of `origin` and local hooks.
    pub(crate) fn push(self, tag: &str, options: &[&str]) -> anyhow::Result<()> {
        let (branch, _) = self.remote(tag)?;
        // A branch with newer commits must not be reset.
        let commit = format!("refs/tags/{tag}^{{commit}}:refs/heads/{BRANCH}");
        let commit = (!self.has_release(branch.as_deref(), tag)).then_some(commit);
        // Push only this tag, even if the developer has configured `push.followTags`.
        let push = program(self.0, "git").args(["push", "--atomic"]).args(options).arg("--no-follow-tags");
        Ok(push.arg(REMOTE).args(commit).arg(format!("refs/tags/{tag}")).run()?)
    }

    /// The commit of `origin`'s branch, and the object of its tag.
    fn remote(self, tag: &str) -> anyhow::Result<(Option<String>, Option<String>)> {
        // The message names neither address: an address may contain a password.
        ensure!(
            self.read(&format!("remote get-url {REMOTE}"))?
                == self.read(&format!("remote get-url --push --all {REMOTE}"))?,
            "{REMOTE} has different addresses for fetching and pushing, so the checks before a release would not cover \
             where it is pushed: git config --unset-all remote.{REMOTE}.pushurl (or url.….pushInsteadOf)"
        );
        let (branch, tag) = (format!("refs/heads/{BRANCH}"), format!("refs/tags/{tag}"));
        let listed = self.read(&format!("ls-remote {REMOTE} {branch} {tag}"));
        let listed = listed.with_context(|| {
            format!("cannot reach {REMOTE}: check its address (git remote get-url {REMOTE}) and your access")
        })?;
        let find = |name: &str| {
            let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
            lines.find(|(_, listed)| *listed == name).map(|(object, _)| object.to_owned())
        };
        let branch = find(&branch);
        if let Some(commit) = &branch {
            // Git can compare the commit only if it is here.
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

    /// The raw object of an annotated tag.
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

/// Whether the annotation has the form that `publish` writes for this tag. The signature of an old tag is not verified.
fn is_of_release(annotation: &str, tag: &str) -> bool {
    let has_line = |expected: &str| annotation.lines().any(|line| line == expected);
    has_line(&format!("tag {tag}")) && has_line(CHECKED)
}
