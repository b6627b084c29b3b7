//! Notices that the database file is an older copy: its witness has seen more changes than it has.
//!
//! The witness is a small file with the journal's random id and the number of its newest change. By default it is in the
//! directory of owners, which a restore of the database file alone leaves as it is. It has two slots with a checksum each, and the
//! one that is not the newest is overwritten, under a lock. It is written after each commit and before the callers of the commit
//! return, and is not synced: a witness that is behind does no harm.
//!
//! When a person accepts a loss, the journal gets another id, in the witnesses first. So the file that was put aside is not taken
//! for the journal if it is put back later, however many changes it has. The first half of the id stays: it tells another time of
//! the journal from another journal.
//!
//! The database records in `meta.is_witnessed` how many witnesses were created, and in `meta.is_lost` that entries are missing, so
//! that later changes, which are still made, cannot catch up with the witness and hide the loss. While a witness cannot be read,
//! nobody knows, and changes are not counted: once it can be read again, it has seen more if the database was an older copy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::sqlite_store::connection::{unless_locked, until};
use crate::sqlite_store::place::{self, Place};
use crate::sqlite_store::problem;
use crate::{OwnerId, StoreError};

/// The witnesses of a journal: the one in the directory of owners, and one elsewhere if the caller named it.
pub(super) struct Witnesses {
    journal: String,
    /// Each is closed if it could not be opened, with the reason.
    files: Vec<(PathBuf, Result<File, String>)>,
}

/// Why nothing may begin.
#[derive(Clone)]
pub(super) enum Alarm {
    /// A witness has seen more changes than the database has.
    Lost(String),
    /// A person has accepted a loss that only a witness or only the database knows of. No number of changes hides that.
    OfAnotherTime(String),
    /// A witness cannot be asked.
    Unwatched(String),
}

impl Alarm {
    /// The error of a change that an older copy would not know.
    pub(super) fn refusal(&self, path: &Path) -> StoreError {
        match self {
            Self::Lost(why) | Self::OfAnotherTime(why) => problem::history_lost(path, why),
            Self::Unwatched(why) => problem::unwatched(path, why),
        }
    }
}

impl Witnesses {
    pub(super) fn open(journal: String, paths: Vec<PathBuf>) -> Self {
        Self::open_with(File::options().read(true).write(true), journal, paths)
    }

    fn open_with(options: &OpenOptions, journal: String, paths: Vec<PathBuf>) -> Self {
        let open = |path: PathBuf| {
            let opened = open(&path, options);
            let opened = opened.map_err(|error| match error.kind() {
                ErrorKind::NotFound => format!("its witness {} is missing", path.display()),
                _ => format!("its witness {} cannot be opened: {error}", path.display()),
            });
            (path, opened)
        };
        Self { journal, files: paths.into_iter().map(open).collect() }
    }

    pub(super) fn len(&self) -> i64 {
        self.files.len().try_into().unwrap_or(i64::MAX)
    }

