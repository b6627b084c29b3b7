//! The file of `--results`, to which each result is appended.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use payments_journal::IntentKey;
use payments_model::unversioned::as_number;
use payments_model::{Amount, TransactionId};
use serde::{Deserialize, Serialize};

use super::charge_result::FinishedCharge;
use crate::failure::Failure;
use crate::files::{self, FileIdentity};
use crate::report::{Effect, Processed, Report};
use crate::rows::csv_file;
use crate::settings::JournalPlace;
use crate::style;

/// The open file.
pub(super) struct Results<'a> {
    out: BufWriter<File>,
    format: Format,
    /// What it says about a row: the report of its charge, and its reference.
    describe: Box<Describe<'a>>,
}

type Describe<'a> = dyn Fn(&FinishedCharge) -> (Report, Option<String>) + 'a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Csv,
    JsonLines,
}

impl Format {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|it| it.to_str()) {
            Some(extension) if extension.eq_ignore_ascii_case("csv") => Self::Csv,
            _ => Self::JsonLines,
        }
    }
}

/// A line of JSON Lines.
#[derive(Serialize)]
struct Written {
    line: u64,
    #[serde(serialize_with = "as_number")]
    amount: Amount,
    reference: Option<String>,
    #[serde(flatten)]
    report: Report,
}

/// What a line of either format says about a charge.
#[derive(Deserialize)]
struct Read {
    key: String,
    outcome: String,
}

/// The columns of a CSV file.
const COLUMNS: [&str; 9] =
    ["line", "key", "outcome", "amount", "reference", "transaction_id", "http_status", "kind", "message"];

impl<'a> Results<'a> {
    /// Opens the file, and creates it if it does not exist. It must be neither the billing file nor of the journal.
    pub(super) fn open(
        path: &Path,
        billing_file: &Path,
        journal: &JournalPlace,
        describe: impl Fn(&FinishedCharge) -> (Report, Option<String>) + 'a,
    ) -> Result<Self, Failure> {
        let file = format!("the file of --results{}", files::name_in_brackets(path));
        let refused = |why: &str| {
            Failure::invalid("results", format!("{file} {why}; nothing was sent: {}", files::FIX_THE_FILE))
        };
        let cannot_be_written = |error: io::Error| refused("cannot be written").with_cause(&error);
        // Before it is opened: opening a named pipe would wait for a reader.
        match path.metadata() {
            Ok(metadata) if !metadata.is_file() => return Err(refused("exists and is not a regular file")),
            _ => {}
        }
        if journal.has(path) {
            return Err(refused("is the journal or belongs to it"));
        }
        let mut options = files::private();
        let opened = options.read(true).append(true).create(true).open(path);
        let mut opened = opened.map_err(cannot_be_written)?;
        if FileIdentity::of(path) == FileIdentity::of(billing_file) {
            return Err(refused("is the file of the billing run itself"));
        }
        let format = Format::of(path);
        if !is_own(&mut opened, format).map_err(cannot_be_written)? {
            return Err(refused("has something else in it, to which results would be added"));
        }
        let out = begun(opened, format).map_err(cannot_be_written)?;
        Ok(Self { out, format, describe: Box::new(describe) })
    }

    /// Writes the result as `payments token-transaction create --key … --output json` would print it, with the row's line, and
    /// with what the payment can be found by in the service's records.
    pub(super) fn write(&mut self, ended: &FinishedCharge) -> io::Result<()> {
        let (report, reference) = (self.describe)(ended);
        let row = &ended.row;
        match self.format {
            Format::JsonLines => {
                let (line, amount) = (row.line, row.payment.amount());
                let line = serde_json::to_string(&Written { line, amount, reference, report })?;
                writeln!(self.out, "{}", style::in_json(&line))
            }
            Format::Csv => {
                let (outcome, id, status, kind, message) = cells(&report);
                let (line, amount) = (row.line.to_string(), row.payment.amount().to_string());
                let (reference, key) = (reference.unwrap_or_default(), row.key.as_str());
                let status = status.map(|status| status.to_string()).unwrap_or_default();
                let cells = [&*line, key, outcome, &*amount, &*reference, id, &*status, kind, message];
                self.out.write_all(&csv_file::record(&cells)?)
            }
        }
    }

