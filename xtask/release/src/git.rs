//! What git knows, and the two things that a release changes in it: a signed tag, and what `origin` has.

use anyhow::{Context as _, bail, ensure};
use semver::Version;
use xshell::{Shell, cmd};

use crate::workspace::program;

/// The branch that releases are made from.
pub(crate) const BRANCH: &str = "main";

/// Where a release is pushed to.
const REMOTE: &str = "origin";

/// A tag is made only of a commit that every gate has passed, and says so.
pub(crate) const CHECKED: &str = "Release-Check: passed";

/// The registry of which the gates were asked stands behind it: another one may have other crates of these names.
const FOR: &str = "Release-Registry: ";

const CANNOT_SIGN: &str =
    "nothing can be signed: git needs user.signingkey (and gpg.format=ssh for a key of ssh)";

/// The name of the tag of a version.
pub(crate) fn tag_of(version: &Version) -> String {
    format!("v{version}")
}

/// And the version of such a tag; `None` for a tag that names none.
fn version_of(tag: &str) -> Option<Version> {
    tag.strip_prefix('v')?.parse().ok()
}

/// The repository that the shell stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Git<'a> {
    shell: &'a Shell,
}

impl<'a> Git<'a> {
    pub(crate) fn new(shell: &'a Shell) -> Self {
        Self { shell }
    }

    /// Fails if anything is changed, added or left lying about.
    pub(crate) fn must_be_clean(self) -> anyhow::Result<()> {
        let status = cmd!(self.shell, "git status --porcelain --untracked-files=normal").quiet().read()?;
        ensure!(
            status.is_empty(),
            "the tree is not clean: commit, ignore or remove what git lists here\n{status}"
        );
        // Neither git nor cargo sees that such a file has changed, and it would be published as it lies here.
        let files = cmd!(self.shell, "git ls-files -v").quiet().read()?;
        let hidden: Vec<_> = files.lines().filter(|line| !line.starts_with("H ")).collect();
        ensure!(
            hidden.is_empty(),
            "git was told not to look at some files, so nobody knows whether they are as committed: git update-index \
             --no-skip-worktree --no-assume-unchanged (or git sparse-checkout disable)\n{}",
            hidden.join("\n")
        );
        Ok(())
    }

