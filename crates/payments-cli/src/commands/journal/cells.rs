//! Amounts, digits and times as processors write them.

use std::time::{Duration, SystemTime};

use payments_journal::{ReportCell, RowTime};
use payments_model::Amount;

use crate::args::journal::DateOrder;
use crate::local_time::{number, parse_zone, shifted};

/// An amount with a decimal point or comma, grouped or not, with or without a currency. With three digits after its only
/// separator it cannot be read: it is a thousand to half of the world.
pub(super) fn amount(written: &str) -> ReportCell<Amount> {
    let is_currency =
        |letter: char| letter.is_alphabetic() || "€$£¥₹".contains(letter) || letter.is_whitespace();
    let text = written.trim_matches(is_currency);
    if text.is_empty() {
        return ReportCell::Empty;
    }
    let letters: String = written.chars().filter(|letter| letter.is_alphabetic()).collect();
    if ![0, CURRENCY].contains(&letters.chars().count()) || letters.eq_ignore_ascii_case("neg") {
        return ReportCell::Unreadable;
    }
    let in_brackets = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let (text, is_negative) = match in_brackets.or_else(|| text.strip_prefix(['-', '−'])) {
        Some(rest) => (rest.trim_matches(is_currency), true),
        None => match text.strip_suffix('-') {
            Some(rest) => (rest.trim_matches(is_currency), true),
            None => (text.strip_prefix('+').unwrap_or(text), false),
        },
    };
    let text: String =
        text.chars().filter(|letter| !letter.is_whitespace() && !"'’".contains(*letter)).collect();
    let Some(cents) = cents(&text) else { return ReportCell::Unreadable };
    ReportCell::Read(Amount::from_cents(if is_negative { -cents } else { cents }))
}

/// Such as `EUR`. Fewer letters are a sign or a factor, as in `10.50 CR` and `10K`, and a sentence is no amount.
const CURRENCY: usize = 3;

fn cents(text: &str) -> Option<i64> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let last = text.rfind(['.', ',']);
    let (whole, decimals) = match last {
        None => (text, ""),
        Some(at) => {
            let separator = &text[at..=at];
            let (before, after) = (&text[..at], &text[at + 1..]);
            match after.len() {
                1 | 2 if !before.contains(separator) => (before, after),
                // Groups only: 1.234.567
                3 if before.contains(separator) && !before.replace(separator, "").contains(['.', ',']) => {
                    (text, "")
                }
                // Three digits after the only separator.
                _ => return None,
            }
        }
    };
    let groups: Vec<_> = whole.split(['.', ',']).collect();
    let is_grouped = groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
    let are_numbers =
        groups.iter().all(|group| is_number(group)) && (decimals.is_empty() || is_number(decimals));
    if !are_numbers || (groups.len() > 1 && !is_grouped) {
        return None;
    }
    let digits = groups.concat();
    let whole: i64 = digits.parse().ok()?;
    let decimals: i64 = format!("{decimals:0<2}").parse().ok()?;
    whole.checked_mul(100)?.checked_add(decimals)
}

/// The last four digits of a card, however the rest of its number is shown. A spreadsheet drops zeros before a number.
pub(super) fn last_four(text: &str) -> ReportCell<String> {
    let text = text.trim();
    let digits: String = text.chars().rev().take_while(char::is_ascii_digit).collect();
    let digits: String = digits.chars().rev().collect();
    match digits.len() {
        0 if text.chars().any(char::is_numeric) => ReportCell::Unreadable,
        0 => ReportCell::Empty,
        1..4 if digits.len() == text.len() => ReportCell::Read(format!("{digits:0>4}")),
        1..4 => ReportCell::Unreadable,
        length => ReportCell::Read(digits[length - 4..].to_owned()),
    }
}

/// A time as it is written, of whose date either number may be the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// The beginning of its day in UTC, in each order that there is.
    days: [Option<SystemTime>; 2],
    /// The time of the day in seconds, from and to.
    from: u64,
    to: u64,
    /// The zone's distance from UTC in minutes, if it is written.
    zone: Option<i64>,
}

