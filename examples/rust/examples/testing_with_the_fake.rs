//! Tests of your own code against the fake: the cases that cost money, in microseconds each, without a port or a runtime.
//!
//! Copy the module `tests`, which tests `check_out`, and replace that with your own function.
//!
//! ```console
//! $ cargo test -p payments-examples --example testing_with_the_fake
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it does")]

use payments_core::model::{Amount, ConvenienceFee, TokenTransaction};
use payments_core::{Client, Outcome};

/// A shop's code: charges an order, and returns the page for the customer.
async fn check_out(client: &Client, order: &mut Order) -> anyhow::Result<Page> {
    // An order that may already be charged is never charged again.
    if order.state != OrderState::Open {
        return Ok(order.page());
    }
    let payment = TokenTransaction::builder(&order.token, order.price, ConvenienceFee::Inactive)
        .reference_no(&*order.reference)
        .build()?;
    // Set before the call, because the customer may close the page during it, which drops this future.
    order.state = OrderState::Unknown;
    order.state = match client.process_token(&payment).await {
        Ok(_) => OrderState::Paid,
        Err(error) => match error.outcome() {
            Outcome::Rejected if error.is_decline() => OrderState::Refused,
            // Another card helps only after a decline, and not after a wrong API key or too many requests.
            Outcome::NotProcessed | Outcome::Rejected => OrderState::Open,
            Outcome::Unknown => OrderState::Unknown,
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
    Unknown,
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
            OrderState::Unknown => Page::WeAreCheckingYourPayment,
        }
    }
}

/// Only for the example: shows one case. The others are in the tests.
fn main() -> anyhow::Result<()> {
    use payments_core::OperationName;
    use payments_fake::{FakeGateway, Fault, block_on};

    let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
    gateway.arm(Fault::response_lost(OperationName::TokenTransaction));
    let page = block_on(check_out(&gateway.client(), &mut order))?;
    println!("the response is lost: the shop shows {page:?}, and the order is {:?}", order.state);
    let page = block_on(check_out(&gateway.client(), &mut order))?;
    println!("the customer clicks again: the shop shows {page:?}");
    println!("the fake's ledger: {}", gateway.ledger().assert_charged_once(order.price));
    println!("more cases as tests: cargo test -p payments-examples --example testing_with_the_fake");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::{future, task};

    use payments_core::{ApiKey, OperationName};
    use payments_fake::{FakeGateway, Fault, block_on};

    use super::*;

    const TOKEN_PAYMENT: OperationName = OperationName::TokenTransaction;

    fn page(gateway: &FakeGateway, order: &mut Order) -> Page {
        block_on(check_out(&gateway.client(), order)).unwrap()
    }

    #[test]
    fn successful_payment_shows_the_thank_you_page() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        assert_eq!(page(&gateway, &mut order), Page::ThankYou);
        let charge = gateway.ledger().assert_charged_once(order.price).clone();
        assert_eq!(charge.reference_no.as_deref(), Some("order 17"), "no reference to find it by");
    }

    #[test]
    fn declined_card_is_not_charged() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_insufficient_funds"));
        assert_eq!(page(&gateway, &mut order), Page::PleaseUseAnotherCard);
        gateway.ledger().assert_nothing_charged();
    }

    #[test]
    fn wrong_api_key_is_no_decline() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        let client = gateway.client().with_api_key(ApiKey::new("an_expired_key").unwrap());
        assert_eq!(block_on(check_out(&client, &mut order)).unwrap(), Page::PleaseTryAgain);
        assert_eq!(page(&gateway, &mut order), Page::ThankYou);
        gateway.ledger().assert_charged_once(order.price);
    }

    #[test]
    fn unsent_payment_may_be_sent_again() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        gateway.arm(Fault::on(TOKEN_PAYMENT).before_commit().refuse());
        assert_eq!(page(&gateway, &mut order), Page::PleaseTryAgain);
        assert_eq!(page(&gateway, &mut order), Page::ThankYou);
        gateway.ledger().assert_charged_once(order.price);
    }

    /// The most important test: both cases look the same to the client, but in one of them the money has moved.
    #[test]
    fn lost_response_never_causes_a_second_charge() {
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
    fn unresponsive_service_ends_with_the_deadline_in_virtual_time() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        gateway.arm(Fault::on(TOKEN_PAYMENT).after_commit().stall());
        assert_eq!(page(&gateway, &mut order), Page::WeAreCheckingYourPayment);
        assert!(
            gateway.clock().elapsed() >= Duration::from_mins(1),
            "less than a minute on the fake's clock"
        );
        gateway.ledger().assert_charged_once(order.price);
    }

    /// The customer closes the page during the payment: the future is dropped, but the charge succeeds.
    #[test]
    fn returning_customer_is_not_charged_again() {
        let (gateway, mut order) = (FakeGateway::new(), Order::new("tok_approved"));
        let gate = gateway.gate_after_commit(TOKEN_PAYMENT);
        let client = gateway.client();
        let mut visit = Box::pin(check_out(&client, &mut order));
        block_on(future::poll_fn(|context| {
            assert!(visit.as_mut().poll(context).is_pending());
            task::Poll::Ready(())
        }));
        drop(visit);
        gate.release();

        assert_eq!(page(&gateway, &mut order), Page::WeAreCheckingYourPayment);
        gateway.ledger().assert_charged_once(order.price);
    }
}
