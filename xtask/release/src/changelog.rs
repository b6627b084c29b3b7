//! CHANGELOG.md, in the format of Keep a Changelog: a heading `## [version] - date` for each release, and above them
//! `## [Unreleased]`.

use anyhow::ensure;
use semver::Version;

pub(crate) const FILE: &str = "CHANGELOG.md";

const UNRELEASED: &str = "\n## [Unreleased]\n";

/// The changelog with everything under `Unreleased` moved to a new section for `version`.
pub(crate) fn release_unreleased(text: &str, version: &Version, date: &str) -> anyhow::Result<String> {
    ensure!(notes(text, version).is_none(), "{FILE} already has a section for {version}");
    let headings = text.matches(UNRELEASED).count();
    ensure!(headings == 1, "{FILE} has {headings} lines `## [Unreleased]`, and must have exactly one");
    ensure!(
        has_unreleased(text),
        "{FILE} has no entry under `## [Unreleased]`: describe what {version} changes"
    );
    Ok(text.replace(UNRELEASED, &format!("{UNRELEASED}\n## [{version}] - {date}\n")))
}

/// The section of a version, without its heading; `None` if there is none.
pub(crate) fn notes<'a>(text: &'a str, version: &Version) -> Option<&'a str> {
    section(text, &format!("\n## [{version}]"))
}

/// Whether `Unreleased` has anything but headings such as `### Added` and, after the last section, link definitions.
pub(crate) fn has_unreleased(text: &str) -> bool {
    let is_link = |line: &str| line.starts_with('[') && line.contains("]: ");
    let is_entry = |line: &str| !line.trim().is_empty() && !line.starts_with('#') && !is_link(line);
    section(text, UNRELEASED.trim_end()).is_some_and(|section| section.lines().any(is_entry))
}

fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(heading)?;
    let after = &after[after.find('\n')?..];
    Some(after.split("\n## ").next().unwrap_or(after).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [0.1.0] - 2026-01-31\n\n- The first.\n";

    fn released(text: &str) -> Result<String, String> {
        release_unreleased(text, &Version::new(0, 2, 0), "2026-02-28").map_err(|error| error.to_string())
    }

    #[test]
    fn unreleased_entries_get_a_version_and_a_date() {
        let released = released(TEXT).unwrap();
        assert_eq!(
            released,
            "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-28\n\n### Added\n\n- A thing.\n\n\
             ## [0.1.0] - 2026-01-31\n\n- The first.\n"
        );
        assert_eq!(notes(&released, &Version::new(0, 2, 0)), Some("### Added\n\n- A thing."));
        assert_eq!(notes(&released, &Version::new(0, 1, 0)), Some("- The first."));
        assert!(has_unreleased(TEXT) && !has_unreleased(&released));
    }

    #[test]
    fn a_release_without_entries_is_refused() {
        let links =
            "\n## [Unreleased]\n\n### Added\n\n[Unreleased]: https://example.com/compare/v0.1.0...HEAD\n";
        assert!(released(links).unwrap_err().contains("has no entry under"));
        assert!(
            released(&format!("{TEXT}\n## [Unreleased]\n\n- More.\n")).unwrap_err().contains("has 2 lines")
        );
        let adjacent = "\n## [Unreleased]\n## [0.1.0] - 2026-01-31\n\n- The first.\n";
        assert!(released(adjacent).unwrap_err().contains("has no entry under"));
        assert!(released("# Changelog\n").unwrap_err().contains("has 0 lines"));
        let twice = TEXT.replace("[0.1.0]", "[0.2.0]");
        assert_eq!(released(&twice).unwrap_err(), "CHANGELOG.md already has a section for 0.2.0");
    }
}
