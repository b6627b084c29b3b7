//! Tests of your own code against the fake: the cases that cost money, each in microseconds, without a port or a runtime.
//!
//! Copy the module `tests`, which puts `check_out` to the proof, and put your own function in its place.
//!
//! ```console
//! $ cargo test -p payments-examples --example testing_with_the_fake
//! ```

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{Client, Outcome};

/// A shop's code: takes the payment of an order, and says what the customer is shown.
async fn check_out(client: &Client, order: &mut Order) -> anyhow::Result<Page> {
    // What may be charged already is not charged again, whatever the customer clicks.
    if order.state != OrderState::Open {
        return Ok(order.page());
    }
    let payment = TokenTransaction::builder(&order.token, order.price, ConvenienceFee::Inactive)
        .reference_no(&*order.reference)
        .build()?;
    // Before the call: the customer may close the page while it is under way, and this future with it.
    order.state = OrderState::InDoubt;
    order.state = match client.process_token(&payment).await {
        Ok(_) => OrderState::Paid,
        Err(error) => match error.outcome() {
            Outcome::NotProcessed => OrderState::Open,
            Outcome::Rejected => OrderState::Refused,
            Outcome::Unknown => OrderState::InDoubt,
        },
    };
    Ok(order.page())
}

#[derive(Debug)]
struct Order {
    reference: String,
    token: String,
    price: Amount,
    state: OrderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderState {
    Open,
    Paid,
    Refused,
    InDoubt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    ThankYou,
    PleaseTryAgain,
    PleaseUseAnotherCard,
    WeAreCheckingYourPayment,
}

impl Order {
    fn new(token: &str) -> Self {
        let (reference, token) = ("order 17".to_owned(), token.to_owned());
        Self { reference, token, price: Amount::from_cents(49_90), state: OrderState::Open }
    }

    fn page(&self) -> Page {
        match self.state {
            OrderState::Open => Page::PleaseTryAgain,
            OrderState::Paid => Page::ThankYou,
            OrderState::Refused => Page::PleaseUseAnotherCard,
            OrderState::InDoubt => Page::WeAreCheckingYourPayment,
        }
    }
}

/// Only for the example: one case, and where the others are.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_fake::{FakeGateway, Fault, block_on};

    let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let page = block_on(check_out(&gateway.client(), &mut order))?;
    println!("the answer is lost: the shop shows {page:?}, and the order is {:?}", order.state);
    let page = block_on(check_out(&gateway.client(), &mut order))?;
    println!("the customer clicks again: the shop shows {page:?}");
    println!("the fake's ledger: {}", gateway.ledger().assert_charged_once(order.price));
    println!("this and more as tests: cargo test -p payments-examples --example testing_with_the_fake");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::{future, task};

    use payments_core::OperationName;
    use payments_fake::{FakeGateway, Fault, block_on};

    use super::*;

    const TOKEN_PAYMENT: OperationName = OperationName::TokenTransaction;

    fn page(gateway: &FakeGateway, order: &mut Order) -> Page {
        block_on(check_out(&gateway.client(), order)).unwrap()
    }

    #[test]
    fn a_payment_that_is_made_is_thanked_for() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        assert_eq!(page(&gateway, &mut order), Page::ThankYou);
        let charge = gateway.ledger().assert_charged_once(order.price).clone();
        assert_eq!(charge.reference_no.as_deref(), Some("order 17"), "it can be found by hand");
    }

    #[test]
    fn a_card_that_is_declined_is_not_charged() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_insufficient_funds"));
        assert_eq!(page(&gateway, &mut order), Page::PleaseUseAnotherCard);
        gateway.ledger().assert_nothing_charged();
    }

    #[test]
    fn what_was_never_sent_may_be_sent_again() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        gateway.arm(Fault::on(TOKEN_PAYMENT).before_commit().refuse());
        assert_eq!(page(&gateway, &mut order), Page::PleaseTryAgain);
        assert_eq!(page(&gateway, &mut order), Page::ThankYou);
        gateway.ledger().assert_charged_once(order.price);
    }

    /// The test that pays for all the others: the same closed connection, and once the money has moved.
    #[test]
    fn a_lost_answer_never_leads_to_a_second_charge() {
        for (fault, charges) in
            [(Fault::request_lost(TOKEN_PAYMENT), 0), (Fault::response_lost(TOKEN_PAYMENT), 1)]
        {
            let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
            gateway.arm(fault);
            for _click in 0..3 {
                assert_eq!(page(&gateway, &mut order), Page::WeAreCheckingYourPayment);
            }
            assert_eq!(gateway.ledger().charged().count(), charges);
        }
    }

    #[test]
    fn a_service_that_never_answers_ends_with_the_deadline_and_costs_the_test_no_time() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        gateway.arm(Fault::on(TOKEN_PAYMENT).after_commit().stall());
        assert_eq!(page(&gateway, &mut order), Page::WeAreCheckingYourPayment);
        assert!(gateway.clock().elapsed() >= Duration::from_mins(1), "a minute of the fake's own clock");
        gateway.ledger().assert_charged_once(order.price);
    }

    /// The customer closes the page while the payment is under way: the future is dropped, and the charge is made.
    #[test]
    fn a_customer_who_goes_away_is_not_charged_again_on_coming_back() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        let under_way = gateway.gate_after_commit(TOKEN_PAYMENT);
        let client = gateway.client();
        let mut visit = Box::pin(check_out(&client, &mut order));
        block_on(future::poll_fn(|context| {
            assert!(visit.as_mut().poll(context).is_pending());
            task::Poll::Ready(())
        }));
        drop(visit);
        under_way.release();

        assert_eq!(page(&gateway, &mut order), Page::WeAreCheckingYourPayment);
        gateway.ledger().assert_charged_once(order.price);
    }
}
