//! Versions of our own crates in the examples of a document: what a reader would paste must be what is released.

use semver::{Version, VersionReq};
use toml_edit::{DocumentMut, InlineTable, Item, Value};

/// The document in which the fenced examples name `new` instead of `old`.
///
/// Three things are a version there: a dependency on one of `crates`, in whichever form it is written; such a crate as cargo
/// is told of it, `cargo add name@0.1.0`; and what a program says of itself, `"version":"0.1.0"`. A dependency by path, as it
/// has to be written before there is any release, becomes one by version where all of it stands in one line.
pub(crate) fn update(document: &str, crates: &[&str], old: &Version, new: &Version) -> String {
    let mut inside = false;
    let mut is_own_table = false;
    let lines = document.split_inclusive('\n').map(|line| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            is_own_table = false;
            return line.to_owned();
        }
        if !inside {
            return line.to_owned();
        }
        is_own_table = header(line).map_or(is_own_table, |header| is_dependency(&header, crates));
        let entry = if is_own_table { version_entry(line, new) } else { dependency(line, crates, new) };
        entry.unwrap_or_else(|| spoken(&named_to_cargo(line, crates, new), old, new))
    });
    lines.collect()
}

/// The lines that name a version, in whatever form, each with its number from one.
pub(crate) fn lines_that_name<'a>(document: &'a str, version: &Version) -> Vec<(usize, &'a str)> {
    let version = version.to_string();
    let is_named = |line: &str| {
        line.match_indices(&version).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + version.len()..]);
            let goes_on =
                after.strip_prefix('.').unwrap_or(after).starts_with(|next: char| next.is_ascii_digit());
            !before.ends_with(|last: char| last.is_ascii_digit() || last == '.') && !goes_on
        })
    };
    let lines = document.lines().enumerate().filter(|(_, line)| is_named(line));
    lines.map(|(index, line)| (index + 1, line)).collect()
}

/// A value in the place of another, with the spaces and comments around it as they were.
pub(crate) fn put(place: &mut Value, value: impl Into<Value>) {
    let decor = place.decor().clone();
    *place = value.into();
    *place.decor_mut() = decor;
}

/// The names in a line such as `[dev-dependencies.payments-fake]`.
fn header(line: &str) -> Option<Vec<String>> {
    if !line.trim_start().starts_with('[') {
        return None;
    }
    let parsed: DocumentMut = line.parse().ok()?;
    let (mut table, mut names) = (parsed.as_table(), Vec::new());
    while let Some((name, item)) = table.iter().next() {
        names.push(name.to_owned());
        table = item.as_table()?;
    }
    Some(names)
}

fn is_dependency(header: &[String], crates: &[&str]) -> bool {
    matches!(header, [.., table, name] if table.ends_with("dependencies") && crates.contains(&name.as_str()))
}

/// The line with the new version, if it is the version in a table of one of our crates.
fn version_entry(line: &str, version: &Version) -> Option<String> {
    edited(line, |key, item| {
        let value = item.as_value_mut().filter(|_| key == "version")?;
        put(value, version.to_string());
        Some(())
    })
}

/// The line with the new version, if it is a dependency on one of our crates.
fn dependency(line: &str, crates: &[&str], version: &Version) -> Option<String> {
    edited(line, |key, item| {
        let renamed = item.as_table_like().and_then(|table| table.get("package")?.as_str());
        if !crates.contains(&renamed.unwrap_or(key)) {
            return None;
        }
        match item {
            Item::Value(value @ Value::String(_)) => put(value, version.to_string()),
            Item::Value(value) => {
                let by_version = by_version(value.as_inline_table()?, version)?;
                put(value, by_version);
            }
            // As in `name.version = "0.1.0"`.
            item => put(item.as_table_mut()?.get_mut("version")?.as_value_mut()?, version.to_string()),
        }
        Some(())
    })
}

/// A dependency by version that was one by version or path; `None` if it was neither.
fn by_version(table: &InlineTable, version: &Version) -> Option<Value> {
    let is_place = |key: &str| ["path", "version"].contains(&key);
    if !table.iter().any(|(key, _)| is_place(key)) {
        return None;
    }
    let version = Value::from(version.to_string());
    if table.iter().all(|(key, _)| key == "path") {
        return Some(version);
    }
    let rest = table.iter().filter(|(key, _)| !is_place(key));
    let mut with_version = InlineTable::new();
    with_version.insert("version", version);
    with_version.extend(rest.map(|(key, value)| (key, value.clone())));
    with_version.fmt();
    Some(with_version.into())
}

/// The line after a change of the one entry in it; `None` if it is none or there is nothing to be changed.
fn edited(line: &str, change: impl FnOnce(&str, &mut Item) -> Option<()>) -> Option<String> {
    let text = line.trim_end();
    let mut parsed: DocumentMut = text.parse().ok()?;
    let (key, item) = parsed.iter_mut().next()?;
    change(key.get(), item)?;
    Some(format!("{}{}", parsed.to_string().trim_end(), &line[text.len()..]))
}

