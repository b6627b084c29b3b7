//! How many charges one core of a client makes in a second with many in flight, and how long the slowest of them take,
//! beside the clients that others would use.
//!
//! A round is a process of each client, one after the other, so that what disturbs the machine for a while disturbs all of them
//! alike. Ratios are of one round.

use std::path::{Path, PathBuf};
use std::time::Duration;

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
    let rounds = Rig::new(plan)?.rounds()?;
    report.table(rounds.table());
    rounds.compare_rate("hyper", Goal::AtLeast(1.0), report);
    rounds.compare_rate("reqwest", Goal::AtLeast(1.5), report);
    rounds.compare_p99("hyper", Goal::AtMost(1.1), report);
    rounds.tell_who_waited(report);
    Ok(())
}

/// Ours is beside those that it has goals against.
const CLIENTS: &[(&str, &str)] = &[
    // The most that this server and one core could be asked for.
    ("raw", "socket, fixed bytes"),
    ("hyper", "hyper conn, serde"),
    (OURS, "this SDK"),
    ("reqwest", "reqwest, its json"),
    ("hyper-util", "hyper-util, serde"),
    ("ureq", "ureq, its json, threads"),
];

const IN_FLIGHT: u32 = 64;

struct Rig<'a> {
    plan: &'a Plan,
    cores: Cores,
    server: Server,
    clients: Vec<PathBuf>,
}

impl<'a> Rig<'a> {
    fn new(plan: &'a Plan) -> anyhow::Result<Self> {
        let clients =
            CLIENTS.iter().map(|(client, _)| clients::build(client)).collect::<anyhow::Result<_>>()?;
        let (cores, program) = (Cores::apart(), std::env::current_exe()?);
        let server = cores.start(Side::Server, || Server::start(&program, &["serve-fixed"]))?;
        Ok(Self { plan, cores, server, clients })
    }

    fn rounds(&self) -> anyhow::Result<Rounds> {
        let mut turns: Vec<Vec<Turn>> = CLIENTS.iter().map(|_| Vec::new()).collect();
        for round in 0..self.plan.load_rounds {
            let mut order: Vec<_> = (0..CLIENTS.len()).collect();
            // Who goes first changes, so that a machine that slows down steadily favours nobody.
            if round % 2 == 1 {
                order.reverse();
            }
            for client in order {
                turns[client].push(self.turn(&self.clients[client])?);
            }
        }
        Ok(Rounds { turns, cores: self.cores.note() })
    }

    /// One process from its start to its end. Its first calls do not count: they connect, and they fill the caches.
    fn turn(&self, client: &Path) -> anyhow::Result<Turn> {
        let Self { plan, cores, server, clients: _ } = self;
        let run = ClientRun {
            server: server.address(),
            calls: plan.load_calls,
            in_flight: IN_FLIGHT,
            warm_up: plan.load_warm_up,
            connections: None,
            latencies: true,
        };
        let before = server.processor_time();
        let figures = cores.start(Side::Client, || run.run(client))?;
        let spent = server.processor_time().zip(before).map(|(after, before)| after.saturating_sub(before));
        let calls = f64::from(run.calls + run.warm_up + run.in_flight);
        let server_busy = spent.map(|spent: Duration| spent.as_secs_f64() / calls * figures.rate);
        Ok(Turn { figures, server_busy })
    }
}

#[derive(Debug)]
struct Turn {
    figures: Figures,
    /// How much of the time the server was on a processor, from 0 to 1.
    server_busy: Option<f64>,
}

/// The turns of each client, round by round.
struct Rounds {
    turns: Vec<Vec<Turn>>,
    cores: String,
}

impl Rounds {
    fn of(&self, client: &str) -> &[Turn] {
        let place = CLIENTS.iter().position(|(name, _)| *name == client).expect("it is one of the clients");
        &self.turns[place]
    }

    /// Ours beside the client's.
    fn beside(&self, client: &str, figure: fn(&Figures) -> f64) -> SideBySide {
        let figures = |client| self.of(client).iter().map(|turn| figure(&turn.figures));
        figures(OURS).zip(figures(client)).collect()
    }