    /// Writes everything to the operating system.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Syncs everything to the disk.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()
    }
}

/// The keys among those asked for that were charged, or may have been, as the file says. Lines that a killed run has left incomplete
/// say nothing.
pub(super) fn charged_keys(
    path: &Path,
    is_asked_for: impl Fn(&IntentKey) -> bool,
) -> io::Result<BTreeSet<IntentKey>> {
    // A dry run creates no file, and refuses none.
    if !path.is_file() {
        return Ok(BTreeSet::new());
    }
    let file = BufReader::new(File::open(path)?);
    let mut keys = BTreeSet::new();
    let mut add = |Read { key, outcome }: Read| {
        if ["processed", "unknown"].contains(&&*outcome) {
            keys.extend(IntentKey::new(key).ok().filter(&is_asked_for));
        }
    };
    match Format::of(path) {
        Format::JsonLines => {
            for line in file.split(b'\n') {
                let line = line?;
                let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
                serde_json::from_slice(line).into_iter().for_each(&mut add);
            }
        }
        Format::Csv => {
            let reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
            for read in reader.into_deserialize::<Read>() {
                match read {
                    Ok(row) => add(Read { key: csv_file::unescape_formulas(&row.key), ..row }),
                    Err(error) if error.is_io_error() => return Err(error.into()),
                    Err(_) => {}
                }
            }
        }
    }
    Ok(keys)
}

/// Ends a line that a killed run left incomplete. An open quotation mark would swallow everything that follows.
fn begun(mut file: File, format: Format) -> io::Result<BufWriter<File>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let is_incomplete = last != [b'\n'];
    let is_quoted = is_incomplete && format == Format::Csv && has_an_open_quotation_mark(&mut file)?;
    let mut out = BufWriter::new(file);
    if is_quoted {
        out.write_all(b"\"")?;
    }
    if is_incomplete {
        out.write_all(b"\n")?;
    }
    if length == 0 && format == Format::Csv {
        out.write_all(&csv_file::record(&COLUMNS)?)?;
    }
    out.flush()?;
    Ok(out)
}

/// Outcome, transaction, HTTP status, kind and message.
fn cells(report: &Report) -> (&str, &str, Option<u16>, &str, &str) {
    match report {
        Report::Processed(Processed { http_status, effect, .. }) => {
            let id = match effect {
                Effect::Moved(transaction_id) => transaction_id.as_str(),
                _ => "",
            };
            ("processed", id, *http_status, "", "")
        }
        Report::Failed(failure) => {
            let id = failure.transaction_id().map_or("", TransactionId::as_str);
            (failure.outcome.as_str(), id, failure.http_status(), &failure.kind, &failure.message)
        }
        _ => ("", "", None, "", ""),
    }
}

/// Whether the file is empty or begins with results in this format. Removes what a killed run has left of their beginning, if the
/// file has nothing else. An empty file stays untouched: another run may just write its first results.
fn is_own(file: &mut File, format: Format) -> io::Result<bool> {
    let expected = match format {
        Format::Csv => COLUMNS.join(","),
        Format::JsonLines => r#"{"line":"#.to_owned(),
    };
    let mut beginning = Vec::new();
    file.rewind()?;
    file.take(1024).read_to_end(&mut beginning)?;
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&beginning).trim_ascii();
    let is_whole = file.metadata()?.len() == beginning.len() as u64;
    if is_whole && text.len() < expected.len() && expected.as_bytes().starts_with(text) {
        if !beginning.is_empty() {
            file.set_len(0)?;
        }
        return Ok(true);
    }
    Ok(text.starts_with(expected.as_bytes()))
}

/// Whether the number of quotation marks is odd. A quotation mark inside a cell is doubled.
fn has_an_open_quotation_mark(file: &mut File) -> io::Result<bool> {
    file.rewind()?;
    let (mut reader, mut is_open) = (BufReader::new(file), false);
    loop {
        let read = reader.fill_buf()?;
        if read.is_empty() {
            return Ok(is_open);
        }
        is_open = read.iter().fold(is_open, |is_open, byte| is_open ^ (*byte == b'"'));
        let length = read.len();
        reader.consume(length);
    }
}
