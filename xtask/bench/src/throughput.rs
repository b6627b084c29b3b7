//! How many charges one core of a client makes in a second with many in flight, and how long the slowest of them take,
//! beside the clients that others would use.
//!
//! A round is a process of each client, one after the other, so that what disturbs the machine for a while disturbs all of them
//! alike. Ratios are of one round. The server stays awake, because else it is the client that wakes it; what that changes is
//! told too.

use std::path::PathBuf;

use crate::client_run::{ClientRun, Figures};
use crate::clients::{self, OURS};
use crate::cores::{Cores, Side};
use crate::plan::Plan;
use crate::report::{Cell, Goal, Report, Table};
use crate::server::Server;
use crate::statistics::{Sample, SideBySide};

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    if let Err(why) = clients::are_compared() {
        report.not_measured("charges of one core, beside those of other clients", why);
        return Ok(());
    }
    let cores = Cores::apart();
    let rounds = Rounds::measure(plan, &cores, CLIENTS, cores.are_apart())?;
    report.table(rounds.table());
    let note = cores.note();
    let hyper_util = "hyper-util";
    report.spread(
        "charges/s, of hyper-util's",
        &rounds.rate(hyper_util).ratio,
        "",
        Goal::AtLeast(0.9),
        &note,
    );
    report.spread("charges/s, of reqwest's", &rounds.rate("reqwest").ratio, "", Goal::AtLeast(1.4), &note);
    report.spread("p99 of a charge, of hyper-util's", &rounds.p99(hyper_util).ratio, "", Goal::None, &note);
    rounds.tell_who_waited(report);
    let rounds = Rounds::measure(plan, &cores, WITH_A_SLEEPER, false)?;
    let note = "whoever writes a request alone wakes the server, too";
    report.spread(
        "charges/s, of hyper-util's, server sleeps",
        &rounds.rate(hyper_util).ratio,
        "",
        Goal::None,
        note,
    );
    Ok(())
}

/// Their packages, and what a reader knows them as. Ours is beside those that it has goals against.
const CLIENTS: &[(&str, &str)] = &[
    // The most that this server and one core could be asked for.
    ("raw", "socket, fixed bytes"),
    ("hyper", "hyper conn, serde"),
    (OURS, "this SDK"),
    ("reqwest", "reqwest, its json"),
    ("hyper-util", "hyper-util, serde"),
    ("ureq", "ureq, its json, threads"),
];

const WITH_A_SLEEPER: &[(&str, &str)] = &[("hyper-util", "hyper-util, serde"), (OURS, "this SDK")];

const IN_FLIGHT: u32 = 64;

/// What was measured of each client, round by round.
struct Rounds {
    clients: &'static [(&'static str, &'static str)],
    turns: Vec<Vec<Figures>>,
}

impl Rounds {
    fn measure(
        plan: &Plan,
        cores: &Cores,
        clients: &'static [(&'static str, &'static str)],
        server_stays_awake: bool,
    ) -> anyhow::Result<Self> {
        let programs: Vec<PathBuf> =
            clients.iter().map(|(client, _)| clients::build(client)).collect::<anyhow::Result<_>>()?;
        let arguments: &[_] = if server_stays_awake { &["serve-fixed", "--awake"] } else { &["serve-fixed"] };
        let this = std::env::current_exe()?;
        let server = cores.start(Side::Server, || Server::start(&this, arguments))?;
        let run = ClientRun {
            server: server.address(),
            calls: plan.load_calls,
            in_flight: IN_FLIGHT,
            // They connect, and they fill the caches.
            warm_up: plan.load_warm_up,
            connections: None,
            latencies: true,
        };
        let mut turns: Vec<Vec<Figures>> = clients.iter().map(|_| Vec::new()).collect();
        for round in 0..plan.load_rounds {
            let mut order: Vec<_> = (0..clients.len()).collect();
            // Who goes first changes, so that a machine that slows down steadily favours nobody.
            if round % 2 == 1 {
                order.reverse();
            }
            for client in order {
                turns[client].push(cores.start(Side::Client, || run.run(&programs[client]))?);
            }
        }
        Ok(Self { clients, turns })
    }

    fn of(&self, client: &str) -> &[Figures] {
        let place = self.clients.iter().position(|(name, _)| *name == client);
        &self.turns[place.expect("it is one of the clients")]
    }

