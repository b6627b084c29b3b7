//! ureq with its own JSON, as it ships, a thread for each call under way.
//!
//! As it ships it has no deadline. `timeout_global` would cost it another 13 000 instructions a call, because it sets the time-outs of
//! the socket anew before each read and write: what a charge needs, but a peer is taken at its cheapest here. Its buffers
//! and where it looks for a proxy make no difference that could be seen.

use std::net::SocketAddr;

use bench_harness::{API_KEY, Answer, Charge, TRANSACTION};

#[derive(Clone)]
struct Ureq {
    agent: ureq::Agent,
    base_url: String,
    charge: Charge,
}

fn client(server: SocketAddr) -> Ureq {
    // As many as there are threads, or most calls would open a connection.
    let settings =
        ureq::Agent::config_builder().max_idle_connections(64).max_idle_connections_per_host(64).build();
    Ureq {
        agent: settings.into(),
        base_url: format!("http://{server}/api/v1/public"),
        charge: Charge::example(),
    }
}

fn charge(ureq: &Ureq) -> String {
    let request = ureq.agent.post(format!("{}/transaction", ureq.base_url));
    let request = request.header("authorization", API_KEY).header("accept", "application/json");
    let mut answer = request.send_json(&ureq.charge).expect("the server answers");
    let answer: Answer = answer.body_mut().read_json().expect("the answer is understood");
    answer.data.transaction_id
}

fn look_up(ureq: &Ureq) -> String {
    let request = ureq.agent.get(format!("{}/transaction/{TRANSACTION}", ureq.base_url));
    let request = request.header("authorization", API_KEY).header("accept", "application/json");
    let mut answer = request.call().expect("the server answers");
    let answer: Answer = answer.body_mut().read_json().expect("the answer is understood");
    answer.data.transaction_id
}

fn main() {
    bench_harness::run_blocking(client, charge, look_up);
}
