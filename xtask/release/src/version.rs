//! The next version.

use anyhow::{Context as _, ensure};
use semver::Version;

/// What `prepare` was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bump {
    Major,
    Minor,
    Patch,
    To(Version),
}

impl Bump {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        Ok(match text {
            "major" => Self::Major,
            "minor" => Self::Minor,
            "patch" => Self::Patch,
            version => Self::To(Version::parse(version).with_context(|| {
                format!("{version} is neither `major`, `minor` or `patch` nor a version such as 1.4.0")
            })?),
        })
    }

    /// The version that comes after `current`, which stands in the manifests.
    ///
    /// A version that was never released may be released as it is, if it is asked for by number.
    pub(crate) fn apply(&self, current: &Version, current_is_released: bool) -> anyhow::Result<Version> {
        let Version { major, minor, patch, .. } = *current;
        // What comes after a pre-release is the version it was a pre-release of.
        let is_pre = !current.pre.is_empty();
        let next = match self {
            Self::Major if is_pre && (minor, patch) == (0, 0) => Version::new(major, 0, 0),
            Self::Major => Version::new(major + 1, 0, 0),
            Self::Minor if is_pre && patch == 0 => Version::new(major, minor, 0),
            Self::Minor => Version::new(major, minor + 1, 0),
            Self::Patch if is_pre => Version::new(major, minor, patch),
            Self::Patch => Version::new(major, minor, patch + 1),
            Self::To(version) => version.clone(),
        };
        // A registry does not tell 1.0.0+a from 1.0.0+b.
        ensure!(next.build.is_empty(), "{next}: a release has no build metadata");
        if next.cmp_precedence(current).is_eq() && !current_is_released {
            return Ok(next);
        }
        ensure!(
            next.cmp_precedence(current).is_gt(),
            "{next} is not greater than {current}, which stands in Cargo.toml"
        );
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(bump: &str, current: &str) -> String {
        let next = Bump::read(bump).and_then(|bump| bump.apply(&Version::parse(current).unwrap(), true));
        next.map_or_else(|error| error.to_string(), |version| version.to_string())
    }

    #[test]
    fn a_part_is_raised_and_those_after_it_begin_again() {
        assert_eq!(next("major", "1.2.3"), "2.0.0");
        assert_eq!(next("minor", "1.2.3"), "1.3.0");
        assert_eq!(next("patch", "1.2.3"), "1.2.4");
        assert_eq!(next("minor", "0.1.0"), "0.2.0");
        assert_eq!(next("1.10.0", "1.9.9"), "1.10.0");
        assert_eq!(next("2.0.0-rc.1", "1.9.9"), "2.0.0-rc.1");
    }

    #[test]
    fn a_pre_release_becomes_its_version() {
        assert_eq!(next("major", "2.0.0-rc.1"), "2.0.0");
        assert_eq!(next("minor", "2.0.0-rc.1"), "2.0.0");
        assert_eq!(next("patch", "2.0.1-rc.1"), "2.0.1");
        assert_eq!(next("minor", "2.0.1-rc.1"), "2.1.0");
        assert_eq!(next("2.0.0", "2.0.0-rc.1"), "2.0.0");
    }

    #[test]
    fn a_version_only_grows() {
        for version in ["1.2.3", "1.2.2", "1.2.3-rc.1", "0.9.0"] {
            assert_eq!(
                next(version, "1.2.3"),
                format!("{version} is not greater than 1.2.3, which stands in Cargo.toml")
            );
        }
        assert_eq!(next("1.2.4+nightly", "1.2.3"), "1.2.4+nightly: a release has no build metadata");
        assert_eq!(
            next("next", "1.2.3"),
            "next is neither `major`, `minor` or `patch` nor a version such as 1.4.0"
        );
    }

    #[test]
    fn the_first_version_may_be_the_one_that_stands_there() {
        let current = Version::new(0, 1, 0);
        let apply = |bump: &str| Bump::read(bump).unwrap().apply(&current, false);
        assert_eq!(apply("0.1.0").unwrap(), current);
        assert_eq!(apply("minor").unwrap(), Version::new(0, 2, 0));
        assert!(apply("0.0.9").is_err());
    }
}
