use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::check::{Check, REPEATED};
use super::payment::{Method, Payment, PaymentBuilder};
use super::{FieldName, PayerInput, UnknownFields};
use crate::json::{Json, MAX_DEPTH};
use crate::secret::SecretText;
use crate::violation::Rule;
use crate::{
    Amount, ConvenienceFee, DialPrefix, Email, Input, SuggestedMode, TransactionType, Violation,
    printable_field_name,
};

/// A valid request to take a payment from a bank account: `POST /transaction` with the mode `ACH`.
///
/// The interface does not document which fields carry the account details, and this SDK invents no names. The caller names
/// them, and they are sent verbatim. All of them are treated as secrets: set to zero on drop and never shown.
///
/// # Examples
///
/// ```
/// use payments_model::{AchTransaction, Amount, ConvenienceFee, Payer, TransactionType};
///
/// let payer = Payer {
///     customer_name: "A. Payer",
///     email: "payer@example.com",
///     country_code: "+1",
///     phone_number: "555-0100",
///     country: "US",
///     postal_code: "94105",
///     ip_address: "203.0.113.7",
/// };
/// let sale = AchTransaction::builder(
///     Amount::from_cents(25_00),
///     TransactionType::Sale,
///     ConvenienceFee::Inactive,
///     payer,
/// )
/// // The names come from the merchant's agreement with the service, not from this SDK.
/// .account_field("RoutingNumber", "021000021")
/// .account_field("AccountNumber", "000123456789")
/// .build()?;
/// assert_eq!(sale.account_field_names().collect::<Vec<_>>(), ["RoutingNumber", "AccountNumber"]);
/// # Ok::<(), payments_model::ValidationError>(())
/// ```
pub type AchTransaction = Payment<AccountFields>;

/// An [`AchTransaction`] before validation.
pub type AchTransactionBuilder<'a> = PaymentBuilder<'a, AccountFields>;

/// The account of an [`AchTransaction`], in fields that the caller names. It is set to zero on drop.
#[derive(Clone, Default, PartialEq, Eq)]
#[allow(unnameable_types, reason = "only the alias needs it")]
pub struct AccountFields(Vec<AccountField>);

#[derive(Clone, PartialEq, Eq)]
struct AccountField {
    name: String,
    json: SecretText,
    /// The strings and numbers in `json`, for masking them in a response.
    secrets: Vec<Zeroizing<String>>,
}

impl AchTransaction {
    /// Starts a request with everything that is known to be required. [`build`](PaymentBuilder::build) validates it.
    pub fn builder<'a>(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        payer: PayerInput<
            impl Input<'a, String>,
            impl Input<'a, Email>,
            impl Input<'a, DialPrefix>,
            impl Input<'a, String>,
            impl Input<'a, String>,
            impl Input<'a, String>,
            impl Input<'a, IpAddr>,
        >,
    ) -> AchTransactionBuilder<'a> {
        let mode = SuggestedMode::ACH;
        let mut builder = PaymentBuilder::new(amount, transaction_type, convenience_fee, mode);
        payer.set_fields(&mut builder.fields);
        builder
    }

    /// The names of the account fields, in the caller's order.
    pub fn account_field_names(&self) -> impl Iterator<Item = &str> {
        self.method().0.iter().map(|field| field.name.as_str())
    }

    /// Every secret of this request, to [`mask`](crate::mask) a response that may repeat it: the strings and numbers in the
    /// account fields, without JSON quotes and escapes.
    pub fn secrets(&self) -> Vec<&str> {
        self.method().0.iter().flat_map(|field| &field.secrets).map(|secret| secret.as_str()).collect()
    }
}

impl AchTransactionBuilder<'_> {
    /// Adds one account field. Its value is sent verbatim as a JSON string.
    ///
    /// [`build`](Self::build) rejects a name that is blank, is used twice, or is the name of a field of the interface. It
    /// ignores case, because some services do and would read `amount` as `Amount`.
    pub fn account_field(mut self, name: impl Into<String>, text: impl AsRef<str>) -> Self {
        self.fields.add_account_field(name.into(), quoted(text.as_ref()));
        self
    }
}

impl Method for AccountFields {
    const NAME: &'static str = "AchTransaction";

