//! Reports for people: the outcome first, then the facts, then what to do.

use std::fmt::Write as _;
use std::iter;

use payments_model::unversioned::RequestMembers;

use crate::failure::{FailedOutcome, Failure, Problem};
use crate::format::{counted, money, timestamp};
use crate::intent::IntentNote;
use crate::report::dry_run::{DryRun, RedactedRequest};
use crate::report::{Effect, ExitCode, Processed, advice};
use crate::rows::problems::MOST_KEPT;
use crate::settings::PrintedCommands;
use crate::style::{Style, Tone, for_terminal};

/// The text of a success.
pub(crate) fn processed(processed: &Processed, style: Style) -> String {
    let recorded = processed.note.as_ref().filter(|note| note.is_recorded);
    let (heading, note) = match (&processed.effect, recorded) {
        (Effect::Moved(_), Some(note)) => (format!("PROCESSED EARLIER, {}", note.now()), None),
        (Effect::Moved(_), None) => ("PROCESSED".to_owned(), None),
        (Effect::FoundTransaction(_), _) => (
            "FOUND".to_owned(),
            Some("a record is not proof of a charge: the meaning of Status is not published"),
        ),
        (Effect::FoundCustomer(_), _) => ("FOUND".to_owned(), None),
    };
    let heading = style.paint(Tone::Success, &heading);
    let status = processed
        .http_status
        .map(|status| format!(" {}", style.paint(Tone::Dim, &format!("(HTTP {status})"))));
    let mut text = format!("{heading}{}\n", status.unwrap_or_default());
    if let Some(note) = note {
        let _ = writeln!(text, "  {}", style.paint(Tone::Dim, note));
    }
    let key = processed.note.as_ref().and_then(|note| note.key.as_ref());
    let key = key.map(|key| ("key", key.as_str().to_owned()));
    let data = processed.data.get();
    match RequestMembers::read(data.as_bytes()) {
        Ok(members) => {
            let rows = members.iter().map(|(name, value)| (name, readable(value)));
            write_rows(&mut text, rows.chain(key));
        }
        Err(_) => write_rows(&mut text, iter::once(("data", data.to_owned())).chain(key)),
    }
    text
}

/// The text of a request that was not sent.
pub(crate) fn dry_run(DryRun { request, is_key_recorded }: &DryRun, style: Style) -> String {
    let RedactedRequest { method, url, headers, body } = request;
    let heading = style.paint(Tone::Heading, "DRY RUN, nothing was sent");
    let mut text = format!("{heading}\n  {} {}\n", for_terminal(method), for_terminal(url));
    write_rows(&mut text, headers.0.iter().map(|(name, value)| (&**name, value.clone())));
    if let Some(fields) = body {
        text.push('\n');
        write_rows(&mut text, fields.0.iter().map(|(name, value)| (&**name, readable(value.get()))));
    }
    if *is_key_recorded {
        text.push_str(
            "\nthe journal has this key: look at it with `payments journal show` before you send it\n",
        );
    }
    text
}

/// A warning about the journal: the outcome was not recorded, or the journal has the transaction for another key too.
pub(crate) fn journal_warning(note: &IntentNote) -> Option<String> {
    if let Some(second_charge) = &note.second_charge {
        return Some(second_charge.clone());
    }
    if let Some(other) = &note.same_transaction_as {
        return Some(format!(
            "the journal has the same transaction for another key: {other}; both are recorded: compare both with the service's records"
        ));
    }
    let why = note.not_recorded.as_ref()?;
    Some(format!(
        "the outcome could not be recorded in the journal, which will list the key as unknown: {why}"
    ))
}

/// The text of a failure.
pub(crate) fn failed(failure: &Failure, style: Style, commands: &PrintedCommands) -> String {
    let (tone, heading) = advice::headline(failure);
    let code = style.paint(Tone::Dim, &format!("(exit code {})", ExitCode::of_failure(failure).number()));
    let mut text = format!("{} {code}\n", style.paint(tone, &heading));
    if failure.violations.is_empty() || failure.violation_count.is_some() {
        // The headline has the advice.
        let message = failure.advice.what_happened.as_ref().unwrap_or(&failure.message);
        let _ = writeln!(text, "  {}", for_terminal(message));
    }
    if let Some(count) = failure.violation_count {
        write_problems(&mut text, &failure.violations, count.get());
    } else {
        let violations = failure.violations.iter();
        write_rows(&mut text, violations.map(|it| (&*it.field, it.rule.to_string())));
    }
    write_rows(&mut text, facts(failure, commands));
    text
}

