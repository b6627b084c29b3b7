//! Errors in the command line, reported without repeating the arguments.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, ValueEnum as _};

use crate::args::{Arguments, OutputShape};
use crate::failure::{Failure, Purpose};
use crate::output::{self, Output};
use crate::report::{ExitCode, Report};
use crate::settings::PrintedCommands;

/// Prints help or version. Reports everything else as invalid use, in the format that `arguments` request. If only the
/// command is missing, people get the help, and the exit code of invalid use.
pub(crate) fn report(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return output::print_document(&error.render().to_string());
    }
    let reached = Reached::by(arguments);
    let output = Output::choose(reached.format, PrintedCommands::default());
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && output.is_text() {
        return match output::print_document(&error.render().to_string()) {
            ExitCode::Processed => ExitCode::Invalid,
            code => code,
        };
    }
    output.write(&Report::from(failure(error, &reached, arguments)))
}

/// clap's own message repeats the argument, which may be a card number or a key in the wrong place. This message repeats
/// only the names of options and commands.
fn failure(error: &clap::Error, reached: &Reached, arguments: &[OsString]) -> Failure {
    let name = name(error);
    let purpose = reached.purpose();
    let nothing_done = purpose.nothing_done();
    let what = match (error.kind(), &name) {
        (ErrorKind::UnknownArgument, Some(name)) if name == "--api-key" => KEY_AS_ARGUMENT.to_owned(),
        (ErrorKind::UnknownArgument, Some(name)) => format!("{} takes no {name}", reached.path),
        (ErrorKind::UnknownArgument, None) => unexpected(error, arguments),
        (ErrorKind::InvalidSubcommand, _) => {
            format!("there is no such command; the commands are {}", reached.commands())
        }
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            format!("a command is missing after {}: one of {}", reached.path, reached.commands())
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
            format!("{name} is given twice, or conflicts with another argument")
        }
        (ErrorKind::InvalidUtf8, _) => "an argument is not valid UTF-8".to_owned(),
        (_, Some(name)) => format!("{name} is used incorrectly"),
        (_, None) => "the arguments are used incorrectly".to_owned(),
    };
    let forgets_the_file_flag =
        error.kind() == ErrorKind::UnknownArgument && name.is_none() && reached.takes_a_value("file");
    let suggestion = list(error, ContextKind::SuggestedArg)
        .or_else(|| list(error, ContextKind::SuggestedSubcommand))
        .or_else(|| forgets_the_file_flag.then(|| "--file FILE".to_owned()));
    let suggestion = suggestion.filter(|_| what != KEY_AS_ARGUMENT);
    let hint = suggestion.map(|suggestion| format!("; did you mean {suggestion}?")).unwrap_or_default();
    Failure::usage(format!("{what}{hint}; {nothing_done}: see {} --help", reached.path)).for_purpose(purpose)
}

/// Tells the user that a key in the arguments is no longer secret.
const KEY_AS_ARGUMENT: &str = "\
    a key is never an argument, because every user of a machine can read the arguments of its processes, and it is now \
    in this shell's history: if it opens anything real, replace it, then give the new one in the file of \
    --api-key-file or in PAYMENTS_API_KEY";

/// What the arguments ask for, even if some of them are wrong.
struct Reached {
    /// The deepest command that they name.
    command: Command,
    /// Its words, such as `payments transaction create`.
    path: String,
    format: Option<OutputShape>,
}

impl Reached {
    fn by(arguments: &[OsString]) -> Self {
        let mut command = Arguments::command();
        // Adds the global options to every command.
        command.build();
        let mut this = Self { command, path: "payments".to_owned(), format: None };
        let mut names_a_command = true;
        let arguments = arguments.iter().skip(1).map(|argument| argument.to_str().unwrap_or_default());
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next().filter(|argument| *argument != "--") {
            let Some(option) = argument.strip_prefix("--") else {
                names_a_command = names_a_command && this.descend(argument);
                continue;
            };
            let value = match option.split_once('=') {
                Some((_, value)) => Some(value),
                None if this.takes_a_value(option) => arguments.next_if(|next| !next.starts_with("--")),
                None => None,
            };
            if option.split('=').next() == Some("output") {
                let format = value.and_then(|value| OutputShape::from_str(value, false).ok());
                this.format = format.or(this.format);
            }
        }
        this
    }

    /// Whether the word is a subcommand of the command, which it then becomes.
    fn descend(&mut self, word: &str) -> bool {
        let Some(next) = self.command.find_subcommand(word).cloned() else { return false };
        self.path = format!("{} {}", self.path, next.get_name());
        self.command = next;
        true
    }

    fn takes_a_value(&self, option: &str) -> bool {
        let mut options = self.command.get_arguments();
        options.any(|it| it.get_long() == Some(option) && it.get_action().takes_values())
    }

    /// Its purpose, as far as the message depends on it.
    fn purpose(&self) -> Purpose {
        match self.path.split(' ').nth(1) {
            Some("journal") => Purpose::KeepJournal,
            _ => Purpose::MoveMoney,
        }
    }

    /// The names of its subcommands.
    fn commands(&self) -> String {
        let shown = self.command.get_subcommands().filter(|command| !command.is_hide_set());
        let names = shown.map(Command::get_name).filter(|name| *name != "help");
        names.collect::<Vec<_>>().join(", ")
    }
}

/// The argument that the error is about, if its name cannot be a secret.
fn name(error: &clap::Error) -> Option<String> {
    let name = list(error, ContextKind::InvalidArg)?;
    let is_declared = error.kind() != ErrorKind::UnknownArgument;
    (is_declared || is_option_name(&name)).then_some(name)
}

/// `--` and a few lower-case words, as every option is spelled.
fn is_option_name(text: &str) -> bool {
    let spelled =
        |word: &str| word.len() <= 30 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    text.strip_prefix("--").is_some_and(spelled)
}

/// Says where the argument is. Its text may be a secret.
fn unexpected(error: &clap::Error, arguments: &[OsString]) -> String {
    let text = list(error, ContextKind::InvalidArg);
    let place = text.and_then(|text| arguments.iter().position(|argument| *argument == *text));
    match place {
        Some(place) => format!("argument {place} is unexpected"),
        None => "there is an unexpected argument".to_owned(),
    }
}

fn list(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        _ => None,
    }
}
