//! Refuses a path that is written like the address of a database, or that a shell or a file of variables left as it was.
//!
//! As a file, `host=db password=secret dbname=pay` or `$HOME/billing.db` would be another journal in each working directory, and
//! every row would be charged once in each. No error repeats such a text, because it may hold a password.

use std::path::Path;

use crate::StoreError;

pub(super) fn check(path: &Path) -> Result<(), StoreError> {
    match why_not_a_path(path) {
        None => Ok(()),
        Some(why) => Err(StoreError::refused(format!("the path of the journal {why}"))),
    }
}

pub(super) fn why_not_a_path(path: &Path) -> Option<&'static str> {
    let text = path.to_string_lossy();
    let ends_with = |unwanted: fn(char) -> bool| text.starts_with(unwanted) || text.ends_with(unwanted);
    if text.contains(char::is_control) || ends_with(|end| end.is_whitespace() || "\"'`\u{feff}".contains(end))
    {
        return Some(VERBATIM);
    }
    // Of a folder that is not there, such as that of a disk that is not mounted, it would make a file.
    if text.ends_with('/') {
        return Some(FOLDER);
    }
    if let Some((scheme, _)) = text.split_once("://") {
        let is_postgres = ["postgres", "postgresql"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        return Some(if is_postgres { POSTGRES } else { ADDRESS });
    }
    let joined = text.to_lowercase().replace(char::is_whitespace, "");
    let has_password = ["password=", "passwd=", "pwd="].iter().any(|name| joined.contains(name));
    if has_password || text.split_once('?').is_some_and(|(_, query)| query.contains('=')) {
        return Some(SETTINGS);
    }
    let is_plain_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    // An address without its scheme, such as `//db/pay`, begins with two.
    if is_plain_path {
        return text.starts_with("//").then_some(TWO_SLASHES);
    }
    let first = text.split(['/', '\\']).next().unwrap_or_default();
    if first.starts_with(['~', '$', '%', '{', '<', '[']) {
        return Some(PLACEHOLDER);
    }
    // A directory may be called `postgres`.
    let has_scheme = after_postgres(first).is_some_and(|rest| !rest.is_empty() || first == text);
    let has_password = text.split_once('@').is_some_and(|(before, _)| before.contains(':'));
    if has_scheme || has_password || has_colon_of_an_address(first) {
        return Some(ADDRESS);
    }
    first.contains('=').then_some(LIST)
}

/// Whether there is a colon that is not part of a time, as in `10:00.db`, or of a drive, as in `C:`.
fn has_colon_of_an_address(first: &str) -> bool {
    let is_digit = |letter: char| letter.is_ascii_digit();
    first.match_indices(':').any(|(at, _)| {
        let (before, after) = (&first[..at], &first[at + 1..]);
        let rest = after.trim_start_matches(is_digit);
        let is_of_a_time = before.len() - before.trim_end_matches(is_digit).len() == 2
            && after.len() - rest.len() == 2
            && !rest.is_empty();
        let is_of_a_drive = at == 1 && before.starts_with(|letter: char| letter.is_ascii_alphabetic());
        !is_of_a_time && !is_of_a_drive
    })
}

/// What follows the name of PostgreSQL, as in `PostgreSQL+psycopg`, `postgres@db` or `pg`.
fn after_postgres(text: &str) -> Option<&str> {
    let (word, rest) = text.split_at(text.find([':', '+', '@', ' ', '\t', '\n']).unwrap_or(text.len()));
    let names = ["postgres", "postgresql", "postgre", "pgsql", "psql", "pg"];
    names.iter().any(|name| word.eq_ignore_ascii_case(name)).then_some(rest)
}

const POSTGRES: &str = "is the address of a PostgreSQL database: open it as a PostgresStore";

const ADDRESS: &str = "is neither a path nor an address that starts with postgres://: write \
     postgres://USER@HOST/DATABASE for PostgreSQL, or the path of a file and nothing else; a file of exactly this name is \
     ./NAME";

const LIST: &str = "is neither a path nor an address that starts with postgres://, because it has a = like a list of \
     settings: write postgres://USER@HOST/DATABASE for PostgreSQL; a file of exactly this name is ./NAME";

const SETTINGS: &str = "is neither a path nor an address that starts with postgres://, because it has settings or a password: \
     write postgres://USER@HOST/DATABASE for PostgreSQL, or the path of a file and nothing else";

const TWO_SLASHES: &str = "begins with two slashes, like an address without its postgres://: write \
     postgres://USER@HOST/DATABASE for PostgreSQL; a file has one slash there";

const PLACEHOLDER: &str = "begins with something that a shell or a template would have replaced, such as ~ or $HOME, or with an \
     address in brackets: write the whole path, from / on; a file of exactly this name is ./NAME";

