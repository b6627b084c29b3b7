//! What a card and an ACH payment have in common before it is checked, and the checking.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::check::{Check, Entry, Invalid, Rule, check_amount, not_blank};
use crate::document::Slot;
use crate::payment::{Head, Tail};
use crate::{
    Amount, Billing, ConvenienceFee, DialPrefix, Email, Payer, Shipping, SuggestedMode, TransactionType,
};

type Text<'a> = Entry<Cow<'a, str>>;

/// The common fields before they are checked.
#[derive(Default)]
pub(crate) struct PaymentDraft<'a> {
    pub(crate) amount: Entry<Amount>,
    pub(crate) billing_address: Text<'a>,
    pub(crate) billing_city: Text<'a>,
    pub(crate) billing_country: Text<'a>,
    pub(crate) billing_country_code: Text<'a>,
    pub(crate) billing_customer_name: Text<'a>,
    pub(crate) billing_email: Text<'a>,
    pub(crate) billing_phone_number: Text<'a>,
    pub(crate) billing_postal_code: Text<'a>,
    pub(crate) billing_state: Text<'a>,
    pub(crate) shipping_same_as_billing: Entry<bool>,
    pub(crate) shipping_customer_name: Text<'a>,
    pub(crate) shipping_email: Text<'a>,
    pub(crate) shipping_phone_number: Text<'a>,
    pub(crate) shipping_address: Text<'a>,
    pub(crate) shipping_country: Text<'a>,
    pub(crate) shipping_city: Text<'a>,
    pub(crate) shipping_state: Text<'a>,
    pub(crate) shipping_postal_code: Text<'a>,
    pub(crate) suggested_mode: Text<'a>,
    pub(crate) convenience_fee_active: Entry<bool>,
    pub(crate) transaction_type: Text<'a>,
    pub(crate) payment_tokenization: Entry<bool>,
    pub(crate) ip_address: Text<'a>,
}

impl<'a> PaymentDraft<'a> {
    pub(crate) fn new(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        payer: Payer<'a>,
    ) -> Self {
        let Payer { customer_name, email, country_code, phone_number, country, postal_code, ip_address } =
            payer;
        Self {
            amount: Entry::Given(amount),
            billing_country: Entry::text(country),
            billing_country_code: Entry::text(country_code),
            billing_customer_name: Entry::text(customer_name),
            billing_email: Entry::text(email),
            billing_phone_number: Entry::text(phone_number),
            billing_postal_code: Entry::text(postal_code),
            convenience_fee_active: Entry::Given(convenience_fee.is_active()),
            transaction_type: transaction_type.wire().map_or(Entry::Missing, Entry::text),
            ip_address: Entry::text(ip_address),
            ..Self::default()
        }
    }

    pub(crate) fn set_shipping(&mut self, shipping: Shipping) {
        let Shipping { customer_name, email, phone_number, address, country, city, state, postal_code } =
            shipping;
        let entry = |text: Option<String>| text.map_or(Entry::Missing, Entry::text);
        self.shipping_customer_name = entry(customer_name);
        self.shipping_email = entry(email);
        self.shipping_phone_number = entry(phone_number);
        self.shipping_address = entry(address);
        self.shipping_country = entry(country);
        self.shipping_city = entry(city);
        self.shipping_state = entry(state);
        self.shipping_postal_code = entry(postal_code);
    }

    /// The place for a field of the interface, `None` for any other name.
    pub(crate) fn slot(&mut self, name: &str) -> Option<Slot<'_, 'a>> {
        Some(match name {
            "Amount" => Slot::Amount(&mut self.amount),
            "BillingAddress" => Slot::Text(&mut self.billing_address),
            "BillingCity" => Slot::Text(&mut self.billing_city),
            "BillingCountry" => Slot::Text(&mut self.billing_country),
            "BillingCountryCode" => Slot::Text(&mut self.billing_country_code),
            "BillingCustomerName" => Slot::Text(&mut self.billing_customer_name),
            "BillingEmail" => Slot::Text(&mut self.billing_email),
            "BillingPhoneNumber" => Slot::Text(&mut self.billing_phone_number),
            "BillingPostalCode" => Slot::Text(&mut self.billing_postal_code),
            "BillingState" => Slot::Text(&mut self.billing_state),
            "ShippingSameAsBilling" => Slot::Flag(&mut self.shipping_same_as_billing),
            "ShippingCustomerName" => Slot::Text(&mut self.shipping_customer_name),
            "ShippingEmail" => Slot::Text(&mut self.shipping_email),
            "ShippingPhoneNumber" => Slot::Text(&mut self.shipping_phone_number),
            "ShippingAddress" => Slot::Text(&mut self.shipping_address),
            "ShippingCountry" => Slot::Text(&mut self.shipping_country),
            "ShippingCity" => Slot::Text(&mut self.shipping_city),
            "ShippingState" => Slot::Text(&mut self.shipping_state),
            "ShippingPostalCode" => Slot::Text(&mut self.shipping_postal_code),
            "SuggestedMode" => Slot::Text(&mut self.suggested_mode),
            "ConvenienceFeeActive" => Slot::Flag(&mut self.convenience_fee_active),
            "TransactionType" => Slot::Text(&mut self.transaction_type),
            "PaymentTokenization" => Slot::Flag(&mut self.payment_tokenization),
            "IpAddress" => Slot::Text(&mut self.ip_address),
            _ => return None,
        })
    }

