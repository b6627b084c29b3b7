use payments_core::{OperationName, Outcome};
use payments_fake::FakeGateway;
use payments_journal::{Failure, FailureKind, IntentState, StateName};
use payments_postgres_for_tests::Server;

use super::proxy::{Loss, Proxy};
use super::{TEN_FIFTY, client, payment};
use crate::contract;

fn sent(gateway: &FakeGateway) -> usize {
    let requests = gateway.requests();
    requests.iter().filter(|request| request.operation == Some(OperationName::TokenTransaction)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_begin_is_not_sent_and_leaves_the_key_free() {
    let Some(server) = Server::start() else { return };
    for loss in [Loss::BeforeTheCommit, Loss::OfTheResponse, Loss::Delayed] {
        let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
        let client = client(&gateway, &proxy.url()).await;
        let key = contract::key(&format!("{loss:?}"));
        let found = async || client.journal().find(&key).await.unwrap();

        proxy.lose(loss, key.as_str());
        let error = client.process_token(&key, &payment()).await.unwrap_err();
        assert!(proxy.has_lost(), "{loss:?}");
        assert_eq!((error.outcome(), error.kind()), (Outcome::Unknown, "journal"));
        // The server rolls back a transaction whose COMMIT was never sent.
        let words = ["lost before it confirmed the commit", "confirmed"];
        let says = words.map(|words| error.to_string().contains(words));
        assert_eq!(says, [loss != Loss::BeforeTheCommit; 2], "{error}");
        assert_eq!(sent(&gateway), 0, "{loss:?}");
        let withdrawn = IntentState::NotProcessed(Failure::of_kind(FailureKind::WITHDRAWN));
        let expected = (loss == Loss::OfTheResponse).then_some(withdrawn);
        assert_eq!(found().await.map(|intent| intent.state), expected, "{loss:?}");
        if loss == Loss::Delayed {
            assert!(!proxy.deliver().await, "a late message is not executed");
            assert_eq!(found().await, None);
        }

        client.process_token(&key, &payment()).await.unwrap();
        assert_eq!(sent(&gateway), 1, "{loss:?}");
        gateway.ledger().assert_charged_once(TEN_FIFTY);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_end_is_still_recorded_and_once() {
    let Some(server) = Server::start() else { return };
    for loss in [Loss::OfTheResponse, Loss::Delayed] {
        let (gateway, proxy) = (FakeGateway::new(), Proxy::before(&server).await);
        let client = client(&gateway, &proxy.url()).await;
        let key = contract::key(&format!("{loss:?}"));

        proxy.lose(loss, StateName::Processed.as_str());
        let charged = client.process_token(&key, &payment()).await.unwrap();
        assert!(proxy.has_lost() && charged.write_error.is_none(), "{loss:?}: {charged:?}");
        let intent = client.journal().find(&key).await.unwrap().unwrap();
        assert_eq!(intent.state, IntentState::Processed { transaction_id: charged.transaction_id });
        assert_eq!(intent.revision, 2, "it is written once");
        if loss == Loss::Delayed {
            assert!(!proxy.deliver().await);
            assert_eq!(client.journal().find(&key).await.unwrap().unwrap(), intent);
        }
        assert_eq!(sent(&gateway), 1, "{loss:?}");
    }
}
