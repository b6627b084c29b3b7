//! What is released must still be free: no version is ever published twice, a yanked one is taken for ever, and a crate
//! that has versions of which git knows nothing is somebody else's.

use super::{Commit, Verdict};
use crate::git::{self, CHECKED, Git};
use crate::package;

pub(super) fn check(commit: &Commit) -> anyhow::Result<Verdict> {
    let Commit { workspace, registry } = commit;
    let version = &workspace.version;
    let git = Git::new(&workspace.shell);
    let tag = git::tag_of(version);
    let is_tagged = git.is_tagged(&tag)?;
    git.must_be_pushable(&tag)?;

    let is_first = git.releases()?.versions.is_empty();
    let mut findings = Vec::new();
    let mut ours = Vec::new();
    // Packed only if a version is there to be compared with.
    let mut packages = None;
    for member in workspace.crates() {
        let name = &member.name;
        let versions = registry.versions(name)?;
        let Some(taken) = versions.iter().find(|published| published.is(version)) else {
            if is_first && !is_tagged && !versions.is_empty() {
                findings.push(format!(
                    "{name}: the registry has versions of it and git has no release. If it is ours, the tags are \
                     not here (git fetch --tags), or it was published without this command and nobody signed a tag \
                     that says `{CHECKED}`; else it is somebody else's crate, and needs another name"
                ));
            }
            continue;
        };
        if packages.is_none() {
            packages = Some(package::pack(commit)?);
        }
        let packages = packages.iter().flatten();
        let is_ours =
            packages.into_iter().any(|package| package.name == *name && package.checksum == taken.checksum);
        // Its bytes name the commit that they were packed from. The tag may have been lost since, and is signed again.
        if is_ours && !taken.yanked {
            ours.push(name.as_str());
        } else {
            let yanked = if taken.yanked { ", yanked" } else { "" };
            findings.push(format!("{name} {version} is taken{yanked}: prepare another version"));
        }
    }
    let figure = match ours.len() {
        0 => format!("{tag}, not on {}", registry.location()),
        _ => format!("begun by an earlier run: {} are ours already", ours.join(", ")),
    };
    Ok(Verdict::of(findings, figure))
}
