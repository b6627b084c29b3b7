//! The journal of a command: whether it must exist, how it is opened and closed, and what is said if it cannot be used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, fs, mem};

use payments_journal::{Journal, PostgresStore, SqliteOptions, SqliteStore, StateName, StoreError};
use payments_model::unversioned::is_invisible;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::api_key::KnownKeys;
use super::journal_address::{Database, is_witness};
use super::source::{JOURNAL, MUST_EXIST, Source, WITNESS, chosen, refuse_misspelled, text_variable};
use crate::args::journal::PlaceOptions;
use crate::failure::{Failure, Purpose, Situation};
use crate::files::FileIdentity;
use crate::service::Service;
use crate::stderr;
use crate::style::for_terminal;

/// The place of a journal, which may or may not exist. `Display` shows it without a password.
pub(crate) struct JournalPlace {
    database: Database,
    pub(crate) source: Source,
    /// A second witness of a journal in a file.
    witness: Option<PathBuf>,
    /// Of the command that opens it.
    purpose: Purpose,
    /// What says that the journal must exist, if anything does.
    must_exist: Option<Source>,
    opened: Mutex<Vec<Journal>>,
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
    /// The same, and a journal that is damaged for a run is damaged here. The caller reports a loss.
    DryRun,
}

/// Of 1000 intents each, chosen by this command for a single call: reading them takes less than a tenth of a second.
pub(crate) const MOST_PAGES: u32 = 10;

/// In one message, chosen by this command.
const MOST_LABELS: usize = 5;

impl JournalPlace {
    /// As the options say, else the variables; `None` if neither names a journal.
    pub(crate) fn find(options: &PlaceOptions, purpose: Purpose) -> Result<Option<Self>, Failure> {
        let nothing_done = purpose.nothing_done();
        let Some((text, source)) = chosen(options.journal.clone(), "--journal", JOURNAL) else {
            return Ok(None);
        };
        let witness = chosen(options.witness.clone(), "--witness", WITNESS);
        // It would be shown, and become the name of a file.
        let keys = KnownKeys::in_environment();
        let texts =
            [Some((Path::new(&text), source)), witness.as_ref().map(|(path, source)| (&**path, *source))];
        if let Some((_, source)) =
            texts.into_iter().flatten().find(|(text, _)| keys.is_in(&text.to_string_lossy()))
        {
            return Err(Failure::usage(format!("the place of {source} contains an API key; {nothing_done}")));
        }
        let database = Database::read(text)
            .map_err(|why| Failure::usage(format!("the journal of {source} {why}; {nothing_done}")))?;
        let place = |database, witness| {
            let (opened, created) = (Mutex::default(), OnceLock::new());
            Self { database, source, witness, purpose, must_exist: None, opened, created }
        };
        let Some((witness, of_witness)) = witness else {
            return Ok(Some(place(database, None)));
        };
        if !is_witness(&witness) {
            return Err(Failure::usage(format!(
                "{of_witness} names no file; {nothing_done}: give the path of a file"
            )));
        }
        let is_of_variable = matches!(of_witness, Source::Variable(_));
        let is_asked_for = !is_of_variable || purpose == Purpose::MoveMoney;
        if is_asked_for && matches!(database, Database::Server(_)) {
            return Err(Failure::usage(format!(
                "{of_witness} is for a journal in a file, and {source} names a database, which has no witness; \
                 {nothing_done}: leave it out"
            )));
        }
        if is_of_variable && matches!(database, Database::File(_)) && witness.is_relative() {
            return Err(Failure::usage(format!(
                "the path of {of_witness} is relative, so in another directory it is another file, and a lost journal is not \
                 noticed; {nothing_done}: write the whole path"
            )));
        }
        Ok(Some(place(database, Some(witness))))
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

    /// A warning to show before the journal is used.
    pub(crate) fn warning(&self) -> Option<String> {
        self.database.warning(self.source)
    }

    /// Whether the path, however it is spelled, is the journal or one of its files, or its witness.
    ///
    /// Such a file must not even be opened: closing it would release this process's locks on the journal.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let Database::File(journal) = &self.database else { return false };
        let with = |end: &str| {
            let mut file = journal.clone().into_os_string();
            file.push(end);
            FileIdentity::of(Path::new(&file))
        };
        let own = ["", "-wal", "-shm", "-journal", "-owners"].map(with);
        let witness = self.witness.as_deref().map(FileIdentity::of);
        let asked = FileIdentity::of(path);
        own.contains(&asked)
            || witness == Some(asked)
            || path.parent().map(FileIdentity::of) == Some(with("-owners"))
    }