    /// Files in a folder that git was told to ignore, as paths from the root.
    pub(crate) fn ignored_files(self, folder: &str) -> anyhow::Result<Vec<String>> {
        let arguments =
            ["-c", "core.quotePath=false", "ls-files", "--others", "--ignored", "--exclude-standard"];
        let listed = cmd!(self.shell, "git {arguments...} -- {folder}").quiet().read()?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    pub(crate) fn must_be_on_the_branch(self) -> anyhow::Result<()> {
        let branch =
            cmd!(self.shell, "git symbolic-ref --quiet --short HEAD").quiet().ignore_status().read()?;
        ensure!(
            branch == BRANCH,
            "releases are made from {BRANCH}, and this is {branch:?}: git switch {BRANCH}"
        );
        Ok(())
    }

    pub(crate) fn head(self) -> anyhow::Result<String> {
        Ok(cmd!(self.shell, "git rev-parse --verify HEAD").quiet().read()?)
    }

    /// Whether this commit joins two others.
    pub(crate) fn is_merge(self) -> bool {
        cmd!(self.shell, "git rev-parse --verify --quiet HEAD^2")
            .quiet()
            .ignore_stdout()
            .ignore_stderr()
            .run()
            .is_ok()
    }

    /// The text of a file as a commit has it; `None` if the commit or the file is not there.
    pub(crate) fn file_at(self, commit: &str, path: &str) -> Option<String> {
        cmd!(self.shell, "git show {commit}:{path}").quiet().ignore_stderr().read().ok()
    }

    /// The releases before this commit, or at it, and what only looks like one.
    pub(crate) fn releases(self) -> anyhow::Result<Releases> {
        // One in a line, however the developer likes to see them.
        let tags = cmd!(self.shell, "git tag --no-column --list v* --merged HEAD").quiet().read()?;
        let mut releases = Releases::default();
        for tag in tags.lines() {
            let Some(version) = version_of(tag) else {
                continue;
            };
            if self.annotation(tag).is_some_and(|annotation| annotation.is_of_release(tag)) {
                releases.versions.push(version);
            } else {
                releases.other_tags.push(tag.to_owned());
            }
        }
        Ok(releases)
    }

    /// Fails if this clone does not have every release that `origin` has: what is not here looks as if it had never been.
    pub(crate) fn must_know_every_release(self) -> anyhow::Result<()> {
        let is_shallow = cmd!(self.shell, "git rev-parse --is-shallow-repository").quiet().read()?;
        ensure!(
            is_shallow != "true",
            "this clone is shallow, and the last release may be older than what is here: git fetch --unshallow --tags"
        );
        let listed = cmd!(self.shell, "git ls-remote --tags {REMOTE} v*").quiet().read();
        let listed = listed.with_context(|| format!("{REMOTE} does not answer"))?;
        let tags = listed.lines().filter_map(|line| line.split_once("\trefs/tags/"));
        // Only what is annotated is listed a second time, with what it stands at; no other tag can be a release.
        let is_annotated = |tag: &str| listed.lines().any(|line| line.ends_with(&format!("/{tag}^{{}}")));
        let releases = tags.filter(|(_, tag)| version_of(tag).is_some() && is_annotated(tag));
        // One of the same name here may hide it.
        let missing = releases.filter(|(theirs, tag)| self.object(tag).as_deref() != Some(theirs));
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
        let kind = cmd!(self.shell, "git cat-file -t {name}").quiet().ignore_stderr().read();
        let Ok(kind) = kind else {
            return Ok(false);
        };
        let advice = format!("if it was never pushed, remove it (git tag --delete {tag}) and run this again");
        ensure!(kind == "tag", "the tag {tag} is not annotated, so nobody answers for it: {advice}");
        let peeled = format!("{name}^{{commit}}");
        let commit = cmd!(self.shell, "git rev-parse --verify {peeled}").quiet().read()?;
        let head = self.head()?;
        ensure!(
            commit == head,
            "the tag {tag} is misplaced: it stands at {commit}, and this is {head}. If that release is done, prepare the \
             next one; if it has begun, go on from there (git switch --detach {tag}); {advice}"
        );
        let verified = cmd!(self.shell, "git verify-tag --raw {name}").quiet().ignore_status().output()?;
        if !verified.status.success() {
            let words = String::from_utf8_lossy(&verified.stderr);
            bail!(
                "the signature of the tag {tag} cannot be verified: {}\n(for a key of ssh, git needs \
                 gpg.ssh.allowedSignersFile); {advice}",
                words.trim()
            );
        }
        let annotation = self.annotation(tag).with_context(|| format!("the tag {tag} cannot be read"))?;
        let own_name = &annotation.name;
        ensure!(own_name == tag, "the tag {tag} was signed as {own_name}, another release: {advice}");
        ensure!(
            annotation.says_that_it_was_checked(),
            "the tag {tag} does not say `{CHECKED}`, so `publish` has not made it: {advice}"
        );
        Ok(true)
    }

    /// Fails if the tag, which is here, was made for a release to another registry than the one whose index is there.
    pub(crate) fn must_be_for(self, tag: &str, registry: &str) -> anyhow::Result<()> {
        let annotation = self.annotation(tag).with_context(|| format!("the tag {tag} cannot be read"))?;
        let made_for = annotation.message.lines().find_map(|line| line.strip_prefix(FOR));
        let made_for = made_for.unwrap_or("no registry");
        ensure!(
            made_for == registry,
            "the tag {tag} was made for a release to {made_for}, whose gates were asked, and not to {registry}: go on \
             there, or prepare another version for here"
        );
        Ok(())
    }

    /// Fails if a tag could not be signed, or nobody could verify it: told by a commit that nothing ever names.
    pub(crate) fn must_be_able_to_sign(self) -> anyhow::Result<()> {
        let message = "A signature, to see whether it can be made";
        let tree = "HEAD^{tree}";
        let signed = cmd!(self.shell, "git commit-tree --gpg-sign -m {message} {tree}").quiet().read();
        let signed = signed.context(CANNOT_SIGN)?;
        let verified = cmd!(self.shell, "git verify-commit {signed}").quiet().run();
        verified.context(
            "a signature of yours cannot be verified: for a key of ssh, git needs gpg.ssh.allowedSignersFile",
        )
    }

    /// Signs the tag of a commit, which stands here and which every gate has passed.
    pub(crate) fn sign(
        self,
        tag: &str,
        version: &Version,
        commit: &str,
        registry: &str,
    ) -> anyhow::Result<()> {
        let message = format!("Release {version}\n\n{CHECKED}\n{FOR}{registry}\n");
        let sign = cmd!(self.shell, "git tag --sign --cleanup=verbatim --file=- {tag} {commit}");
        sign.quiet().stdin(message).run().context(CANNOT_SIGN)?;
        ensure!(self.is_tagged(tag)?, "git signed the tag {tag} and does not have it");
        Ok(())
    }

    /// Fails if `origin` would refuse this commit as its branch, or has another tag of that name.
    ///
    /// Asked before anything is published: what cannot be pushed would be on the registry and nowhere else.
    pub(crate) fn must_be_pushable(self, tag: &str) -> anyhow::Result<()> {
        let remote = self.remote(tag)?;
        if let Some(theirs) = &remote.branch {
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
        if let Some(theirs) = &remote.tag {
            let ours = self.object(tag);
            ensure!(
                ours.as_ref() == Some(theirs),
                "{REMOTE} has another tag {tag}: if it is the release, fetch it (git fetch {REMOTE} tag {tag} --force)"
            );
        }
        Ok(())
    }

    /// Whether `origin` has the commit of the tag on its branch, which may have gone on since, and the tag.
    pub(crate) fn is_pushed(self, tag: &str) -> anyhow::Result<bool> {
        let remote = self.remote(tag)?;
        Ok(self.has_release(&remote, tag) && remote.tag.is_some() && remote.tag == self.object(tag))
    }

    /// Branch and tag, both or neither.
    pub(crate) fn push(self, tag: &str) -> anyhow::Result<()> {
        self.push_with(&[], tag).with_context(|| {
            format!("everything is published, and {REMOTE} did not take {BRANCH} and {tag}: mend that and run this again")
        })
    }

    /// Fails if `origin` does not let this push, or a hook here does not. What a hook of `origin` refuses only the push
    /// itself can tell.
    pub(crate) fn must_let_push(self, tag: &str) -> anyhow::Result<()> {
        self.push_with(&["--dry-run", "--quiet"], tag).with_context(|| {
            format!("{REMOTE} would not take {BRANCH} and {tag}, so nothing more is published: mend that and run this again")
        })
    }

    fn push_with(self, options: &[&str], tag: &str) -> anyhow::Result<()> {
        let branch = format!("refs/tags/{tag}^{{commit}}:refs/heads/{BRANCH}");
        // A branch that has gone on since must not be set back.
        let branch = (!self.has_release(&self.remote(tag)?, tag)).then_some(branch);
        let tag = format!("refs/tags/{tag}");
        // Of the tags this one alone, whatever else the developer's configuration would have follow it. A hook runs what
        // it likes, without the registry's token.
        let push = program(self.shell, "git").args(["push", "--atomic"]).args(options);
        Ok(push.args(["--no-follow-tags", REMOTE]).args(branch).arg(tag).run()?)
    }

    /// Fails if what is asked of `origin` is asked elsewhere than where a push goes: the answers would be another
    /// repository's. Whether two addresses lead to one place nobody can tell from here.
    fn must_be_one_place(self) -> anyhow::Result<()> {
        let read = cmd!(self.shell, "git remote get-url {REMOTE}").quiet().read();
        let read =
            read.with_context(|| format!("git has no address of {REMOTE} (git remote add {REMOTE} …)"))?;
        let pushed = cmd!(self.shell, "git remote get-url --push --all {REMOTE}").quiet().read()?;
        // Neither is named: an address may hold a password.
        ensure!(
            read == pushed,
            "{REMOTE} is read at one address and pushed to another, or to several (git remote --verbose), and what is asked \
             before a release would not be asked where it is pushed: give it one address for both (git config --unset-all \
             remote.{REMOTE}.pushurl, or git remote set-url {REMOTE} …; url.….pushInsteadOf makes two of one as well)"
        );
        Ok(())
    }

    fn has_release(self, remote: &Remote, tag: &str) -> bool {
        let commit = format!("refs/tags/{tag}^{{commit}}");
        remote.branch.as_ref().is_some_and(|branch| self.is_ancestor(&commit, branch))
    }

    fn is_ancestor(self, older: &str, newer: &str) -> bool {
        cmd!(self.shell, "git merge-base --is-ancestor {older} {newer}").quiet().ignore_stderr().run().is_ok()
    }

    /// `None` for a lightweight tag.
    fn annotation(self, tag: &str) -> Option<Annotation> {
        let name = format!("refs/tags/{tag}");
        let object = cmd!(self.shell, "git cat-file tag {name}").quiet().ignore_stderr().read().ok()?;
        let (head, message) = object.split_once("\n\n").unwrap_or((&object, ""));
        let name = head.lines().find_map(|line| line.strip_prefix("tag ")).unwrap_or_default();
        Some(Annotation { name: name.to_owned(), message: message.to_owned() })
    }

    fn object(self, tag: &str) -> Option<String> {
        cmd!(self.shell, "git rev-parse --verify --quiet refs/tags/{tag}").quiet().ignore_stderr().read().ok()
    }

    fn remote(self, tag: &str) -> anyhow::Result<Remote> {
        self.must_be_one_place()?;
        let (branch, tag) = (format!("refs/heads/{BRANCH}"), format!("refs/tags/{tag}"));
        let listed = cmd!(self.shell, "git ls-remote {REMOTE} {branch} {tag}").quiet().read();
        let listed = listed.with_context(|| format!("{REMOTE} does not answer"))?;
        let find = |name: &str| {
            let mut lines = listed.lines().filter_map(|line| line.split_once('\t'));
            lines.find(|(_, listed)| *listed == name).map(|(object, _)| object.to_owned())
        };
        let remote = Remote { branch: find(&branch), tag: find(&tag) };
        if let Some(commit) = &remote.branch {
            // What it has is compared with what is here, and for that it has to be here.
            cmd!(self.shell, "git fetch --quiet --no-tags --no-write-fetch-head {REMOTE} {commit}")
                .quiet()
                .run()?;
        }
        Ok(remote)
    }
}

/// What was released before a commit, or at it.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    /// Those that `publish` has made.
    pub(crate) versions: Vec<Version>,
    /// Tags that name a version and were made by somebody else, for whatever reason.
    pub(crate) other_tags: Vec<String>,
}

impl Releases {
    /// The newest whose version is lower than this one.
    pub(crate) fn before(&self, version: &Version) -> Option<&Version> {
        self.versions.iter().filter(|released| *released < version).max()
    }
}

/// What an annotated tag says.
struct Annotation {
    /// The name that it was made with.
    name: String,
    message: String,
}

impl Annotation {
    /// Whether this is how `publish` makes the tag of that name. Who signed it, years ago perhaps, is not asked.
    fn is_of_release(&self, tag: &str) -> bool {
        self.name == tag && self.says_that_it_was_checked()
    }

    fn says_that_it_was_checked(&self) -> bool {
        self.message.lines().any(|line| line == CHECKED)
    }
}

/// What `origin` has.
struct Remote {
    branch: Option<String>,
    tag: Option<String>,
}
