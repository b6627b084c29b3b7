//! Is there any way to print a card number, a security code, an expiry, an account or the key by accident?

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use payments_core::model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, TransactionRecord, TransactionType, Void,
};
use payments_core::{
    ApiKey, AttemptAbandoned, AttemptFinished, AttemptStarted, Client, Endpoint, Error, Observer, Success,
};
use payments_fake::{DeclineShape, FakeGateway, Fault, Phase};
use payments_tests::kinds;

use crate::requests::{payer, token};

// Chosen so that they do not come up by chance.
const CARD: &str = "4929907390318794";
const CVV: &str = "917";
const EXPIRY: &str = "1137";
const ACCOUNT: &str = "000918273645546372";
const KEY: &str = "sk_canary_4qZ81xW";

fn card_payment() -> CardTransaction {
    let card = Card { number: CARD, cvv: CVV, expiry: EXPIRY };
    CardTransaction::builder(
        Amount::from_cents(1_00),
        TransactionType::Auth,
        ConvenienceFee::Active,
        card,
        payer(),
    )
    .payment_tokenization(true)
    .build()
    .unwrap()
}

fn ach_payment() -> AchTransaction {
    AchTransaction::builder(Amount::from_cents(1_00), TransactionType::Sale, ConvenienceFee::Active, payer())
        .account_field("AccountNumber", ACCOUNT)
        .account_field("Whatever", ACCOUNT)
        .build()
        .unwrap()
}

/// Everything that was printed.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<String>>);

impl Page {
    fn print(&self, value: &impl Debug) {
        let mut text = self.0.lock().unwrap();
        write!(text, "{value:?}\n{value:#?}\n").unwrap();
    }

    fn write(&self, line: &str) {
        self.0.lock().unwrap().push_str(line);
    }

    fn print_result<T: Debug>(&self, result: &Result<Success<T>, Error>) {
        self.print(result);
        match result {
            Ok(success) => self.write(&success.body_snippet()),
            Err(error) => {
                self.write(&error.to_string());
                self.write(&error.body_snippet().unwrap_or_default());
                self.print(&(error.reason(), error.record(), error.transaction_error_chain()));
            }
        }
    }

    /// Some programs write a record out on purpose; what in it only echoes the request must not come along.
    fn write_record(&self, answer: &Result<Success<TransactionRecord>, Error>) {
        if let Some(record) = answer.as_ref().map_or_else(Error::record, |success| Some(success.data())) {
            self.write(&serde_json::to_string(record).unwrap());
        }
    }

    #[track_caller]
    fn assert_clean(&self) {
        let text = self.0.lock().unwrap();
        for (name, secret) in [("card", CARD), ("account", ACCOUNT), ("key", KEY)] {
            assert!(!text.contains(secret), "the {name} is on the page: {text}");
        }
        let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric()).collect();
        for (name, secret) in [("security code", CVV), ("expiry", EXPIRY), ("expiry", "11/37")] {
            assert!(!words.contains(&secret), "the {name} is on the page: {text}");
        }
        assert!(text.len() > 1000, "a page with nothing on it proves nothing: {text}");
    }
}

/// An error and what caused it, in words.
trait Chain {
    fn transaction_error_chain(&self) -> Vec<String>;
}

impl Chain for Error {
    fn transaction_error_chain(&self) -> Vec<String> {
        let mut chain = vec![format!("{self} {self:?}")];
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            chain.push(format!("{error} {error:?}"));
            source = error.source();
        }
        chain
    }
}

impl Observer for Page {
    fn attempt_started(&self, event: &AttemptStarted) {
        self.print(event);
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        self.print(event);
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned) {
        self.print(event);
    }
}

#[test]
fn d62_no_request_prints_its_secrets() {
    let page = Page::default();
    let (card, ach) = (card_payment(), ach_payment());
    page.print(&(&card, &ach, card.card_number(), card.cvv(), card.expiry(), card.encode(), ach.encode()));
    page.print(&Card { number: CARD, cvv: CVV, expiry: EXPIRY });
    page.print(&payer());
    page.print(&(
        &ApiKey::new(KEY).unwrap(),
        Endpoint::new("https://localhost", ApiKey::new(KEY).unwrap()).unwrap(),
    ));
    page.assert_clean();
}

