//! A command line that clap refuses, said without repeating what was typed.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::OutputShape;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::Output;
use crate::report::Report;

/// Prints what `--help` and `--version` ask for; reports everything else as invalid use in the shape that `arguments`
/// ask for.
pub(crate) fn answer(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let mut stdout = io::stdout().lock();
        let written = write!(stdout, "{}", error.render()).and_then(|()| stdout.flush());
        return if written.is_ok() { ExitCode::Processed } else { ExitCode::Other };
    }
    Output::choose(asked_for(arguments)).write(&Report::from(failure(error)))
}

/// The shape that the arguments ask for, which must be known even where the rest of them is wrong.
fn asked_for(arguments: &[OsString]) -> Option<OutputShape> {
    let mut asked_for = None;
    let mut arguments = arguments.iter().skip(1).map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = arguments.next() {
        let value = match argument {
            "--" => break,
            "--output" => arguments.next(),
            _ => argument.strip_prefix("--output="),
        };
        match value {
            Some("json") => asked_for = Some(OutputShape::Json),
            Some("text") => asked_for = Some(OutputShape::Text),
            _ => {}
        }
    }
    asked_for
}

/// clap's own message repeats the argument, and an argument in the wrong place may be a card number or a key. So only
/// what is known to be a name is named.
fn failure(error: &clap::Error) -> Failure {
    let name = name(error);
    let what = match (error.kind(), &name) {
        (ErrorKind::UnknownArgument, Some(name)) => format!("the option {name} does not exist here"),
        (ErrorKind::UnknownArgument, None) => "there is an argument too many".to_owned(),
        (ErrorKind::InvalidSubcommand, _) => "there is no such command".to_owned(),
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            "a command is missing".to_owned()
        }
        (ErrorKind::MissingRequiredArgument, Some(name)) => format!("{name} is missing"),
        (ErrorKind::InvalidValue, Some(name)) => match list(error, ContextKind::ValidValue) {
            Some(values) => format!("the value of {name} must be one of {values}"),
            None => format!("{name} needs a value"),
        },
        (ErrorKind::ValueValidation, Some(name)) => match error.source() {
            Some(rule) => format!("the value of {name} is invalid: {rule}"),
            None => format!("the value of {name} is invalid"),
        },
        (ErrorKind::ArgumentConflict, Some(name)) => {
            format!("{name} is given twice, or with another that excludes it")
        }
        (ErrorKind::InvalidUtf8, _) => "an argument is not valid UTF-8".to_owned(),
        (_, Some(name)) => format!("{name} is not used rightly"),
        (_, None) => "the arguments are not used rightly".to_owned(),
    };
    let suggestion = list(error, ContextKind::SuggestedArg)
        .or_else(|| list(error, ContextKind::SuggestedSubcommand))
        .or_else(|| forgets_the_file_flag(error, name.as_deref()).then(|| "--file FILE".to_owned()));
    let hint = suggestion.map(|suggestion| format!("; did you mean {suggestion}?")).unwrap_or_default();
    Failure::invalid("usage", format!("{what}{hint}; nothing was sent: see payments --help"))
}

/// The argument that the error is about, if its name can be no secret.
fn name(error: &clap::Error) -> Option<String> {
    let name = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(name) => name.clone(),
        ContextValue::Strings(names) => names.join(", "),
        _ => return None,
    };
    let is_declared = error.kind() != ErrorKind::UnknownArgument;
    (is_declared || is_option_name(&name)).then_some(name)
}

/// `--` and a few lower-case words, as every option is spelled.
fn is_option_name(text: &str) -> bool {
    let spelled =
        |word: &str| word.len() <= 30 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    text.strip_prefix("--").is_some_and(spelled)
}

/// Whether a path may have been given alone to a command that reads a request.
fn forgets_the_file_flag(error: &clap::Error, name: Option<&str>) -> bool {
    let reads_a_request = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string().contains("--file"),
        _ => false,
    };
    error.kind() == ErrorKind::UnknownArgument && name.is_none() && reads_a_request
}

fn list(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        _ => None,
    }
}
