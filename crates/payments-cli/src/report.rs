//! The result of a client command. [`exit_code`] decides the exit code, [`text`] writes it for people.

pub(crate) mod advice;
pub(crate) mod check;
pub(crate) mod dry_run;
pub(crate) mod exit_code;
pub(crate) mod processed;
pub(crate) mod run;
pub(crate) mod text;

use serde::Serialize;

use self::check::CheckReport;
pub(crate) use self::dry_run::DryRun;
pub(crate) use self::exit_code::ExitCode;
pub(crate) use self::processed::{Effect, Processed};
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
