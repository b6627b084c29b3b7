//! The place of the journal: `--journal`, else `PAYMENTS_JOURNAL`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{self, Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{env, fmt, fs, mem};

use payments_journal::{Journal, PostgresStore, SqliteOptions, SqliteStore, StateName, Store, StoreError};
use payments_model::mask;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::source::{Source, chosen, seen_in_arguments, text_variable};
use crate::args::journal_place::PlaceOptions;
use crate::failure::{Failure, Purpose, Situation};
use crate::files::{self, FileIdentity};
use crate::stderr;
use crate::style::for_terminal;

/// The place of a journal, which may or may not exist. `Display` shows it without a password.
pub(crate) struct JournalPlace {
    kind: Kind,
    source: Source,
    /// Of the command that opens it.
    purpose: Purpose,
    /// A second witness of a journal in a file.
    witness: Option<PathBuf>,
    /// What says that the journal must exist, if anything does.
    must_exist: Option<Source>,
    /// The journals that were opened, to close them at the end.
    journals: Mutex<Vec<Journal>>,
    /// The whole place, if this command created the journal.
    created: OnceLock<String>,
}

/// What a journal is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFor {
    /// It is created if it does not exist. A journal that was created is announced, whatever the output is: in the wrong folder
    /// or database, all its keys are new.
    Charging,
    /// To change what it has.
    Changing,
    /// Nothing is written, so that a full or read-only disk does not matter, nor that a database is a standby or lets this user
    /// only read.
    Reading,
    /// The same, and what is damaged for a run is damaged here. The caller reports a loss.
    DryRun,
}

enum Kind {
    /// The absolute path of the database file.
    File(PathBuf),
    /// The address of a database, which may hold a password.
    Database(Zeroizing<String>),
}

/// The place of a witness on another disk.
const WITNESS: &str = "PAYMENTS_JOURNAL_WITNESS";

/// Whether a missing journal is refused: `true` or `false`.
const MUST_EXIST: &str = "PAYMENTS_JOURNAL_MUST_EXIST";

/// The place for an address with a password, because every user of a machine can read the arguments of its processes.
pub(crate) const JOURNAL: &str = "PAYMENTS_JOURNAL";

/// The base URL of a service, without the label of a merchant.
pub(crate) fn base_url(service: &str) -> &str {
    service.split_once('#').map_or(service, |(base_url, _)| base_url)
}

/// The label of a merchant; empty if the service has none.
fn label(service: &str) -> &str {
    service.split_once('#').map_or("", |(_, label)| label)
}

/// Of 1000 intents each, chosen by this command for a single call: reading them takes less than a tenth of a second.
pub(crate) const MOST_PAGES: u32 = 10;

/// In one message, chosen by this command.
const MOST_LABELS: usize = 5;

impl JournalPlace {
    /// As the options say, else the variables; `None` if neither names a journal.
    pub(crate) fn find(options: &PlaceOptions, purpose: Purpose) -> Result<Option<Self>, Failure> {
        let place = Self::from_sources(options.journal.as_deref(), env::var_os(JOURNAL), purpose)?;
        let Some(place) = place else { return Ok(None) };
        let (witness, source) = match chosen(options.witness.clone(), "--witness", WITNESS) {
            Some((path, source)) => (Some(path), source),
            None => (None, Source::Default),
        };
        let is_asked_for = match source {
            Source::Variable(_) => purpose == Purpose::MoveMoney,
            source => source != Source::Default,
        };
        if is_asked_for && matches!(place.kind, Kind::Database(_)) {
            return Err(Failure::usage(format!(
                "{source} is for a journal in a file, and {} names a database, which has no witness; {}: leave it out",
                place.source,
                purpose.nothing_done()
            )));
        }
        let is_relative = witness.as_ref().is_some_and(|path| path.is_relative());
        if let (Source::Variable(name), Kind::File(_), true) = (source, &place.kind, is_relative) {
            return Err(Failure::usage(format!(
                "the path of {name} is relative, so in another directory it is another file, and a lost journal is not noticed; \
                 {}: write the whole path",
                purpose.nothing_done()
            )));
        }
        Ok(Some(Self { witness, ..place }))
    }

