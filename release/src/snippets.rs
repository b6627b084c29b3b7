//! Versions of our own crates in the examples of a document: what a reader would paste must be what is released.

use semver::Version;

/// The document in which the fenced examples name `new` instead of `old`.
///
/// Two things are a version there: a dependency on one of `crates`, in whichever form it is written, and what a program
/// says of itself, `"version":"0.1.0"`. A dependency by path, as it has to be written before there is any release,
/// becomes one by version.
pub(crate) fn update(document: &str, crates: &[&str], old: &Version, new: &Version) -> String {
    let spoken = [format!("\"version\":\"{old}\""), format!("\"version\":\"{new}\"")];
    let mut inside = false;
    let lines = document.split_inclusive('\n').map(|line| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            return line.to_owned();
        }
        if !inside {
            return line.to_owned();
        }
        dependency(line, crates, new).unwrap_or_else(|| line.replace(&spoken[0], &spoken[1]))
    });
    lines.collect()
}

/// The line with the new version, if it is a dependency on one of our crates.
fn dependency(line: &str, crates: &[&str], version: &Version) -> Option<String> {
    let (name, value) = line.split_once(" = ")?;
    if !crates.contains(&name.trim()) {
        return None;
    }
    let mut item: toml_edit::Value = value.trim().parse().ok()?;
    let version = version.to_string();
    match &mut item {
        toml_edit::Value::String(_) => item = version.into(),
        toml_edit::Value::InlineTable(table) => {
            let was_path = table.remove("path").is_some();
            if table.is_empty() && was_path {
                item = version.into();
            } else {
                let mut with_version = toml_edit::InlineTable::new();
                with_version.insert("version", version.into());
                with_version.extend(
                    table
                        .iter()
                        .filter(|(key, _)| *key != "version")
                        .map(|(key, value)| (key, value.clone())),
                );
                with_version.fmt();
                item = with_version.into();
            }
        }
        _ => return None,
    }
    item.decor_mut().clear();
    let end = &line[line.trim_end().len()..];
    Some(format!("{name} = {item}{end}"))
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
    fn what_a_program_says_of_itself_is_the_new_version() {
        let session = "```console\n{\"version\":\"0.1.0\",\"seed\":7}\n```\n\"version\":\"0.1.0\"\n";
        let expected = "```console\n{\"version\":\"0.2.0\",\"seed\":7}\n```\n\"version\":\"0.1.0\"\n";
        assert_eq!(updated(session), expected);
    }
}