impl Written {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|letter: char| letter.is_whitespace() || letter == 'T').unwrap_or(text.len());
        let (date, rest) = text.split_at(end);
        let days = parse_date(date)?;
        let rest = rest.strip_prefix('T').unwrap_or(rest).trim();
        if rest.is_empty() {
            return Some(Self { days, from: 0, to: 24 * 3600 - 1, zone: None });
        }
        let zone_at = rest.find(['Z', 'z', '+', '-']).or_else(|| rest.find("UTC")).unwrap_or(rest.len());
        let (time, zone) = rest.split_at(zone_at);
        let zone = match zone {
            "" => None,
            zone => Some(parse_zone(zone)?),
        };
        let (from, to) = parse_time(time.trim())?;
        Some(Self { days, from, to, zone })
    }

    /// Which order this date allows, if not both.
    pub(super) fn order(&self) -> Option<DateOrder> {
        match self.days {
            [Some(_), None] => Some(DateOrder::Dmy),
            [None, Some(_)] => Some(DateOrder::Mdy),
            _ => None,
        }
    }

    /// Whether it means another day in another order.
    pub(super) fn depends_on_order(&self) -> bool {
        self.days[0] != self.days[1]
    }

    /// Whether this is how a spreadsheet shows the instant, of which it was given the time in UTC: without the zone, and maybe without
    /// the seconds. A date of which either number may be the day says too little.
    pub(super) fn shows(&self, at: SystemTime) -> bool {
        let is_one_day = self.order().is_some() || !self.depends_on_order();
        let is_clear = self.zone.is_none() && self.to - self.from < 60 && is_one_day;
        let second = Duration::from_secs(1);
        let order = self.order().unwrap_or(DateOrder::Dmy);
        is_clear
            && self.between(order, Some(0)).is_some_and(|it| {
                // It may have been rounded.
                (it.earliest - second..=it.latest).contains(&at)
            })
    }

    /// The time between two instants. Without any zone it may be in every zone, from 12 hours behind UTC to 14 ahead.
    pub(super) fn between(&self, order: DateOrder, zone: Option<i64>) -> Option<RowTime> {
        let midnight = self.days[order as usize]?;
        let from = midnight.checked_add(Duration::from_secs(self.from))?;
        let to = midnight.checked_add(Duration::from_secs(self.to) + Duration::from_millis(999))?;
        let (ahead, behind) = match self.zone.or(zone) {
            Some(minutes) => (minutes, minutes),
            None => (14 * 60, -12 * 60),
        };
        Some(RowTime { earliest: shifted(from, ahead)?, latest: shifted(to, behind)? })
    }
}

/// The beginning of the day, with the day first and with the month first.
fn parse_date(text: &str) -> Option<[Option<SystemTime>; 2]> {
    let separator = ['-', '/', '.'].into_iter().find(|separator| text.contains(*separator))?;
    let parts: Vec<_> = text.split(separator).collect();
    let [first, second, third] = *parts else { return None };
    let midnight = |year: &str, month: &str, day: &str| {
        humantime::parse_rfc3339(&format!("{year}-{month:0>2}-{day:0>2}T00:00:00Z")).ok()
    };
    let days = match (first.len(), separator) {
        (4, '-' | '/') => [midnight(first, second, third); 2],
        (_, '.') => [midnight(third, second, first); 2],
        _ => [midnight(third, second, first), midnight(third, first, second)],
    };
    days.iter().any(Option::is_some).then_some(days)
}