    /// Refuses to create the journal if this option, or the variable, says that it must exist.
    pub(crate) fn must_exist(self, is_asked_for: bool) -> Result<Self, Failure> {
        let must_exist = match text_variable(MUST_EXIST)?.as_deref() {
            _ if is_asked_for => Some(Source::Flag("--existing-journal")),
            Some("true") => Some(Source::Variable(MUST_EXIST)),
            None | Some("false") => None,
            Some(_) => {
                let message =
                    format!("{MUST_EXIST} must be true or false; nothing was sent: fix it, or unset it");
                return Err(Failure::usage(message));
            }
        };
        Ok(Self { must_exist, ..self })
    }

    /// The same, but one of them must name a journal.
    pub(crate) fn require(options: &PlaceOptions, purpose: Purpose) -> Result<Self, Failure> {
        Self::find(options, purpose)?.ok_or_else(|| {
            let nothing_done = purpose.nothing_done();
            Failure::usage(format!(
                "no journal is named; {nothing_done}: give --journal PLACE or set {JOURNAL}"
            ))
        })
    }

    /// Opens the journal. Only [`OpenFor::Charging`] creates a missing one.
    pub(crate) async fn open(&self, purpose: OpenFor) -> Result<Journal, Failure> {
        self.open_if_exists(purpose).await?.ok_or_else(|| self.missing("", "check the place"))
    }

    /// The same, but `None` for a missing journal that is not created, unless it must exist.
    pub(crate) async fn open_if_exists(&self, purpose: OpenFor) -> Result<Option<Journal>, Failure> {
        let purpose = match purpose {
            OpenFor::Charging if self.must_exist.is_some() => OpenFor::Changing,
            purpose => purpose,
        };
        if self.lacks_its_folder().await {
            return Err(
                self.missing(", and its folder does not exist", "create the folder, or correct the name")
            );
        }
        let opened = match &self.kind {
            Kind::File(path) => self.open_file(path.clone(), purpose).await,
            Kind::Database(url) => self.open_database(url, purpose).await,
        };
        let Some(journal) = opened.map_err(|error| self.failure(&error))? else {
            return if self.must_exist.is_some() {
                Err(self.missing("", "check the place"))
            } else {
                Ok(None)
            };
        };
        if purpose == OpenFor::Reading {
            warn_of_a_loss(&journal).await;
        }
        self.journals.lock().unwrap_or_else(PoisonError::into_inner).push(journal.clone());
        Ok(Some(journal))
    }

    /// Fails if nothing may begin, because the journal may lack its newest entries.
    pub(crate) async fn check_history(&self, journal: &Journal) -> Result<(), Failure> {
        journal.check_history().await.map_err(|error| self.failure(&error))
    }

    /// Before the first payment of a service: warns, whatever the output is, if the journal has payments, but none of this base
    /// URL, because one of both may be a rehearsal, or none of this merchant. Refuses a forgotten label and one in other letter
    /// case. No more than so many pages are read, and if there are more, nothing is said.
    pub(crate) async fn check_first_use(
        &self,
        journal: &Journal,
        service: &str,
        most_pages: u32,
    ) -> Result<(), Failure> {
        let (mut other, mut labels) = (None, BTreeSet::new());
        let mut pages = journal.pages(StateName::ALL);
        for page in 0.. {
            let Some(intents) = pages.next().await.map_err(|error| self.failure(&error))? else { break };
            let recorded = || intents.iter().filter_map(|intent| intent.service.as_deref());
            if page == most_pages || recorded().any(|recorded| recorded == service) {
                return Ok(());
            }
            let same = recorded().filter(|recorded| base_url(recorded) == base_url(service));
            labels.extend(same.map(|recorded| label(recorded).to_owned()));
            other = other.or_else(|| recorded().next().map(str::to_owned));
        }
        match other {
            _ if !labels.is_empty() => return self.check_first_of_merchant(&labels, service),
            Some(other) => stderr::warn(&format!(
                "the journal {self} has payments of {other}, and none of {service}: if one of them is a rehearsal, or the base URL is \
                 wrong, stop and use another journal, because this one then belongs to both"
            )),
            None => {}
        }
        Ok(())
    }

