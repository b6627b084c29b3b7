//! ureq with its own JSON, a thread for each call under way.

use std::net::SocketAddr;
use std::time::Duration;

use bench_harness::{API_KEY, Answer, Charge, TRANSACTION};

#[derive(Clone)]
struct Ureq {
    agent: ureq::Agent,
    base_url: String,
    charge: Charge,
}

fn client(server: SocketAddr) -> Ureq {
    let settings = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(30)))
        .max_idle_connections(64)
        .max_idle_connections_per_host(64)
        .build();
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
