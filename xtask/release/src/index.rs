//! What the registry's index has of a crate, read anew each time.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use semver::Version;
use serde::Deserialize;
use serde_json::Value;
use ureq::tls::{RootCerts, TlsConfig};

use crate::workspace::Workspace;

/// A registry with a sparse index.
#[derive(Debug)]
pub(crate) struct Registry {
    /// As cargo's configuration names it.
    pub(crate) name: String,
    /// The address of the index, with a slash at the end.
    pub(crate) index: String,
    agent: ureq::Agent,
}

/// One version as the index lists it. The number of a yanked one stays taken.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Published {
    #[serde(rename = "vers")]
    pub(crate) version: String,
    #[serde(rename = "cksum")]
    pub(crate) checksum: String,
    pub(crate) yanked: bool,
}

impl Registry {
    /// The registry as cargo's configuration names it, or crates.io.
    pub(crate) fn open(workspace: &Workspace, name: Option<&str>) -> anyhow::Result<Self> {
        let name = name.unwrap_or("crates-io");
        let index = if name == "crates-io" {
            "https://index.crates.io/".to_owned()
        } else {
            let index = workspace.configured(&format!("registries.{name}.index"));
            let index =
                index.as_ref().and_then(Value::as_str).and_then(|index| index.strip_prefix("sparse+"));
            let index = index.with_context(|| {
                format!(
                    "cargo's configuration does not say where the registry's index is: registries.{name}.index, which \
                     begins with sparse+"
                )
            })?;
            index.to_owned()
        };
        let agent = ureq::Agent::config_builder()
            // As cargo does: a company's own authority may be between here and the registry.
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .timeout_global(Some(Duration::from_secs(30)))
            .http_status_as_error(false)
            .build();
        Ok(Self { name: name.to_owned(), index, agent: agent.into() })
    }

    /// Every version of a crate; none if there is no such crate. A registry that cannot be reached is an error.
    pub(crate) fn versions(&self, name: &str) -> anyhow::Result<Vec<Published>> {
        let url = format!("{}{}", self.index, path(name));
        // A cache on the way may hold what was true before the upload.
        let mut response = self.agent.get(&url).header("Cache-Control", "no-cache").call()?;
        let status = response.status().as_u16();
        // The protocol has three ways to say that there is no such crate.
        if matches!(status, 404 | 410 | 451) {
            return Ok(Vec::new());
        }
        ensure!(status == 200, "the index answered {status}: {url}");
        let text = response.body_mut().with_config().limit(64 << 20).read_to_string()?;
        let versions = text.lines().map(|line| Ok(serde_json::from_str(line)?));
        versions.collect::<anyhow::Result<_>>().with_context(|| format!("the index cannot be read: {url}"))
    }

    pub(crate) fn find(&self, name: &str, version: &Version) -> anyhow::Result<Option<Published>> {
        Ok(self.versions(name)?.into_iter().find(|published| published.is(version)))
    }
}

impl Published {
    /// Whether it takes this version's place: a registry does not tell 1.0.0+a from 1.0.0+b.
    pub(crate) fn is(&self, version: &Version) -> bool {
        self.version.parse::<Version>().is_ok_and(|own| own.cmp_precedence(version).is_eq())
    }
}

/// The file of a crate in an index.
fn path(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        1 | 2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn a_crate_has_one_place_in_every_index() {
        assert_eq!(
            ["a", "ab", "Abc", "payments-core"].map(path),
            ["1/a", "2/ab", "3/a/abc", "pa/ym/payments-core"]
        );
    }
}