    /// The same of a merchant. `labels` are those of the other payments of the base URL, of which one may be empty.
    fn check_first_of_merchant(&self, labels: &BTreeSet<String>, service: &str) -> Result<(), Failure> {
        let (base_url, new) = (base_url(service), label(service));
        let known: Vec<_> = labels.iter().map(String::as_str).filter(|known| !known.is_empty()).collect();
        let shown = match known.split_at_checked(MOST_LABELS) {
            Some((first, rest)) if !rest.is_empty() => {
                format!("{} and {} more", first.join(", "), rest.len())
            }
            _ => known.join(", "),
        };
        if new.is_empty() {
            let label = if let [only] = *known { only } else { "LABEL" };
            return Err(Failure::configuration(format!(
                "no merchant is named, and every payment of {base_url} in the journal {self} has one: {shown}; nothing was sent: \
                 give --merchant {label}; if it is another merchant, give it a label of its own"
            )));
        }
        if let Some(same) = known.iter().find(|known| known.eq_ignore_ascii_case(new)) {
            return Err(Failure::configuration(format!(
                "the journal {self} has payments of the merchant {same}, and none of {new}; nothing was sent: \
                 give --merchant {same}; if it is another merchant, give it a label that is clearly another"
            )));
        }
        if !known.is_empty() {
            let merchants = if known.len() == 1 { "merchant" } else { "merchants" };
            stderr::warn(&format!(
                "the journal {self} has payments of the {merchants} {shown}, and none of {new}: if this label is mistyped, stop, \
                 because every key is then charged and kept under a wrong merchant; `payments journal rename-service` corrects those \
                 that were"
            ));
        }
        Ok(())
    }

    async fn open_file(&self, path: PathBuf, purpose: OpenFor) -> Result<Option<Journal>, StoreError> {
        let options = self.witness.iter().fold(SqliteStore::options(), SqliteOptions::witness);
        let store = match purpose {
            OpenFor::Charging => Some(on_a_thread(move || options.open(path)).await?),
            OpenFor::Changing => on_a_thread(move || options.open_existing(path)).await?,
            OpenFor::Reading | OpenFor::DryRun => {
                let reader = on_a_thread(move || {
                    let Some(reader) = options.open_to_read(path)? else { return Ok(None) };
                    let is_dry_run = purpose == OpenFor::DryRun;
                    if is_dry_run { reader.with_checked_indexes() } else { Ok(reader) }.map(Some)
                });
                return Ok(reader.await?.map(Journal::read_only));
            }
        };
        self.opened(store, SqliteStore::was_created).await
    }

    async fn open_database(&self, url: &str, purpose: OpenFor) -> Result<Option<Journal>, StoreError> {
        let store = match purpose {
            OpenFor::Charging => Some(PostgresStore::connect(url).await?),
            OpenFor::Changing => PostgresStore::options().connect_to_existing(url).await?,
            OpenFor::Reading | OpenFor::DryRun => {
                return Ok(PostgresStore::connect_to_read(url).await?.map(Journal::read_only));
            }
        };
        self.opened(store, PostgresStore::was_created).await
    }

    /// Whether the folder of the file is missing, as after a mistyped name or without the disk. A journal that is created there would
    /// take every key for a new one.
    async fn lacks_its_folder(&self) -> bool {
        let Kind::File(path) = &self.kind else { return false };
        let Some(folder) = path.parent().map(Path::to_owned) else { return false };
        // On another thread, because a disk may not respond.
        matches!(spawn_blocking(move || fs::exists(folder)).await, Ok(Ok(false)))
    }

