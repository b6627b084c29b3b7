//! Older copies of the journal, which are put back between runs, and the person who says what was sent since then.

use std::collections::{HashMap, HashSet};

use tempfile::TempDir;

use crate::command::results;
use crate::figures::Figures;
use crate::journal;
use crate::round::Round;
use crate::support::Ended;

/// Whether older copies are put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restores {
    Never,
    /// The witness stays, and notices it.
    Noticed,
    /// The witness is put back too: the journal cannot notice it.
    Unnoticed,
}

/// How often the service had received each key.
type Received = HashMap<String, usize>;

/// A copy of the journal.
pub(crate) struct Copy {
    files: TempDir,
    /// When the copy was made, or from when it lacks entries itself.
    received: Received,
}

impl Round {
    /// Makes copies between runs and sometimes puts one of them back, and returns whether it has.
    pub(crate) fn put_back_a_copy(&mut self, figures: &mut Figures) -> bool {
        if self.restores == Restores::Never || !self.workspace.has_witness() {
            return false;
        }
        let is_put_back = !self.copies.is_empty() && self.chance.u8(..3) == 0;
        if is_put_back {
            let before = journal::export(&self.workspace);
            let copy = self.chance.choice(&self.copies).unwrap();
            self.workspace.restore(&copy.files, self.restores == Restores::Unnoticed);
            self.lacks_since = Some(copy.received.clone());
            figures.put_back += 1;
            let after = journal::export(&self.workspace);
            let is_lost = |(key, intent): &(&String, &journal::Intent)| {
                ["unknown", "rejected"].contains(&intent.state.as_str()) && before.get(*key) != Some(*intent)
            };
            self.known.lost.extend(after.iter().filter(is_lost).map(|(key, _)| key.clone()));
        }
        if self.copies.is_empty() || self.chance.bool() {
            let received = self.lacks_since.clone().unwrap_or_else(|| self.received_of_each_key());
            self.copies.push(Copy { files: self.workspace.back_up(), received });
        }
        is_put_back
    }

    /// If the run was refused because the journal lacks entries, a person names the keys that were sent after the copy was made.
    pub(crate) fn accept_history_if_refused(&mut self, ended: &Ended, figures: &mut Figures) -> bool {
        if !ended.stdout.contains("lacks its newest entries") {
            return false;
        }
        // It has begun nothing. An unknown row takes precedence over that.
        let summary = ended.json();
        let has_unknown = summary["unresolved"].as_array().is_some_and(|rows| !rows.is_empty());
        assert_eq!(ended.code, Some(if has_unknown { 5 } else { 3 }), "{ended:?}");
        let since = self.lacks_since.take().unwrap_or_else(|| panic!("no copy was put back: {ended:?}"));
        let received = self.received_of_each_key();
        let (reported, _) = results(&self.workspace.results());
        let unknown: HashSet<_> = reported
            .iter()
            .filter(|line| line["outcome"] == "unknown")
            .filter_map(|line| line["key"].as_str())
            .collect();
        let may_have_been_sent = |key: &&String| {
            received.get(*key) > since.get(*key)
                || self.known.killed.contains(*key)
                || unknown.contains(key.as_str())
        };
        let keys: Vec<_> = self.rows.iter().map(|row| &row.key).filter(may_have_been_sent).collect();
        let sent = if keys.is_empty() {
            "--nothing-was-sent".to_owned()
        } else {
            format!("--sent {}", self.workspace.orders(keys.iter().copied()).display())
        };
        let accepted =
            self.workspace.payments(format!("journal accept-history --by ada {sent}")).exits(0).json();
        figures.accepted += 1;
        figures.became_unknown += accepted["unknown"].as_u64().unwrap();
        true
    }

    fn received_of_each_key(&mut self) -> Received {
        let transmissions = self.service.transmissions().into_iter();
        transmissions.map(|(key, sent)| (key, sent.len())).collect()
    }
}
