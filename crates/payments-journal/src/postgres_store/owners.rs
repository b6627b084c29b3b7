use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::address::Address;
use super::fault::{Fault, ask};
use super::link::Link;
use super::session::Session;
use crate::{OwnerId, StoreError};

/// The sign that an owner lives: a lock of a session of its own, which the server gives back when that session ends,
/// however it ends. After a break it is taken again.
///
/// It has a thread and a runtime of its own, so that it lives for as long as the store and not for as long as whoever opened
/// it, and so that it is given back before the store is gone.
#[derive(Debug)]
pub(super) struct Claim {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Claim {
    /// Once this returns, the owner is live.
    pub(super) async fn take(address: Address, owner: &OwnerId) -> Result<Self, StoreError> {
        let number = lock_number(owner).expect("a new owner is a number in hexadecimal");
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let impossible =
            |error: io::Error| StoreError::unavailable("the journal cannot start a thread").because(error);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(impossible)?;
        let thread = thread::Builder::new()
            .name("payments-journal".to_owned())
            .spawn(move || {
                runtime.block_on(keep(&address, number, tell, stopped));
                // Without waiting for a name that is still being looked up.
                runtime.shutdown_background();
            })
            .map_err(impossible)?;
        let this = Self { stop: Some(stop), thread: Some(thread) };
        told.await.unwrap_or_else(|_| Err(StoreError::unavailable("the journal's thread has ended")))?;
        Ok(this)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Whether somebody holds the lock of this owner.
pub(super) async fn is_live(session: &Session, owner: &OwnerId) -> Result<bool, Fault> {
    // What was never an owner of this store has no lock here.
    let Some(number) = lock_number(owner) else { return Ok(false) };
    Ok(ask(session.link.client.query_one(IS_LOCKED, &[&number])).await?.try_get(0)?)
}

/// Holds the lock, over as many connections as it takes, until it is told to stop.
async fn keep(
    address: &Address,
    number: i64,
    tell: oneshot::Sender<Result<(), StoreError>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut tell = Some(tell);
    let mut pause = SHORTEST_PAUSE;
    loop {
        let locked = tokio::select! {
            _ = &mut stopped => return,
            locked = lock(address, number, tell.is_some()) => locked,
        };
        match (locked, tell.take()) {
            (Err(error), Some(tell)) => {
                let _ = tell.send(Err(error));
                return;
            }
            (Err(_), None) => {}
            (Ok(mut link), tell) => {
                pause = SHORTEST_PAUSE;
                if let Some(tell) = tell {
                    let _ = tell.send(Ok(()));
                }
                tokio::select! {
                    _ = &mut stopped => return unlock(&link, number).await,
                    () = link.closed() => {}
                }
            }
        }
        tokio::select! {
            _ = &mut stopped => return,
            () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
}

/// Waits for an earlier connection of the same owner, if the server has not noticed yet that it is broken: until then the
/// owner is live by that one. The first time there is none, and somebody waits for the store to open.
async fn lock(address: &Address, number: i64, is_first: bool) -> Result<Link, StoreError> {
    let link = Link::open(address).await?;
    ask(link.client.batch_execute("SET statement_timeout = 0")).await.map_err(Fault::of_reading)?;
    let locking = async { link.client.execute("SELECT pg_advisory_lock($1)", &[&number]).await };
    let locked = if is_first { ask(locking).await } else { locking.await.map_err(Fault::from) };
    locked.map_err(Fault::of_reading)?;
    Ok(link)
}

/// Closing the connection would do, a moment later.
async fn unlock(link: &Link, number: i64) {
    let _ = timeout(LONGEST_GOODBYE, link.client.execute("SELECT pg_advisory_unlock($1)", &[&number])).await;
}

/// Half of the owner's random bits: that two owners share a number does not happen, and would only make a dead one look
/// live.
fn lock_number(owner: &OwnerId) -> Option<i64> {
    let digits = owner.as_str().get(..16)?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long the end of a store may wait for the server.
const LONGEST_GOODBYE: Duration = Duration::from_secs(1);

/// Seen in the table of locks, because trying to take it would keep its owner from taking it again.
const IS_LOCKED: &str = "
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND ((classid::bigint << 32) | objid::bigint) = $1
    )";