/// A line for each problem of a file with rows.
fn write_problems(text: &mut String, problems: &[Problem], count: u64) {
    /// Chosen by this command: a few screens.
    const MOST_SHOWN: u64 = 100;

    let is_like_first = |index: usize| {
        let it = &problems[index];
        it.is_of_a_setting && problems[..index].iter().any(|first| first.rule == it.rule)
    };
    let (mut shown, mut like_first) = (0, 0);
    for (index, Problem { file, line, key, field, rule, .. }) in problems.iter().enumerate() {
        if is_like_first(index) {
            like_first += 1;
            continue;
        }
        if shown == MOST_SHOWN {
            break;
        }
        shown += 1;
        let article = if ["row", "header", "file"].contains(&&**field) { "the " } else { "" };
        let key = key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
        let file = file.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
        let row = format!("  {file}line {}: {key}{article}{field} {rule}", line.unwrap_or_default());
        let _ = writeln!(text, "{}", for_terminal(&row));
    }
    if like_first > 0 {
        let _ = writeln!(text, "  and {} like it", counted(like_first, "row"));
    }
    let rest = count - shown - like_first;
    if rest > 0 {
        let _ = writeln!(text, "  and {rest} more; --output json has up to {MOST_KEPT}");
    }
}

/// The facts below the message.
fn facts(failure: &Failure, commands: &PrintedCommands) -> Vec<(&'static str, String)> {
    let mut facts: Vec<_> = failure.cause.iter().map(|cause| ("cause", cause.to_string())).collect();
    if let Some(response) = &failure.response {
        facts.push(("HTTP status", response.http_status.to_string()));
        facts.extend(response.transaction_id.iter().map(|id| ("TransactionId", id.to_string())));
        facts.extend(response.request_id.iter().map(|id| ("request id", id.clone())));
        // Next to "do not run it again" it would contradict the advice.
        let pause = response.retry_after_seconds.filter(|_| failure.outcome != FailedOutcome::Unknown);
        facts.extend(pause.map(|seconds| ("retry after", format!("{seconds} s"))));
    }
    if let Some(note) = &failure.note {
        facts.extend(note.key.iter().map(|key| ("key", key.as_str().to_owned())));
        facts.extend(note.is_recorded.then(|| ("recorded", format!("by an earlier call; {}", note.now()))));
        facts.extend(note.not_recorded.iter().map(|why| ("NOT RECORDED", why.clone())));
        facts.extend(note.same_transaction_as.iter().map(|other| ("SAME AS", other.to_string())));
    }
    if let Some(sent) = &failure.sent {
        facts.extend(sent.amount.map(|amount| ("amount", money(amount))));
        facts.extend(sent.reference.iter().map(|reference| ("reference", reference.clone())));
        facts.push(("sent at", timestamp(sent.at)));
    }
    let to_look_up = failure.transaction_id().filter(|id| id.path_segment().is_ok());
    facts.extend(to_look_up.map(|id| ("look it up", commands.look_up(id))));
    facts.extend(failure.advice.hints.iter().map(|hint| ("hint", hint.clone())));
    facts
}

pub(crate) fn write_rows<'a>(text: &mut String, rows: impl IntoIterator<Item = (&'a str, String)>) {
    let rows: Vec<_> =
        rows.into_iter().map(|(name, value)| (for_terminal(name), for_terminal(&value))).collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (name, value) in rows {
        let row = format!("  {name:width$}  {value}");
        let _ = writeln!(text, "{}", row.trim_end());
    }
}

/// A string without its quotes; anything else, such as an amount, exactly as sent.
fn readable(value: &str) -> String {
    serde_json::from_str(value).unwrap_or_else(|_| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::problems::{Problems, Role};

    fn shown(found: impl IntoIterator<Item = Problem>) -> String {
        let mut problems = Problems::of(None, Role::BillingRun);
        problems.extend(found);
        failed(&problems.refuse().expect_err("it has problems"), Style::Plain, &PrintedCommands::default())
    }

    #[test]
    fn row_header_and_file_have_an_article() {
        let text = shown([Problem::new(1, "file", "has no rows"), Problem::new(2, "Amount", "is required")]);
        assert!(text.ends_with("  line 1: the file has no rows\n  line 2: Amount is required\n"), "{text}");
    }
}
