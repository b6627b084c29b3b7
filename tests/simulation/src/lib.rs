//! A simulation of many payments over a bad network, in virtual time, from one seed. It searches for a violated invariant.
//!
//! A hand-written test covers what its author thought of. Here a seeded random generator chooses the requests, the faults,
//! which future is polled next and when a caller gives up. After each step the invariants are checked against the ledger of
//! the fake service. The same seed gives the same run, event by event, so every failure can be reproduced.
//!
//! ```
//! use payments_simulation::Simulation;
//!
//! let figures = Simulation::new(100, 7).run().unwrap_or_else(|failure| panic!("{failure}"));
//! assert_eq!(figures.charges, 100);
//! assert_eq!(figures.digest, Simulation::new(100, 7).run()?.digest);
//! # Ok::<(), payments_simulation::Failure>(())
//! ```
//!
//! # A world
//!
//! A world is one `FakeGateway` with two tenants, several clients of different deadlines over a simulated wire, and a
//! dozen callers at a time. They pay by card, account and token, void and look up, with values that are approved,
//! declined and refused, and with ids that exist, do not exist, or belong to another tenant. A caller resends a request only
//! after `NotProcessed`, as the SDK allows.
//!
//! Faults come from two places. The fake service has its own: every kind in every phase, requested by one request or armed
//! for later ones, with gates that hold requests and with late effects. The wire adds what the fake cannot show
//! ([`WireFault`]): connections that are never established, late reports, transports that ignore their deadline, requests
//! that arrive after their caller has gone. In addition the clock jumps, and callers drop their futures after any poll.
//!
//! # What is checked
//!
//! [`Invariant`] lists it. The world sees each change of the fake's ledger when it happens, counts the requests that the
//! service received, and knows what its own wire did. A rejected call may be in the ledger in one case: if the fake was set
//! to respond with a rejection although it charged. No client can detect that, as the fake's documentation says. The
//! simulation counts these cases and reports them.
//!
//! # Can it fail?
//!
//! A simulation can break the client side on purpose, in one way for each invariant, and the tests show that each is found.
//! [`Coverage`] counts how often each operation ended in each way after each fault. The endings that must and may occur are
//! written by hand in [`Cause::endings`], and both are checked.
//!
//! # Limits
//!
//! It opens no socket: the conformance tests cover real connections. Each world runs on one thread, so it finds no data race.

mod cause;
mod coverage;
mod executor;
mod failure;
mod figures;
mod intent;
mod observer;
mod plan;
mod sabotage;
mod shared;
mod simulation;
mod trace;
mod violation;
mod wire;
mod world;

pub use cause::{Cause, Ending, Endings, Symptom, WireFault};
pub use coverage::Coverage;
pub use failure::Failure;
pub use figures::Figures;
pub use simulation::Simulation;
pub use violation::Invariant;
