//! The calls of the demonstration, one after the other.

use std::error::Error as StdError;
use std::future::Future;

use payments_core::{Client, OperationName};
use payments_fake::{FakeGateway, Fault, test_values};
use payments_model::{
    AchTransaction, Amount, Card, CardTransaction, ConvenienceFee, CustomerId, Payer, TokenTransaction,
    TransactionId, TransactionType, ValidationError, Void,
};

use super::belief::Belief;
use super::exchange::{Asked, Exchange, Scripted};
use super::page::Page;
use super::truth::{Change, facts};

/// What the demonstration plays on.
pub(super) struct Stage<'a> {
    pub(super) gateway: FakeGateway,
    /// A client with the sandbox's key.
    pub(super) client: Client,
    /// A client with another.
    pub(super) stranger: Client,
    pub(super) page: Page<'a>,
    pub(super) exchanges: Vec<Exchange>,
}

type Played = Result<(), Box<dyn StdError>>;

impl Stage<'_> {
    /// Every call, in an order that tells the story.
    pub(super) async fn play(&mut self) -> Played {
        self.page.chapter("Payments")?;
        let sale = self.payments().await?;
        self.page.chapter("Look-ups")?;
        self.look_ups(sale).await?;
        self.page.chapter("Every documented error, and a declined card")?;
        self.refusals().await?;
        self.page.chapter("A charge whose answer is lost after the service made it")?;
        self.lost_answer().await
    }

    /// A sale, an authorisation and its void, an ACH and a token payment. Gives the sale's id, if it has one.
    async fn payments(&mut self) -> Result<Option<TransactionId>, Box<dyn StdError>> {
        let amount = Amount::from_cents(10_50);
        let payment = card(amount, TransactionType::Sale, test_values::VISA, PAYER)?;
        let sale = self.card_sale("card sale", Scripted::Processed, payment).await?;

        let amount = Amount::from_cents(25_00);
        let payment = card(amount, TransactionType::Auth, test_values::MASTERCARD, PAYER)?;
        let client = self.client.clone();
        let asked = Asked::Authorisation(amount);
        let belief = self
            .call("card authorisation", asked, Scripted::Processed, pay_by_card(&client, &payment))
            .await?;

        if let Belief::Paid(id) = belief {
            let void = Void::new(id.clone()).reason("ordered twice");
            self.void("void of that authorisation", Scripted::Processed, id, &void).await?;
        }

        let amount = Amount::from_cents(80_00);
        let payment = AchTransaction::builder(amount, TransactionType::Sale, ConvenienceFee::Inactive, PAYER)
            .account_field("RoutingNumber", "021000021")
            .account_field("AccountNumber", "000123456789")
            .build()?;
        let call = async {
            match client.process_ach(&payment).await {
                Ok(record) => Belief::Paid(record.transaction_id.clone()),
                Err(error) => Belief::of_error(&error),
            }
        };
        self.call("ACH payment", Asked::Sale(amount), Scripted::Processed, call).await?;

        self.token_sale("token payment", Scripted::Processed, test_values::TOK_APPROVED).await?;
        Ok(sale)
    }

    async fn look_ups(&mut self, sale: Option<TransactionId>) -> Played {
        let client = self.client.clone();
        if let Some(id) = sale {
            let truth = self.gateway.ledger().entry(&id).map(|entry| entry.record.clone());
            let call = async {
                match client.transaction(&id).await {
                    Ok(record) => Belief::Found {
                        shows: format!(
                            "{} on card {}",
                            shown(record.amount.value()),
                            shown(record.card_number.value())
                        ),
                        is_true: truth.as_ref() == Some(record.data()),
                    },
                    Err(error) => Belief::of_error(&error),
                }
            };
            self.call("look-up of that card sale", Asked::LookUp, Scripted::Found, call).await?;
        }

        let id = CustomerId::new(test_values::CUSTOMER)?;
        // The sandbox's own record, asked for past the network.
        let truth = self.gateway.client().customer(&id).await.ok();
        let call = async {
            match client.customer(&id).await {
                Ok(record) => Belief::Found {
                    shows: format!("{id}: {}", shown(record.customer_name.value())),
                    is_true: truth.is_some_and(|truth| truth.data() == record.data()),
                },
                Err(error) => Belief::of_error(&error),
            }
        };
        self.call("look-up of a customer", Asked::LookUp, Scripted::Found, call).await?;
        Ok(())
    }

    async fn refusals(&mut self) -> Played {
        let amount = Amount::from_cents(10_50);
        let payment = card(amount, TransactionType::Sale, test_values::VISA, PAYER)?;
        let stranger = self.stranger.clone();
        let call = pay_by_card(&stranger, &payment);
        self.call("card sale, wrong API key", Asked::Sale(amount), Scripted::Rejected(401), call).await?;

        let elsewhere = Payer { postal_code: test_values::INVALID_POSTAL_CODE, ..PAYER };
        let payment = card(amount, TransactionType::Sale, test_values::VISA, elsewhere)?;
        self.card_sale("card sale, bad postal code", Scripted::Rejected(400), payment).await?;

        self.token_sale("token payment, removed token", Scripted::Rejected(400), test_values::TOK_REMOVED)
            .await?;

        let nobody = TransactionId::new("txn_nobody_has")?;
        let void = Void::new(nobody.clone());
        self.void("void, unknown transaction", Scripted::Rejected(400), nobody.clone(), &void).await?;

        let client = self.client.clone();
        let call = async {
            match client.transaction(&nobody).await {
                Ok(_) => Belief::Found { shows: "something".to_owned(), is_true: false },
                Err(error) => Belief::of_error(&error),
            }
        };
        self.call("look-up, unknown transaction", Asked::LookUp, Scripted::Rejected(404), call).await?;

        let nobody = CustomerId::new("cus_nobody_is")?;
        let call = async {
            match client.customer(&nobody).await {
                Ok(_) => Belief::Found { shows: "something".to_owned(), is_true: false },
                Err(error) => Belief::of_error(&error),
            }
        };
        self.call("look-up, unknown customer", Asked::LookUp, Scripted::Rejected(404), call).await?;

        let payment = card(Amount::from_cents(99_99), TransactionType::Sale, test_values::DECLINED, PAYER)?;
        self.card_sale("card sale, declined card", Scripted::Rejected(200), payment).await?;
        Ok(())
    }

    async fn lost_answer(&mut self) -> Played {
        self.gateway.arm(Fault::response_lost(OperationName::Transaction));
        let payment = card(Amount::from_cents(77_00), TransactionType::Sale, test_values::VISA, PAYER)?;
        self.card_sale("card sale, answer lost", Scripted::Unknown, payment).await?;
        Ok(())
    }

    async fn card_sale(
        &mut self,
        title: &'static str,
        scripted: Scripted,
        payment: CardTransaction,
    ) -> Result<Option<TransactionId>, Box<dyn StdError>> {
        let client = self.client.clone();
        let asked = Asked::Sale(payment.amount());
        match self.call(title, asked, scripted, pay_by_card(&client, &payment)).await? {
            Belief::Paid(id) => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    async fn token_sale(&mut self, title: &'static str, scripted: Scripted, token: &str) -> Played {
        let amount = Amount::from_cents(45_00);
        let payment = TokenTransaction::builder(token, amount, ConvenienceFee::Inactive)
            .gateway_customer_id(test_values::GATEWAY_CUSTOMER)
            .reference_no("invoice 1843")
            .build()?;
        let client = self.client.clone();
        let call = async {
            match client.process_token(&payment).await {
                Ok(receipt) => Belief::Paid(receipt.transaction_id.clone()),
                Err(error) => Belief::of_error(&error),
            }
        };
        self.call(title, Asked::Sale(amount), scripted, call).await?;
        Ok(())
    }

    async fn void(
        &mut self,
        title: &'static str,
        scripted: Scripted,
        id: TransactionId,
        void: &Void,
    ) -> Played {
        let client = self.client.clone();
        let call = async {
            match client.void(void).await {
                Ok(receipt) => Belief::Voided(receipt.voided.clone()),
                Err(error) => Belief::of_error(&error),
            }
        };
        self.call(title, Asked::Void(id), scripted, call).await?;
        Ok(())
    }

    /// Makes one call, notes what the sandbox's ledger says of it, and shows the line.
    async fn call(
        &mut self,
        title: &'static str,
        asked: Asked,
        scripted: Scripted,
        call: impl Future<Output = Belief>,
    ) -> Result<Belief, Box<dyn StdError>> {
        let before = facts(&self.gateway.ledger());
        self.gateway.clear_requests();
        let belief = call.await;
        let received = self.gateway.requests().len();
        let change = Change::between(&before, &facts(&self.gateway.ledger()), received);
        let exchange = Exchange { title, asked, scripted, belief: belief.clone(), change };
        self.page.call(&exchange)?;
        self.exchanges.push(exchange);
        Ok(belief)
    }
}

async fn pay_by_card(client: &Client, payment: &CardTransaction) -> Belief {
    match client.process_card(payment).await {
        Ok(record) => Belief::Paid(record.transaction_id.clone()),
        Err(error) => Belief::of_error(&error),
    }
}

fn card(
    amount: Amount,
    transaction_type: TransactionType,
    number: &str,
    payer: Payer<'_>,
) -> Result<CardTransaction, ValidationError> {
    let card = Card { number, cvv: "123", expiry: "12/33" };
    CardTransaction::builder(amount, transaction_type, ConvenienceFee::Inactive, card, payer).build()
}

/// Nobody: every part of it is reserved for examples.
const PAYER: Payer<'static> = Payer {
    customer_name: "Ada Example",
    email: "ada@example.com",
    country_code: "+1",
    phone_number: "555-0199",
    country: "US",
    postal_code: "94105",
    ip_address: "203.0.113.7",
};

fn shown(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}