    /// Checks the fields that stand before the card fields in the interface's table.
    pub(crate) fn check_head(&mut self, check: &mut Check) -> Result<Head, Invalid> {
        let take = std::mem::take::<Text<'a>>;
        let amount = check.required("Amount", std::mem::take(&mut self.amount), check_amount);
        let address = check.any_text("BillingAddress", take(&mut self.billing_address));
        let city = check.any_text("BillingCity", take(&mut self.billing_city));
        let country = check.required("BillingCountry", take(&mut self.billing_country), not_blank);
        let country_code =
            check.required("BillingCountryCode", take(&mut self.billing_country_code), |text| {
                DialPrefix::check(text.into_owned())
            });
        let customer_name =
            check.required("BillingCustomerName", take(&mut self.billing_customer_name), not_blank);
        let email = check
            .required("BillingEmail", take(&mut self.billing_email), |text| Email::check(text.into_owned()));
        let phone_number =
            check.required("BillingPhoneNumber", take(&mut self.billing_phone_number), not_blank);
        let postal_code = check.required("BillingPostalCode", take(&mut self.billing_postal_code), not_blank);
        let state = check.any_text("BillingState", take(&mut self.billing_state));
        let same = std::mem::take(&mut self.shipping_same_as_billing);
        let shipping_same_as_billing = check.any_flag("ShippingSameAsBilling", same);
        let shipping = self.check_shipping(check);
        Ok(Head {
            amount: amount?,
            billing: Billing {
                address: address?,
                city: city?,
                country: country?,
                country_code: country_code?,
                customer_name: customer_name?,
                email: email?,
                phone_number: phone_number?,
                postal_code: postal_code?,
                state: state?,
            },
            shipping_same_as_billing: shipping_same_as_billing?,
            shipping: shipping?,
        })
    }

    fn check_shipping(&mut self, check: &mut Check) -> Result<Shipping, Invalid> {
        let mut text = |field, entry: &mut Text<'a>| check.any_text(field, std::mem::take(entry));
        let customer_name = text("ShippingCustomerName", &mut self.shipping_customer_name);
        let email = text("ShippingEmail", &mut self.shipping_email);
        let phone_number = text("ShippingPhoneNumber", &mut self.shipping_phone_number);
        let address = text("ShippingAddress", &mut self.shipping_address);
        let country = text("ShippingCountry", &mut self.shipping_country);
        let city = text("ShippingCity", &mut self.shipping_city);
        let state = text("ShippingState", &mut self.shipping_state);
        let postal_code = text("ShippingPostalCode", &mut self.shipping_postal_code);
        Ok(Shipping {
            customer_name: customer_name?,
            email: email?,
            phone_number: phone_number?,
            address: address?,
            country: country?,
            city: city?,
            state: state?,
            postal_code: postal_code?,
        })
    }

    /// Checks the fields that stand after the card fields in the interface's table.
    pub(crate) fn check_tail(
        self,
        check: &mut Check,
        mode_fits: impl FnOnce(&SuggestedMode) -> Result<(), Rule>,
    ) -> Result<Tail, Invalid> {
        let suggested_mode = check.required("SuggestedMode", self.suggested_mode, |text| {
            let mode = SuggestedMode::check(text.into_owned())?;
            mode_fits(&mode).map(|()| mode)
        });
        let convenience_fee = check.required("ConvenienceFeeActive", self.convenience_fee_active, |active| {
            Ok(ConvenienceFee::from_flag(active))
        });
        let transaction_type =
            check.optional("TransactionType", self.transaction_type, |text| TransactionType::check(&text));
        let payment_tokenization = check.any_flag("PaymentTokenization", self.payment_tokenization);
        let ip_address = check.required("IpAddress", self.ip_address, |text| {
            text.parse::<IpAddr>().map_err(|_| "must be an IPv4 or IPv6 address")
        });
        Ok(Tail {
            suggested_mode: suggested_mode?,
            convenience_fee: convenience_fee?,
            transaction_type: transaction_type?.unwrap_or(TransactionType::GatewayDefault),
            payment_tokenization: payment_tokenization?,
            ip_address: ip_address?,
        })
    }
}