    fn check_mode(mode: &SuggestedMode) -> Result<(), Rule> {
        if mode.is_ach() { Ok(()) } else { Err("must be ACH for an ACH transaction") }
    }

    /// Account fields may have any name that the interface does not define, so they are checked last.
    fn check(_: &mut Check<'_>) -> Option<Self> {
        Some(Self::default())
    }

    fn check_unknown(this: Option<&mut Self>, check: &mut Check<'_>, _: UnknownFields) {
        let mut seen = HashSet::new();
        let mut fields = Vec::new();
        for (name, json) in check.take_account_fields() {
            let secrets = secrets_in(&json);
            let rule = if name.trim().is_empty() {
                "must have a name that is not blank"
            } else if FieldName::ALL
                .iter()
                .any(|field| field.is_of_payment() && field.as_str().eq_ignore_ascii_case(&name))
            {
                "must have another name: this one belongs to a field of the interface"
            } else if !seen.insert(name.clone()) {
                REPEATED
            } else if let Some(secrets) = secrets {
                fields.push(AccountField { name, json, secrets });
                continue;
            } else {
                "must be valid Unicode and nested at most 64 levels deep"
            };
            check.add_violation(Violation::of_named(&name, rule));
        }
        if let Some(this) = this {
            this.0 = fields;
        }
    }

    fn debug(&self, debug: &mut fmt::DebugStruct<'_, '_>) {
        debug.field("account_fields", self);
    }
}

impl Serialize for AccountFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = |json| serde_json::from_str::<&RawValue>(json).map_err(serde::ser::Error::custom);
        let fields: Result<Vec<_>, S::Error> =
            self.0.iter().map(|field| Ok((&field.name, raw(field.json.as_str())?))).collect();
        serializer.collect_map(fields?)
    }
}

impl fmt::Debug for AccountFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |AccountField { name, json, secrets: _ }: &AccountField| {
            format!("{}: {json:?}", printable_field_name(name))
        };
        let shown: Vec<String> = self.0.iter().map(shown).collect();
        write!(f, "[{}]", shown.join(", "))
    }
}

/// A secret as a JSON string. The buffer never grows, so no copy remains in memory.
fn quoted(text: &str) -> SecretText {
    let bytes = super::encode::encode(&text);
    SecretText::new(String::from_utf8_lossy(bytes.as_ref()))
}

/// The strings and numbers in a value, without member names. `None` if it is nested too deeply or is not Unicode.
fn secrets_in(json: &SecretText) -> Option<Vec<Zeroizing<String>>> {
    let raw: &RawValue = serde_json::from_str(json.as_str()).ok()?;
    let mut secrets = Vec::new();
    collect_secrets(raw.into(), MAX_DEPTH, &mut secrets)?;
    Some(secrets)
}

fn collect_secrets(json: Json<'_>, levels: u32, secrets: &mut Vec<Zeroizing<String>>) -> Option<()> {
    let levels = levels.checked_sub(1)?;
    if let Some(elements) = json.elements() {
        elements.into_iter().try_for_each(|element| collect_secrets(element, levels, secrets))
    } else if let Some(members) = json.members() {
        members.into_iter().try_for_each(|(_, value)| collect_secrets(value, levels, secrets))
    } else if json.is_object() {
        None
    } else {
        let text = if json.is_string() { Some(json.text()?) } else { json.number().map(Cow::Borrowed) };
        secrets.extend(text.map(|text| Zeroizing::new(text.into_owned())));
        Some(())
    }
}

/// Whether a text is a plausible ABA routing number: nine digits with a correct check digit.
///
/// Use it in forms that ask a payer for bank details. No request uses it, because the interface does not document which
/// field carries a routing number.
///
/// ```
/// assert!(payments_model::is_valid_routing_number("021000021"));
/// assert!(!payments_model::is_valid_routing_number("021000022"));
/// ```
pub fn is_valid_routing_number(text: &str) -> bool {
    if text.len() != 9 || !text.bytes().all(|byte| byte.is_ascii_digit()) || text == "000000000" {
        return false;
    }
    let weighted = text.bytes().zip([3, 7, 1].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    sum.is_multiple_of(10)
}
