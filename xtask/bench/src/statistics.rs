use std::time::Duration;

/// Measurements of one thing, in order of size. There is at least one.
#[derive(Debug)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn median(&self) -> f64 {
        let Self(sorted) = self;
        let middle = sorted.len() / 2;
        if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut sorted: Vec<_> = values.into_iter().collect();
        assert!(!sorted.is_empty(), "nothing was measured");
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }
}

/// In milliseconds.
impl FromIterator<Duration> for Sample {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        times.into_iter().map(|time| time.as_secs_f64() * 1e3).collect()
    }
}

/// Two things measured in turns. What disturbs the machine for a while disturbs both, so the ratio within a turn is
/// steadier than either.
#[derive(Debug)]
pub(crate) struct SideBySide {
    pub(crate) first: Sample,
    pub(crate) second: Sample,
    /// The first divided by the second, turn by turn.
    pub(crate) ratio: Sample,
}

impl SideBySide {
    pub(crate) fn measure(
        turns: u32,
        mut first: impl FnMut() -> anyhow::Result<f64>,
        mut second: impl FnMut() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        let mut pairs = Vec::new();
        for turn in 0..turns {
            // Who goes first changes, so that a machine that slows down steadily favours neither.
            pairs.push(if turn % 2 == 0 {
                let first = first()?;
                (first, second()?)
            } else {
                let second = second()?;
                (first()?, second)
            });
        }
        Ok(pairs.into_iter().collect())
    }
}

/// A pair for each turn.
impl FromIterator<(f64, f64)> for SideBySide {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let pairs: Vec<_> = pairs.into_iter().collect();
        Self {
            first: pairs.iter().map(|(first, _)| *first).collect(),
            second: pairs.iter().map(|(_, second)| *second).collect(),
            ratio: pairs.iter().map(|(first, second)| first / second).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(measured: f64, expected: f64) -> bool {
        (measured - expected).abs() < 1e-9
    }

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert!(is(Sample::from_iter([3.0]).median(), 3.0));
        assert!(is(Sample::from_iter([9.0, 1.0, 2.0]).median(), 2.0));
        assert!(is(Sample::from_iter([9.0, 1.0, 2.0, 4.0]).median(), 3.0));
    }

    #[test]
    fn the_extremes_are_known() {
        let sample: Sample = [9.0, -1.0, 2.0].into_iter().collect();
        assert!(is(sample.least(), -1.0) && is(sample.most(), 9.0));
    }

    #[test]
    fn times_are_in_milliseconds() {
        assert!(is(Sample::from_iter([Duration::from_micros(1_500)]).median(), 1.5));
    }

    #[test]
    fn a_ratio_is_of_one_turn_and_not_of_medians() {
        let (mut first, mut second) = ([10.0, 200.0, 30.0].into_iter(), [20.0, 100.0, 10.0].into_iter());
        let measured =
            SideBySide::measure(3, || Ok(first.next().unwrap()), || Ok(second.next().unwrap())).unwrap();
        assert!(is(measured.ratio.least(), 0.5));
        assert!(is(measured.ratio.median(), 2.0));
        assert!(is(measured.ratio.most(), 3.0));
        assert!(is(measured.first.median(), 30.0) && is(measured.second.median(), 20.0));
    }

    #[test]
    fn the_two_take_turns_in_going_first() {
        let order = std::cell::RefCell::new(String::new());
        let note = |name: char| {
            order.borrow_mut().push(name);
            Ok(1.0)
        };
        SideBySide::measure(3, || note('a'), || note('b')).unwrap();
        assert_eq!(order.into_inner(), "abbaab");
    }

    #[test]
    fn a_turn_that_fails_ends_it_all() {
        assert!(SideBySide::measure(2, || Ok(1.0), || anyhow::bail!("no answer")).is_err());
    }
}
