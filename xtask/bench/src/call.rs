//! What one call costs each client: its instructions, and what it asks of the allocator.
//!
//! Every client makes the same calls over one warm connection to a server that answers with fixed bytes.

use std::path::Path;

use crate::clients::{self, OURS};
use crate::plan::Plan;
use crate::report::{Cell, Goal, Report, Table};
use crate::server::Server;
use crate::valgrind::{self, Counted, Heap};

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    if let Err(why) = clients::are_compared() {
        report.not_measured("a call, beside those of other clients", why);
        return Ok(());
    }
    if !valgrind::is_installed() {
        report.not_measured("a call, beside those of other clients", valgrind::IS_MISSING);
        return Ok(());
    }
    let server = Server::start(&std::env::current_exe()?, &["serve-fixed"])?;
    let programs = CLIENTS.iter().map(|client| clients::build(client)).collect::<anyhow::Result<Vec<_>>>()?;
    for compared in &[CHARGE, LOOK_UP] {
        let mut costs = Vec::new();
        for (client, program) in CLIENTS.iter().zip(&programs) {
            costs.push((*client, Cost::count(program, &server, compared.word, plan)?));
        }
        compared.tell(&Costs(costs), report);
    }
    let ours =
        CLIENTS.iter().zip(&programs).find(|(client, _)| **client == OURS).expect("ours is a client").1;
    let built = Cost::count(ours, &server, "build-request", plan)?;
    let about = "building a request, which validates it";
    let nobody_else = "no peer validates, so no call has it in";
    report.figure(about, built.instructions, "instructions", Goal::None, nobody_else);
    report.figure(about, built.heap.allocations, "allocations", Goal::None, "");
    Ok(())
}

/// From the leanest to the richest.
const CLIENTS: &[&str] = &["raw", "hyper", OURS, "hyper-util", "ureq", "reqwest"];

/// A call that every client makes, and what ours may cost.
struct Compared {
    /// As the programs of the clients are told.
    word: &'static str,
    about: &'static str,
    /// Our instructions as a share of those of a peer.
    shares: &'static [(&'static str, f64)],
    allocations: Goal,
}

const CHARGE: Compared = Compared {
    word: "charge",
    about: "a charge: 27 fields out, a record back",
    shares: &[("hyper-util", 1.25), ("reqwest", 0.8)],
    allocations: Goal::None,
};

const LOOK_UP: Compared = Compared {
    word: "look-up",
    about: "a look-up: a record back",
    shares: &[("hyper-util", 1.25)],
    allocations: Goal::None,
};

impl Compared {
    fn tell(&self, costs: &Costs, report: &mut Report) {
        let Self { word, about, shares, allocations } = self;
        report.table(costs.table(about));
        let ours = costs.of(OURS);
        for (peer, goal) in *shares {
            let share = ours.instructions / costs.of(peer).instructions;
            report.figure(&format!("{word}: instructions, of {peer}'s"), share, "", Goal::AtMost(*goal), "");
        }
        report.figure(&format!("{word}: allocations"), ours.heap.allocations, "", *allocations, "");
    }
}

/// Of one call.
#[derive(Clone, Copy, Debug)]
struct Cost {
    instructions: f64,
    heap: Heap,
}

impl Cost {
    fn count(program: &Path, server: &Server, word: &str, plan: &Plan) -> anyhow::Result<Self> {
        let calls = calls_in_turn(program, server, word);
        let (few, many) = plan.client_calls;
        Ok(Self {
            instructions: calls.instructions_per_call(few, many)?,
            heap: calls.heap_per_call(few, many)?,
        })
    }
}

/// One after the other over one connection.
fn calls_in_turn<'a>(program: &Path, server: &'a Server, word: &'a str) -> Counted<'a> {
    Counted::new(program, move |calls| {
        vec![server.address().to_string(), word.to_owned(), calls.to_string(), "1".to_owned()]
    })
}

/// Of each client.
struct Costs(Vec<(&'static str, Cost)>);

impl Costs {
    fn of(&self, name: &str) -> Cost {
        self.0.iter().find(|(client, _)| *client == name).expect("it is one of the clients").1
    }

    fn table(&self, about: &str) -> Table {
        let mut table =
            Table::new(about, &["client", "instructions", "this SDK ÷ it", "allocations", "bytes allocated"]);
        let ours = self.of(OURS);
        for (client, Cost { instructions, heap }) in &self.0 {
            let share = ours.instructions / instructions;
            if *client == OURS {
                let cells = [*instructions, heap.allocations, heap.bytes].map(Cell::from);
                table.ours("this SDK", [cells[0], Cell::Missing, cells[1], cells[2]]);
            } else {
                table.peer(
                    called(client),
                    [*instructions, share, heap.allocations, heap.bytes].map(Cell::from),
                );
            }
        }
        table
    }
}

/// What a reader of the table knows it as.
fn called(client: &str) -> &str {
    match client {
        "raw" => "socket, fixed bytes",
        "hyper" => "hyper conn, serde",
        "hyper-util" => "hyper-util, serde",
        "ureq" => "ureq, its json",
        "reqwest" => "reqwest, its json",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> Costs {
        let cost =
            |instructions, allocations| Cost { instructions, heap: Heap { allocations, bytes: 4_096.0 } };
        let all =
            [16_000.0, 50_000.0, 82_000.0, 64_000.0, 88_000.0, 104_000.0].map(|count| cost(count, 25.0));
        Costs(CLIENTS.iter().copied().zip(all).collect())
    }

    #[test]
    fn a_goal_is_a_share_of_what_the_peer_costs() {
        let mut report = Report::default();
        report.begin("call", "");
        CHARGE.tell(&costs(), &mut report);
        // More than 1.25 times those of hyper-util, and less than 0.8 times those of reqwest.
        assert_eq!(report.close(), 1);
    }

    #[test]
    fn every_peer_of_a_goal_is_a_client() {
        for (peer, _) in CHARGE.shares.iter().chain(LOOK_UP.shares) {
            assert!(CLIENTS.contains(peer), "{peer}");
        }
    }
}
