/// Two processors, one for a server and one for its client, so that neither takes time from the other.
#[derive(Debug)]
pub(crate) struct Cores(Option<Pair>);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Server,
    Client,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    server: usize,
    client: usize,
}

impl Cores {
    /// Two of those that this process may use, if there are two and the system lets anybody choose.
    pub(crate) fn apart() -> Self {
        Self(affinity::allowed().and_then(|allowed| pair(&allowed)))
    }

    /// Starts processes, which keep to the processor of their side.
    pub(crate) fn start<T>(
        &self,
        side: Side,
        start: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let Self(pair) = self;
        let Some(pair) = pair else { return start() };
        let core = match side {
            Side::Server => pair.server,
            Side::Client => pair.client,
        };
        affinity::on(core, start)
    }

    pub(crate) fn are_apart(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn note(&self) -> String {
        match self {
            Self(Some(Pair { server, client })) => {
                format!("server on processor {server}, client on {client}")
            }
            Self(None) => "server and client are not kept to a processor each".to_owned(),
        }
    }
}

/// The first and the last: those are the least likely to be halves of the same core.
fn pair(allowed: &[usize]) -> Option<Pair> {
    let (server, client) = (*allowed.first()?, *allowed.last()?);
    (server != client).then_some(Pair { server, client })
}

#[cfg(target_os = "linux")]
mod affinity {
    use anyhow::Context as _;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub(super) fn allowed() -> Option<Vec<usize>> {
        let set = sched_getaffinity(None).ok()?;
        Some((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
    }

    /// A process begins where the thread that starts it is.
    pub(super) fn on<T>(core: usize, start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let before = sched_getaffinity(None).context("the processors of this thread are unknown")?;
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).with_context(|| format!("cannot move to processor {core}"))?;
        let started = start();
        sched_setaffinity(None, &before).context("cannot move back to all processors")?;
        started
    }
}

#[cfg(not(target_os = "linux"))]
mod affinity {
    pub(super) fn allowed() -> Option<Vec<usize>> {
        None
    }

    pub(super) fn on<T>(_core: usize, start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_apart_only_where_there_are_two() {
        assert!(pair(&[]).is_none() && pair(&[3]).is_none());
        let Pair { server, client } = pair(&[1, 2, 5]).unwrap();
        assert_eq!((server, client), (1, 5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn who_starts_processes_elsewhere_comes_back() {
        let before = affinity::allowed().unwrap();
        let there = affinity::on(before[0], || Ok(affinity::allowed().unwrap())).unwrap();
        assert_eq!(there, before[..1]);
        assert_eq!(affinity::allowed().unwrap(), before);
    }
}
