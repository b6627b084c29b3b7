//! Refuses a path that is written like the address of a database.
//!
//! As a file, `host=db password=secret dbname=pay` would be another journal in each working directory, and every row would be
//! charged once in each. No error repeats such a text, because it may hold a password.

use std::path::Path;

use crate::StoreError;

pub(super) fn check(path: &Path) -> Result<(), StoreError> {
    match why_not_a_path(path) {
        None => Ok(()),
        Some(why) => {
            Err(StoreError::refused(format!("nothing was sent now, because the path of the journal {why}")))
        }
    }
}

pub(super) fn why_not_a_path(path: &Path) -> Option<&'static str> {
    let text = path.to_string_lossy();
    if let Some((scheme, _)) = text.split_once("://") {
        let is_postgres = ["postgres", "postgresql"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
        return Some(if is_postgres { POSTGRES } else { ADDRESS });
    }
    let text = text.trim().trim_start_matches(['"', '\'']);
    let is_plain_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    // An address without its scheme, such as `//user:password@host/database`, begins with two.
    if is_plain_path && !text.starts_with("//") {
        return None;
    }
    let text = text.trim_start_matches('/');
    let first = text.split(['/', '\\']).next().unwrap_or_default();
    // A directory may be called `postgres`.
    let has_scheme = after_scheme(first).is_some_and(|rest| !rest.is_empty() || first == text);
    let has_password = text.split_once('@').is_some_and(|(before, _)| before.contains(':'));
    let has_port = first
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    if has_scheme || has_password || has_port { Some(ADDRESS) } else { first.contains('=').then_some(LIST) }
}

/// What follows the name of a kind of database, as in `postgres:pay`, `PostgreSQL+psycopg:pay` or `pg`. A word such as `file` may
/// be the name of one, unless a colon follows.
fn after_scheme(text: &str) -> Option<&str> {
    let end = text.find([':', '+', '@', ' ', '\t', '\n']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let is_one_of = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    let is_postgres = is_one_of(&["postgres", "postgresql", "postgre", "pgsql", "psql", "pg"]);
    (is_postgres || (rest.starts_with([':', '+']) && is_one_of(OTHERS))).then_some(rest)
}

const OTHERS: &[&str] = &[
    "cockroach",
    "cockroachdb",
    "file",
    "http",
    "https",
    "jdbc",
    "libsql",
    "mariadb",
    "mongodb",
    "mssql",
    "mysql",
    "odbc",
    "oracle",
    "redis",
    "sqlite",
    "sqlite3",
    "sqlserver",
];

const POSTGRES: &str = "is the address of a PostgreSQL database: open it as a PostgresStore";

const ADDRESS: &str = "is neither a path nor an address that starts with postgres://: write \
     postgres://USER@HOST/DATABASE for PostgreSQL, or the path of a file and nothing else; a file of exactly this name is \
     ./NAME";

const LIST: &str = "is neither a path nor an address that starts with postgres://, because it has a = like a list of \
     settings: write postgres://USER@HOST/DATABASE for PostgreSQL; a file of exactly this name is ./NAME";

#[cfg(test)]
mod tests {
    use super::*;

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
            "\"postgres://db/pay\"",
            " postgres:pay",
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
            "//ada:hunter2@db/pay",
            "ada:hunter2@db/pay",
            "db.example.com:5432/pay",
            "db:5432",
            "[::1]:5432/pay",
            "sqlite:billing.db",
            "file:billing.db",
            "file:billing.db?mode=rwc",
            "mysql:pay",
            "dbname=pay",
            "dbname = pay",
            " dbname=pay",
            "host=db password=hunter2 dbname=pay",
            "host=/var/run/postgresql dbname=pay",
            "dbname='my pay' user=ada",
            "user=ada\tdbname=pay",
            "a=b.db",
            "Server=db;Database=pay",
            "'host=db dbname=pay'",
        ] {
            let why = why_not_a_path(Path::new(text)).unwrap_or_else(|| panic!("{text}"));
            assert!(!why.contains("hunter2"));
            assert_eq!(
                why.contains("has a ="),
                text.contains('=') && !text.starts_with("file:"),
                "{text}: {why}"
            );
            let error = check(Path::new(text)).unwrap_err();
            assert!(error.is_refused() && error.to_string().starts_with("nothing was sent now"), "{error}");
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
            ":memory:",
            "C:\\books\\billing.db",
            "billing 2026.db",
            "//var/lib/billing.db",
        ] {
            assert_eq!(why_not_a_path(Path::new(text)), None, "{text}");
        }
    }
}