    /// The failure for a command that must not create a journal. `why` may continue the sentence.
    fn missing(&self, why: &str, what_to_do: &str) -> Failure {
        let (from, nothing_done) = (&self.source, self.purpose.nothing_done());
        let missing = format!("there is no journal at {self}, which {from} names{why}");
        let message = match self.must_exist {
            None => format!("{missing}; {nothing_done}: {what_to_do}"),
            Some(source) => format!(
                "{missing}, and {source} requires one; nothing was sent: find it, such as on a disk that is not mounted or in \
                 another directory, because every key is new to a new journal; for the very first charge, leave out {source}"
            ),
        };
        Failure { situation: Situation::NoJournal, ..Failure::invalid("no_journal", message) }
    }

    async fn opened<S: Store>(
        &self,
        store: Option<S>,
        was_created: fn(&S) -> bool,
    ) -> Result<Option<Journal>, StoreError> {
        let Some(store) = store else { return Ok(None) };
        if was_created(&store) {
            self.announce();
        }
        Journal::open(store).await.map(Some)
    }

    /// Says that this command has created the journal.
    fn announce(&self) {
        let place = match &self.kind {
            // The file has this name already, so only a card number is hidden.
            Kind::File(path) => mask(&path.to_string_lossy(), &[]).into_owned(),
            Kind::Database(url) => without_secrets(url),
        };
        let (shown, source) = (for_terminal(&place), &self.source);
        stderr::write_last(format!(
            "created the journal {shown}, which {source} names: if there was one before, stop now and find it, because a \
             new journal charges every key again\n"
        ));
        // Only one of them can have created it.
        let _ = self.created.set(place);
    }

    /// The whole place of the journal, if this command created it.
    pub(crate) fn created(&self) -> Option<&str> {
        self.created.get().map(String::as_str)
    }

    /// Closes the journals, so that a journal in a file is left as one file. Waits at most a second for a dead database or
    /// another process that has the file open, or not at all. After that the write-ahead log stays next to the file, and nothing is
    /// lost.
    pub(crate) async fn close(&self, is_waited_for: bool) {
        let opened = mem::take(&mut *self.journals.lock().unwrap_or_else(PoisonError::into_inner));
        let runtime = Handle::current();
        // On another thread, because dropping a store may also wait for its database.
        let closing = spawn_blocking(move || {
            runtime.block_on(async move {
                for journal in opened {
                    journal.close().await;
                }
            });
        });
        if is_waited_for {
            let _ = timeout(LONGEST_CLOSING, closing).await;
        }
    }

    fn failure(&self, error: &StoreError) -> Failure {
        let failure = Failure::of_store(error);
        match &self.source {
            Source::Variable(name) => failure.hint(format!("the journal comes from {name}: {self}")),
            _ => failure,
        }
    }

    /// A warning to show before the journal is used.
    pub(crate) fn warning(&self) -> Option<String> {
        let is_seen = matches!(&self.kind, Kind::Database(url) if may_hold_a_password(url));
        (is_seen && self.source == Source::Flag("--journal")).then(|| seen_in_arguments("--journal", JOURNAL))
    }

    /// Whether the path, however it is spelled, is the journal or one of its files, or its witness.
    ///
    /// Such a file must not even be opened: closing it would release this process's locks on the journal.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let Kind::File(journal) = &self.kind else { return false };
        let asked = FileIdentity::of(path);
        let with = |end: &str| {
            let mut file = journal.clone().into_os_string();
            file.push(end);
            PathBuf::from(file)
        };
        let own =
            ["", "-wal", "-shm", "-journal", "-owners"].map(with).into_iter().chain(self.witness.clone());
        let folder = path.parent().map(FileIdentity::of);
        own.map(|file| FileIdentity::of(&file)).any(|own| own == asked)
            || folder == Some(FileIdentity::of(&with("-owners")))
    }

    pub(crate) const fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn from_sources(
        option: Option<&OsStr>,
        variable: Option<OsString>,
        purpose: Purpose,
    ) -> Result<Option<Self>, Failure> {
        let (text, source) = match (option, variable) {
            (Some(text), _) => (text.to_owned(), Source::Flag("--journal")),
            (None, Some(text)) if !text.is_empty() => (text, Source::Variable(JOURNAL)),
            (None, _) => return Ok(None),
        };
        let refused = |what: &str| {
            let nothing_done = purpose.nothing_done();
            Failure::usage(format!("the journal of {source} {what}; {nothing_done}"))
        };
        let scheme = text.to_str().and_then(|text| Some(text.split_once("://")?.0.to_ascii_lowercase()));
        let kind = if let Some("postgres" | "postgresql") = scheme.as_deref() {
            let url = text.into_string().expect("its scheme was read from a string");
            Kind::Database(Zeroizing::new(url))
        } else if let Some(why) = SqliteStore::why_not_a_path(Path::new(&text)) {
            return Err(refused(why));
        } else {
            // Absolute: messages show the whole path.
            let path = path::absolute(&text).map_err(|_| refused("is empty, or not a path"))?;
            Kind::File(path)
        };
        Ok(Some(Self {
            kind,
            source,
            purpose,
            witness: None,
            must_exist: None,
            journals: Mutex::default(),
            created: OnceLock::new(),
        }))
    }
}

