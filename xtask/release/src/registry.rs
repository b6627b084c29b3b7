//! The registry: what its index has of a crate, asked anew each time.

use std::time::{Duration, SystemTime};
use std::{fmt, io};

use anyhow::{Context as _, bail, ensure};
use semver::Version;
use tame_index::index::{IndexLocation, IndexUrl, SparseIndex};
use tame_index::{IndexKrate, KrateName, PathBuf};
use ureq::tls::{RootCerts, TlsConfig};

use crate::checksum::Checksum;
use crate::patience::retry_after;
use crate::workspace::Workspace;

/// One registry with a sparse index.
pub(crate) struct Registry {
    /// Its name in cargo's configuration; `None` is crates.io.
    pub(crate) name: Option<String>,
    index: SparseIndex,
    agent: ureq::Agent,
}

/// What cargo calls crates.io.
const CRATES_IO: &str = "crates-io";

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("name", &self.name)
            .field("url", &self.index.url())
            .finish_non_exhaustive()
    }
}

/// One version as the index lists it. A yanked one is listed too: its number is taken for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) version: String,
    pub(crate) checksum: Checksum,
    pub(crate) yanked: bool,
}

/// The index could not be read now, and may be later.
#[derive(Debug)]
pub(crate) struct Busy {
    words: String,
    /// How long it asked to wait.
    pub(crate) asked: Option<Duration>,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for Busy {}

impl Registry {
    /// The registry as cargo's configuration names it, or crates.io.
    pub(crate) fn open(workspace: &Workspace, name: Option<&str>) -> anyhow::Result<Self> {
        let root = PathBuf::from_path_buf(workspace.root.clone()).ok().context("a root that is not UTF-8")?;
        // Cargo has a name for it as well, and no configuration says where it is.
        let name = name.filter(|name| *name != CRATES_IO);
        let url = match name {
            // A source that replaces it is where its crates are read from, and nothing is published there.
            None => IndexUrl::CratesIoSparse,
            Some(name) => IndexUrl::for_registry_name(Some(root), None, name)
                .context("cargo's configuration does not say where the registry's index is")?,
        };
        let index = SparseIndex::new(IndexLocation::new(url))
            .context("the registry's index is not a sparse one, and no other can be asked here")?;
        let agent = ureq::Agent::config_builder()
            // As cargo does: the way to the registry may lead through a company's own authority.
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .timeout_global(Some(Duration::from_secs(30)))
            .http_status_as_error(false)
            .user_agent(concat!("payments-release/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self { name: name.map(str::to_owned), index, agent: agent.into() })
    }

    /// Where the index is.
    pub(crate) fn location(&self) -> &str {
        self.index.url()
    }

    /// What cargo has to be told to speak to this one. Told nothing, it would take what `registry.default` names.
    pub(crate) fn cargo_arguments(&self) -> [&str; 2] {
        ["--registry", self.name.as_deref().unwrap_or(CRATES_IO)]
    }

    /// Every version of a crate; none if there is no such crate. The error is [`Busy`] if it may pass.
    pub(crate) fn versions(&self, name: &str) -> anyhow::Result<Vec<Published>> {
        let url = self.index.crate_url(KrateName::crates_io(name)?);
        // What a cache in between remembers may be older than what was just published.
        let request = self.agent.get(&url).header("Cache-Control", "no-cache");
        let busy = |words: String, asked| Busy { words: format!("{words}: {url}"), asked };
        let mut answer = match request.call() {
            Ok(answer) => answer,
            // A server that cannot be trusted now cannot be trusted later.
            Err(error) if is_distrust(&error) => bail!("the index cannot be trusted ({error}): {url}"),
            Err(error) => return Err(busy(format!("the index does not answer ({error})"), None).into()),
        };
        let status = answer.status().as_u16();
        if status == 429 || status >= 500 {
            let asked = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
            let asked = asked.and_then(|value| retry_after(value, SystemTime::now()));
            return Err(busy(format!("the index answered {status}"), asked).into());
        }
        // A crate that is not there, in each of the three ways that the protocol has for it.
        if matches!(status, 404 | 410 | 451) {
            return Ok(Vec::new());
        }
        ensure!(status == 200, "the registry's index answered {status}: {url}");
        let body = answer.body_mut().with_config().limit(64 << 20).read_to_vec();
        let body = body.map_err(|error| busy(format!("the index's answer was cut off ({error})"), None))?;
        let listed =
            IndexKrate::from_slice(&body).with_context(|| format!("the index cannot be read: {url}"))?;
        let versions = listed.versions.iter().map(|listed| Published {
            version: listed.version.to_string(),
            checksum: Checksum::new(*listed.checksum()),
            yanked: listed.is_yanked(),
        });
        Ok(versions.collect())
    }

    /// One version of a crate.
    pub(crate) fn find(&self, name: &str, version: &Version) -> anyhow::Result<Option<Published>> {
        Ok(self.versions(name)?.into_iter().find(|published| published.is(version)))
    }
}

/// Whether TLS failed. What goes wrong in a handshake comes as an error of the stream.
fn is_distrust(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Io(error) => error.kind() == io::ErrorKind::InvalidData,
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => true,
        _ => false,
    }
}

impl Published {
    /// Whether it takes this version's place: a registry does not tell 1.0.0+a from 1.0.0+b.
    pub(crate) fn is(&self, version: &Version) -> bool {
        self.version.parse::<Version>().is_ok_and(|own| own.cmp_precedence(version).is_eq())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_and_what_cargo_publishes_to_are_the_same() {
        let workspace = Workspace::load().unwrap();
        for name in [None, Some("crates-io")] {
            let registry = Registry::open(&workspace, name).unwrap();
            assert_eq!(registry.location(), "https://index.crates.io/");
            assert_eq!(registry.cargo_arguments(), ["--registry", "crates-io"]);
            // And the same variable has its token.
            assert_eq!(registry.name, None);
        }
    }
}
