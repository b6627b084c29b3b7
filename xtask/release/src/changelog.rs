//! CHANGELOG.md, in the format of Keep a Changelog: a heading `## [version] - date` for each release, and above them
//! `## [Unreleased]`.

use anyhow::{Context as _, ensure};
use semver::Version;

pub(crate) const FILE: &str = "CHANGELOG.md";

const UNRELEASED: &str = "## [Unreleased]";

/// The changelog with everything under `Unreleased` moved to a new section for `version`.
pub(crate) fn release_unreleased(text: &str, version: &Version, date: &str) -> anyhow::Result<String> {
    ensure!(notes(text, version).is_none(), "{FILE} already has a section for {version}");
    let headings = text.lines().filter(|line| *line == UNRELEASED).count();
    ensure!(headings == 1, "{FILE} has {headings} lines `{UNRELEASED}`, and must have exactly one");
    let unreleased = section(text, UNRELEASED).with_context(|| format!("{FILE} has no `{UNRELEASED}`"))?;
    ensure!(
        has_entries(unreleased),
        "{FILE} has no entry under `{UNRELEASED}`: describe what {version} changes"
    );
    for word in ["TBD", "TODO"] {
        ensure!(
            !unreleased.contains(word),
            "{FILE} has `{word}` under `{UNRELEASED}`: replace it with what {version} changes"
        );
    }
    Ok(text.replace(&format!("{UNRELEASED}\n"), &format!("{UNRELEASED}\n\n## [{version}] - {date}\n")))
}

/// The section of a version, without its heading; `None` if there is none.
pub(crate) fn notes<'a>(text: &'a str, version: &Version) -> Option<&'a str> {
    section(text, &format!("## [{version}]"))
}

/// Whether `Unreleased` has any entry.
pub(crate) fn has_unreleased(text: &str) -> bool {
    section(text, UNRELEASED).is_some_and(has_entries)
}

/// Whether there is anything but headings such as `### Added` and, after the last section, link definitions.
fn has_entries(section: &str) -> bool {
    let is_link = |line: &str| line.starts_with('[') && line.contains("]: ");
    section.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#') && !is_link(line))
}

fn section<'a>(text: &'a str, heading: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("\n{heading}")).or_else(|| text.split_once(heading))?;
    let (_, after) = after.split_once('\n')?;
    Some(after.split("\n## ").next().unwrap_or(after).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changelog\n\nWords.\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n\
                        ## [0.1.0] - 2026-01-31\n\n- The first.\n";

    fn released(text: &str) -> Result<String, String> {
        release_unreleased(text, &Version::new(0, 2, 0), "2026-02-28").map_err(|error| error.to_string())
    }

    #[test]
    fn unreleased_entries_get_a_version_and_a_date() {
        assert_eq!(
            released(TEXT).unwrap(),
            "# Changelog\n\nWords.\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-28\n\n### Added\n\n- A thing.\n\n\
             ## [0.1.0] - 2026-01-31\n\n- The first.\n"
        );
    }

    #[test]
    fn notes_end_at_the_next_version() {
        assert_eq!(notes(TEXT, &Version::new(0, 1, 0)), Some("- The first."));
        assert_eq!(notes(TEXT, &Version::new(0, 1, 1)), None);
        let released = released(TEXT).unwrap();
        assert_eq!(notes(&released, &Version::new(0, 2, 0)), Some("### Added\n\n- A thing."));
        assert!(has_unreleased(TEXT));
        assert!(!has_unreleased(&released));
        assert_eq!(notes("## [0.1.0-rc.1]\n", &Version::new(0, 1, 0)), None);
    }

    #[test]
    fn a_release_without_entries_is_refused() {
        let empty = TEXT.replace("- A thing.\n", "");
        assert!(released(&empty).unwrap_err().contains("has no entry under"), "{empty}");
        assert!(released(&TEXT.replace("A thing.", "TBD")).unwrap_err().contains("has `TBD` under"));
        let links = "## [Unreleased]\n\n[Unreleased]: https://example.com/compare/v0.1.0...HEAD\n";
        assert!(released(links).unwrap_err().contains("has no entry under"));
        let twice = released(&format!("{TEXT}\n## [Unreleased]\n\n- More.\n")).unwrap_err();
        assert!(twice.contains("has 2 lines"), "{twice}");
        assert!(released("# Changelog\n").unwrap_err().contains("has 0 lines"));
        let twice = release_unreleased(TEXT, &Version::new(0, 1, 0), "2026-02-28").unwrap_err();
        assert_eq!(twice.to_string(), "CHANGELOG.md already has a section for 0.1.0");
    }
}
