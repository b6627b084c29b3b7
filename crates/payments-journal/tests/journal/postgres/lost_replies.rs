use payments_core::{OperationName, Outcome};
use payments_fake::FakeGateway;
use payments_journal::{Failure, FailureKind, IntentState, StateName};
use payments_postgres_for_tests::Server;

use super::proxy::{Loss, Proxy};
use super::{TEN_FIFTY, client, key, payment};

fn sent(gateway: &FakeGateway) -> usize {
    let requests = gateway.requests();
    requests.iter().filter(|request| request.operation == Some(OperationName::TokenTransaction)).count()
}

async fn assert_begin_in_doubt(loss: Loss) {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let client = client(&gateway, &proxy.url()).await;

    proxy.lose(loss, key().as_str());
    let error = client.process_token(&key(), &payment()).await.unwrap_err();
    assert!(proxy.has_lost());
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
    assert!(error.to_string().contains("lost before it confirmed the commit"), "{error}");
    assert_eq!(sent(&gateway), 0, "an intent in doubt is not sent");
    let withdrawn = client.journal().find(&key()).await.unwrap();
    match loss {
        Loss::BeforeTheCommit => unreachable!("nothing is in doubt"),
        Loss::OfTheResponse => {
            let withdrawn = withdrawn.expect("the beginning was kept");
            assert_eq!(withdrawn.state, IntentState::NotProcessed(Failure::of_kind(FailureKind::WITHDRAWN)));
        }
        Loss::Delayed => {
            assert_eq!(withdrawn, None);
            assert!(!proxy.deliver().await, "a late message is not executed");
            assert_eq!(client.journal().find(&key()).await.unwrap(), None);
        }
    }

    client.process_token(&key(), &payment()).await.unwrap();
    assert_eq!(sent(&gateway), 1);
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

/// The server rolls back a transaction whose COMMIT was never sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begin_whose_connection_is_lost_before_the_commit_is_not_in_doubt() {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let client = client(&gateway, &proxy.url()).await;
    proxy.lose(Loss::BeforeTheCommit, key().as_str());
    let error = client.process_token(&key(), &payment()).await.unwrap_err();
    assert!(proxy.has_lost());
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
    assert!(!error.to_string().contains("confirmed"), "{error}");
    assert_eq!((sent(&gateway), client.journal().find(&key()).await.unwrap()), (0, None));
    client.process_token(&key(), &payment()).await.unwrap();
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begin_whose_response_is_lost_is_not_sent_and_leaves_the_key_free() {
    assert_begin_in_doubt(Loss::OfTheResponse).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delayed_begin_is_not_sent_and_leaves_the_key_free() {
    assert_begin_in_doubt(Loss::Delayed).await;
}

async fn assert_end_in_doubt(loss: Loss) {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let client = client(&gateway, &proxy.url()).await;

    proxy.lose(loss, StateName::Processed.as_str());
    let charged = client.process_token(&key(), &payment()).await.unwrap();
    assert!(proxy.has_lost());
    assert!(charged.write_error.is_none(), "{charged:?}");
    let intent = client.journal().find(&key()).await.unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Processed { transaction_id: charged.transaction_id });
    assert_eq!(intent.revision, 2, "it is written once");
    if loss == Loss::Delayed {
        assert!(!proxy.deliver().await);
        assert_eq!(client.journal().find(&key()).await.unwrap().unwrap(), intent);
    }
    assert_eq!(sent(&gateway), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_whose_response_is_lost_is_still_recorded() {
    assert_end_in_doubt(Loss::OfTheResponse).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delayed_end_is_recorded_once() {
    assert_end_in_doubt(Loss::Delayed).await;
}
