//! Names of fields that hold secrets.

/// Whether a field with this name holds card or account data or an API key: the names in the interface, and the names that other
/// services use for the same fields. Case and punctuation are ignored.
#[rustfmt::skip]
pub(crate) fn is_secret_name(name: &str) -> bool {
    let (mut letters, mut length) = ([0; "cardverificationnumber".len()], 0);
    let lowercase = name.bytes().map(|letter| letter.to_ascii_lowercase());
    for letter in lowercase.filter(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit()) {
        let Some(place) = letters.get_mut(length) else { return false };
        *place = letter;
        length += 1;
    }
    matches!(
        &letters[..length],
        b"aba" | b"abanumber" | b"account" | b"accountno" | b"accountnumber" | b"acctno"
        | b"acctnumber" | b"achaccount" | b"apikey" | b"authorization" | b"bankaccount"
        | b"bankaccountnumber" | b"cardcode" | b"cardcvc" | b"cardcvv" | b"cardexp" | b"cardexpdate"
        | b"cardexpiration" | b"cardexpirationdate" | b"cardexpiry" | b"cardexpirydate" | b"cardno"
        | b"cardnum" | b"cardnumber" | b"cardsecuritycode" | b"cardverificationcode"
        | b"cardverificationnumber" | b"cardverificationvalue" | b"ccnumber" | b"creditcard"
        | b"creditcardnumber" | b"csc" | b"cvc" | b"cvc2" | b"cvn" | b"cvn2" | b"cvv" | b"cvv2"
        | b"cvvcode" | b"cvvnumber" | b"exp" | b"expdate" | b"expiration" | b"expirationdate"
        | b"expirationmonth" | b"expirationyear" | b"expiry" | b"expirydate" | b"expirymonth"
        | b"expiryyear" | b"expmonth" | b"expyear" | b"iban" | b"pan" | b"primaryaccountnumber"
        | b"routing" | b"routingno" | b"routingnumber" | b"securitycode" | b"track1" | b"track1data"
        | b"track2" | b"track2data"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_match_in_any_spelling_d62() {
        for name in [
            "Cvv",
            "CVV2",
            "card_number",
            "Card-Number",
            "expiry date",
            "AccountNumber",
            "PAN",
            "i.b.a.n",
            "Authorization",
            "api_key",
            "CardVerificationCode",
            "card_verification_number",
            "Exp-Month",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in
            ["", "Amount", "TransactionId", "AccountName", "panel", "x", "cvvcvvcvvcvvcvvcvvcvvcvvcvvcvv"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