    /// Ours beside the client's.
    fn rate(&self, client: &str) -> SideBySide {
        let rates = |client| self.of(client).iter().map(|figures| figures.rate);
        rates(OURS).zip(rates(client)).collect()
    }

    /// The same of the 99th percentile, in microseconds.
    fn p99(&self, client: &str) -> SideBySide {
        let p99 = |client| self.of(client).iter().map(|figures| figures.p99);
        p99(OURS).zip(p99(client)).collect()
    }

    /// If every turn has it.
    fn known(&self, client: &str, figure: fn(&Figures) -> Option<f64>) -> Option<Sample> {
        let values: Option<Vec<_>> = self.of(client).iter().map(figure).collect();
        values.map(Sample::from_iter)
    }

    fn table(&self) -> Table {
        let title = format!("charges of one core, in flight: {IN_FLIGHT} (min / median / max)");
        let ratio = "this SDK ÷ it";
        let columns = ["client", "calls/s", ratio, "p99 in µs", ratio, "µs of its core"];
        let mut table = Table::new(&title, &columns);
        for &(client, name) in self.clients {
            let (rate, p99) = (self.rate(client), self.p99(client));
            let core = self.known(client, |figures| figures.on_core);
            let core = core.map_or(Cell::Missing, |core| core.median().into());
            if client == OURS {
                let (rate, p99) = (&rate.first, &p99.first);
                table.ours(name, [rate.into(), Cell::Missing, p99.into(), Cell::Missing, core]);
            } else {
                let [rate, rates, p99, p99s] =
                    [&rate.second, &rate.ratio, &p99.second, &p99.ratio].map(Cell::from);
                table.peer(name, [rate, rates, p99, p99s, core]);
            }
        }
        table
    }

    /// A rate is the client's own only while its core has nothing to wait for.
    fn tell_who_waited(&self, report: &mut Report) {
        for &(client, name) in self.clients {
            let figure = format!("core of {name}, busy");
            let Some(busy) = self.known(client, |figures| figures.busy) else {
                report.not_measured(&figure, "it has threads, or this is no Linux");
                continue;
            };
            let busy = busy.median() * 100.0;
            let note = if busy < LEAST_BUSY { "IT WAITED, SO ITS RATE IS NOT ITS OWN" } else { "" };
            report.figure(&figure, busy, "%", Goal::None, note);
        }
    }
}

/// In percent. Below this a client has waited for its server, or for others who use its core.
const LEAST_BUSY: f64 = 95.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(rate: f64, p99: f64) -> Figures {
        Figures {
            rate,
            busy: Some(0.99),
            on_core: Some(9.0),
            p99,
            before: None,
            waiting: None,
            peak_together: None,
            peak_warm: None,
            peak: None,
        }
    }

    /// Ours is slower than the others in the second round, when the machine is at its fastest.
    fn rounds() -> Rounds {
        let ours = || vec![turn(100.0, 5.0), turn(190.0, 3.0), turn(110.0, 5.0)];
        let theirs = || vec![turn(80.0, 5.0), turn(200.0, 1.0), turn(100.0, 5.0)];
        let turns = CLIENTS.iter().map(|(client, _)| if *client == OURS { ours() } else { theirs() });
        Rounds { clients: CLIENTS, turns: turns.collect() }
    }

    #[test]
    fn a_ratio_is_of_one_round() {
        let is = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        let ratio = rounds().rate("hyper").ratio;
        assert!(is(ratio.least(), 0.95) && is(ratio.median(), 1.1) && is(ratio.most(), 1.25));
        let ratio = rounds().p99("reqwest").ratio;
        assert!(is(ratio.least(), 1.0) && is(ratio.median(), 1.0) && is(ratio.most(), 3.0));
    }

    #[test]
    fn the_table_has_a_cell_for_each_column() {
        let mut report = Report::default();
        report.begin("throughput", "");
        // It panics otherwise.
        report.table(rounds().table());
    }

    #[test]
    fn a_client_that_waited_in_one_turn_alone_is_told_as_busy() {
        let mut rounds = rounds();
        rounds.turns[0][1].busy = Some(0.2);
        rounds.turns[1].iter_mut().for_each(|figures| figures.busy = None);
        assert!(rounds.known("raw", |figures| figures.busy).unwrap().median() > 0.95);
        assert!(rounds.known("hyper", |figures| figures.busy).is_none());
    }
}
