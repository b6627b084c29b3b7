//! How often the journal is made durable for each charge, counted in its write-ahead log.

use std::path::Path;
use std::{fs, iter};

use anyhow::{Context as _, ensure};
use payments_journal::SqliteStore;

use super::Rig;
use crate::report::{Goal, Report};

/// So few that the log is not begun anew meanwhile.
const CHARGES: u32 = 50;

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let server = rig.sandbox()?;
    let folder = rig.folder()?;
    let file = Rig::billing_file(folder.path(), CHARGES)?;
    // Whoever closes a database as the last removes its log.
    let kept_open = SqliteStore::open(folder.path().join("journal.db"))?;
    let log = folder.path().join("journal.db-wal");
    let before = Log::read(&log)?;
    rig.batch(&server, folder.path(), &file, 1)?;
    let after = Log::read(&log)?;
    drop(kept_open);
    // Whoever opens the journal begins its log anew, if nobody else is at work.
    let earlier = if before.salt == after.salt { before.commits } else { 0 };
    let commits = f64::from(after.commits - earlier) / f64::from(CHARGES);
    ensure!(commits >= 1.0, "the log was begun anew meanwhile, so its commits cannot be counted");
    let note = format!("{CHARGES} charges, one at a time");
    report.figure("durable commits of the journal for each charge", commits, "", Goal::AtMost(2.0), &note);
    Ok(())
}

/// What the log holds since it was last begun.
#[derive(Debug, PartialEq, Eq)]
struct Log {
    salt: [u8; 8],
    commits: u32,
}

impl Log {
    /// As <https://www.sqlite.org/fileformat2.html#the_write_ahead_log> says: a frame that says how large the database is
    /// ends a commit.
    fn read(path: &Path) -> anyhow::Result<Self> {
        Self::of(&fs::read(path)?).context("the journal's log is not one of SQLite")
    }

    fn of(log: &[u8]) -> Option<Self> {
        if log.is_empty() {
            return Some(Self { salt: [0; 8], commits: 0 });
        }
        let page = usize::try_from(u32::from_be_bytes(log.get(8..12)?.try_into().ok()?)).ok()?;
        let salt: [u8; 8] = log.get(16..24)?.try_into().ok()?;
        let mut rest = log.get(32..)?;
        let frames = iter::from_fn(|| {
            let frame = rest.get(..24)?;
            rest = rest.get(24 + page..)?;
            (frame[8..16] == salt).then_some(frame)
        });
        let commits = frames.filter(|frame| frame[4..8] != [0; 4]).count();
        Some(Self { salt, commits: u32::try_from(commits).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: u32, salt: u8) -> Vec<u8> {
        let head = [[0, 0, 0, 1], size.to_be_bytes(), [salt; 4], [salt; 4], [0; 4], [0; 4]];
        [head.concat(), vec![9; 512]].concat()
    }

    #[test]
    fn the_last_frame_of_each_commit_counts_and_old_frames_do_not() {
        let mut header = vec![0; 32];
        header[8..12].copy_from_slice(&512_u32.to_be_bytes());
        header[16..24].copy_from_slice(&[7; 8]);
        let log = [header, frame(0, 7), frame(2, 7), frame(3, 7), frame(4, 6)].concat();
        assert_eq!(Log::of(&log), Some(Log { salt: [7; 8], commits: 2 }));
        assert_eq!(Log::of(&[1; 31]), None);
    }
}
