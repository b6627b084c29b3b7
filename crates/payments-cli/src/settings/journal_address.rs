//! The address of a journal: the path of a file, or the URL of a server.

use std::ffi::OsString;
use std::fmt;
use std::path::{self, Path, PathBuf};

use payments_journal::SqliteStore;
use payments_model::mask;
use zeroize::Zeroizing;

use super::source::{JOURNAL, Source, password_in, seen_in_arguments};
use crate::files;

/// The address of a journal, which may or may not exist.
pub(super) enum Database {
    /// The absolute path of the file.
    File(PathBuf),
    /// The address of a server, which may hold a password.
    Server(Zeroizing<String>),
}

/// Whether it is a path. The address of a database would be shown with its password.
pub(super) fn is_witness(path: &Path) -> bool {
    SqliteStore::why_not_a_path(path).is_none()
}

impl Database {
    /// A warning to show before it is used.
    pub(super) fn warning(&self, source: Source) -> Option<String> {
        let is_seen = self.may_hold_a_password() && source == Source::Flag("--journal");
        is_seen.then(|| seen_in_arguments("--journal", JOURNAL))
    }

    /// The whole place of a journal that exists.
    pub(super) fn whole(&self) -> String {
        match self {
            // The file has this name already, so only a card number is hidden.
            Self::File(path) => mask(&path.to_string_lossy(), &[]).into_owned(),
            Self::Server(url) => without_secrets(url),
        }
    }

    /// The error is why the text names no journal.
    pub(super) fn read(text: OsString) -> Result<Self, &'static str> {
        let scheme = text.to_str().and_then(|text| Some(text.split_once("://")?.0.to_ascii_lowercase()));
        if let Some("postgres" | "postgresql") = scheme.as_deref() {
            let url = text.into_string().expect("its scheme was read from a string");
            return Ok(Self::Server(Zeroizing::new(url)));
        }
        if let Some(why) = SqliteStore::why_not_a_path(Path::new(&text)) {
            return Err(why);
        }
        // Absolute: messages show the whole path.
        path::absolute(&text).map(Self::File).map_err(|_| "is empty, or not a path")
    }

    /// How a command names it: the whole place, unless a part of it may be a secret.
    pub(super) fn in_a_command(&self) -> Option<String> {
        match self {
            Self::File(path) => files::shown_name(path),
            Self::Server(url) => {
                let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
                let is_plain = |text: &str| {
                    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%/:,[]".contains(&byte))
                };
                // What is percent-encoded in a name may be a password's.
                let is_shown = |it: &str| {
                    let (name, value) = it.split_once('=').unwrap_or((it, ""));
                    name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') && is_plain(value)
                };
                let is_whole = !self.may_hold_a_password()
                    && !parameters.contains("password")
                    && !without_secrets(url).ends_with('…')
                    && (parameters.is_empty() || parameters.split('&').all(is_shown));
                is_whole.then(|| mask(url, &[]).into_owned())
            }
        }
    }

    /// Whether there is a colon before the at sign, or a password parameter.
    fn may_hold_a_password(&self) -> bool {
        let Self::Server(url) = self else { return false };
        password_in(url).is_some() || url.contains("password=")
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => {
                f.write_str(files::shown_name(path).as_deref().unwrap_or("a path that is not shown here"))
            }
            Self::Server(url) => f.write_str(&without_secrets(url)),
        }
    }
}

