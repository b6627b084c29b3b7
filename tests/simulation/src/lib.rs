//! Many payments over a bad network, in virtual time, from one seed: a search for a broken promise of this SDK.
//!
//! Tests that a person writes look where that person looks. Here chance decides what is asked, what goes wrong, who is
//! polled next and when a caller loses patience, and after each step the promises are held against the ledger of the
//! fake service. The same seed gives the same run, to the last event, so that what was found once can be looked at again.
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
//! declined and refused, and with ids that exist, do not exist, or belong to another tenant. A caller sends again what was
//! not processed, as the SDK says it may, and nothing else.
//!
//! What goes wrong is one of two kinds. Faults of the service are the fake's own: every kind in every phase, asked for by
//! one request or armed for some of those to come, with gates that hold requests and with effects that come late. Faults
//! of the wire ([`WireFault`]) are what the fake cannot show: connections that never stood, evidence that comes late,
//! transports that ignore their deadline, requests that arrive after their caller has gone. The clock jumps, and callers
//! drop their futures after any poll.
//!
//! # What is held against the ledger
//!
//! [`Invariant`] lists it. The ledger is not asked after the fact: the world is told of each change of the fake's books as
//! it is made, counts what the service received, and knows what its own wire did. In one case a rejected call may be in
//! the ledger: where the fake was told to say no on top of a charge. The documentation of the fake says that no client
//! can know; the simulation counts these cases and reports them.
//!
//! # Whether it can fail
//!
//! [`Sabotage`] breaks the client's side on purpose, in a way for each invariant, and the tests show that each is found.
//! [`Coverage`] counts how often each operation ended in each way after each fault. What must occur and what may occur is
//! written by hand in [`Cause::endings`], and both are checked.
//!
//! # What it does not do
//!
//! It opens no socket: what real connections do to a transport is the question of the conformance tests. It is one
//! thread in each world, so it finds no data race.

mod books;
mod cause;
mod coverage;
mod executor;
mod failure;
mod figures;
mod intent;
mod plan;
mod sabotage;
mod simulation;
mod stage;
mod trace;
mod violation;
mod wire;
mod witness;
mod world;

pub use cause::{Cause, Ending, Endings, Moment, Symptom, WireFault};
pub use coverage::Coverage;
pub use failure::Failure;
pub use figures::Figures;
pub use sabotage::Sabotage;
pub use simulation::Simulation;
pub use violation::Invariant;
