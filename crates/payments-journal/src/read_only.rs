use std::slice;
use std::time::SystemTime;

use async_trait::async_trait;

use crate::liveness::Liveness;
use crate::summary::Tally;
use crate::{Change, Intent, IntentKey, IntentState, IntentStore, OwnerId, Page, StateName, StoreError};

/// A store through which nothing is written. A row that a dead owner left as sending is shown as unknown, as
/// [`Journal::open`](crate::Journal::open) would mark it.
pub(crate) struct ReadOnly<S>(pub(crate) S);

fn senders(rows: &[Intent]) -> Vec<&OwnerId> {
    let sending = rows.iter().filter(|intent| intent.state == IntentState::Sending);
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
        Some(Intent { state, .. }) => Intent { state, events: intent.followed_by(None), ..intent },
        None => intent,
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
            if owners.are_known(senders(slice::from_ref(&intent))).await? {
                return Ok(Some(shown(intent, &owners)));
            }
        }
    }

    async fn list(&self, states: &[StateName], after: Option<i64>, limit: usize) -> Result<Page, StoreError> {
        // A row that is stored as sending may be shown as unknown.
        let mut stored = states.to_vec();
        if states.contains(&StateName::Unknown) && !states.contains(&StateName::Sending) {
            stored.push(StateName::Sending);
        }
        let mut owners = Liveness::of(&self.0);
        loop {
            let Page { intents, next } = self.0.list(&stored, after, limit).await?;
            if owners.are_known(senders(&intents)).await? {
                let intents = intents.into_iter().map(|intent| shown(intent, &owners));
                let intents = intents.filter(|intent| states.contains(&intent.state.name())).collect();
                return Ok(Page { intents, next });
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
