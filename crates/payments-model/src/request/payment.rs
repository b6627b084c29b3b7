//! What card and ACH payments share: every field of the transaction table except the three card fields.

use std::fmt;
use std::net::IpAddr;

use super::body::Object;
use super::check::{Check, not_blank, payable};
use super::draft::PaymentDraft;
use super::{Billing, ConvenienceFee, DialPrefix, Email, Payer, Shipping, SuggestedMode, TransactionType};
use crate::Amount;
use crate::amount::Number;
use crate::secret::Redacted;
use crate::violation::Rule;

/// The validated fields.
#[expect(clippy::struct_field_names, reason = "the interface's names")]
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) amount: Amount,
    pub(super) billing: Billing,
    pub(super) shipping_same_as_billing: Option<bool>,
    pub(super) shipping: Shipping,
    pub(super) suggested_mode: SuggestedMode,
    pub(super) convenience_fee: ConvenienceFee,
    pub(super) transaction_type: TransactionType,
    pub(super) payment_tokenization: Option<bool>,
    pub(super) ip_address: IpAddr,
}

impl<'a> PaymentDraft<'a> {
    pub(super) fn new(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        suggested_mode: &'static str,
        payer: Payer<'a>,
    ) -> Self {
        let Payer { customer_name, email, country_code, phone_number, country, postal_code, ip_address } =
            payer;
        let mut draft = Self::default();
        draft.amount.set(amount);
        draft.billing_customer_name.set(customer_name);
        draft.billing_email.set(email);
        draft.billing_country_code.set(country_code);
        draft.billing_phone_number.set(phone_number);
        draft.billing_country.set(country);
        draft.billing_postal_code.set(postal_code);
        draft.suggested_mode.set(suggested_mode);
        draft.convenience_fee.set(convenience_fee);
        draft.transaction_type.set(transaction_type);
        draft.ip_address.set(ip_address);
        draft
    }

    pub(super) fn set_shipping(&mut self, shipping: Shipping) {
        let Shipping { customer_name, email, phone_number, address, country, city, state, postal_code } =
            shipping;
        for (field, text) in [
            (&mut self.shipping_customer_name, customer_name),
            (&mut self.shipping_email, email),
            (&mut self.shipping_phone_number, phone_number),
            (&mut self.shipping_address, address),
            (&mut self.shipping_country, country),
            (&mut self.shipping_city, city),
            (&mut self.shipping_state, state),
            (&mut self.shipping_postal_code, postal_code),
        ] {
            field.value = text.map(|text| Ok(text.into()));
        }
    }

    /// Checks the fields. `method` checks those of the card, which stand between shipping and `SuggestedMode`.
    pub(super) fn check<M>(
        self,
        check: &mut Check,
        method: impl FnOnce(&mut Check) -> Option<M>,
        check_mode: fn(&SuggestedMode) -> Result<(), Rule>,
    ) -> Option<(Payment, M)> {
        let amount = check.required(self.amount, |amount| payable(amount, 0));
        let address = check.text(self.billing_address);
        let city = check.text(self.billing_city);
        let country = check.required(self.billing_country, not_blank);
        let country_code = check.required(self.billing_country_code, DialPrefix::check);
        let customer_name = check.required(self.billing_customer_name, not_blank);
        let email = check.required(self.billing_email, Email::check);
        let phone_number = check.required(self.billing_phone_number, not_blank);
        let postal_code = check.required(self.billing_postal_code, |code| {
            if code.is_empty() { Ok(String::new()) } else { not_blank(code) }
        });
        let state = check.text(self.billing_state);
        let shipping_same_as_billing = check.optional(self.shipping_same_as_billing, Ok);
        let shipping = Shipping {
            customer_name: check.text(self.shipping_customer_name),
            email: check.text(self.shipping_email),
            phone_number: check.text(self.shipping_phone_number),
            address: check.text(self.shipping_address),
            country: check.text(self.shipping_country),
            city: check.text(self.shipping_city),
            state: check.text(self.shipping_state),
            postal_code: check.text(self.shipping_postal_code),
        };
        let method = method(check);
        let suggested_mode = check.required(self.suggested_mode, |mode| {
            let mode = SuggestedMode::check(mode.into_owned())?;
            check_mode(&mode).map(|()| mode)
        });
        let convenience_fee = check.required(self.convenience_fee, Ok);
        let transaction_type = check.optional(self.transaction_type, Ok);
        let payment_tokenization = check.optional(self.payment_tokenization, Ok);
        let ip_address = check.required(self.ip_address, |address| {
            address.parse().map_err(|_| "must be an IPv4 or IPv6 address")
        });
        let payment = Payment {
            amount: amount?,
            billing: Billing {
                address,
                city,
                country: country?,
                country_code: country_code?,
                customer_name: customer_name?,
                email: email?,
                phone_number: phone_number?,
                postal_code: postal_code?,
                state,
            },
            shipping_same_as_billing,
            shipping,
            suggested_mode: suggested_mode?,
            convenience_fee: convenience_fee?,
            transaction_type: transaction_type.unwrap_or(TransactionType::GatewayDefault),
            payment_tokenization,
            ip_address: ip_address?,
        };
        Some((payment, method?))
    }
}

