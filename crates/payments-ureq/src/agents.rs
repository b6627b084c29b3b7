use std::iter;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use payments_core::transport::ProcessId;
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
    /// The agent of the process that built the transport.
    first: ProcessAgent,
    /// The agents of forked processes, and of the first one after a panic.
    others: RwLock<Vec<ProcessAgent>>,
}

/// An agent, and the process that may use it.
#[derive(Clone)]
pub(crate) struct ProcessAgent {
    pub(crate) agent: Agent,
    process: ProcessId,
    is_discarded: Arc<AtomicBool>,
}

impl ProcessAgent {
    fn new(tls: Arc<ClientConfig>, pool: Pool) -> Self {
        Self { agent: new_agent(tls, pool), process: ProcessId::current(), is_discarded: Arc::default() }
    }

    /// Prevents further use of the agent: after a panic, its lock may be poisoned, and then each call would panic.
    pub(crate) fn discard(&self) {
        self.is_discarded.store(true, Ordering::Relaxed);
    }

    fn is_of_this_process(&self) -> bool {
        self.process.is_current()
    }

    fn is_usable(&self) -> bool {
        self.is_of_this_process() && !self.is_discarded.load(Ordering::Relaxed)
    }
}

impl Agents {
    pub(crate) fn new(tls: Arc<ClientConfig>, pool: Pool) -> Self {
        let first = ProcessAgent::new(Arc::clone(&tls), pool);
        Self { tls, pool, first, others: RwLock::default() }
    }

    /// The agent of this process.
    ///
    /// This never waits for a lock: one that another thread held at the moment of a fork stays locked for ever in the child.
    /// Without the lock, this call has an agent of its own, whose connections it does not share.
    pub(crate) fn get(&self) -> ProcessAgent {
        let usable = |agents: &[ProcessAgent]| agents.iter().find(|agent| agent.is_usable()).cloned();
        let known = Some(&self.first).filter(|first| first.is_usable()).cloned();
        let known = known.or_else(|| usable(&self.others.try_read().ok()?));
        known.unwrap_or_else(|| {
            let agent = self.separate();
            if let Ok(mut others) = self.others.try_write() {
                if let Some(agent) = usable(&others) {
                    return agent;
                }
                others.retain(|other| !other.is_of_this_process());
                others.push(agent.clone());
            }
            agent
        })
    }

    /// An agent that shares no lock and no connection with any other.
    pub(crate) fn separate(&self) -> ProcessAgent {
        let mut tls = ClientConfig::clone(&self.tls);
        // The store of TLS sessions has a lock too.
        tls.resumption = Resumption::default();
        ProcessAgent::new(Arc::new(tls), self.pool)
    }
}

impl Drop for Agents {
    /// Leaks the agents of other processes: a copy that is never dropped keeps the agent.
    fn drop(&mut self) {
        let others = mem::take(&mut self.others);
        let agents = others.try_write().ok().map(|mut agents| mem::take(&mut *agents));
        let Some(agents) = agents else {
            // A thread of the parent was using the list when this process was forked.
            return mem::forget((others, self.first.clone()));
        };
        for agent in iter::once(&self.first).chain(&agents) {
            if !agent.is_of_this_process() {
                mem::forget(agent.clone());
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
