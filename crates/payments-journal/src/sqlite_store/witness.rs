//! Notices that the database file is an older copy: its witness has seen more changes than it has.
//!
//! The witness is a small file with the journal's random id and the number of its newest change. By default it is in the
//! directory of owners, which a restore of the database file alone leaves as it is. It has two slots with a checksum each, and the
//! one that is not the newest is overwritten, under a lock. It is written after each commit and before the callers of the commit
//! return, and is not synced: a witness that is behind does no harm.
//!
//! The database records in `meta.is_witnessed` that its witness was created, and in `meta.is_lost` that entries are missing, so that
//! later changes, which are still made, cannot catch up with the witness and hide the loss.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::sqlite_store::place;

/// The witnesses of a journal: the one in the directory of owners, and one elsewhere if the caller named it.
pub(super) struct Witnesses {
    journal: String,
    /// Each is closed if it could not be opened, with the reason.
    files: Vec<(PathBuf, Result<File, String>)>,
}

impl Witnesses {
    pub(super) fn open(journal: String, paths: Vec<PathBuf>) -> Self {
        let open = |path: PathBuf| {
            let opened = File::options().read(true).write(true).open(&path);
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

    /// Why a database with this many changes lacks entries; `None` if no witness has seen more.
    pub(super) fn loss(&self, changes: i64) -> Option<String> {
        self.files.iter().find_map(|(path, file)| {
            let shown = path.display();
            match file.as_ref().map(read) {
                Err(why) => Some(why.clone()),
                Ok(Err(error)) => Some(format!("its witness {shown} cannot be read: {error}")),
                Ok(Ok(None)) => Some(format!("its witness {shown} is damaged")),
                Ok(Ok(Some((_, seen)))) if seen.journal != self.journal => {
                    Some(format!("its witness {shown} is that of another journal"))
                }
                Ok(Ok(Some((_, seen)))) if seen.changes > changes => {
                    let count = seen.changes - changes;
                    Some(format!("its witness {shown} has seen {count} later changes"))
                }
                Ok(Ok(Some(_))) => None,
            }
        })
    }

    /// Records the newest change.
    pub(super) fn advance(&self, changes: i64) -> io::Result<()> {
        for (_, file) in &self.files {
            let Ok(file) = file else { continue };
            file.lock()?;
            let advanced = (|| match read(file)? {
                Some((_, seen)) if seen.journal != self.journal => {
                    Err(io::Error::new(ErrorKind::InvalidData, "it is that of another journal"))
                }
                Some((_, seen)) if seen.changes >= changes => Ok(()),
                newest => {
                    let slot = newest.map_or(0, |(slot, _)| 1 - slot);
                    write(file, slot, &Slot { journal: self.journal.clone(), changes })
                }
            })();
            file.unlock()?;
            advanced?;
        }
        Ok(())
    }

    /// The newest change that a witness of this journal has seen.
    pub(super) fn newest(&self) -> i64 {
        let seen = self.files.iter().filter_map(|(_, file)| read(file.as_ref().ok()?).ok().flatten());
        let own = seen.filter(|(_, seen)| seen.journal == self.journal);
        own.map(|(_, seen)| seen.changes).max().unwrap_or(0)
    }

    /// Creates those after the first `known` that the journal has never had. One that exists belongs to another journal, or a
    /// process died after it created it.
    pub(super) fn create_after(&mut self, known: i64, changes: i64) -> io::Result<()> {
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        for (path, file) in self.files.iter_mut().skip(known) {
            if let Ok(found) = file
                && read(found)?.is_some_and(|(_, seen)| seen.journal != self.journal)
            {
                let what = format!("{} is that of another journal", path.display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, what));
            }
            reset(path, file, &Slot { journal: self.journal.clone(), changes })?;
        }
        Ok(())
    }

    /// Makes every witness one of this journal, and creates those that are missing. The files and their names are durable when
    /// this returns.
    pub(super) fn reset(&mut self, changes: i64) -> io::Result<()> {
        let slot = Slot { journal: self.journal.clone(), changes };
        self.files.iter_mut().try_for_each(|(path, file)| reset(path, file, &slot))
    }
}

fn reset(path: &Path, file: &mut Result<File, String>, content: &Slot) -> io::Result<()> {
    if file.is_err() {
        *file = Ok(create(path)?);
    }
    let Ok(file) = file else { return Ok(()) };
    file.lock()?;
    let written = (0..=1).try_for_each(|slot| write(file, slot, content)).and_then(|()| file.sync_all());
    file.unlock()?;
    written?;
    place::sync_directory_of(path)
}

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
    options.read(true).write(true).create(true).truncate(false).open(path)
}

/// The newest whole slot, and which one it is.
fn read(mut file: &File) -> io::Result<Option<(u64, Slot)>> {
    let mut bytes = Vec::with_capacity(2 * LENGTH);
    file.seek(SeekFrom::Start(0))?;
    file.take(2 * LENGTH as u64).read_to_end(&mut bytes)?;
    let slots = (0..).zip(bytes.chunks(LENGTH));
    let whole = slots.filter_map(|(number, slot)| Some((number, Slot::parse(slot)?)));
    Ok(whole.max_by_key(|(_, slot)| slot.changes))
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

/// The length of a slot: id, number and checksum in text.
const LENGTH: usize = JOURNAL + 1 + 19 + 1 + 16 + 1;