/// The first and the last second of a written time: `14:05` is a minute.
fn parse_time(text: &str) -> Option<(u64, u64)> {
    let upper = text.to_ascii_uppercase();
    let (text, is_afternoon) = match (upper.strip_suffix("PM"), upper.strip_suffix("AM")) {
        (Some(time), _) => (time.trim_end(), Some(true)),
        (None, Some(time)) => (time.trim_end(), Some(false)),
        (None, None) => (&*upper, None),
    };
    let parts: Vec<_> = text.split(':').collect();
    let (hours, minutes, seconds) = match *parts {
        [hours, minutes] => (hours, minutes, None),
        [hours, minutes, seconds] => (hours, minutes, Some(seconds)),
        _ => return None,
    };
    let hours = match is_afternoon {
        None => number(hours, 1..=2, 0..=23)?,
        Some(is_afternoon) => number(hours, 1..=2, 1..=12)? % 12 + if is_afternoon { 12 } else { 0 },
    };
    let minute = hours * 3600 + number(minutes, 2..=2, 0..=59)? * 60;
    let Some(seconds) = seconds else { return Some((minute, minute + 59)) };
    let (seconds, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    number(fraction, 1..=9, 0..=999_999_999)?;
    let second = minute + number(seconds, 2..=2, 0..=60)?.min(59);
    Some((second, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreadsheet_shows_an_instant_without_its_zone() {
        let at = humantime::parse_rfc3339("2026-11-28T10:35:28.600Z").expect("a time");
        for (is_shown, texts) in [
            (
                true,
                "2026-11-28 10:35:28 | 2026-11-28 10:35:29 | 2026-11-28 10:35 | 11/28/2026 10:35 | 28.11.2026 10:35:28",
            ),
            (false, "28/11/2026 10:36 | 2026-11-28 10:35:27 | 2026-11-28T10:35:28+01:00 | 2026-11-28"),
        ] {
            for text in texts.split(" | ") {
                assert_eq!(Written::parse(text).is_some_and(|it| it.shows(at)), is_shown, "{text}");
            }
        }
        let at = humantime::parse_rfc3339("2026-11-05T10:35:28.600Z").expect("a time");
        assert!(!Written::parse("05/11/2026 10:35").expect("a time").shows(at), "it may be in May");
    }

    #[test]
    fn reconciled_amounts_are_read_only_if_they_have_one_meaning_d53() {
        for (text, cents) in [
            ("10.50", 1050),
            ("10,50", 1050),
            ("10", 1000),
            ("10.5", 1050),
            ("€ 1.234,50", 123_450),
            ("$1,234.50", 123_450),
            ("1 234,50 EUR", 123_450),
            ("1'234.50", 123_450),
            ("1,234,567", 123_456_700),
            ("-10.50", -1050),
            ("(10.50)", -1050),
            ("10.50-", -1050),
            ("0.00", 0),
        ] {
            assert_eq!(amount(text), ReportCell::Read(Amount::from_cents(cents)), "{text}");
        }
        let unreadable = "1.234 | 1,234 | 10.505 | 1.2.3 | 12,34,567.00 | 1.23E+05 | about 10 | #REF! | =10 | 10,50,20 | 10.50 CR | \
                          10.50 NEG | 10.50 DR | 10.50C | -10.50 D | 10K";
        for text in unreadable.split(" | ") {
            assert_eq!(amount(text), ReportCell::Unreadable, "{text}");
        }
        assert_eq!(amount(" "), ReportCell::Empty);
    }

    #[test]
    fn reconciled_last_four_digits_are_found_in_masked_numbers() {
        for text in ["4242", "**** 4242", "xxxxxxxxxxxx4242", "Visa 4242", "424242******4242"] {
            assert_eq!(last_four(text), ReportCell::Read("4242".to_owned()), "{text}");
        }
        assert_eq!(last_four("42"), ReportCell::Read("0042".to_owned()));
        assert_eq!((last_four("Visa"), last_four("")), (ReportCell::Empty, ReportCell::Empty));
        assert_eq!(
            (last_four("4242****"), last_four("** 42")),
            (ReportCell::Unreadable, ReportCell::Unreadable)
        );
    }

    #[test]
    fn reconciled_times_are_ranges_in_their_zone() {
        let shown = |text: &str, zone| {
            let time = Written::parse(text)?.between(DateOrder::Dmy, zone)?;
            let show = |time| humantime::format_rfc3339_millis(time).to_string();
            Some(format!("{} {}", show(time.earliest), show(time.latest)))
        };
        for (text, zone, range) in [
            ("2026-11-23T05:53:48Z", None, "2026-11-23T05:53:48.000Z 2026-11-23T05:53:48.999Z"),
            ("2026-11-23T05:53:48.548+01:00", None, "2026-11-23T04:53:48.000Z 2026-11-23T04:53:48.999Z"),
            ("2026-11-23 05:53", Some(60), "2026-11-23T04:53:00.000Z 2026-11-23T04:53:59.999Z"),
            ("23.11.2026", Some(0), "2026-11-23T00:00:00.000Z 2026-11-23T23:59:59.999Z"),
            ("23.11.2026", None, "2026-11-22T10:00:00.000Z 2026-11-24T11:59:59.999Z"),
            ("1/2/2026 1:05 PM", Some(0), "2026-02-01T13:05:00.000Z 2026-02-01T13:05:59.999Z"),
        ] {
            assert_eq!(shown(text, zone).as_deref(), Some(range), "{text}");
        }
        for text in
            ["", "45987", "2026-02-30", "31.11.2026", "2026-11-23T25:00", "23.11.26", "13/13/2026", "soon"]
        {
            assert_eq!(shown(text, None), None, "{text}");
        }
        let order = |text: &str| Written::parse(text).unwrap().order();
        assert_eq!((order("23/11/2026"), order("11/23/2026")), (Some(DateOrder::Dmy), Some(DateOrder::Mdy)));
        assert_eq!((order("11/10/2026"), order("2026-11-23")), (None, None));
    }
}