    /// Refuses to create the journal if this option, or the variable, says that it must exist.
    pub(crate) fn must_exist(self, is_asked_for: bool) -> Result<Self, Failure> {
        if self.witness.is_none() {
            refuse_misspelled(WITNESS)?;
        }
        let must_exist = match text_variable(MUST_EXIST)?.as_deref() {
            _ if is_asked_for => Some(Source::Flag("--existing-journal")),
            Some("true") => Some(Source::Variable(MUST_EXIST)),
            Some("false") => None,
            None => {
                refuse_misspelled(MUST_EXIST)?;
                None
            }
            Some(_) => {
                let message =
                    format!("{MUST_EXIST} must be true or false; nothing was sent: fix it, or unset it");
                return Err(Failure::usage(message));
            }
        };
        Ok(Self { must_exist, ..self })
    }

    /// Opens the journal. Only [`OpenFor::Charging`] creates a missing one.
    pub(crate) async fn open(&self, open_for: OpenFor) -> Result<Journal, Failure> {
        self.open_if_exists(open_for).await?.ok_or_else(|| self.missing("", "check the place"))
    }

    /// The same, but `None` for a missing journal that is not created, unless it must exist.
    pub(crate) async fn open_if_exists(&self, open_for: OpenFor) -> Result<Option<Journal>, Failure> {
        let open_for = match open_for {
            OpenFor::Charging if self.must_exist.is_some() => OpenFor::Changing,
            open_for => open_for,
        };
        if self.lacks_its_folder().await {
            return Err(
                self.missing(", and its folder does not exist", "create the folder, or correct the name")
            );
        }
        if self.purpose == Purpose::MoveMoney
            && let Some(other) = self.in_another_spelling().await
        {
            let why =
                format!(", and beside it is {}, the same name in another spelling", for_terminal(&other));
            let what_to_do = "name that one, because every key is new to a new journal; for another journal, choose a name that is \
                              clearly another";
            return Err(self.missing(&why, what_to_do));
        }
        let opened = self.opened(open_for).await.map_err(|error| self.failure(&error))?;
        match &opened {
            Some(journal) if open_for == OpenFor::Reading => warn_of_a_loss(journal).await,
            None if self.must_exist.is_some() => return Err(self.missing("", "check the place")),
            _ => {}
        }
        Ok(opened)
    }

