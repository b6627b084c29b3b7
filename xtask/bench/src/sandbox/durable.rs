//! Whether connections that pay at the same time share the cost of making payments durable.

use super::{MANY_CONNECTIONS, Rig};
use crate::report::{Goal, Report, Short};
use crate::statistics::Sample;

pub(super) fn measure(rig: &Rig<'_>, report: &mut Report) -> anyhow::Result<()> {
    let name = format!("POST /transaction, --data, connections: {MANY_CONNECTIONS}");
    if let Some(why) = rig.no_data {
        report.not_measured(&name, why);
        return Ok(());
    }
    let folder = rig.folder()?;
    let (durable, in_memory) = (rig.sandbox_with_data(&folder.path().join("data"))?, rig.sandbox()?);
    let turns = (0..rig.plan.turns).map(|_| {
        Ok(Turn {
            one: rig.payments_turn(&durable, 1)?.rate(),
            many: rig.payments_turn(&durable, MANY_CONNECTIONS)?.rate(),
            in_memory: rig.payments_turn(&in_memory, MANY_CONNECTIONS)?.rate(),
        })
    });
    let turns = turns.collect::<anyhow::Result<Vec<_>>>()?;
    let of = |value: fn(&Turn) -> f64| turns.iter().map(value).collect::<Sample>();
    let note = format!(
        "{} per second; one connection {}, in memory {}",
        Short(of(|turn| turn.many).median()),
        Short(of(|turn| turn.one).median()),
        Short(of(|turn| turn.in_memory).median()),
    );
    report.figure(&name, of(Turn::reached).median(), "of what is asked", Goal::AtLeast(1.0), &note);
    Ok(())
}

/// Rates that were measured one after the other.
struct Turn {
    one: f64,
    many: f64,
    in_memory: f64,
}

impl Turn {
    /// What was reached of the lesser of eight times the rate of one connection and half of the rate in memory.
    fn reached(&self) -> f64 {
        self.many / (8.0 * self.one).min(self.in_memory / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Turn;

    #[test]
    fn the_lesser_of_the_two_goals_is_asked() {
        let reached = |one, many, in_memory| Turn { one, many, in_memory }.reached();
        assert!((reached(100.0, 800.0, 10_000.0) - 1.0).abs() < 1e-9);
        assert!((reached(2_000.0, 5_000.0, 10_000.0) - 1.0).abs() < 1e-9);
        assert!(reached(100.0, 799.0, 10_000.0) < 1.0);
    }
}
