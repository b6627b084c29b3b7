use payments_model::{Amount, TransactionRecord};

use crate::{IntentRequest, Subject};

impl IntentRequest {
    /// Why this record cannot be that of this request; empty if nothing in it says so.
    ///
    /// What the record does not show contradicts nothing. Either of its amounts may be the one that was asked for, because how
    /// they relate, with a convenience fee for one, is not published.
    pub fn contradictions(&self, record: &TransactionRecord) -> Vec<String> {
        let mut found = Vec::new();
        let mut shown: Vec<Amount> = [&record.amount, &record.base_amount]
            .into_iter()
            .filter_map(|field| field.value().copied())
            .collect();
        shown.dedup();
        if let Some(asked) = self.amount
            && !shown.is_empty()
            && !shown.contains(&asked)
        {
            let shown: Vec<_> = shown.iter().map(Amount::to_string).collect();
            found.push(format!("its amount is {}, and {asked} was to be charged", shown.join(" or ")));
        }
        if let Subject::Card { last_four: asked } = &self.subject
            && let Some(shown) = record.card_number.value().and_then(|card| card.last_four())
            && shown != asked
        {
            found.push(format!("its card ends in {shown}, and one that ends in {asked} was to be charged"));
        }
        found
    }
}