    /// `None` if it is missing and not created.
    async fn opened(&self, open_for: OpenFor) -> Result<Option<Journal>, StoreError> {
        let announce = || {
            let (whole, source) = (self.database.whole(), self.source);
            let shown = for_terminal(&whole);
            stderr::write_last(format!(
                "created the journal {shown}, which {source} names: if there was one before, stop now and find it, because a \
                 new journal charges every key again\n"
            ));
            // Only one of them can have created it.
            let _ = self.created.set(whole);
        };
        let opened = match &self.database {
            Database::File(path) => {
                let options = self.witness.iter().fold(SqliteStore::options(), SqliteOptions::witness);
                open_file(options, path.clone(), open_for, announce).await?
            }
            Database::Server(url) => connect(url, open_for, announce).await?,
        };
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).extend(opened.clone());
        Ok(opened)
    }

    /// The whole place of the journal, if this command created it.
    pub(crate) fn created(&self) -> Option<&str> {
        self.created.get().map(String::as_str)
    }

    /// Closes the journals, so that a journal in a file is left as one file. Waits at most a second for a dead database or
    /// another process that has the file open, or not at all. After that the write-ahead log stays next to the file, and nothing is
    /// lost.
    pub(crate) async fn close(&self, is_waited_for: bool) {
        let opened = mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner));
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
        let (called, mut other, mut labels) = (Service::of(service), None, BTreeSet::new());
        let mut pages = journal.pages(StateName::ALL);
        for page in 0.. {
            let Some(intents) = pages.next().await.map_err(|error| self.failure(&error))? else { break };
            let recorded = || intents.iter().filter_map(|intent| intent.service.as_deref());
            if page == most_pages || recorded().any(|recorded| recorded == service) {
                return Ok(());
            }
            let same = recorded().map(Service::of).filter(|recorded| recorded.base_url == called.base_url);
            labels.extend(same.map(|recorded| recorded.merchant.unwrap_or_default().to_owned()));
            other = other.or_else(|| recorded().next().map(str::to_owned));
        }
        match other {
            _ if !labels.is_empty() => return self.check_first_of_merchant(&labels, called),
            Some(other) => stderr::warn(&format!(
                "the journal {self} has payments of {other}, and none of {service}: if one of them is a rehearsal, or the base URL is \
                 wrong, stop and use another journal, because this one then belongs to both"
            )),
            None => {}
        }
        Ok(())
    }

    /// The same of a merchant. `labels` are those of the other payments of the base URL, of which one may be empty.
    fn check_first_of_merchant(
        &self,
        labels: &BTreeSet<String>,
        Service { base_url, merchant }: Service<'_>,
    ) -> Result<(), Failure> {
        let new = merchant.unwrap_or_default();
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

    /// Whether the folder of the file is missing, as after a mistyped name or without the disk. A journal that is created there would
    /// take every key for a new one.
    async fn lacks_its_folder(&self) -> bool {
        let Database::File(path) = &self.database else { return false };
        let Some(folder) = path.parent().map(Path::to_owned) else { return false };
        // On another thread, because a disk may not respond.
        matches!(spawn_blocking(move || fs::exists(folder)).await, Ok(Ok(false)))
    }

    /// The name of a journal beside a missing one, if it is the same name in another spelling: who copies a name out of a text copies
    /// quotation marks or an invisible sign with it.
    async fn in_another_spelling(&self) -> Option<String> {
        let Database::File(path) = &self.database else { return None };
        let path = path.clone();
        let finding = spawn_blocking(move || {
            let (folder, name) = (path.parent()?, path.file_name()?.to_string_lossy().into_owned());
            if fs::exists(&path).unwrap_or(true) {
                return None;
            }
            let mut files =
                fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let name = written(&name);
            files.find_map(|owners| {
                let journal = owners.strip_suffix("-owners").filter(|journal| written(journal) == name)?;
                fs::exists(folder.join(journal)).unwrap_or(false).then(|| journal.to_owned())
            })
        });
        finding.await.ok().flatten()
    }

    /// The failure for a command that must not create a journal. `why` may continue the sentence.
    fn missing(&self, why: &str, what_to_do: &str) -> Failure {
        let (from, nothing_done) = (self.source, self.purpose.nothing_done());
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

    fn failure(&self, error: &StoreError) -> Failure {
        let failure = Failure::of_store(error);
        match self.source {
            Source::Variable(name) => failure.hint(format!("the journal comes from {name}: {self}")),
            _ => failure,
        }
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

/// A name without what it brings along from a text: quotation marks, invisible characters, signs at its ends, and capital letters.
fn written(name: &str) -> String {
    const QUOTES: &str = "'\"`\u{ab}\u{bb}\u{2018}\u{2019}\u{201c}\u{201d}\u{201e}";

    let is_foreign = |letter: &char| QUOTES.contains(*letter) || is_invisible(*letter);
    let name: String = name.chars().filter(|letter| !is_foreign(letter)).collect();
    let is_at_an_end = |letter: char| letter.is_whitespace() || ",;:()<>".contains(letter);
    name.trim_matches(is_at_an_end).to_lowercase()
}

impl fmt::Display for JournalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.database.fmt(f)
    }
}

/// Chosen by this command. A journal that was not closed is recovered when it is next opened, and nothing is lost.
const LONGEST_CLOSING: Duration = Duration::from_secs(1);

async fn open_file(
    options: SqliteOptions,
    path: PathBuf,
    open_for: OpenFor,
    announce: impl FnOnce(),
) -> Result<Option<Journal>, StoreError> {
    let store = match open_for {
        OpenFor::Charging => Some(on_a_thread(move || options.open(path)).await?),
        OpenFor::Changing => on_a_thread(move || options.open_existing(path)).await?,
        OpenFor::Reading | OpenFor::DryRun => {
            let reader = on_a_thread(move || {
                let Some(reader) = options.open_to_read(path)? else { return Ok(None) };
                let is_dry_run = open_for == OpenFor::DryRun;
                if is_dry_run { reader.with_checked_indexes() } else { Ok(reader) }.map(Some)
            });
            return Ok(reader.await?.map(Journal::read_only));
        }
    };
    let Some(store) = store else { return Ok(None) };
    if store.was_created() {
        announce();
    }
    Journal::open(store).await.map(Some)
}

async fn connect(
    url: &str,
    open_for: OpenFor,
    announce: impl FnOnce(),
) -> Result<Option<Journal>, StoreError> {
    let store = match open_for {
        OpenFor::Charging => Some(PostgresStore::connect(url).await?),
        OpenFor::Changing => PostgresStore::options().connect_to_existing(url).await?,
        OpenFor::Reading | OpenFor::DryRun => {
            return Ok(PostgresStore::connect_to_read(url).await?.map(Journal::read_only));
        }
    };
    let Some(store) = store else { return Ok(None) };
    if store.was_created() {
        announce();
    }
    Journal::open(store).await.map(Some)
}

/// On another thread, because another process may hold the file for seconds.
async fn on_a_thread<T: Send + 'static>(
    open: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let opening = spawn_blocking(open).await;
    opening.map_err(|_| StoreError::unavailable("opening the journal failed by an internal error"))?
}
