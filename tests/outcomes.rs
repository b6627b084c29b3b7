//! Is the client's verdict what the table says, and does the service's own ledger bear it out?
//!
//! Every fault, before and after the commit, for every operation, in process and over real sockets.

use std::time::Duration;

use payments_core::model::{CustomerId, TransactionId, TransactionType, Void};
use payments_core::{Client, Error, OperationName, Outcome};
use payments_fake::{Fault, FaultKind, Phase};

use crate::faults::every_kind;
use crate::requests::{APPROVED, ach, card, sale, token};
use crate::rig::{Network, Rig};

const PHASES: [Phase; 2] = [Phase::BeforeCommit, Phase::AfterCommit];

#[tokio::test]
async fn d02_d03_d08_d10_d11_d12_in_process_every_fault_has_the_outcome_of_the_table() {
    every_fault(&Network::InProcess.rig().await).await;
}

#[tokio::test]
async fn d02_d03_d08_d10_d11_d12_over_http_every_fault_has_the_outcome_of_the_table() {
    every_fault(&Network::Http.rig().await).await;
}

#[tokio::test]
async fn d02_d03_d08_d10_d11_d12_over_https_every_fault_has_the_outcome_of_the_table() {
    every_fault(&Network::Https.rig().await).await;
}

async fn every_fault(rig: &Rig) {
    for call in Call::ALL {
        for kind in every_kind() {
            for phase in PHASES {
                // A server that accepts connections cannot refuse one; the transport's own tests do that.
                let is_impossible = kind == FaultKind::Refuse && rig.network != Network::InProcess;
                // No client can see through a service that charges and says in its own words that it did not.
                let is_a_lie = phase == Phase::AfterCommit && is_refusal(kind);
                if !is_impossible && !is_a_lie {
                    one_fault(rig, call, kind, phase).await;
                }
            }
        }
    }
}

async fn one_fault(rig: &Rig, call: Call, kind: FaultKind, phase: Phase) {
    let case = format!("{call:?}, {} {}", phase.as_str(), kind.as_str());
    let target = call.prepare(rig).await;
    let before = Effects::of(rig);

    rig.gateway.arm(Fault::on(call.operation()).at(phase).show(kind));
    let patience = if never_ends(kind, phase) { Duration::from_millis(300) } else { Duration::from_mins(1) };
    let client = rig.client.with_total_timeout(patience).with_lookup_retries(0);
    let result = call.make(&client, target).await;

    let outcome = result.as_ref().err().map(Error::outcome);
    assert_eq!(outcome, expected(call, kind, phase), "{case}: {result:?}");
    let acted = Effects::of(rig) != before;
    let should_act = call.operation().moves_money() && takes_effect(kind, phase);
    assert_eq!(acted, should_act, "{case}: the ledger shows otherwise");
    match outcome {
        Some(Outcome::NotProcessed | Outcome::Rejected) => {
            assert!(!acted, "{case}: called unprocessed, and was not");
        }
        None => assert_eq!(acted, call.operation().moves_money(), "{case}: called processed, and was not"),
        Some(Outcome::Unknown) => {}
    }
}

/// The table of the documentation, by fault.
fn expected(call: Call, kind: FaultKind, phase: Phase) -> Option<Outcome> {
    let moves_money = call.operation().moves_money();
    let unclear = if moves_money { Outcome::Unknown } else { Outcome::NotProcessed };
    match kind {
        FaultKind::Refuse => Some(Outcome::NotProcessed),
        _ if is_refusal(kind) => Some(Outcome::Rejected),
        FaultKind::Delay { .. } => None,
        FaultKind::Drip { .. } if phase == Phase::AfterCommit => None,
        _ => Some(unclear),
    }
}

fn is_refusal(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Status { status } if status.is_client_error())
}

fn takes_effect(kind: FaultKind, phase: Phase) -> bool {
    match kind {
        FaultKind::Refuse => false,
        FaultKind::Delay { .. } => true,
        _ => phase == Phase::AfterCommit,
    }
}

fn never_ends(kind: FaultKind, phase: Phase) -> bool {
    matches!((kind, phase), (FaultKind::Stall, _) | (FaultKind::Drip { .. }, Phase::BeforeCommit))
}

/// What the service did, by its own account.
#[derive(PartialEq)]
struct Effects(String);

impl Effects {
    fn of(rig: &Rig) -> Self {
        Self(format!("{:?}", rig.gateway.ledger()))
    }
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Card,
    Ach,
    Token,
    Void,
    Transaction,
    Customer,
}

impl Call {
    const ALL: [Self; 6] =
        [Self::Card, Self::Ach, Self::Token, Self::Void, Self::Transaction, Self::Customer];

    fn operation(self) -> OperationName {
        match self {
            Self::Card | Self::Ach => OperationName::Transaction,
            Self::Token => OperationName::TokenTransaction,
            Self::Void => OperationName::Void,
            Self::Transaction => OperationName::GetTransaction,
            Self::Customer => OperationName::GetCustomer,
        }
    }

    /// An authorisation for the calls that need a transaction.
    async fn prepare(self, rig: &Rig) -> Option<TransactionId> {
        match self {
            Self::Void | Self::Transaction => {
                let authorised =
                    rig.client.process_card(&card(APPROVED, TransactionType::Auth, 5_00)).await.unwrap();
                Some(authorised.transaction_id.clone())
            }
            Self::Card | Self::Ach | Self::Token | Self::Customer => None,
        }
    }

    async fn make(self, client: &Client, target: Option<TransactionId>) -> Result<(), Error> {
        let target = || target.expect("prepared");
        match self {
            Self::Card => client.process_card(&sale(10_50)).await.map(drop),
            Self::Ach => client.process_ach(&ach(10_50)).await.map(drop),
            Self::Token => client.process_token(&token("tok_approved", 10_50)).await.map(drop),
            Self::Void => client.void(&Void::new(target())).await.map(drop),
            Self::Transaction => client.transaction(&target()).await.map(drop),
            Self::Customer => client.customer(&"cus_1".parse::<CustomerId>().unwrap()).await.map(drop),
        }
    }
}

/// The two cases that no client can tell apart: the promise is that it does not pretend to.
#[tokio::test]
async fn d03_a_lost_request_and_a_lost_answer_look_the_same_and_only_one_charges() {
    for network in Network::ALL {
        let rig = network.rig().await;
        rig.gateway.arm(Fault::request_lost(OperationName::Transaction));
        let lost_request = rig.client.process_card(&sale(1_00)).await.unwrap_err();
        rig.gateway.ledger().assert_nothing_charged();

        rig.gateway.arm(Fault::response_lost(OperationName::Transaction));
        let lost_answer = rig.client.process_card(&sale(1_00)).await.unwrap_err();
        rig.gateway.ledger().assert_charged_once(payments_core::model::Amount::from_cents(1_00));

        assert_eq!(lost_request.outcome(), Outcome::Unknown);
        assert_eq!(lost_request.to_string(), lost_answer.to_string());
    }
}
