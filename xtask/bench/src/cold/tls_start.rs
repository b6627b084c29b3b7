//! What the default features of TLS take in a fresh process, until the first byte of a handshake is on its way: settings,
//! roots, and the first use of the cryptography, which makes a key.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use payments_core::{ApiKey, Client, Endpoint};
use payments_hyper::{HyperTransport, TokioTimer};
use serde_json::{Value, json};
use tokio::runtime;

use crate::plan::Plan;
use crate::report::{Goal, Report};
use crate::statistics::Sample;

pub(super) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let starts = (0..plan.starts).map(|_| start()).collect::<anyhow::Result<Vec<_>>>()?;
    let built: Sample = starts.iter().map(|start| start.built).collect();
    let greeted: Sample = starts.iter().map(|start| start.greeted).collect();
    report.spread("default transport built", &built, "ms", Goal::AtMost(2.0), "fresh processes");
    let name = "default transport built, first byte of TLS sent";
    report.spread(name, &greeted, "ms", Goal::AtMost(2.0), "with the first use of ring, and TCP");
    Ok(())
}

/// Since before the builder.
struct Start {
    built: Duration,
    greeted: Duration,
}

/// In a process of its own, because the first use of something can be seen only once in each.
fn start() -> anyhow::Result<Start> {
    let output = Command::new(std::env::current_exe()?).arg("start-tls").output()?;
    ensure!(output.status.success(), "start-tls ended with {}", output.status);
    let said: Value = serde_json::from_slice(&output.stdout).context("start-tls prints JSON")?;
    let time = |name: &str| {
        let seconds = said[name].as_f64().with_context(|| format!("no {name} in {said}"))?;
        anyhow::Ok(Duration::from_secs_f64(seconds))
    };
    Ok(Start { built: time("built")?, greeted: time("greeted")? })
}

/// Does it once, and prints when what had happened.
pub(crate) fn run() -> anyhow::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let endpoint = Endpoint::new(&format!("https://{address}/api/v1/public"), ApiKey::new("none")?)?;
    let id = "txn_e220a8397b1dcdaf".parse()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept()?;
        socket.read_exact(&mut [0])?;
        std::io::Result::Ok(Instant::now())
    });

    let started = Instant::now();
    let transport = HyperTransport::builder().build()?;
    let built = started.elapsed();
    let client = Client::builder(endpoint, transport, TokioTimer::new()).lookup_retries(0).build();
    // In vain: the server leaves when it has seen the first byte.
    let looked_up = runtime.block_on(client.transaction(&id));
    ensure!(looked_up.is_err(), "nobody answered, and yet there was an answer");

    let greeted = server.join().expect("it does not panic")?.duration_since(started);
    let line = json!({ "built": built.as_secs_f64(), "greeted": greeted.as_secs_f64() });
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