    /// Asks every witness.
    pub(super) fn ask(&self) -> Seen<'_> {
        let ask = |(path, file): &'_ (PathBuf, Result<File, String>)| {
            let shown = path.display();
            match file.as_ref().map(read) {
                Err(why) => Err(Alarm::Unwatched(why.clone())),
                Ok(Err(error)) => {
                    Err(Alarm::Unwatched(format!("its witness {shown} cannot be read: {error}")))
                }
                Ok(Ok(None)) => Err(Alarm::Unwatched(format!("its witness {shown} is damaged"))),
                Ok(Ok(Some((_, seen)))) if seen.journal == self.journal => Ok(seen.changes),
                Ok(Ok(Some((_, seen)))) if is_of_another_time(&seen.journal, &self.journal) => {
                    let why = "is of another time: only one of them knows that a person accepted a loss";
                    Err(Alarm::OfAnotherTime(format!("its witness {shown} {why}")))
                }
                Ok(Ok(Some(_))) => {
                    Err(Alarm::Unwatched(format!("its witness {shown} is that of another journal")))
                }
            }
        };
        Seen(self.files.iter().map(|each| (&*each.0, ask(each))).collect())
    }

    /// Records the newest change in every witness that can be written. Returns the first failure.
    pub(super) fn advance(&self, changes: i64) -> io::Result<()> {
        let files = self.files.iter().filter_map(|(_, file)| file.as_ref().ok());
        // All of them before the first failure counts.
        let advanced: Vec<_> = files.map(|file| self.advance_one(file, changes)).collect();
        advanced.into_iter().collect()
    }

    fn advance_one(&self, file: &File, changes: i64) -> io::Result<()> {
        lock(file)?;
        let advanced = (|| match read(file)? {
            Some((_, seen)) if seen.journal != self.journal => {
                Err(io::Error::new(ErrorKind::InvalidData, "it is that of another journal"))
            }
            Some((_, seen)) if seen.changes >= changes => Ok(()),
            Some((slot, _)) => write(file, 1 - slot, &Slot { journal: self.journal.clone(), changes }),
            None => Err(io::Error::new(ErrorKind::InvalidData, "it is damaged")),
        })();
        let unlocked = file.unlock();
        advanced.and(unlocked)
    }

    /// Creates those after the first `known`, which the journal does not remember. One that exists is left as it is: the journal
    /// may be a copy from before it was created.
    pub(super) fn create_after(&mut self, known: i64, changes: i64) -> io::Result<()> {
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let slot = Slot { journal: self.journal.clone(), changes };
        for (path, file) in self.files.iter_mut().skip(known) {
            make_durable(path, file, |file| match read(file)? {
                Some((_, seen)) if !is_of_another_time(&seen.journal, &slot.journal) => {
                    let what = format!("{} is that of another journal", path.display());
                    Err(io::Error::new(ErrorKind::AlreadyExists, what))
                }
                Some(_) => Ok(()),
                None => slot.fill(file),
            })?;
        }
        Ok(())
    }

    /// Gives the journal a new id, makes every witness one of it, and creates those that are missing. The files and their names are
    /// durable when this returns.
    pub(super) fn reset(&mut self, changes: i64) -> io::Result<()> {
        let random = OwnerId::new();
        let (kept, new) = (self.journal.get(..HALF).unwrap_or_default(), &random.as_str()[HALF..]);
        let slot = Slot { journal: format!("{kept}{new}"), changes };
        self.reopen_as(slot.journal.clone());
        self.files.iter_mut().try_for_each(|(path, file)| make_durable(path, file, |file| slot.fill(file)))
    }

    pub(super) fn journal(&self) -> &str {
        &self.journal
    }

    /// The journal has another id if a loss was accepted, maybe by another process. Then its witnesses may be other files, too.
    pub(super) fn reopen_as(&mut self, journal: String) {
        if journal != self.journal {
            let paths = self.files.drain(..).map(|(path, _)| path).collect();
            *self = Self::open(journal, paths);
        }
    }
}

/// Whether these are ids of one journal, or the same id.
fn is_of_another_time(journal: &str, other: &str) -> bool {
    journal.get(..HALF) == other.get(..HALF)
}

/// The newest change that each witness of a journal has seen, or why it cannot be asked.
pub(super) struct Seen<'a>(Vec<(&'a Path, Result<i64, Alarm>)>);

impl Seen<'_> {
    /// Why a database with this many changes may lack entries; `None` if every witness was asked and none has seen more.
    /// `is_unnamed`: the journal has a witness that was not named. `is_lost`: it remembers an earlier alarm.
    pub(super) fn alarm(&self, changes: i64, is_unnamed: bool, is_lost: bool) -> Option<Alarm> {
        let Self(witnesses) = self;
        if is_lost {
            return Some(Alarm::Lost("this was noticed earlier".to_owned()));
        }
        let alarms = witnesses.iter().filter_map(|(path, seen)| match seen {
            Ok(seen) => {
                let later = seen - changes;
                let why = || format!("its witness {} has seen {later} later changes", path.display());
                (later > 0).then(|| Alarm::Lost(why()))
            }
            Err(alarm) => Some(alarm.clone()),
        });
        let unnamed = is_unnamed.then(|| "it has a witness elsewhere, which was not named".to_owned());
        // A loss first.
        alarms.chain(unnamed.map(Alarm::Unwatched)).min_by_key(|alarm| match alarm {
            Alarm::Lost(_) => 0,
            Alarm::OfAnotherTime(_) => 1,
            Alarm::Unwatched(_) => 2,
        })
    }

    /// The newest change that any of them has seen.
    pub(super) fn newest(&self) -> i64 {
        self.0.iter().filter_map(|(_, seen)| seen.as_ref().ok().copied()).max().unwrap_or(0)
    }
}