const FOLDER: &str = "ends like a folder and has no file name: name the file in it";

const VERBATIM: &str = "has a control character, or begins or ends with white space or a quote, as a line of a file of variables \
     can: write the path alone, without quotes";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_path_of_one_file_is_refused() {
        for (what, texts) in [
            (
                "control character",
                &[
                    "billing.db\r",
                    "billing.db\n",
                    "/var/lib/billing.db\r",
                    "bil\0ling.db",
                    "user=ada\tdbname=pay",
                    " ./billing.db",
                    "./billing.db ",
                    "\u{feff}/var/lib/billing.db",
                    "\"/billing.db\"",
                    "\"./billing.db\"",
                    "'host=db dbname=pay'",
                    "\"postgres://db/pay\"",
                    "./billing.db'",
                    "`pwd`/billing.db",
                ][..],
            ),
            (
                "settings or a password",
                &[
                    "/x host=db password=hunter2 dbname=pay",
                    "./host=db PassWord = hunter2",
                    "../x pwd=hunter2",
                    "service/pay?password=hunter2",
                    "/var/lib/billing.db?mode=rwc",
                    "billing.db?mode=rwc",
                ],
            ),
            (
                "would have replaced",
                &[
                    "~/billing.db",
                    "~ada/billing.db",
                    "$HOME/billing.db",
                    "${HOME}/billing.db",
                    "%h/billing.db",
                    "%APPDATA%\\billing.db",
                    "{{ journal }}",
                    "<path>/billing.db",
                    "[::1]/pay",
                    "[::1]:5432/pay",
                ],
            ),
            ("ends like a folder", &["/var/lib/payments/", "payments/", "./", "/", "//"]),
            ("two slashes", &["//db/pay", "//ada:hunter2@db/pay", "//var/lib/billing.db"]),
        ] {
            for text in texts {
                let why = why_not_a_path(Path::new(text)).unwrap_or_else(|| panic!("{text}"));
                assert!(why.contains(what) && !why.contains("hunter2"), "{text}: {why}");
            }
        }
    }

    #[test]
    fn text_that_is_written_like_an_address_is_no_path() {
        for text in [
            "postgres://ada:hunter2@db/pay",
            "PostgreSQL://db/pay",
            "sqlite://billing.db",
            "sqlite:///var/lib/billing.db",
            "file:///var/lib/billing.db",
            "mysql://db/pay",
            "jdbc:postgresql://db/pay",
            "/var/lib/postgres://db/pay",
            "./postgres://db/pay",
            "postgres:pay",
            "postgresql:ada:hunter2@db/pay",
            "PostgreSQL:pay",
            "postgres:/ada:hunter2@db/pay",
            "postgresql+psycopg2:pay",
            "postgres",
            "POSTGRES",
            "pg",
            "pg:pay",
            "pgsql:host",
            "psql -h db pay",
            "postgres@db/pay",
            "postgres//ada:hunter2@db/pay",
            "ada:hunter2@db/pay",
            "db.example.com:5432/pay",
            "db:5432",
            "db:5432?x",
            "10.0.0.12:5432",
            "10.0.0.12:54",
            "ada:hunter2",
            "tcp:db/pay",
            "tcp(db:5432)/pay",
            ":memory:",
            "sqlite:billing.db",
            "file:billing.db",
            "mysql:pay",
            "dbname=pay",
            "host=db dbname=pay",
            "dbname='my pay' user=ada",
            "dbname = pay",
            "host=/var/run/postgresql dbname=pay",
            "a=b.db",
            "Server=db;Database=pay",
        ] {
            let why = why_not_a_path(Path::new(text)).unwrap_or_else(|| panic!("{text}"));
            assert!(!why.contains("hunter2"));
            assert_eq!(why.contains("has a ="), text.contains('='), "{text}: {why}");
            let error = check(Path::new(text)).unwrap_err();
            assert!(
                error.is_refused() && error.to_string().starts_with("the path of the journal "),
                "{error}"
            );
        }
    }

    #[test]
    fn path_of_a_file_is_accepted() {
        for text in [
            "billing.db",
            "books/billing.db",
            "/var/lib/billing.db",
            "./billing.db",
            "../billing.db",
            "./a=b.db",
            "../host=db dbname=pay",
            "/srv/a=b.db",
            "./postgres:pay",
            "./postgres",
            "books/year=2026/billing.db",
            "postgres.db",
            "postgres/billing.db",
            "postgres-billing.db",
            "sqlite",
            "file",
            "ada@example.com/billing.db",
            "2026-11-21T10:00.db",
            "2026-11-21T10:00:30.db",
            "C:\\books\\billing.db",
            "billing 2026.db",
        ] {
            assert_eq!(why_not_a_path(Path::new(text)), None, "{text}");
        }
    }
}
