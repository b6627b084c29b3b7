//! CHANGELOG.md, in the format of Keep a Changelog: a heading `## [version] - date` for each release, and above them
//! `## [Unreleased]`.

use anyhow::{Context as _, ensure};
use semver::Version;

pub(crate) const FILE: &str = "CHANGELOG.md";

const UNRELEASED: &str = "## [Unreleased]";

/// The changelog in which what was unreleased is `version` of `date`.
pub(crate) fn roll(text: &str, version: &Version, date: &str) -> anyhow::Result<String> {
    ensure!(notes(text, version).is_none(), "{FILE} has a section for {version} already");
    let headings = text.lines().filter(|line| *line == UNRELEASED).count();
    ensure!(headings == 1, "{FILE} has {headings} lines `{UNRELEASED}`, and one is expected");
    let unreleased = section(text, UNRELEASED).with_context(|| format!("{FILE} has no `{UNRELEASED}`"))?;
    ensure!(
        says_something(unreleased),
        "{FILE}: nothing stands under `{UNRELEASED}`, so nobody would know what {version} changes"
    );
    for word in ["TBD", "TODO"] {
        ensure!(
            !unreleased.contains(word),
            "{FILE}: `{word}` stands under `{UNRELEASED}`: say what changes before it is released"
        );
    }
    Ok(text.replace(&format!("{UNRELEASED}\n"), &format!("{UNRELEASED}\n\n## [{version}] - {date}\n")))
}

/// What the changelog says of a version, without its heading; `None` if it has no section of its own.
pub(crate) fn notes<'a>(text: &'a str, version: &Version) -> Option<&'a str> {
    section(text, &format!("## [{version}]"))
}

/// Whether anything is written under `Unreleased`.
pub(crate) fn has_unreleased(text: &str) -> bool {
    section(text, UNRELEASED).is_some_and(says_something)
}

/// Whether there is more than headings such as `### Added` and, after the last section, the addresses of links.
fn says_something(section: &str) -> bool {
    let is_address = |line: &str| line.starts_with('[') && line.contains("]: ");
    section.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#') && !is_address(line))
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

    fn rolled(text: &str) -> Result<String, String> {
        roll(text, &Version::new(0, 2, 0), "2026-02-28").map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_unreleased_gets_a_version_and_a_date() {
        assert_eq!(
            rolled(TEXT).unwrap(),
            "# Changelog\n\nWords.\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-28\n\n### Added\n\n- A thing.\n\n\
             ## [0.1.0] - 2026-01-31\n\n- The first.\n"
        );
    }

    #[test]
    fn the_notes_of_a_version_end_where_the_next_begin() {
        assert_eq!(notes(TEXT, &Version::new(0, 1, 0)), Some("- The first."));
        assert_eq!(notes(TEXT, &Version::new(0, 1, 1)), None);
        let rolled = rolled(TEXT).unwrap();
        assert_eq!(notes(&rolled, &Version::new(0, 2, 0)), Some("### Added\n\n- A thing."));
        assert!(has_unreleased(TEXT));
        assert!(!has_unreleased(&rolled));
        assert_eq!(notes("## [0.1.0-rc.1]\n", &Version::new(0, 1, 0)), None);
    }

    #[test]
    fn a_release_about_which_nothing_is_said_is_refused() {
        let empty = TEXT.replace("- A thing.\n", "");
        assert!(rolled(&empty).unwrap_err().contains("nothing stands under"), "{empty}");
        assert!(rolled(&TEXT.replace("A thing.", "TBD")).unwrap_err().contains("`TBD` stands under"));
        let links = "## [Unreleased]\n\n[Unreleased]: https://example.com/compare/v0.1.0...HEAD\n";
        assert!(rolled(links).unwrap_err().contains("nothing stands under"));
        let twice = rolled(&format!("{TEXT}\n## [Unreleased]\n\n- More.\n")).unwrap_err();
        assert!(twice.contains("has 2 lines"), "{twice}");
        assert!(rolled("# Changelog\n").unwrap_err().contains("has 0 lines"));
        let twice = roll(TEXT, &Version::new(0, 1, 0), "2026-02-28").unwrap_err();
        assert_eq!(twice.to_string(), "CHANGELOG.md has a section for 0.1.0 already");
    }
}