/// What a journal remembers, as `tables::REMEMBERED` reads it: its id, the number of its changes and of its witnesses, and whether a
/// loss was noticed.
pub(super) type Remembered = (String, i64, i64, bool);

/// The error with which nothing would begin, for a program that only reads. `read` reads what is committed.
pub(super) fn check_history(
    place: &Place,
    elsewhere: Option<&Path>,
    mut read: impl FnMut() -> Result<Remembered, StoreError>,
) -> Result<(), StoreError> {
    let since = Instant::now();
    loop {
        let (journal, _, count, _) = read()?;
        // One that the journal does not know yet is created, or filled, when it is opened to write.
        let named =
            (1..).zip([Some(place.witness()).filter(|_| is_beside(place)), elsewhere.map(Path::to_owned)]);
        let asked =
            named.filter_map(|(number, path)| path.filter(|it| number <= count || !is_missing_or_empty(it)));
        let witnesses = Witnesses::open_with(File::options().read(true), journal, asked.collect());
        // Before the changes, because a journal that is open goes on meanwhile.
        let seen = witnesses.ask();
        let (_, changes, _, is_lost) = read()?;
        let is_unnamed = count > 1 + i64::from(elsewhere.is_some());
        match seen.alarm(changes, is_unnamed, is_lost) {
            Some(Alarm::Lost(_) | Alarm::OfAnotherTime(_)) if !is_lost && since.elapsed() < ACCEPTING => {
                thread::sleep(ASK_AGAIN);
            }
            alarm => return alarm.map_or(Ok(()), |alarm| Err(alarm.refusal(place.path()))),
        }
    }
}

/// Whether the journal's own witness can be asked by who only reads: not beside a copy that was put somewhere to be read, and not
/// in the folder of another user.
fn is_beside(place: &Place) -> bool {
    match fs::metadata(place.witness()) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => false,
        Err(error) if error.kind() == ErrorKind::NotFound => place.owners().exists(),
        _ => true,
    }
}

fn is_missing_or_empty(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(found) => found.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// When a person accepts a loss, the witnesses are written for this long before the journal.
const ACCEPTING: Duration = Duration::from_millis(500);
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Creates the file if it is missing, and writes it under its lock. A file that holds anything but slots is left as it is.
fn make_durable(
    path: &Path,
    file: &mut Result<File, String>,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    if file.is_err() {
        *file = Ok(create(path)?);
    }
    let Ok(file) = file else { return Ok(()) };
    lock(file)?;
    let written = check_content(file).and_then(|()| write(file)).and_then(|()| file.sync_all());
    file.unlock()?;
    written?;
    place::sync_directory_of(path)
}

/// A process that was stopped while it held the lock must not stop the others for ever.
fn lock(file: &File) -> io::Result<()> {
    let locked = until(LOCK_WAIT, || unless_locked(file.try_lock()))?;
    locked.ok_or_else(|| io::Error::new(ErrorKind::TimedOut, "another process keeps it locked"))
}

/// Writing a slot takes microseconds.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The newest change that a witness has seen.
struct Slot {
    journal: String,
    changes: i64,
}

impl Slot {
    fn text(&self) -> String {
        let text = format!("{} {:019}", self.journal, self.changes);
        format!("{text} {:016x}\n", checksum(text.as_bytes()))
    }

    /// Writes both slots.
    fn fill(&self, file: &File) -> io::Result<()> {
        (0..=1).try_for_each(|slot| write(file, slot, self))
    }

    /// `None` if it was written in part.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?;
        let (journal, changes) = text.get(..JOURNAL + 20)?.split_once(' ')?;
        let slot = Self { journal: journal.to_owned(), changes: changes.parse().ok()? };
        (slot.text() == text).then_some(slot)
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    open(path, options.read(true).write(true).create(true).truncate(false))
}

/// Only what may be a witness is opened: not a pipe, where it would wait, and not a database, which would lose this process's locks
/// when it is closed.
fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() || found.len() > 2 * LENGTH as u64 => Err(not_a_witness()),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => options.open(path),
    }
}

