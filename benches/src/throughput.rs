//! How many charges one core of a client makes in a second with many in flight, and how long the slowest of them take,
//! beside the clients that others would use.

use std::path::Path;
use std::time::Duration;

use crate::client_run::{ClientRun, Figures};
use crate::clients::{self, OURS};
use crate::cores::{Cores, Side};
use crate::plan::Plan;
use crate::report::{Goal, Report, Short};
use crate::server::Server;
use crate::statistics::{Sample, SideBySide};

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    if let Err(why) = clients::are_compared() {
        report.not_measured("calls of one core", why);
        return Ok(());
    }
    let ours = clients::build(OURS)?;
    let rig = Rig { plan, cores: Cores::apart() };
    println!("{}", rig.cores.note());
    for peer in PEERS {
        rig.compare(&ours, &clients::build(peer.name)?, peer, report)?;
    }
    Ok(())
}

/// What this SDK is measured against.
struct Peer {
    name: &'static str,
    /// What our rate must be, as a multiple of its rate.
    rate: Goal,
    /// What our 99th percentile must be, as a multiple of its own.
    p99: Goal,
}

const PEERS: &[Peer] = &[
    Peer { name: "hyper", rate: Goal::AtLeast(1.0), p99: Goal::AtMost(1.1) },
    Peer { name: "reqwest", rate: Goal::AtLeast(1.5), p99: Goal::None },
    Peer { name: "hyper-util", rate: Goal::None, p99: Goal::None },
    // A thread for each call, so that it may use more than one core where the system lets it.
    Peer { name: "ureq", rate: Goal::None, p99: Goal::None },
    // The most that this server and this core could be asked for.
    Peer { name: "raw", rate: Goal::None, p99: Goal::None },
];

const IN_FLIGHT: u32 = 64;

struct Rig<'a> {
    plan: &'a Plan,
    cores: Cores,
}

impl Rig<'_> {
    fn compare(&self, ours: &Path, theirs: &Path, peer: &Peer, report: &mut Report) -> anyhow::Result<()> {
        let program = std::env::current_exe()?;
        let server = self.cores.start(Side::Server, || Server::start(&program, &["serve-fixed"]))?;
        let (mut our_turns, mut their_turns) = (Vec::new(), Vec::new());
        let rates = SideBySide::measure(
            self.plan.load_turns,
            || Ok(keep(&mut our_turns, self.turn(&server, ours)?)),
            || Ok(keep(&mut their_turns, self.turn(&server, theirs)?)),
        )?;
        let busy = busy(&our_turns, &their_turns, peer.name);
        let per_turn = |figure: fn(&Turn) -> f64| -> SideBySide {
            our_turns.iter().map(figure).zip(their_turns.iter().map(figure)).collect()
        };
        let p99 = per_turn(|turn| turn.figures.p99);
        let (unit, calls) = (format!("of {}", peer.name), format!("charges, in flight: {IN_FLIGHT}"));
        let note = format!("{}; {busy}", against(&rates, "per second"));
        report.figure(&format!("rate of {calls}"), rates.ratio.median(), &unit, peer.rate, &note);
        let note = against(&p99, "µs");
        report.figure(&format!("p99 of {calls}"), p99.ratio.median(), &unit, peer.p99, &note);
        Ok(())
    }

    /// One process from its start to its end. Its first calls do not count: they connect, and they fill the caches.
    fn turn(&self, server: &Server, client: &Path) -> anyhow::Result<Turn> {
        let run = ClientRun {
            server: server.address(),
            calls: self.plan.load_calls,
            in_flight: IN_FLIGHT,
            warm_up: self.plan.load_warm_up,
            connections: None,
            latencies: true,
        };
        let before = server.processor_time();
        let figures = self.cores.start(Side::Client, || run.run(client))?;
        let spent = server.processor_time().zip(before).map(|(after, before)| after.saturating_sub(before));
        let calls = f64::from(run.calls + run.warm_up + run.in_flight);
        let server_busy = spent.map(|spent: Duration| spent.as_secs_f64() / calls * figures.rate);
        Ok(Turn { figures, server_busy })
    }
}

struct Turn {
    figures: Figures,
    /// How much of the time the server was on a processor, from 0 to 1.
    server_busy: Option<f64>,
}

fn keep(turns: &mut Vec<Turn>, turn: Turn) -> f64 {
    let rate = turn.figures.rate;
    turns.push(turn);
    rate
}

fn against(SideBySide { first, second, ratio }: &SideBySide, unit: &str) -> String {
    format!(
        "{} against {} {unit}; {} turns, {} to {}",
        Short(first.median()),
        Short(second.median()),
        ratio.len(),
        Short(ratio.least()),
        Short(ratio.most()),
    )
}

/// Who was the bottleneck: a rate is the client's own only while its core has nothing to wait for.
fn busy(ours: &[Turn], theirs: &[Turn], their_name: &str) -> String {
    let median = |shares: Vec<f64>| (!shares.is_empty()).then(|| Sample::from_iter(shares).median());
    let client = |turns: &[Turn]| median(turns.iter().filter_map(|turn| turn.figures.busy).collect());
    let server = median(ours.iter().chain(theirs).filter_map(|turn| turn.server_busy).collect());
    let shares = [("this SDK", client(ours)), (their_name, client(theirs)), ("the server", server)];
    let told = shares.iter().filter_map(|(who, share)| Some(format!("{who} {:.0} %", (*share)? * 100.0)));
    let told = format!("busy: {}", told.collect::<Vec<_>>().join(", "));
    let waits = |share: Option<f64>| share.is_some_and(|share| share < LEAST_BUSY);
    if waits(shares[0].1) || waits(shares[1].1) {
        return format!("{told}, SO THE CLIENT IS NOT THE BOTTLENECK");
    }
    told
}

/// Below this a client has waited for its server, or for others who use its core.
const LEAST_BUSY: f64 = 0.95;
