use std::mem;
use std::process;
use std::sync::{Arc, RwLock};

use rustls::ClientConfig;
use rustls::client::Resumption;
use ureq::Agent;
use ureq::config::AutoHeaderValue;

use crate::builder::Pool;
use crate::connection::{NoLookup, Opener};

/// ureq's agents, each with its own pool: one for each process that uses the transport.
///
/// A connection that was opened before `fork` belongs to both processes: each could read the other's responses. So a forked child
/// gets an agent of its own, and does not touch the parent's, not even to drop it: another thread of the parent may have held its
/// locks, or was changing it, at the moment of the fork.
pub(crate) struct Agents {
    tls: Arc<ClientConfig>,
    pool: Pool,
    /// The process that built the transport, and its agent. `None` only while this is dropped.
    first: Option<(u32, Agent)>,
    /// The agents of forked processes. The first process never locks this.
    forked: RwLock<Vec<(u32, Agent)>>,
}

impl Agents {
    pub(crate) fn new(tls: Arc<ClientConfig>, pool: Pool) -> Self {
        let first = Some((process::id(), new_agent(Arc::clone(&tls), pool)));
        Self { tls, pool, first, forked: RwLock::default() }
    }

    /// The agent of this process.
    ///
    /// This never waits for a lock: one that another thread held at the moment of a fork stays locked for ever in the child. Without
    /// the lock, this call has an agent of its own, whose connections it does not share.
    pub(crate) fn get(&self) -> Agent {
        let process = process::id();
        let of_this_process = |(id, agent): &(u32, Agent)| (*id == process).then(|| agent.clone());
        let known = self.first.as_ref().and_then(of_this_process);
        let known = known.or_else(|| self.forked.try_read().ok()?.iter().find_map(of_this_process));
        known.unwrap_or_else(|| {
            let mut tls = ClientConfig::clone(&self.tls);
            // The parent's store of TLS sessions has a lock too.
            tls.resumption = Resumption::default();
            let agent = new_agent(Arc::new(tls), self.pool);
            if let Ok(mut forked) = self.forked.try_write() {
                match forked.iter().find_map(of_this_process) {
                    Some(agent) => return agent,
                    None => forked.push((process, agent.clone())),
                }
            }
            agent
        })
    }
}

impl Drop for Agents {
    /// Leaks the agents of other processes.
    fn drop(&mut self) {
        let forked = mem::take(&mut self.forked);
        let agents = forked.try_write().ok().map(|mut agents| mem::take(&mut *agents));
        let Some(agents) = agents else {
            // A thread of the parent was using the list when this process was forked.
            return mem::forget((forked, self.first.take()));
        };
        for (process, agent) in self.first.take().into_iter().chain(agents) {
            if process != process::id() {
                mem::forget(agent);
            }
        }
    }
}

fn new_agent(tls: Arc<ClientConfig>, pool: Pool) -> Agent {
    let config = Agent::config_builder()
        // Following a 307 or 308 posts the card number to another host.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        // The request already has every header that it needs.
        .user_agent(AutoHeaderValue::None)
        .accept(AutoHeaderValue::None)
        .accept_encoding(AutoHeaderValue::None)
        .max_idle_age(pool.idle_timeout)
        .max_idle_connections(pool.max_idle)
        .max_idle_connections_per_host(pool.max_idle)
        .build();
    Agent::with_parts(config, Opener { tls }, NoLookup)
}
