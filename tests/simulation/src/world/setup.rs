use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use payments_core::model::{Amount, TransactionType};
use payments_core::{ApiKey, Client, Endpoint, RandomSource};
use payments_fake::{DeclineShape, FakeGateway, ManualClock, VoidResponse};

use super::KEYS;
use crate::observer::RecordingObserver;
use crate::plan::pick;
use crate::sabotage::SabotagedTransport;
use crate::shared::Shared;
use crate::wire::Wire;

pub(super) fn draw_gateway(rng: &mut fastrand::Rng, clock: &ManualClock) -> FakeGateway {
    let shape = pick(rng, DeclineShape::ALL);
    let fee = pick(rng, &[None, Some(Amount::from_cents(1_95))]);
    let token_type = pick(rng, &[TransactionType::Sale, TransactionType::Auth]);
    let void_response = pick(rng, &[VoidResponse::SameTransactionId, VoidResponse::NewTransactionId]);
    FakeGateway::builder()
        .api_key(KEYS[0])
        .api_key(KEYS[1])
        .seed(rng.u64(..))
        .clock(clock.clone())
        .choices(|choices| {
            choices.decline_shape = shape;
            choices.convenience_fee = fee;
            choices.token_transaction_type = token_type;
            choices.void_response = void_response;
        })
        .ignore_unfired_faults()
        .build()
}

pub(super) fn draw_client(
    rng: &mut fastrand::Rng,
    key: &str,
    connect: Duration,
    shared: &Shared,
    gateway: &FakeGateway,
) -> Client {
    let key = ApiKey::new(key).expect("a constant key");
    let endpoint = Endpoint::new(FakeGateway::BASE_URL, key).expect("a constant https address");
    let wire = Wire {
        shared: shared.clone(),
        clock: gateway.clock().clone(),
        gateway: gateway.uncounted(),
        transport: gateway.transport(),
    };
    Client::builder(endpoint, SabotagedTransport(wire), gateway.clock().clone())
        .connect_timeout(connect)
        // The default is a MiB, and filling that would only cost time.
        .response_cap(4096)
        .random_source(SeededSource(AtomicU64::new(rng.u64(..))))
        .observer(RecordingObserver(shared.clone()))
        .build()
}

/// The random source from the seed, for the pauses of lookup retries.
struct SeededSource(AtomicU64);

impl RandomSource for SeededSource {
    fn next(&self) -> u64 {
        let seed = self.0.fetch_add(1, Ordering::Relaxed);
        fastrand::Rng::with_seed(seed).u64(..)
    }
}
