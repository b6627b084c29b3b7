//! Reads the registry's index, again for each question.

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
    /// The name in cargo's configuration.
    pub(crate) name: String,
    /// The address of the index, with a slash at the end.
    pub(crate) index: String,
    agent: ureq::Agent,
}

/// One version in the index. A yanked version cannot be published again.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Published {
    #[serde(rename = "vers")]
    pub(crate) version: String,
    #[serde(rename = "cksum")]
    pub(crate) checksum: String,
    pub(crate) yanked: bool,
}

impl Registry {
    /// The registry with this name in cargo's configuration, or crates.io.
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
                    "cargo's configuration has no index for the registry {name}: set registries.{name}.index to an \
                     address that begins with sparse+"
                )
            })?;
            index.to_owned()
        };
        let agent = ureq::Agent::config_builder()
            // Like cargo: a company's proxy may present a certificate that only the platform trusts.
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .timeout_global(Some(Duration::from_secs(30)))
            .http_status_as_error(false)
            .build();
        Ok(Self { name: name.to_owned(), index, agent: agent.into() })
    }

    /// Every version of a crate, or none if there is no such crate. Fails if the registry cannot be reached.
    pub(crate) fn versions(&self, name: &str) -> anyhow::Result<Vec<Published>> {
        let url = format!("{}{}", self.index, path(name));
        // A cache may still have the index from before the upload.
        let response = self.agent.get(&url).header("Cache-Control", "no-cache").call();
        let mut response = response.with_context(|| {
            format!("cannot reach the registry's index: check the network and run this again: {url}")
        })?;
        let status = response.status().as_u16();
        // The protocol has three statuses for a crate that does not exist.
        if matches!(status, 404 | 410 | 451) {
            return Ok(Vec::new());
        }
        ensure!(status == 200, "the index returned the status {status}: {url}");
        let text = response.body_mut().with_config().limit(64 << 20).read_to_string()?;
        let versions = text.lines().map(|line| Ok(serde_json::from_str(line)?));
        versions.collect::<anyhow::Result<_>>().with_context(|| format!("the index cannot be read: {url}"))
    }

    pub(crate) fn find(&self, name: &str, version: &Version) -> anyhow::Result<Option<Published>> {
        Ok(self.versions(name)?.into_iter().find(|published| published.is(version)))
    }
}

impl Published {
    /// Whether the registry treats the two versions as one: 1.0.0+a and 1.0.0+b are the same to it.
    pub(crate) fn is(&self, version: &Version) -> bool {
        self.version.parse::<Version>().is_ok_and(|own| own.cmp_precedence(version).is_eq())
    }
}

/// The path of a crate's file in an index.
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
    fn each_crate_has_one_path() {
        assert_eq!(
            ["a", "ab", "Abc", "payments-core"].map(path),
            ["1/a", "2/ab", "3/a/abc", "pa/ym/payments-core"]
        );
    }
}
