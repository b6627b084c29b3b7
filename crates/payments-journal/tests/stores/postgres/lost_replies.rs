use payments_core::{OperationName, Outcome};
use payments_fake::FakeGateway;
use payments_journal::{Failure, IntentState, StateName};
use payments_postgres_for_tests::Server;

use super::proxy::{Loss, Proxy};
use super::{TEN_FIFTY, client, key, payment};

fn sent(gateway: &FakeGateway) -> usize {
    let requests = gateway.requests();
    requests.iter().filter(|request| request.operation() == Some(OperationName::TokenTransaction)).count()
}

async fn a_beginning_in_doubt(loss: Loss) {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let client = client(&gateway, &proxy.url()).await;

    proxy.lose(loss, key().as_str());
    let error = client.process_token(&key(), &payment()).await.unwrap_err();
    assert!(proxy.has_lost());
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
    assert!(error.to_string().contains("lost before it said whether it has kept the change"), "{error}");
    assert_eq!(sent(&gateway), 0, "what may not be kept is not sent");
    let withdrawn = client.journal().find(&key()).await.unwrap();
    match loss {
        Loss::BeforeTheCommit => unreachable!("nothing is in doubt"),
        Loss::OfTheReply => {
            let withdrawn = withdrawn.expect("the beginning was kept");
            assert_eq!(withdrawn.state, IntentState::NotProcessed(Failure::of_kind(Failure::WITHDRAWN)));
        }
        Loss::OnTheWay => {
            assert_eq!(withdrawn, None);
            assert!(!proxy.deliver().await, "what comes too late is not executed any more");
            assert_eq!(client.journal().find(&key()).await.unwrap(), None);
        }
    }

    client.process_token(&key(), &payment()).await.unwrap();
    assert_eq!(sent(&gateway), 1);
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

/// The server undoes what it has done of a transaction whose COMMIT was never sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_beginning_whose_connection_is_lost_before_the_commit_is_in_no_doubt() {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let client = client(&gateway, &proxy.url()).await;
    proxy.lose(Loss::BeforeTheCommit, key().as_str());
    let error = client.process_token(&key(), &payment()).await.unwrap_err();
    assert!(proxy.has_lost());
    assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
    assert!(!error.to_string().contains("whether"), "{error}");
    assert_eq!((sent(&gateway), client.journal().find(&key()).await.unwrap()), (0, None));
    client.process_token(&key(), &payment()).await.unwrap();
    gateway.ledger().assert_charged_once(TEN_FIFTY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_beginning_whose_reply_is_lost_is_not_sent_and_leaves_the_key_free() {
    a_beginning_in_doubt(Loss::OfTheReply).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_beginning_that_is_late_on_its_way_is_not_sent_and_leaves_the_key_free() {
    a_beginning_in_doubt(Loss::OnTheWay).await;
}

async fn an_ending_in_doubt(loss: Loss) {
    let Some(server) = Server::start() else { return };
    let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
    let client = client(&gateway, &proxy.url()).await;

    proxy.lose(loss, StateName::Processed.as_str());
    let charged = client.process_token(&key(), &payment()).await.unwrap();
    assert!(proxy.has_lost());
    assert!(charged.not_recorded.is_none(), "{charged:?}");
    let intent = client.journal().find(&key()).await.unwrap().unwrap();
    assert_eq!(intent.state, IntentState::Processed { transaction_id: charged.transaction_id });
    assert_eq!(intent.revision, 2, "it is written once");
    if loss == Loss::OnTheWay {
        assert!(!proxy.deliver().await);
        assert_eq!(client.journal().find(&key()).await.unwrap().unwrap(), intent);
    }
    assert_eq!(sent(&gateway), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ending_whose_reply_is_lost_is_recorded_all_the_same() {
    an_ending_in_doubt(Loss::OfTheReply).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ending_that_is_late_on_its_way_is_recorded_once() {
    an_ending_in_doubt(Loss::OnTheWay).await;
}