#[test]
fn d62_no_violation_shows_a_value() {
    let page = Page::default();
    let json = format!(
        r#"{{"Amount":"{CARD}","CardNumber":"{CARD}0","Cvv":{CVV},"ExpiryDate":"{EXPIRY}1","{CARD}":1,"BillingEmail":"{CARD}","IpAddress":"{CVV}","SuggestedMode":"Card","CardNumber":"{CARD}"}}"#
    );
    let error = CardTransaction::from_json(json.as_bytes()).unwrap_err();
    page.print(&error);
    page.write(&error.to_string());
    for cut in 0..json.len() {
        let error = CardTransaction::from_json(&json.as_bytes()[..cut]).unwrap_err();
        page.write(&error.to_string());
    }
    page.assert_clean();
}

/// Every operation meets every fault, over a service that answers with the card in every shape of decline.
#[tokio::test]
async fn d62_nothing_that_a_call_leaves_behind_shows_a_secret() {
    let page = Page::default();
    for shape in DeclineShape::ALL {
        let gateway = FakeGateway::builder().api_key(KEY).decline_shape(shape).build();
        let client = gateway.client_builder().observer(page.clone()).lookup_retries(0).build();
        page.print(&client);
        every_call(&client, &page).await;
        for kind in kinds() {
            for phase in [Phase::BeforeCommit, Phase::AfterCommit] {
                let fault = gateway.arm(Fault::on_any().at(phase).show(kind).times(5));
                every_call(&client, &page).await;
                gateway.disarm(fault);
            }
        }
        page.print(&(gateway.ledger(), gateway.requests(), &gateway));
    }
    page.assert_clean();
}

async fn every_call(client: &Client, page: &Page) {
    let authorised = client.process_card(&card_payment()).await;
    page.print_result(&authorised);
    page.print_result(&client.process_ach(&ach_payment()).await);
    page.print_result(&client.process_token(&token("tok_declined", 1_00)).await);
    let id = authorised.map_or_else(|_| "t".parse().unwrap(), |authorised| authorised.transaction_id.clone());
    page.print_result(&client.void(&Void::new(id.clone())).await);
    page.print_result(&client.transaction(&id).await);
}

/// A service that sends the request straight back must not make the client print it.
#[test]
fn d62_d64_an_answer_that_is_the_request_is_scrubbed() {
    use payments_core::Operation;
    let page = Page::default();
    let endpoint = Endpoint::new("https://pay.example.com/api/v1/public", ApiKey::new(KEY).unwrap()).unwrap();
    let (card, ach) = (card_payment(), ach_payment());
    for status in [200, 400, 402, 500] {
        for wrap in [
            "{}",
            r#"{"status":"failed","msg":"no","data":{}}"#,
            r#"{"status":"success","status_code":100,"data":{"TransactionId":"t","echo":{}}}"#,
            "<html>{}</html>",
        ] {
            let echo = |body: &bytes::Bytes| {
                let body = wrap.replacen("{}", std::str::from_utf8(body).unwrap(), 1);
                http::Response::builder().status(status).body(bytes::Bytes::from(body)).unwrap()
            };
            let request = card.request(&endpoint).unwrap();
            page.print(&request.headers());
            let answer = card.read(&endpoint, echo(request.body()));
            page.print_result(&answer);
            page.write_record(&answer);
            let request = ach.request(&endpoint).unwrap();
            let answer = ach.read(&endpoint, echo(request.body()));
            page.print_result(&answer);
            page.write_record(&answer);
        }
        let key = http::Response::builder()
            .status(status)
            .body(bytes::Bytes::from(format!("key {KEY} refused")))
            .unwrap();
        page.print_result(&card.read(&endpoint, key));
    }
    page.assert_clean();
}