/// Whether it holds nothing but slots, written in part perhaps.
fn check_content(file: &File) -> io::Result<()> {
    let mut bytes = [0; 2 * LENGTH];
    read_all(file, &mut bytes)?;
    let is_of_a_slot = |byte: &u8| matches!(byte, 0 | b'0'..=b'9' | b'a'..=b'f' | b' ' | b'\n');
    let is_witness = file.metadata()?.len() <= bytes.len() as u64 && bytes.iter().all(is_of_a_slot);
    if is_witness { Ok(()) } else { Err(not_a_witness()) }
}

fn not_a_witness() -> io::Error {
    let what = "the file exists and is no witness; it was left unchanged: name a file that does not exist";
    io::Error::new(ErrorKind::AlreadyExists, what)
}

/// The newest whole slot, and which one it is.
fn read(file: &File) -> io::Result<Option<(u64, Slot)>> {
    let mut bytes = [0; 2 * LENGTH];
    read_all(file, &mut bytes)?;
    let slots = (0..).zip(bytes.chunks(LENGTH));
    let whole = slots.filter_map(|(number, slot)| Some((number, Slot::parse(slot)?)));
    Ok(whole.max_by_key(|(_, slot)| slot.changes))
}

/// What the file does not have stays zero.
fn read_all(mut file: &File, bytes: &mut [u8]) -> io::Result<()> {
    file.rewind()?;
    file.read(bytes).map(drop)
}

fn write(mut file: &File, slot: u64, content: &Slot) -> io::Result<()> {
    file.seek(SeekFrom::Start(slot * LENGTH as u64))?;
    file.write_all(content.text().as_bytes())
}

/// FNV-1a: against a slot that was written in part, not against a person.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The length of a journal's id.
const JOURNAL: usize = 32;

/// The part of it that stays when a person accepts a loss.
const HALF: usize = JOURNAL / 2;

/// The length of a slot: id, number and checksum in text.
const LENGTH: usize = JOURNAL + 1 + 19 + 1 + 16 + 1;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn witness_that_another_process_keeps_locked_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let open = || Witnesses::open("0123456789abcdef0123456789abcdef".to_owned(), vec![path.clone()]);
        open().create_after(0, 0).unwrap();
        let other = File::open(&path).unwrap();
        other.lock().unwrap();
        let error = open().advance(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        other.unlock().unwrap();
        open().advance(1).unwrap();
        assert_eq!(open().ask().newest(), 1);
    }

    /// Or an older copy of the database would be noticed by none of them.
    #[test]
    fn witness_that_fails_leaves_no_other_behind() {
        let folder = tempfile::tempdir().unwrap();
        let [damaged, whole] = ["damaged", "whole"].map(|name| folder.path().join(name));
        let open = |paths| Witnesses::open("0123456789abcdef0123456789abcdef".to_owned(), paths);
        open(vec![damaged.clone(), whole.clone()]).create_after(0, 0).unwrap();
        fs::write(&damaged, "").unwrap();
        let error = open(vec![damaged, whole.clone()]).advance(1).unwrap_err();
        assert_eq!(error.to_string(), "it is damaged");
        assert_eq!(open(vec![whole]).ask().newest(), 1);
    }

    /// `cargo test --release -p payments-journal --lib cost_of_a_witness -- --ignored --nocapture`
    #[test]
    #[ignore = "it measures"]
    #[allow(clippy::print_stdout, reason = "its output is the figure")]
    fn cost_of_a_witness() {
        const COMMITS: i64 = 1000;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("witness");
        let mut witnesses = Witnesses::open("0123456789abcdef0123456789abcdef".to_owned(), vec![path]);
        witnesses.create_after(0, 0).unwrap();
        // The fastest of many, because other work on the machine takes its share of some.
        let batch = |number: i64| {
            let start = Instant::now();
            for change in number * COMMITS + 1..=(number + 1) * COMMITS {
                assert!(witnesses.ask().alarm(change - 1, false, false).is_none());
                witnesses.advance(change).unwrap();
            }
            start.elapsed() / u32::try_from(COMMITS).unwrap()
        };
        let (fastest, slowest) = (0..200)
            .map(batch)
            .fold((Duration::MAX, Duration::ZERO), |seen, each| (seen.0.min(each), seen.1.max(each)));
        println!("{fastest:?} to {slowest:?} for each commit (goal: 5 µs)");
    }
}
