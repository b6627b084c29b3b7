//! How the demonstration looks.

use std::io::{self, Write};

use serde_json::json;

use super::belief::Belief;
use super::comparison::Comparison;
use super::exchange::Exchange;
use super::truth::Fact;
use crate::args::OutputShape;
use crate::escape::{for_terminal, in_json};
use crate::next_step;
use crate::style::{Style, Tone};

/// Writes the demonstration while it goes on, or as one JSON document at its end.
pub(super) struct Page<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) shape: OutputShape,
    pub(super) style: Style,
}

impl Page<'_> {
    pub(super) fn opening(&mut self, base_url: &str) -> io::Result<()> {
        self.text(&format!(
            "A sandbox of the payment service listens on {base_url},\n\
             and a client sends it every operation over a real socket. No account, no network, no money.\n"
        ))
    }

    pub(super) fn chapter(&mut self, title: &str) -> io::Result<()> {
        let title = self.style.paint(Tone::Heading, title);
        self.text(&format!("\n{title}\n"))
    }

    /// What the client believes of one call.
    pub(super) fn call(&mut self, exchange: &Exchange) -> io::Result<()> {
        let (title, amount) = (exchange.title, amount(exchange));
        let outcome = self.outcome(&exchange.belief);
        let details = for_terminal(&exchange.belief.details());
        self.text(&format!("  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {details}\n"))?;
        if let Belief::Unknown { to_look_up, search_by, .. } = &exchange.belief {
            let next_step = next_step::after_unknown(to_look_up.as_ref(), search_by);
            for advice in ["it may have been charged: do not send it again", &next_step] {
                let advice = self.style.paint(Tone::Doubtful, advice);
                self.text(&format!("    {advice}\n"))?;
            }
        }
        Ok(())
    }

    /// The sandbox's ledger beside what the client believed, and whether they agree everywhere.
    pub(super) fn ledger(&mut self, comparison: &Comparison) -> io::Result<()> {
        if self.shape == OutputShape::Json {
            return self.document(comparison);
        }
        self.chapter("What the client believed, beside what the sandbox's own ledger says")?;
        let heading = format!(
            "  {:TITLE$}  {:>AMOUNT$}  {:OUTCOME$}  {:TRUTH$}  agree",
            "call", "amount", "client said", "sandbox has"
        );
        let heading = self.style.paint(Tone::Faint, &heading);
        self.text(&format!("{heading}\n"))?;
        for exchange in &comparison.exchanges {
            let (title, amount) = (exchange.title, amount(exchange));
            let outcome = self.outcome(&exchange.belief);
            let truth = exchange.truth(&comparison.now);
            let verdict = match (exchange.agrees(), &exchange.belief) {
                (false, _) => self.style.paint(Tone::Bad, "NO"),
                (true, Belief::Unknown { .. }) => self.style.paint(Tone::Good, "yes: cannot know"),
                (true, _) => self.style.paint(Tone::Good, "yes"),
            };
            self.text(&format!(
                "  {title:TITLE$}  {amount:>AMOUNT$}  {outcome}  {truth:TRUTH$}  {verdict}\n"
            ))?;
        }
        let unknown = |exchange: &&Exchange| matches!(exchange.belief, Belief::Unknown { .. });
        for exchange in comparison.exchanges.iter().filter(unknown) {
            self.unknown(exchange)?;
        }
        self.verdict(comparison)
    }

    /// What a person is to make of an unknown outcome.
    fn unknown(&mut self, exchange: &Exchange) -> io::Result<()> {
        let title = exchange.title;
        let ledger = match exchange.change.made.as_slice() {
            [] => "The ledger shows that nothing was charged.".to_owned(),
            [fact] => {
                let Fact { kind, amount, id, .. } = fact;
                format!(
                    "The ledger shows the {kind} of {amount} as {id}: a second try would have charged twice."
                )
            }
            _ => "The ledger shows it more than once.".to_owned(),
        };
        self.text(&format!("\n{title}: without an answer the client rightly does not know.\n{ledger}\n"))
    }

    fn verdict(&mut self, comparison: &Comparison) -> io::Result<()> {
        let count = comparison.exchanges.len();
        let wrong = comparison.disagreements();
        let disagree = (wrong > 0).then(|| format!("They disagree on {wrong} of {count} calls."));
        let unaccounted = match comparison.unaccounted() {
            0 => None,
            1 => Some("The ledger holds 1 payment that no call accounts for.".to_owned()),
            many => Some(format!("The ledger holds {many} payments that no call accounts for.")),
        };
        let complaints: Vec<_> = disagree.into_iter().chain(unaccounted).collect();
        if !complaints.is_empty() {
            let complaints = self.style.paint(Tone::Bad, &complaints.join("\n"));
            return self.text(&format!("\n{complaints}\n"));
        }
        let verdict = self.style.paint(Tone::Good, &format!("They agree on all {count} calls."));
        let total =
            comparison.total.map_or_else(|| "too much to count".to_owned(), |total| total.to_string());
        let charged = comparison.charged;
        self.text(&format!(
            "\n{verdict}\n\
             Each reached the sandbox exactly once; {charged} payments, {total} in all, are charged.\n\
             Next: `payments sandbox` serves the same service to a program of your own.\n"
        ))
    }

    fn document(&mut self, comparison: &Comparison) -> io::Result<()> {
        let call = |exchange: &Exchange| {
            json!({
                "call": exchange.title,
                "amount": exchange.asked.amount().map(|amount| amount.to_string()),
                "client_said": exchange.belief.outcome(),
                "details": exchange.belief.details(),
                "sandbox_has": exchange.truth(&comparison.now),
                "agree": exchange.agrees(),
            })
        };
        let document = json!({
            "agree": comparison.agrees(),
            "unaccounted_payments": comparison.unaccounted(),
            "charged": comparison.total.map(|total| total.to_string()),
            "calls": comparison.exchanges.iter().map(call).collect::<Vec<_>>(),
        });
        self.out.write_all((in_json(&document.to_string()) + "\n").as_bytes())?;
        self.out.flush()
    }

    /// The outcome, padded and in its tone.
    fn outcome(&self, belief: &Belief) -> String {
        let tone = match belief {
            Belief::Paid(_) | Belief::Voided(_) | Belief::Found { .. } => Tone::Good,
            Belief::Rejected { .. } | Belief::NotProcessed(_) => Tone::Bad,
            Belief::Unknown { .. } => Tone::Doubtful,
        };
        self.style.paint(tone, &format!("{:OUTCOME$}", belief.outcome()))
    }

    /// Flushed at once: somebody watches.
    fn text(&mut self, text: &str) -> io::Result<()> {
        if self.shape == OutputShape::Json {
            return Ok(());
        }
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Widths of the columns.
const TITLE: usize = 28;
const AMOUNT: usize = 6;
const OUTCOME: usize = 11;
const TRUTH: usize = 27;

fn amount(exchange: &Exchange) -> String {
    exchange.asked.amount().map(|amount| amount.to_string()).unwrap_or_default()
}