    fn table(&self) -> Table {
        let title = format!("charges of one core, in flight: {IN_FLIGHT} (min / median / max)");
        let ratio = "this SDK ÷ it";
        let mut table = Table::new(&title, &["client", "calls/s", ratio, "p99 in µs", ratio]);
        for &(client, name) in CLIENTS {
            let (rate, p99) = (self.beside(client, RATE), self.beside(client, P99));
            if client == OURS {
                table.ours(name, [(&rate.first).into(), Cell::Missing, (&p99.first).into(), Cell::Missing]);
            } else {
                table.peer(name, [&rate.second, &rate.ratio, &p99.second, &p99.ratio].map(Cell::from));
            }
        }
        table
    }

    fn compare_rate(&self, peer: &str, goal: Goal, report: &mut Report) {
        let ratio = self.beside(peer, RATE).ratio;
        report.spread(&format!("charges/s, of {peer}'s"), &ratio, "", goal, &self.cores);
    }

    fn compare_p99(&self, peer: &str, goal: Goal, report: &mut Report) {
        let ratio = self.beside(peer, P99).ratio;
        report.spread(&format!("p99 of a charge, of {peer}'s"), &ratio, "", goal, &self.cores);
    }

    /// Who was the bottleneck: a rate is the client's own only while its core has nothing to wait for.
    fn tell_who_waited(&self, report: &mut Report) {
        for &(client, name) in CLIENTS {
            let turns = self.of(client);
            let median = |share: fn(&Turn) -> Option<f64>| {
                let shares: Option<Vec<_>> = turns.iter().map(share).collect();
                shares.map(|shares| Sample::from_iter(shares).median() * 100.0)
            };
            let figure = format!("core of {name}, busy");
            let server = median(|turn| turn.server_busy)
                .map_or_else(String::new, |busy| format!("the server's was busy for {busy:.0} %"));
            match median(|turn| turn.figures.busy) {
                Some(busy) if busy < LEAST_BUSY => {
                    let note = format!("{server}: SO IT WAITED, AND ITS RATE IS NOT ITS OWN");
                    report.figure(&figure, busy, "%", Goal::None, &note);
                }
                Some(busy) => report.figure(&figure, busy, "%", Goal::None, &server),
                None => {
                    report.not_measured(&figure, &format!("it has threads, or this is no Linux; {server}"));
                }
            }
        }
    }
}

const RATE: fn(&Figures) -> f64 = |figures| figures.rate;
const P99: fn(&Figures) -> f64 = |figures| figures.p99;

/// In percent. Below this a client has waited for its server, or for others who use its core.
const LEAST_BUSY: f64 = 95.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(rate: f64, p99: f64, busy: f64) -> Turn {
        let figures = Figures {
            rate,
            busy: Some(busy),
            p99,
            before: None,
            waiting: None,
            peak_together: None,
            peak_warm: None,
            peak: None,
        };
        Turn { figures, server_busy: Some(0.5) }
    }

    /// Ours is slower than hyper in the second round, when the machine is at its fastest.
    fn rounds() -> Rounds {
        let of = |client: &str| match client {
            OURS => vec![turn(100.0, 5.0, 0.99), turn(190.0, 3.0, 0.99), turn(110.0, 5.0, 0.99)],
            "raw" => vec![turn(300.0, 1.0, 0.5), turn(300.0, 1.0, 0.5), turn(300.0, 1.0, 0.5)],
            _ => vec![turn(80.0, 5.0, 0.99), turn(200.0, 1.0, 0.99), turn(100.0, 5.0, 0.99)],
        };
        Rounds { turns: CLIENTS.iter().map(|(client, _)| of(client)).collect(), cores: String::new() }
    }

    #[test]
    fn a_ratio_is_of_one_round() {
        let ratio = rounds().beside("hyper", RATE).ratio;
        let is = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(is(ratio.least(), 0.95) && is(ratio.median(), 1.1) && is(ratio.most(), 1.25));
    }

    #[test]
    fn a_goal_is_missed_by_the_median() {
        let mut report = Report::default();
        report.begin("throughput", "");
        rounds().compare_rate("hyper", Goal::AtLeast(1.0), &mut report);
        rounds().compare_p99("hyper", Goal::AtMost(1.1), &mut report);
        rounds().compare_rate("reqwest", Goal::AtLeast(1.5), &mut report);
        rounds().tell_who_waited(&mut report);
        assert_eq!(report.close(), 1);
    }

    #[test]
    fn the_table_has_a_cell_for_each_column() {
        let mut report = Report::default();
        report.begin("throughput", "");
        // It panics otherwise.
        report.table(rounds().table());
    }
}
