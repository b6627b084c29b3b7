//! What a card and an ACH payment have in common once it is checked: every field of the transaction table but
//! the three card fields.

use std::net::IpAddr;

use crate::json_writer::ObjectWriter;
use crate::{Amount, Billing, ConvenienceFee, Shipping, SuggestedMode, TransactionType};

/// The checked common fields, in the two groups that surround the card fields on the wire.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) head: Head,
    pub(crate) tail: Tail,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) amount: Amount,
    pub(crate) billing: Billing,
    pub(crate) shipping_same_as_billing: Option<bool>,
    pub(crate) shipping: Shipping,
}

impl Head {
    pub(crate) fn write(&self, out: &mut ObjectWriter<'_>) {
        let Self { amount, billing, shipping_same_as_billing, shipping } = self;
        out.amount("Amount", *amount);
        out.optional_text("BillingAddress", billing.address());
        out.optional_text("BillingCity", billing.city());
        out.text("BillingCountry", billing.country());
        out.text("BillingCountryCode", billing.country_code().as_str());
        out.text("BillingCustomerName", billing.customer_name());
        out.text("BillingEmail", billing.email().as_str());
        out.text("BillingPhoneNumber", billing.phone_number());
        out.text("BillingPostalCode", billing.postal_code());
        out.optional_text("BillingState", billing.state());
        out.optional_flag("ShippingSameAsBilling", *shipping_same_as_billing);
        out.optional_text("ShippingCustomerName", shipping.customer_name.as_deref());
        out.optional_text("ShippingEmail", shipping.email.as_deref());
        out.optional_text("ShippingPhoneNumber", shipping.phone_number.as_deref());
        out.optional_text("ShippingAddress", shipping.address.as_deref());
        out.optional_text("ShippingCountry", shipping.country.as_deref());
        out.optional_text("ShippingCity", shipping.city.as_deref());
        out.optional_text("ShippingState", shipping.state.as_deref());
        out.optional_text("ShippingPostalCode", shipping.postal_code.as_deref());
    }
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) suggested_mode: SuggestedMode,
    pub(crate) convenience_fee: ConvenienceFee,
    pub(crate) transaction_type: TransactionType,
    pub(crate) payment_tokenization: Option<bool>,
    pub(crate) ip_address: IpAddr,
}

impl Tail {
    pub(crate) fn write(&self, out: &mut ObjectWriter<'_>) {
        let Self { suggested_mode, convenience_fee, transaction_type, payment_tokenization, ip_address } =
            self;
        out.text("SuggestedMode", suggested_mode.as_str());
        out.flag("ConvenienceFeeActive", convenience_fee.is_active());
        out.optional_text("TransactionType", transaction_type.wire());
        out.optional_flag("PaymentTokenization", *payment_tokenization);
        out.address("IpAddress", *ip_address);
    }
}

/// The accessors that a card and an ACH transaction share.
macro_rules! payment_accessors {
    () => {
        /// `Amount`: above zero, at most two decimals.
        pub const fn amount(&self) -> crate::Amount {
            self.payment.head.amount
        }

        /// The `Billing…` fields.
        pub const fn billing(&self) -> &crate::Billing {
            &self.payment.head.billing
        }

        /// `ShippingSameAsBilling`, if set.
        pub const fn shipping_same_as_billing(&self) -> Option<bool> {
            self.payment.head.shipping_same_as_billing
        }

        /// The other `Shipping…` fields, each of them optional.
        pub const fn shipping(&self) -> &crate::Shipping {
            &self.payment.head.shipping
        }

        /// `SuggestedMode`.
        pub const fn suggested_mode(&self) -> &crate::SuggestedMode {
            &self.payment.tail.suggested_mode
        }

        /// `ConvenienceFeeActive`.
        pub const fn convenience_fee(&self) -> crate::ConvenienceFee {
            self.payment.tail.convenience_fee
        }

        /// `TransactionType`.
        pub const fn transaction_type(&self) -> crate::TransactionType {
            self.payment.tail.transaction_type
        }

        /// `PaymentTokenization`, if set.
        pub const fn payment_tokenization(&self) -> Option<bool> {
            self.payment.tail.payment_tokenization
        }

        /// `IpAddress`, the payer's.
        pub const fn ip_address(&self) -> std::net::IpAddr {
            self.payment.tail.ip_address
        }
    };
}
pub(crate) use payment_accessors;

/// The setters that a card and an ACH builder share.
macro_rules! payment_setters {
    () => {
        /// Sets `BillingAddress`. Any text is taken.
        pub fn billing_address(mut self, text: impl Into<Cow<'a, str>>) -> Self {
            self.draft.payment.billing_address = Entry::text(text);
            self
        }

        /// Sets `BillingCity`. Any text is taken.
        pub fn billing_city(mut self, text: impl Into<Cow<'a, str>>) -> Self {
            self.draft.payment.billing_city = Entry::text(text);
            self
        }

        /// Sets `BillingState`. Any text is taken.
        pub fn billing_state(mut self, text: impl Into<Cow<'a, str>>) -> Self {
            self.draft.payment.billing_state = Entry::text(text);
            self
        }

        /// Sets `ShippingSameAsBilling`. It is sent as it is; no shipping field is filled in from it.
        pub fn shipping_same_as_billing(mut self, same: bool) -> Self {
            self.draft.payment.shipping_same_as_billing = Entry::Given(same);
            self
        }

        /// Sets all other `Shipping…` fields.
        pub fn shipping(mut self, shipping: crate::Shipping) -> Self {
            self.draft.payment.set_shipping(shipping);
            self
        }

        /// Sets `PaymentTokenization`, which asks the service to store the payment method. The interface
        /// promises no token in the answer. Left out unless set.
        pub fn payment_tokenization(mut self, tokenize: bool) -> Self {
            self.draft.payment.payment_tokenization = Entry::Given(tokenize);
            self
        }
    };
}
pub(crate) use payment_setters;
