//! Whether a client's later connections resume its first session, as the server sees it.

use std::time::Duration;

use anyhow::ensure;
use payments_core::{ApiKey, Client, Endpoint};
use payments_hyper::{HyperTransport, TokioTimer};
use rustls::HandshakeKind;
use tokio::runtime;

use crate::https_server::HttpsServer;
use crate::plan::Plan;
use crate::report::{Goal, Report};

pub(super) fn measure(plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    let share = share(plan.starts)?;
    let note = format!("{} later connections of one client", plan.starts);
    report.figure("connections that resume a TLS session", share, "of all", Goal::AtLeast(1.0), &note);
    Ok(())
}

/// How many of so many connections after the first resume a session.
fn share(later: u32) -> anyhow::Result<f64> {
    let server = HttpsServer::start()?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(look_up(&server, 1 + later))?;
    let handshakes = server.handshakes();
    ensure!(handshakes.len() == 1 + usize::try_from(later)?, "each look-up has a connection of its own");
    let resumed = handshakes.iter().filter(|kind| **kind == HandshakeKind::Resumed).count();
    Ok(f64::from(u32::try_from(resumed)?) / f64::from(later))
}

/// Makes look-ups one after the other, each on a connection of its own.
async fn look_up(server: &HttpsServer, count: u32) -> anyhow::Result<()> {
    let base_url = format!("https://{}/api/v1/public", server.address());
    let endpoint = Endpoint::new(&base_url, ApiKey::new("none")?)?;
    let transport = HyperTransport::builder()
        .only_root_certificates_pem(server.root_pem())
        .pool_idle_timeout(Duration::ZERO)
        .build()?;
    let client = Client::builder(endpoint, transport, TokioTimer::new()).build();
    let id = "txn_e220a8397b1dcdaf".parse()?;
    for _ in 0..count {
        client.transaction(&id).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_later_connection_of_a_client_resumes_a_session() {
        let share = super::share(5).unwrap();
        assert!(share > 0.99, "{share} of them");
    }
}
