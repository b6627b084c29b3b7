use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::address::Address;
use super::fault::{Fault, ask};
use super::link::Link;
use super::session::{Parameter, Session};
use crate::{OwnerId, StoreError};

/// The sign that an owner lives: a lock that a session of its own holds. The server releases it when that session ends,
/// however it ends.
///
/// A task of the runtime that opens the store takes the lock again when the connection is lost. While it is lost, and after
/// the end of that runtime, others show what the owner is sending as unknown; how it ends is recorded all the same.
#[derive(Debug)]
pub(super) struct Claim(watch::Sender<()>);

impl Claim {
    /// Once this returns, the owner is live. It is until this is dropped.
    pub(super) async fn take(address: Address, owner: &OwnerId) -> Result<Self, StoreError> {
        let number = number(owner).expect("a new owner is a number in hexadecimal");
        let link = lock(&address, number).await?;
        let (claim, released) = watch::channel(());
        tokio::spawn(keep(link, address, number, released));
        Ok(Self(claim))
    }

    /// Once this returns, the owner is not live.
    pub(super) async fn release(&self) {
        self.0.send_replace(());
        self.0.closed().await;
    }
}

/// Whether somebody holds the lock of this owner. A lock that is shared only for this statement stands in nobody's way.
pub(super) async fn is_live(session: &Session, owner: &OwnerId) -> Result<bool, Fault> {
    // What was never an owner of this store has no lock here.
    let Some(number) = number(owner) else { return Ok(false) };
    let free = "SELECT pg_try_advisory_xact_lock_shared($1)";
    Ok(!ask(session.link.client.query_one(free, &[&number])).await?.try_get::<_, bool>(0)?)
}

/// Holds the lock, over as many connections as it takes, until it is released.
async fn keep(mut link: Link, address: Address, number: i64, mut released: watch::Receiver<()>) {
    loop {
        tokio::select! {
            // Closing the connection would do, a moment later.
            _ = released.changed() => {
                let number: &[Parameter<'_>] = &[&number];
                let unlocking = link.client.execute("SELECT pg_advisory_unlock($1)", number);
                let _ = timeout(LONGEST_GOODBYE, unlocking).await;
                return;
            }
            () = link.closed() => {}
        }
        let locking = async {
            loop {
                sleep(PAUSE).await;
                if let Ok(link) = lock(&address, number).await {
                    return link;
                }
            }
        };
        link = tokio::select! {
            _ = released.changed() => return,
            link = locking => link,
        };
    }
}

/// Fails if the server has not noticed yet that an earlier connection of this owner is broken: until then the owner is live
/// by that one.
async fn lock(address: &Address, number: i64) -> Result<Link, StoreError> {
    let link = Link::open(address).await?;
    ask(link.client.execute("SELECT pg_advisory_lock($1)", &[&number])).await.map_err(Fault::of_reading)?;
    Ok(link)
}

/// Half of the owner's random bits: that two owners share a number does not happen, and would only make a dead one look
/// live.
fn number(owner: &OwnerId) -> Option<i64> {
    let digits = owner.as_str().get(..16)?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}

const PAUSE: Duration = Duration::from_millis(500);

/// How long closing a store may wait for the server.
const LONGEST_GOODBYE: Duration = Duration::from_secs(1);
