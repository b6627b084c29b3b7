use std::collections::BTreeSet;

use crate::Arrivals;

/// The id and the result of every call in a run.
pub(crate) struct CallLog(pub(crate) Vec<(String, String)>);

impl CallLog {
    /// Lists the calls that `found` names, with their connections, then the most recent others.
    pub(crate) fn about(&self, found: &str, arrivals: &Arrivals) -> String {
        let (named, others): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|(id, _)| found.contains(id.as_str()));
        let transmissions = arrivals.transmissions();
        let with_connections = |(id, summary): &(String, String)| {
            let connections: BTreeSet<_> = transmissions.get(id).into_iter().flatten().collect();
            let connections: Vec<_> = connections.into_iter().map(ToString::to_string).collect();
            match connections.as_slice() {
                [] => summary.to_owned(),
                [one] => format!("{summary} (on connection {one})"),
                many => format!("{summary} (on connections {})", many.join(", ")),
            }
        };
        let mut lines: Vec<_> = named.into_iter().map(with_connections).collect();
        let skipped = others.len().saturating_sub(SHOWN);
        if skipped > 0 {
            lines.push(format!("({skipped} earlier calls omitted)"));
        }
        lines.extend(others[skipped..].iter().map(|(_, summary)| summary.clone()));
        if lines.is_empty() { NO_CALL.to_owned() } else { lines.join("\n") }
    }
}

/// A child process may have made one.
pub(crate) const NO_CALL: &str = "no call was made in this process";

/// How many calls are listed besides those that are named.
const SHOWN: usize = 10;
