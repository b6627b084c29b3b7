use std::collections::{BTreeMap, HashMap};
use std::env;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{ApiKey, Client, Endpoint, OperationName, Outcome};
use payments_fake::FakeGateway;
use payments_hyper::{HyperTransport, TokioTimer};
use payments_journal::{
    FailureKind, IntentKey, IntentState, Journal, JournaledClient, PostgresStore, StateName, StoreError,
};
use payments_postgres_for_tests::{Server, Shutdown};
use payments_sandbox::Sandbox;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{connect, until};
use crate::contract;

const KEYS: u32 = 80;
const PROCESSES: u32 = 4;
const AT_ONCE: u32 = 6;

/// Several processes, as on several machines, pay the same bills with one database. Meanwhile the database server crashes twice,
/// and one of the processes is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_sent_twice_while_the_server_crashes_and_a_machine_dies() {
    let Some(mut server) = Server::start() else { return };
    let gateway = FakeGateway::builder().seed(7).build();
    let sandbox = Sandbox::builder().gateway(gateway.clone()).start().await.unwrap();
    let begin = |number| Machine::start(number, &server.url(), &sandbox);
    let mut machines: Vec<_> = (0..PROCESSES).map(begin).collect();

    let sent = async |count: usize| until("enough is sent", async || payments(&gateway).len() >= count).await;
    sent(10).await;
    server.stop(Shutdown::Immediate);
    server.start_again();
    sent(30).await;
    machines[0].kill();
    sent(40).await;
    server.stop(Shutdown::Immediate);
    server.start_again();
    for machine in machines.drain(1..) {
        machine.wait();
    }

    let journal = Journal::open(connect(&server).await).await.unwrap();
    let intents = journal.pages(StateName::ALL).next().await.unwrap().unwrap();
    assert_eq!(intents.len(), KEYS as usize, "every key is accounted for");
    let mut transmissions: BTreeMap<String, u32> = BTreeMap::new();
    for amount in payments(&gateway) {
        *transmissions.entry(amount).or_default() += 1;
    }
    let ledger = gateway.ledger();
    let charged: HashMap<_, _> = ledger.charged().map(|entry| (entry.transaction_id(), entry)).collect();
    let mut unknown = 0;
    for intent in &intents {
        let amount = intent.request.amount.unwrap();
        let transmissions = transmissions.get(&amount.to_string()).copied().unwrap_or_default();
        assert!(transmissions <= 1, "{transmissions} of {intent:?}");
        match &intent.state {
            IntentState::Processed { transaction_id } => {
                assert_eq!(charged[transaction_id].amount, amount);
            }
            IntentState::Unknown(failure) if failure.kind == FailureKind::CRASH => unknown += 1,
            _ => panic!("neither processed nor lost in a crash: {intent:?}"),
        }
    }
    assert!(unknown <= AT_ONCE, "{unknown} unknown, and one machine with {AT_ONCE} at once died");
    let processed = intents.iter().filter(|intent| intent.state.name() == StateName::Processed).count();
    assert!(charged.len() >= processed && charged.len() <= processed + unknown as usize);
}

/// The amounts of all payments that reached the service.
fn payments(gateway: &FakeGateway) -> Vec<String> {
    let requests = gateway.requests();
    let payments =
        requests.iter().filter(|request| request.operation == Some(OperationName::TokenTransaction));
    payments.map(|request| request.field("Amount").unwrap().into_owned()).collect()
}

/// Another process: this program, started for the test below.
struct Machine(Child);

impl Machine {
    fn start(number: u32, database: &str, sandbox: &Sandbox) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "postgres::machines::a_machine", "--ignored"])
            .envs([(DATABASE, database), (SERVICE, sandbox.base_url()), (API_KEY, sandbox.api_key())])
            .env(NUMBER, number.to_string())
            .stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn wait(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const DATABASE: &str = "PAYMENTS_TEST_DATABASE";
const SERVICE: &str = "PAYMENTS_TEST_SERVICE";
const API_KEY: &str = "PAYMENTS_TEST_API_KEY";
const NUMBER: &str = "PAYMENTS_TEST_MACHINE";

#[tokio::test(flavor = "current_thread")]
#[ignore = "the other end of the test above"]
async fn a_machine() {
    let variable = |name| env::var(name).unwrap();
    let endpoint = Endpoint::new(&variable(SERVICE), ApiKey::new(&variable(API_KEY)).unwrap()).unwrap();
    let transport = HyperTransport::builder().build().unwrap();
    let client = Client::builder(endpoint, transport, TokioTimer::new()).build();
    let journal = loop {
        match open(&variable(DATABASE)).await {
            Ok(journal) => break journal,
            Err(error) => assert!(error.is_unavailable() || error.is_in_doubt(), "{error:#}"),
        }
        pause().await;
    };
    let client = JournaledClient::new(client, journal);

    // Half of them run in reverse order, so that they collide.
    let is_backwards = variable(NUMBER).parse::<u32>().unwrap() % 2 == 1;
    let permits = std::sync::Arc::new(Semaphore::new(AT_ONCE as usize));
    let mut paying = JoinSet::new();
    for number in 0..KEYS {
        let number = if is_backwards { KEYS - 1 - number } else { number };
        let (client, permits) = (client.clone(), permits.clone());
        paying.spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            pay(&client, number).await;
        });
    }
    paying.join_all().await;
}

async fn open(database: &str) -> Result<Journal, StoreError> {
    Journal::open(PostgresStore::connect(database).await?).await
}

/// Pays until the outcome is known, or known to be unknown.
async fn pay(client: &JournaledClient, number: u32) {
    let amount = Amount::from_cents(10_00 + i64::from(number));
    let payment =
        TokenTransaction::builder("tok_approved", amount, ConvenienceFee::Inactive).build().unwrap();
    let key: IntentKey = contract::key(&format!("bill-{number}"));
    loop {
        match client.process_token(&key, &payment).await {
            Ok(charged) => return assert!(charged.write_error.is_none(), "{charged:?}"),
            Err(error)
                if error.kind() == "in_progress"
                    || error.kind() == "journal"
                    || error.outcome() == Outcome::NotProcessed => {}
            Err(error) if error.outcome() == Outcome::Unknown => return,
            Err(error) => panic!("{error:#}"),
        }
        pause().await;
    }
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
