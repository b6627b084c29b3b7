//! Lines of text for people that fit a terminal.

/// The text with lines of at most so many columns; `None` if no terminal shows it. The rest of a broken line is indented like its
/// text. A command stays on one line, so that it can be copied.
pub(crate) fn wrapped(text: &str, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(usize::MAX);
    text.split_inclusive('\n').map(|line| wrapped_line(line, columns)).collect()
}

fn wrapped_line(line: &str, columns: usize) -> String {
    if width(line.trim_end()) <= columns {
        return line.to_owned();
    }
    let column = column_of_text(&plain(line), columns);
    let (mut lines, mut at) = (String::with_capacity(line.len() + 16), 0);
    let mut rest = line;
    while !rest.is_empty() {
        let (unit, after) = rest.split_at(length_of_unit(rest, at == column || lines.ends_with(": ")));
        if at > column && at + width(unit.trim_end()) > columns {
            lines.truncate(lines.trim_end().len());
            lines.extend(["\n", &" ".repeat(column)]);
            at = column;
        }
        lines += unit;
        at += width(unit);
        rest = after;
    }
    lines
}

/// The length of what is not broken: a word, a text in backticks, or a command at the end, each with the space behind it.
fn length_of_unit(text: &str, may_be_a_command: bool) -> usize {
    if may_be_a_command && text.starts_with("payments ") {
        return text.len();
    }
    let quoted = text.strip_prefix('`').and_then(|quoted| quoted.find('`')).map_or(0, |length| length + 2);
    text[quoted..].find(' ').map_or(text.len(), |length| quoted + length + 1)
}

/// Where the text of a table's row begins, or that of any other line.
pub(crate) fn column_of_text(line: &str, columns: usize) -> usize {
    let letters: Vec<_> = line.chars().collect();
    let begins = |at: &usize| *at > 1 && letters[*at] != ' ' && letters[at - 2..*at] == [' ', ' '];
    (0..letters.len().min(columns / 2)).rfind(begins).unwrap_or_default()
}

fn width(text: &str) -> usize {
    plain(text).chars().count()
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, text)| text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_indented_and_commands_stay_whole() {
        let text = "\u{1b}[31mREJECTED: fix the cause first\u{1b}[0m (exit code 4)\n  \
                    hint  look at it with `payments journal show invoice-17`, then resolve it\n  \
                    \u{1b}[32mnext\u{1b}[0m  look it up: payments transaction get txn_63cbe1e459320dd7\n  \
                    payments journal resolve --from found.csv --by ada\n";
        let narrow = "\u{1b}[31mREJECTED: fix the cause first\u{1b}[0m (exit\ncode 4)\n  \
                      hint  look at it with\n        \
                      `payments journal show invoice-17`,\n        \
                      then resolve it\n  \
                      \u{1b}[32mnext\u{1b}[0m  look it up:\n        \
                      payments transaction get txn_63cbe1e459320dd7\n  \
                      payments journal resolve --from found.csv --by ada\n";
        assert_eq!(wrapped(text, Some(36)), narrow);
        assert_eq!([wrapped(narrow, Some(60)), wrapped(text, None)], [narrow, text]);
    }
}
