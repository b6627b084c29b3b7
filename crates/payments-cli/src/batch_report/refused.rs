use payments_model::Amount;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Tally;

/// The rejected whose HTTP status speaks of the caller and not of the payment: 401, 403 and 429. A person may let them be
/// sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused([Tally; STATUSES.len()]);

const STATUSES: [u16; 3] = [401, 403, 429];

impl Refused {
    /// Counts a rejected row, if it is one of these and their sum fits.
    pub(crate) fn add(&mut self, status: Option<u16>, amount: Amount) {
        let Some(place) = STATUSES.iter().position(|it| Some(*it) == status) else { return };
        let tally = &mut self.0[place];
        *tally = tally.checked_with(amount).unwrap_or(*tally);
    }

    fn each(&self) -> impl Iterator<Item = (u16, Tally)> {
        STATUSES.into_iter().zip(self.0).filter(|(_, tally)| tally.count > 0)
    }

    /// Which they are and what to do, for people; nothing if there are none.
    pub(crate) fn lines(&self) -> Vec<String> {
        let statuses: Vec<_> = self.each().map(|(status, _)| status.to_string()).collect();
        if statuses.is_empty() {
            return Vec::new();
        }
        let mut lines =
            vec!["of the rejected, refused for another reason than the payment itself:".to_owned()];
        lines.extend(self.each().map(|(status, tally)| {
            let rows = if tally.count == 1 { "1 row".to_owned() } else { format!("{} rows", tally.count) };
            format!("  HTTP {status}: {rows}, {}", tally.sum())
        }));
        let statuses = statuses.join(",");
        lines.push(format!(
            "mend the cause, then `payments journal retry --status {statuses}` lets the same command send them again"
        ));
        lines
    }
}

/// By status, those that occur.
impl Serialize for Refused {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (status, tally) in self.each() {
            object.serialize_entry(&status, &tally)?;
        }
        object.end()
    }
}