/// The host and the name of the database. Nothing of a malformed address is shown, because it is unclear where its password
/// ends.
fn without_secrets(url: &str) -> String {
    let plain = |text: &str, more: &str| {
        text.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-._~%".contains(letter) || more.contains(letter))
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", ""));
    let (address, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let (user, address) = address.split_once('@').unwrap_or(("", address));
    let (hosts, path) = address.split_once('/').unwrap_or((address, ""));
    // A parameter counts before the path, and the last one of several.
    let named = parameters.rsplit('&').find_map(|it| it.strip_prefix("dbname="));
    let database = named.unwrap_or(path);
    // Text after a colon where a port is expected may be a password, if the host was forgotten.
    let has_only_ports =
        hosts.split(',').all(|host| match host.rsplit_once(']').unwrap_or(("", host)).1.split_once(':') {
            Some((_, port)) => port.bytes().all(|byte| byte.is_ascii_digit()),
            None => true,
        });
    let is_plain = plain(user, ":!$&'()*+,;=")
        && plain(hosts, ":[],")
        && plain(path, "/:[],")
        && plain(database, "/:[],");
    if parameters.contains('@') || !has_only_ports || !is_plain {
        return format!("{scheme}://…");
    }
    let slash = if database.is_empty() { "" } else { "/" };
    format!("{scheme}://{hosts}{slash}{database}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Database {
        Database::read(text.into()).expect("it names a journal")
    }

    #[test]
    fn path_is_made_absolute() {
        for name in ["journal.db", "postgres.db"] {
            let shown = read(name).to_string();
            assert!(shown.ends_with(&format!("/{name}")), "{shown}");
        }
        assert!(read("./a=b.db").to_string().ends_with("/a=b.db"));
        assert!(Database::read("".into()).is_err());
        assert!(Database::read("mysql://host/db".into()).err().unwrap().contains("postgres://"));
    }

    #[test]
    fn command_names_the_same_journal_or_none() {
        for url in [
            "postgres://ada@db.example.com/books",
            "postgresql:///books?host=/run/postgresql&port=5433",
            "postgres://db.example.com/books?sslmode=verify-full&sslrootcert=/etc/ca.pem",
        ] {
            assert_eq!(read(url).in_a_command().as_deref(), Some(url));
        }
        for url in [
            "postgres://ada:hunter2@db.example.com/books",
            "postgres://db.example.com/books?password=hunter2",
            "postgres://db.example.com/books?pass%77ord=hunter2",
            "postgres://db.example.com/books?sslpassword=hunter2",
            "postgres://ada:hunter2",
            "postgres://db.example.com/books?host=a@hunter2",
            "a 4111 1111 1111 1111.db",
        ] {
            assert_eq!(read(url).in_a_command(), None, "{url}");
        }
    }

    #[test]
    fn password_is_not_shown() {
        for (url, shown) in [
            ("postgres://ada:hunter2@db.example.com:5432/books", "postgres://db.example.com:5432/books"),
            ("postgresql://db.example.com/books?password=hunter2", "postgresql://db.example.com/books"),
            ("postgres://ada@[::1]:5432,other/books", "postgres://[::1]:5432,other/books"),
            ("postgres://db.example.com?dbname=books", "postgres://db.example.com/books"),
            ("postgres:///books?host=db.example.com", "postgres:///books"),
            ("postgres://db/books?dbname=a&password=hunter2&dbname=b", "postgres://db/b"),
            ("postgres://db/books?password=hunter2&dbname=hun ter2", "postgres://…"),
            ("postgres://ada:hunter2", "postgres://…"),
            ("postgres://ada:hun/ter2@db.example.com/books", "postgres://…"),
            ("postgres://ada:hunter2?@db.example.com/books", "postgres://…"),
            ("postgres://ada:hun@ter2@db.example.com/books", "postgres://…"),
            ("postgres://ada:hun ter2@db.example.com/books", "postgres://…"),
            ("postgres://db.example.com/books?password=hunter2@", "postgres://…"),
        ] {
            let has_password = url.contains("ter2") && url != "postgres://ada:hunter2";
            for (source, is_warned_of) in
                [(Source::Flag("--journal"), has_password), (Source::Variable(JOURNAL), false)]
            {
                assert_eq!(read(url).warning(source).is_some(), is_warned_of, "{url}");
                assert_eq!(read(url).to_string(), shown);
            }
        }
    }
}