impl Payment {
    /// The body, in the order of the interface's table. `method` writes the fields of the card or of the account.
    pub(super) fn object(&self, method: impl FnOnce(&mut Object)) -> Object {
        let Self {
            amount,
            billing,
            shipping_same_as_billing,
            shipping,
            suggested_mode,
            convenience_fee,
            transaction_type,
            payment_tokenization,
            ip_address,
        } = self;
        let mut object = Object::new();
        object.member("Amount", Number(*amount));
        billing.write(&mut object);
        object.optional("ShippingSameAsBilling", *shipping_same_as_billing);
        shipping.write(&mut object);
        method(&mut object);
        object
            .member("SuggestedMode", suggested_mode.as_str())
            .member("ConvenienceFeeActive", convenience_fee.is_active())
            .optional("TransactionType", transaction_type.wire())
            .optional("PaymentTokenization", *payment_tokenization)
            .member("IpAddress", ip_address);
        object
    }

    /// The `Debug` output of a request with this name. `method` adds the fields of the card or of the account.
    pub(super) fn debug(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        method: impl FnOnce(&mut fmt::DebugStruct<'_, '_>),
    ) -> fmt::Result {
        let Self {
            amount,
            billing,
            shipping_same_as_billing,
            shipping,
            // For a card payment it may be any text.
            suggested_mode: _,
            convenience_fee,
            transaction_type,
            payment_tokenization,
            ip_address: _,
        } = self;
        let mut debug = f.debug_struct(name);
        debug.field("amount", amount).field("transaction_type", transaction_type);
        debug.field("convenience_fee", convenience_fee).field("suggested_mode", &Redacted);
        method(&mut debug);
        debug
            .field("billing", billing)
            .field("shipping", shipping)
            .field("shipping_same_as_billing", shipping_same_as_billing)
            .field("payment_tokenization", payment_tokenization)
            .field("ip_address", &Redacted)
            .finish()
    }
}

/// The methods of a valid payment. The request has the fields `payment` and `body`.
macro_rules! payment_accessors {
    () => {
        /// The request as JSON: the bytes that are sent, in the order of the interface's table, without the fields that are
        /// not set. Account fields are in the place of the card fields.
        ///
        /// **It holds the secrets of the request**, the security code included. [`from_json`](Self::from_json) reads it, so
        /// that a request can wait in a queue in memory, unless its card number does not pass Luhn. Do not log it, and do not store it: a security code must never be
        /// stored, not even encrypted.
        pub fn to_json(&self) -> SecretBytes {
            self.body.bytes(|| self.object())
        }

        /// `Amount`: above zero, at most two decimals.
        pub const fn amount(&self) -> Amount {
            self.payment.amount
        }

        /// The `Billing…` fields.
        pub const fn billing(&self) -> &Billing {
            &self.payment.billing
        }

        /// `ShippingSameAsBilling`, if set.
        pub const fn shipping_same_as_billing(&self) -> Option<bool> {
            self.payment.shipping_same_as_billing
        }

        /// The other `Shipping…` fields, each of them optional.
        pub const fn shipping(&self) -> &Shipping {
            &self.payment.shipping
        }

        /// `SuggestedMode`.
        pub const fn suggested_mode(&self) -> &SuggestedMode {
            &self.payment.suggested_mode
        }

        /// `ConvenienceFeeActive`.
        pub const fn convenience_fee(&self) -> ConvenienceFee {
            self.payment.convenience_fee
        }

        /// `TransactionType`.
        pub const fn transaction_type(&self) -> TransactionType {
            self.payment.transaction_type
        }

        /// `PaymentTokenization`, if set.
        pub const fn payment_tokenization(&self) -> Option<bool> {
            self.payment.payment_tokenization
        }

        /// `IpAddress`, the payer's.
        pub const fn ip_address(&self) -> IpAddr {
            self.payment.ip_address
        }
    };
}
pub(super) use payment_accessors;

/// The setters of the optional fields. The builder has the field `draft`.
macro_rules! payment_setters {
    ($lifetime:lifetime) => {
        /// Sets `BillingAddress`. Any text is accepted.
        pub fn billing_address(mut self, text: impl Into<Cow<$lifetime, str>>) -> Self {
            self.draft.billing_address.set(text);
            self
        }

        /// Sets `BillingCity`. Any text is accepted.
        pub fn billing_city(mut self, text: impl Into<Cow<$lifetime, str>>) -> Self {
            self.draft.billing_city.set(text);
            self
        }

        /// Sets `BillingState`. Any text is accepted.
        pub fn billing_state(mut self, text: impl Into<Cow<$lifetime, str>>) -> Self {
            self.draft.billing_state.set(text);
            self
        }

        /// Sets `ShippingSameAsBilling`. It does not fill in any shipping field.
        pub fn shipping_same_as_billing(mut self, same: bool) -> Self {
            self.draft.shipping_same_as_billing.set(same);
            self
        }

        /// Sets all other `Shipping…` fields.
        pub fn shipping(mut self, shipping: Shipping) -> Self {
            self.draft.set_shipping(shipping);
            self
        }

        /// Sets `SuggestedMode`. The default is `Card` for a card payment and `ACH` for an ACH payment. This SDK infers both
        /// values, because the interface does not document them. [`build`](Self::build) refuses the mode of the other
        /// payment method.
        pub fn suggested_mode(mut self, mode: impl Into<Cow<$lifetime, str>>) -> Self {
            self.draft.suggested_mode.set(mode);
            self
        }

        /// Sets `PaymentTokenization`, which asks the service to store the payment method. The interface does not promise a
        /// token in the response. The field is not sent unless set.
        pub fn payment_tokenization(mut self, tokenize: bool) -> Self {
            self.draft.payment_tokenization.set(tokenize);
            self
        }
    };
}
pub(super) use payment_setters;