/// The line in which cargo is told of the new version of our crates, as in `cargo add name@0.1.0`.
fn named_to_cargo(line: &str, crates: &[&str], version: &Version) -> String {
    const IN_A_NAME: [char; 2] = ['-', '_'];
    let mut line = line.to_owned();
    for name in crates {
        let mut parts = line.split(&format!("{name}@")).map(str::to_owned).collect::<Vec<_>>().into_iter();
        let mut changed = parts.next().unwrap_or_default();
        for part in parts {
            let is_its_end =
                !changed.ends_with(|last: char| last.is_alphanumeric() || IN_A_NAME.contains(&last));
            let end = part.find(|next: char| !next.is_ascii_alphanumeric() && !"=^~.+-".contains(next));
            let wanted = part[..end.unwrap_or(part.len())].trim_end_matches('.');
            let rest = &part[wanted.len()..];
            changed += name;
            changed.push('@');
            if is_its_end && wanted.parse::<VersionReq>().is_ok() {
                let number = wanted.find(|first: char| first.is_ascii_digit()).unwrap_or_default();
                changed += &wanted[..number];
                changed += &version.to_string();
            } else {
                changed += wanted;
            }
            changed += rest;
        }
        line = changed;
    }
    line
}

/// The line in which a program says the new version of itself, as JSON with or without spaces.
fn spoken(line: &str, old: &Version, new: &Version) -> String {
    let said = |version: &Version, space: &str| format!("\"version\":{space}\"{version}\"");
    line.replace(&said(old, ""), &said(new, "")).replace(&said(old, " "), &said(new, " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(document: &str) -> String {
        update(document, &["payments-core", "payments-hyper"], &Version::new(0, 1, 0), &Version::new(0, 2, 0))
    }

    #[test]
    fn every_form_of_a_dependency_names_the_new_version() {
        let document = "payments-core = \"0.1.0\"\n```toml\n\
            payments-core = { path = \"crates/payments-core\" }\n\
            payments-core = \"0.1\"\n\
            payments-hyper = { version = \"0.1.0\", default-features = false }\n\
            payments-hyper = { path = \"x\", features = [\"http2\"] }\n\
            tokio = { version = \"0.1.0\" }\n```\n";
        let expected = "payments-core = \"0.1.0\"\n```toml\n\
            payments-core = \"0.2.0\"\n\
            payments-core = \"0.2.0\"\n\
            payments-hyper = { version = \"0.2.0\", default-features = false }\n\
            payments-hyper = { version = \"0.2.0\", features = [\"http2\"] }\n\
            tokio = { version = \"0.1.0\" }\n```\n";
        assert_eq!(updated(document), expected);
        assert_eq!(updated(expected), expected);
    }

    #[test]
    fn a_dependency_is_raised_however_it_is_written() {
        for (old, new) in [
            ("payments-core=\"0.1.0\"", "payments-core=\"0.2.0\""),
            ("payments-core = '0.1'  # ours", "payments-core = \"0.2.0\"  # ours"),
            ("  \"payments-core\" = \"0.1.0\"\r", "  \"payments-core\" = \"0.2.0\"\r"),
            ("payments-core.version = \"0.1.0\"", "payments-core.version = \"0.2.0\""),
            (
                "pay={package=\"payments-core\",version=\"0.1.0\"} # ours",
                "pay={ version = \"0.2.0\", package = \"payments-core\" } # ours",
            ),
            (
                "[dependencies.payments-core]\nversion=\"0.1.0\"",
                "[dependencies.payments-core]\nversion=\"0.2.0\"",
            ),
            (
                "[target.'cfg(unix)'.dev-dependencies.payments-core] # a\nfeatures = []\nversion = \"0.1.0\" # b",
                "[target.'cfg(unix)'.dev-dependencies.payments-core] # a\nfeatures = []\nversion = \"0.2.0\" # b",
            ),
            ("$ cargo add payments-core@0.1.0 tokio@0.1.0", "$ cargo add payments-core@0.2.0 tokio@0.1.0"),
            (
                "cargo add 'payments-core@=0.1' payments-hyper@^0.1.",
                "cargo add 'payments-core@=0.2.0' payments-hyper@^0.2.0.",
            ),
            ("{ \"version\": \"0.1.0\" }", "{ \"version\": \"0.2.0\" }"),
        ] {
            let (old, new) = (format!("```\n{old}\n```\n"), format!("```\n{new}\n```\n"));
            assert_eq!(updated(&old), new);
            assert_eq!(updated(&new), new);
        }
    }

    #[test]
    fn what_is_no_version_of_ours_stays() {
        for text in [
            "payments-core = { workspace = true }",
            "payments-core.workspace = true",
            "payments-core = { git = \"https://example.com\" }",
            "my-payments-core = \"0.1.0\"",
            "[dependencies.tokio]\nversion = \"0.1.0\"",
            "[dependencies.payments-core]\nfeatures = []\n\n[package]\nversion = \"0.1.0\"",
            "[payments-core]\nversion = \"0.1.0\"",
            "cargo add my-payments-core@0.1.0 payments-core-more@0.1.0",
            "mail payments-core@example.com, payments-core@",
            "[1, 2]\nversion = \"0.1.0\"\n] [",
        ] {
            let text = format!("```\n{text}\n```\n[dependencies.payments-core]\nversion = \"0.1.0\"\n");
            assert_eq!(updated(&text), text);
        }
    }

    #[test]
    fn lines_that_name_a_version_are_found_wherever_they_stand() {
        let text = "Since 0.1.0.\n10.1.0\n0.1.01\n0.1.0.1\n1.0.1.0\n```\n--version v0.1.0-x\n```\n";
        let found = lines_that_name(text, &Version::new(0, 1, 0));
        assert_eq!(found, [(1, "Since 0.1.0."), (7, "--version v0.1.0-x")]);
    }

    #[test]
    fn what_a_program_says_of_itself_is_the_new_version() {
        let session = "```console\n{\"version\":\"0.1.0\",\"seed\":7}\n```\n\"version\":\"0.1.0\"\n";
        let expected = "```console\n{\"version\":\"0.2.0\",\"seed\":7}\n```\n\"version\":\"0.1.0\"\n";
        assert_eq!(updated(session), expected);
    }
}