/// Warns, whatever the output is, that what the journal shows may be old.
pub(crate) async fn warn_of_a_loss(journal: &Journal) {
    if let Err(error) = journal.check_history().await
        && error.is_history_lost()
    {
        stderr::warn(&format!(
            "what this shows may be old, and a key that it does not show may have been charged: {error}"
        ));
    }
}

/// Chosen by this command. A journal that was not closed is recovered when it is next opened, and nothing is lost.
const LONGEST_CLOSING: Duration = Duration::from_secs(1);

/// On another thread, because another process may hold the file for seconds.
async fn on_a_thread<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let opening = spawn_blocking(open).await;
    opening.map_err(|_| StoreError::unavailable("opening the journal failed by an internal error"))?
}

impl fmt::Display for JournalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::File(path) => {
                f.write_str(files::shown_name(path).as_deref().unwrap_or("a path that is not shown here"))
            }
            Kind::Database(url) => f.write_str(&without_secrets(url)),
        }
    }
}

/// Whether there is a colon before the at sign, or a password parameter.
fn may_hold_a_password(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let user = rest.rsplit_once('@').map_or("", |(user, _)| user);
    user.contains(':') || rest.contains("password=")
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

    fn found(option: Option<&str>, variable: Option<&str>) -> Result<Option<JournalPlace>, Failure> {
        JournalPlace::from_sources(option.map(OsStr::new), variable.map(OsString::from), Purpose::MoveMoney)
    }

    #[test]
    fn option_overrides_variable_and_empty_variable_is_none() {
        let place = found(Some("/a/journal.db"), Some("/b/journal.db")).unwrap().unwrap();
        assert_eq!(
            (place.to_string(), place.source),
            ("/a/journal.db".to_owned(), Source::Flag("--journal"))
        );
        let place = found(None, Some("/b/journal.db")).unwrap().unwrap();
        assert_eq!(
            (place.to_string(), place.source),
            ("/b/journal.db".to_owned(), Source::Variable(JOURNAL))
        );
        assert!(found(None, Some("")).unwrap().is_none());
        assert!(found(None, None).unwrap().is_none());
        assert!(found(Some(""), None).is_err());
    }

    #[test]
    fn path_is_made_absolute() {
        for name in ["journal.db", "postgres.db"] {
            let shown = found(Some(name), None).unwrap().unwrap().to_string();
            assert!(shown.ends_with(&format!("/{name}")), "{shown}");
        }
        assert!(found(Some("./a=b.db"), None).unwrap().unwrap().to_string().ends_with("/a=b.db"));
        assert!(found(Some("mysql://host/db"), None).err().unwrap().message.contains("postgres://"));
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
            let place = found(Some(url), None).unwrap().unwrap();
            assert_eq!(
                usize::from(place.warning().is_some()),
                usize::from(url.contains("ter2") && url != "postgres://ada:hunter2")
            );
            assert!(found(None, Some(url)).unwrap().unwrap().warning().is_none());
            assert_eq!(place.to_string(), shown);
        }
    }
}
