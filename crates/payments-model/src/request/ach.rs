use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;

use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::body::{Body, Object, check_size, secret_json};
use super::check::{Check, PADDED, REPEATED};
use super::draft::{CardDraft, PaymentDraft};
use super::members::from_json;
use super::payment::{Payment, payment_accessors, payment_setters};
use super::{Billing, ConvenienceFee, Payer, RequestMembers, Shipping, SuggestedMode, TransactionType};
use crate::id::{is_blank, shows_nothing};
use crate::json::{Json, MAX_DEPTH};
use crate::secret::SecretText;
use crate::violation::printable_field_name;
use crate::{Amount, SecretBytes, ValidationError, Violation};

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
#[derive(Clone, PartialEq, Eq)]
pub struct AchTransaction {
    payment: Payment,
    account: Vec<AccountField>,
    body: Body,
}

/// A field of the account, which the caller named. It is set to zero on drop.
#[derive(Clone, PartialEq, Eq)]
struct AccountField {
    name: String,
    json: SecretText,
    /// The strings and numbers in `json`, for masking them in a response.
    secrets: Vec<Zeroizing<String>>,
}

impl AchTransaction {
    /// Starts a request with everything that is known to be required. [`build`](AchTransactionBuilder::build) validates it.
    pub fn builder(
        amount: Amount,
        transaction_type: TransactionType,
        convenience_fee: ConvenienceFee,
        payer: Payer<'_>,
    ) -> AchTransactionBuilder<'_> {
        AchTransactionBuilder {
            draft: PaymentDraft::new(amount, transaction_type, convenience_fee, SuggestedMode::ACH, payer),
            account: Vec::new(),
        }
    }

    from_json! {
        /// Every field that the interface does not name is an account field. It is kept verbatim, and its value may have any
        /// JSON type. Without `TransactionType` a payment has [`TransactionType::GatewayDefault`].
    }

    #[doc(hidden)]
    pub fn from_members(members: &RequestMembers<'_>) -> Result<Self, ValidationError> {
        let (draft, others) = PaymentDraft::read(members.as_slice());
        let account =
            others.into_iter().map(|(name, json)| (name.to_string(), SecretText::new(json.as_str())));
        Self::check(draft, account.collect())
    }

    payment_accessors!();

    /// The names of the account fields, in the caller's order.
    pub fn account_field_names(&self) -> impl Iterator<Item = &str> {
        self.account.iter().map(|field| field.name.as_str())
    }

    /// Every secret of this request, to mask a response that may repeat it: the strings and numbers in the account fields, without
    /// JSON quotes and escapes. For the other crates of this project only: it may change in any version.
    #[doc(hidden)]
    pub fn secrets(&self) -> Vec<&str> {
        self.account.iter().flat_map(|field| &field.secrets).map(|secret| secret.as_str()).collect()
    }

    fn check(draft: PaymentDraft<'_>, account: Vec<(String, SecretText)>) -> Result<Self, ValidationError> {
        let mut check = Check::default();
        let payment = draft.check(
            &mut check,
            |_| Some(()),
            |mode| if mode.is_ach() { Ok(()) } else { Err("must be ACH for an ACH transaction") },
        );
        // They may have any name that the interface does not define, so they are checked last.
        let account = check_account(account, &mut check);
        let (payment, ()) = check.finish(payment)?;
        Ok(Self { payment, account, body: Body::default() })
    }

    fn object(&self) -> Object {
        self.payment.object(|object| {
            for AccountField { name, json, secrets: _ } in &self.account {
                let json: &RawValue = serde_json::from_str(json.as_str()).expect("the check has read it");
                object.member(name, json);
            }
        })
    }
}

fn check_account(given: Vec<(String, SecretText)>, check: &mut Check) -> Vec<AccountField> {
    let is_of_interface = |name: &str| {
        PaymentDraft::NAMES.iter().chain(CardDraft::NAMES).any(|known| known.eq_ignore_ascii_case(name))
    };
    let mut seen = HashSet::new();
    let mut account = Vec::with_capacity(given.len());
    for (name, json) in given {
        let rule = if is_blank(&name) {
            "must have a name that is not blank"
        } else if is_of_interface(&name) {
            "must have another name: this one belongs to a field of the interface"
        } else if is_of_interface(
            &name.replace(|letter: char| shows_nothing(letter) || letter.is_control(), ""),
        ) {
            PADDED
        } else if !seen.insert(name.clone()) {
            REPEATED
        } else if let Some(secrets) = secrets_in(&json) {
            account.push(AccountField { name, json, secrets });
            continue;
        } else {
            "must be valid Unicode and nested at most 64 levels deep"
        };
        check.add(Violation::of_named(&name, rule));
    }
    account
}

impl fmt::Debug for AchTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payment, account, body: _ } = self;
        let shown = |AccountField { name, json, secrets: _ }: &AccountField| {
            format!("{}: {json:?}", printable_field_name(name))
        };
        let shown: Vec<String> = account.iter().map(shown).collect();
        payment.debug(f, "AchTransaction", |debug| {
            debug.field("account_fields", &format_args!("[{}]", shown.join(", ")));
        })
    }
}

/// An [`AchTransaction`] before validation.
#[must_use]
pub struct AchTransactionBuilder<'a> {
    draft: PaymentDraft<'a>,
    account: Vec<(String, SecretText)>,
}

impl<'a> AchTransactionBuilder<'a> {
    payment_setters!('a);

    /// Adds one account field. Its value is sent verbatim as a JSON string.
    ///
    /// [`build`](Self::build) refuses a name that is blank, is used twice, or is the name of a field of the interface. It
    /// ignores case, white space and invisible characters, because some services do and would read `amount` as `Amount`.
    pub fn account_field(mut self, name: impl Into<String>, text: impl AsRef<str>) -> Self {
        self.account.push((name.into(), secret_json(text.as_ref())));
        self
    }

    /// Validates the request.
    ///
    /// # Errors
    ///
    /// With all violations at once. Nothing was sent.
    pub fn build(self) -> Result<AchTransaction, ValidationError> {
        let payment = AchTransaction::check(self.draft, self.account)?;
        check_size(&payment.to_json()).map(|()| payment)
    }
}

impl fmt::Debug for AchTransactionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AchTransactionBuilder { .. }")
    }
}

/// The strings and numbers in a value, without member names. `None` if it is nested too deeply or is not Unicode.
fn secrets_in(json: &SecretText) -> Option<Vec<Zeroizing<String>>> {
    let raw: &RawValue = serde_json::from_str(json.as_str()).ok()?;
    let mut secrets = Vec::new();
    let is_read = Json::from(raw).visit(MAX_DEPTH, &mut |json| {
        let text = if json.is_string() { json.text() } else { json.number().map(Cow::Borrowed) };
        let is_read = text.is_some() || !json.is_string();
        secrets.extend(text.map(|text| Zeroizing::new(text.into_owned())));
        is_read
    });
    is_read.then_some(secrets)
}
