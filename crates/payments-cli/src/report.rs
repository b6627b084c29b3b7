//! The result of a client command. [`exit_code`] decides the exit code, [`text`] writes it for people.

pub(crate) mod advice;
pub(crate) mod check;
pub(crate) mod dry_run;
pub(crate) mod exit_code;
pub(crate) mod run;
pub(crate) mod text;

use payments_core::Success;
use payments_journal::{Intent, IntentKey, Journaled};
use payments_model::{CustomerId, TransactionId, TransactionReceipt};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use self::advice::second_charge;
use self::check::CheckReport;
pub(crate) use self::dry_run::DryRun;
pub(crate) use self::exit_code::ExitCode;
use self::run::Summary;
use crate::failure::Failure;
use crate::intent::IntentNote;
use crate::settings::PrintedCommands;
use crate::style::Style;

/// The result of a client command. Other programs read its document, whose member names are fixed.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Report {
    Processed(Processed),
    DryRun(DryRun),
    /// The steps of a check, with any outcome.
    Check(Box<CheckReport>),
    /// A billing run, with any outcome.
    Batch(Box<Summary>),
    /// Any other outcome.
    Failed(Box<Failure>),
}

impl Report {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Processed(processed) => ExitCode::of_success(processed.is_second_charge()),
            Self::DryRun(_) => ExitCode::Processed,
            Self::Check(checked) => {
                checked.failure.as_ref().map_or(ExitCode::Processed, ExitCode::of_failure)
            }
            Self::Batch(summary) => ExitCode::of_run(summary),
            Self::Failed(failure) => ExitCode::of_failure(failure),
        }
    }

    /// For people.
    pub(crate) fn text(&self, style: Style, commands: &PrintedCommands) -> String {
        match self {
            Self::Processed(processed) => text::processed(processed, style),
            Self::DryRun(dry_run) => text::dry_run(dry_run, style),
            Self::Check(checked) => checked.lines(style),
            Self::Batch(summary) => summary.lines(style),
            Self::Failed(failure) => text::failed(failure, style, commands),
        }
    }

    /// The journal's part of the result, if the call has a key.
    pub(crate) fn note(&self) -> Option<&IntentNote> {
        match self {
            Self::Processed(processed) => processed.note.as_ref(),
            Self::Failed(failure) => failure.note.as_deref(),
            Self::DryRun(_) | Self::Check(_) | Self::Batch(_) => None,
        }
    }
}

impl From<Failure> for Report {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// A success.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename = "processed")]
pub(crate) struct Processed {
    /// `None` if an earlier call received the response.
    pub(crate) http_status: Option<u16>,
    #[serde(skip)]
    pub(crate) effect: Effect,
    /// The response's `data` with the interface's names. Text, so that no amount passes through a binary number.
    pub(crate) data: Box<RawValue>,
    /// The journal's part of the result, if the call has a key.
    #[serde(flatten)]
    pub(crate) note: Option<IntentNote>,
}

/// What a success means for the money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// A payment or a void was processed under this `TransactionId` of the response.
    Moved(TransactionId),
    /// A lookup that found this transaction: nothing changed.
    FoundTransaction(TransactionId),
    /// The same of a customer, whose record may have no id.
    FoundCustomer(Option<CustomerId>),
}

impl Processed {
    /// A response with this record.
    pub(crate) fn of<T>(success: &Success<T>, record: &impl Serialize, effect: Effect) -> Self {
        Self { http_status: Some(success.http_status().as_u16()), ..Self::of_record(record, effect) }
    }

    /// A record that is known without a response, or from one of several steps.
    pub(crate) fn of_record(record: &impl Serialize, effect: Effect) -> Self {
        // A record is JSON. If it ever were not, the `TransactionId` must still be reported.
        let data = to_raw_value(record).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { http_status: None, effect, data, note: None }
    }

    /// A payment or a void.
    pub(crate) fn moved<T>(success: &Success<T>, record: &impl Serialize, id: &TransactionId) -> Self {
        Self::of(success, record, Effect::Moved(id.clone()))
    }

    /// The result of a call with a key. Of an earlier response the journal has kept only the id.
    pub(crate) fn journaled<T>(
        journaled: Journaled<T>,
        key: &IntentKey,
        moved: impl FnOnce(&Success<T>) -> Self,
    ) -> Self {
        let note = IntentNote {
            key: Some(key.clone()),
            is_recorded: journaled.is_from_the_journal(),
            may_have_been_sent: false,
            not_recorded: journaled.write_error.map(|error| format!("{error:#}")),
            same_transaction_as: journaled.same_transaction_as,
            second_charge: journaled.second_charge.as_deref().and_then(second_charge),
        };
        let transaction_id = journaled.transaction_id;
        let receipt = TransactionReceipt::new(transaction_id.clone());
        let recorded = || Self::of_record(&receipt, Effect::Moved(transaction_id));
        let processed = journaled.response.as_ref().map_or_else(recorded, moved);
        Self { note: Some(note), ..processed }
    }

    /// Whether another attempt of the key may also have been charged.
    fn is_second_charge(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.second_charge.is_some())
    }

    /// The same after the journal has recorded the outcome, in this intent.
    pub(crate) fn recorded_late(mut self, intent: &Intent) -> Self {
        if let Some(note) = &mut self.note {
            note.not_recorded = None;
            note.second_charge = note.second_charge.take().or_else(|| second_charge(intent));
        }
        self
    }
}
