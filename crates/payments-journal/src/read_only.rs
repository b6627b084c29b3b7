use std::iter;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::liveness::Liveness;
use crate::summary::Tally;
use crate::{Change, Intent, IntentKey, IntentState, IntentStore, OwnerId, Rows, StateName, StoreError};

/// A store through which nothing is written. A row that a dead owner left as sending is shown as unknown, as
/// [`Journal::open`](crate::Journal::open) would mark it.
pub(crate) struct ReadOnly<S>(pub(crate) S);

fn senders<'a>(intents: impl Iterator<Item = &'a Intent>) -> Vec<&'a OwnerId> {
    let sending = intents.filter(|intent| intent.state == IntentState::Sending);
    sending.map(|intent| &intent.owner).collect()
}

/// The row as it would be marked.
fn shown(intent: Intent, owners: &Liveness<'_>) -> Intent {
    if intent.state != IntentState::Sending || !owners.is_dead(&intent.owner) {
        return intent;
    }
    let orphan = Change::orphan(intent.key.clone(), intent.attempt_id.clone(), SystemTime::now());
    match orphan.decide(Some(&intent)) {
        // Its history does not say when it ended.
        Ok(Intent { state, .. }) => Intent { state, events: intent.followed_by(None), ..intent },
        Err(_) => intent,
    }
}

#[async_trait]
impl<S: IntentStore> IntentStore for ReadOnly<S> {
    fn owner(&self) -> &OwnerId {
        self.0.owner()
    }

    async fn find(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        let mut owners = Liveness::of(&self.0);
        loop {
            let Some(intent) = self.0.find(key).await? else { return Ok(None) };
            if owners.are_known(senders(iter::once(&intent))).await? {
                return Ok(Some(shown(intent, &owners)));
            }
        }
    }

    async fn find_secret(&self, key: &IntentKey) -> Result<Option<Intent>, StoreError> {
        self.0.find_secret(key).await
    }

    /// A row that is asked for as sending may be shown as unknown: [`Pages`](crate::Pages) leave it out.
    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Rows, StoreError> {
        let mut stored = states.to_vec();
        if states.contains(&StateName::Unknown) && !states.contains(&StateName::Sending) {
            stored.push(StateName::Sending);
        }
        let mut owners = Liveness::of(&self.0);
        loop {
            let rows = self.0.list(&stored, after, limit).await?;
            if owners.are_known(senders(rows.iter().map(|(_, intent)| intent))).await? {
                return Ok(rows.into_iter().map(|(at, intent)| (at, shown(intent, &owners))).collect());
            }
        }
    }

    async fn is_live(&self, owner: &OwnerId) -> Result<bool, StoreError> {
        self.0.is_live(owner).await
    }

    async fn summarize(&self, service: Option<&str>) -> Result<Vec<Tally>, StoreError> {
        self.0.summarize(service).await
    }

    async fn check_history(&self) -> Result<(), StoreError> {
        self.0.check_history().await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
