//! The gates of a release: each is one question about this commit, in a file of its own.
//!
//! A gate changes nothing, and needs none of the others to have passed.

mod alone;
mod consumer;
mod contents;
mod foreign_types;
mod licences;
mod metadata;
mod public_api;
mod registry;
mod rust_version;
mod semver;
mod tests;
mod version_commit;
mod versions;

use crate::registry::Registry;
use crate::workspace::Workspace;

/// What a gate may look at.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) workspace: Workspace,
    pub(crate) registry: Registry,
}

type Check = dyn Fn(&Commit) -> anyhow::Result<Verdict>;

/// One line of the table.
pub(crate) struct Gate {
    /// What must be true.
    pub(crate) title: String,
    check: Box<Check>,
}

impl Gate {
    fn new(title: impl Into<String>, check: impl Fn(&Commit) -> anyhow::Result<Verdict> + 'static) -> Self {
        Self { title: title.into(), check: Box::new(check) }
    }

    /// A gate that cannot be asked has not been passed.
    pub(crate) fn ask(&self, commit: &Commit) -> Verdict {
        (self.check)(commit).unwrap_or_else(|error| Verdict::Failed(vec![format!("{error:#}")]))
    }
}

/// What a gate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// With a figure that is worth seeing, or nothing.
    Passed(String),
    /// Each thing that is wrong, and what to do about it.
    Failed(Vec<String>),
    /// This machine cannot tell, and why that is no reason to stop.
    NotChecked(String),
}

impl Verdict {
    /// Passed if nothing was found.
    fn of(findings: Vec<String>, figure: impl Into<String>) -> Self {
        if findings.is_empty() { Self::Passed(figure.into()) } else { Self::Failed(findings) }
    }
}

/// The one gate that `publish` asks at every start, after an earlier run too.
pub(crate) fn must_be_version_commit(commit: &Commit) -> anyhow::Result<()> {
    version_commit::check(commit).map(|_| ())
}

/// All gates, cheap ones first.
pub(crate) fn all(commit: &Commit) -> Vec<Gate> {
    let mut gates = vec![
        Gate::new("a clean tree on the commit of its version", version_commit::check),
        Gate::new("one version, and dependencies that can be published", |commit| {
            Ok(versions::check(commit))
        }),
        Gate::new("tag and versions are free", registry::check),
        Gate::new("the public API is the committed one", public_api::check),
        Gate::new("the public API shows only allowed crates", foreign_types::check),
        Gate::new("the version says what has changed since the last", semver::check),
        Gate::new("what a registry shows of each crate", metadata::check),
        Gate::new("licences, duplicates and sources of dependencies", licences::check),
        Gate::new("the declared Rust version is enough", rust_version::check),
        Gate::new("each package holds what belongs into it", contents::check),
        Gate::new("each package builds from its own files alone", alone::check),
        Gate::new("the README works with the packages alone", consumer::check),
    ];
    match tests::gates(&commit.workspace) {
        Ok(mut steps) => {
            // A step that asks one of these is not asked twice.
            steps.retain(|step| gates.iter().all(|gate| gate.title != step.title));
            gates.extend(steps);
        }
        Err(error) => {
            let finding = format!("{error:#}");
            gates.push(Gate::new("cargo xtask test", move |_| Ok(Verdict::Failed(vec![finding.clone()]))));
        }
    }
    gates
}
