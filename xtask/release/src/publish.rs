//! `publish`: the only step that cannot be undone. It can be interrupted at any point and run again.
//!
//! The order is: gates, upload, signed tag, push. Each run asks the registry which crates have this version, and publishes
//! the others.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use xshell::cmd;

use crate::workspace::{BRANCH, Workspace, cargo};
use crate::{changelog, check};

#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Publish, sign the tag, push.
    #[arg(long)]
    execute: bool,
    /// The registry's name in cargo's configuration.
    #[arg(long, default_value = "crates-io")]
    registry: String,
    /// How many seconds to try again in total if cargo cannot publish everything at once. A first release to crates.io
    /// needs 7200: it accepts some new crates at once, and one more every ten minutes.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    patience: u64,
}

const AGAIN: &str = "Published crates stay published: fix that, then run the same command again";

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace { registry: options.registry.clone(), ..Workspace::load()? };
    check::version_commit(&workspace)?;
    let head = workspace.git("rev-parse HEAD")?;
    let tag = format!("v{}", workspace.version);
    let is_signed = is_signed(&workspace, &tag, &head)?;
    let missing = missing(&workspace)?;
    if options.execute {
        // Checked first, because the gates take long and the upload cannot be undone.
        must_be_able_to_sign(&workspace)?;
        let push = workspace.git(&format!("push --quiet --dry-run origin HEAD:refs/heads/{BRANCH}"));
        push.with_context(|| format!("origin would refuse this commit as {BRANCH}: fix that first"))?;
    }
    if !missing.is_empty() || !is_signed {
        check::all(&workspace)?;
    }
    if !options.execute {
        println!("\nNothing was changed. With --execute, this command would:");
        for name in workspace.crates.iter().map(|member| &member.name) {
            let word = if missing.contains(name) { "publish" } else { "leave, because it is there already:" };
            println!("  {word} {name} {}", workspace.version);
        }
        println!("  sign the tag {tag}, and push it with {BRANCH}, both or neither");
        return Ok(());
    }
    // The gates take minutes and run the project's own code, and cargo publishes the files that are here now.
    workspace.must_be_clean()?;
    let now = workspace.git("rev-parse HEAD")?;
    ensure!(now == head, "{now} is not the commit that was checked, {head}: run the same command again");
    upload(&workspace, Duration::from_secs(options.patience))?;
    if !is_signed {
        let message = format!("Release {}", workspace.version);
        cmd!(workspace.shell, "git tag --sign --message {message} {tag} {head}")
            .quiet()
            .run()
            .context(AGAIN)?;
    }
    let (branch, tag_ref) = (format!("{head}:refs/heads/{BRANCH}"), format!("refs/tags/{tag}"));
    let push = cmd!(workspace.shell, "git push --quiet --atomic --no-follow-tags origin {branch} {tag_ref}");
    push.quiet().run().with_context(|| {
        format!("everything is published, but origin refused {BRANCH} and {tag}. {AGAIN}")
    })?;
    let log = workspace.read(changelog::FILE)?;
    println!("\n{tag} is released.\n\n{}", changelog::notes(&log, &workspace.version).unwrap_or_default());
    Ok(())
}

/// Whether an earlier run has signed the tag of this commit. Any other tag with that name is an error.
fn is_signed(workspace: &Workspace, tag: &str, head: &str) -> anyhow::Result<bool> {
    let Some(commit) = workspace.try_git(&format!("rev-parse --verify --quiet refs/tags/{tag}^{{commit}}"))
    else {
        return Ok(false);
    };
    let is_ours = commit == head && workspace.try_git(&format!("verify-tag {tag}")).is_some();
    ensure!(
        is_ours,
        "the tag {tag} is at another commit than this one, or its signature cannot be verified. If it is a release, prepare \
         the next version; if it was never pushed, remove it (git tag --delete {tag})"
    );
    Ok(true)
}

/// Fails if git cannot sign or verify. It tries this with a commit object that no branch or tag names.
fn must_be_able_to_sign(workspace: &Workspace) -> anyhow::Result<()> {
    let signed = workspace.git("commit-tree --gpg-sign -m Test HEAD^{tree}");
    let signed =
        signed.context("git cannot sign: set user.signingkey (and gpg.format=ssh for an SSH key)")?;
    let verified = workspace.git(&format!("verify-commit {signed}"));
    verified.context("git cannot verify your signature: for an SSH key, set gpg.ssh.allowedSignersFile")?;
    Ok(())
}

/// The names of the crates whose version the registry does not list.
fn missing(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    for name in workspace.crates.iter().map(|member| &member.name) {
        let version = format!("{name}@{}", workspace.version);
        // With `--registry`, cargo does not look in the workspace.
        let info = cargo(&workspace.shell, "info --quiet --color never --registry")
            .args([&workspace.registry, &version]);
        let info = info.ignore_status().output()?;
        let printed = String::from_utf8_lossy(&info.stderr);
        if printed.contains(&format!("could not find `{version}` in registry")) {
            missing.push(name.clone());
        } else if !info.status.success() {
            bail!("cannot ask the registry {} for {version}: {}", workspace.registry, printed.trim());
        }
    }
    Ok(missing)
}

/// Publishes what the registry does not list. After a failure it asks again, because cargo may have published a part.
fn upload(workspace: &Workspace, mut patience: Duration) -> anyhow::Result<()> {
    let mut pause = Duration::from_secs(1);
    loop {
        let names = missing(workspace)?;
        if names.is_empty() {
            println!("all crates are on the registry");
            return Ok(());
        }
        println!("publishing {}", names.join(", "));
        // A gate has built the packages. Here their build scripts could read the token.
        let publish = xtask::cargo(&workspace.shell, "publish --locked --no-verify --registry");
        let selection = names.iter().flat_map(|name| ["--package", name]);
        if publish.arg(&workspace.registry).args(selection).run().is_ok() {
            return Ok(());
        }
        patience = patience.checked_sub(pause).with_context(|| {
            format!("cargo could not publish everything: see above. {AGAIN}, with --patience if the registry is busy")
        })?;
        println!("trying again in {} s", pause.as_secs());
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_mins(10));
    }
}
