//! Everything that could be seen of what a test did, one text.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::sync::{Arc, Mutex};
use std::thread;

use payments_canary::{Canaries, assert_tells_no_difference};
use payments_core::{AttemptAbandoned, AttemptFinished, AttemptStarted, Observer};
use serde::Serialize;

/// Clones write on the same page.
#[derive(Clone, Default)]
pub(super) struct Page(Arc<Mutex<Written>>);

#[derive(Default)]
struct Written {
    entries: Vec<String>,
    types: BTreeSet<String>,
}

impl Page {
    /// Has two sets of secrets go through the same, which must be the same byte for byte but for them: none of them is on
    /// its page, and the pages do not differ, so that nobody learns even which it was.
    #[track_caller]
    pub(super) fn assert_clean(place: &str, run: impl Fn(&Canaries) -> Self + Sync) {
        let searched = |set| {
            let canaries = Canaries::set(set);
            let page = run(&canaries);
            page.assert_without(place, &canaries);
            page.text()
        };
        let pages = thread::scope(|scope| {
            let other = scope.spawn(|| searched(1));
            [searched(0), other.join().unwrap()]
        });
        assert_tells_no_difference(place, &pages);
    }

    /// Searches what is on the page, what is on it many times once.
    #[track_caller]
    pub(super) fn assert_without(&self, place: &str, canaries: &Canaries) {
        let entries: BTreeSet<String> = self.0.lock().unwrap().entries.iter().cloned().collect();
        let entries: Vec<_> = entries.into_iter().collect();
        canaries.assert_absent(place, entries.join("\n").as_bytes());
    }

    pub(super) fn write(&self, text: &str) {
        self.0.lock().unwrap().entries.push(text.to_owned());
    }

    pub(super) fn text(&self) -> String {
        self.0.lock().unwrap().entries.join("\n")
    }

    /// Of which types of ours a value was told, each as its crate and its name.
    pub(super) fn types(&self) -> BTreeSet<String> {
        self.0.lock().unwrap().types.clone()
    }

    /// Debug and alternate Debug; what else a value can be made to say is in [`tell`].
    pub(super) fn debug<T: Debug + ?Sized>(&self, value: &T) {
        let path = std::any::type_name::<T>();
        let path = path.split('<').next().unwrap();
        let mut written = self.0.lock().unwrap();
        if let (Some((krate, _)), Some((_, name))) = (path.split_once("::"), path.rsplit_once("::")) {
            written.types.insert(format!("{krate}::{name}"));
        }
        written.entries.push(format!("{value:?}\n{value:#?}"));
    }
}

/// Writes on a page all that a value says of itself: Debug, Display, its causes, its JSON, the two former also in their
/// alternate form.
///
/// A macro, because only where the type is known can the compiler choose by what it implements: of two methods of one name
/// the one that needs no reference more is taken.
macro_rules! tell {
    ($page:expr, $value:expr) => {{
        #[allow(unused_imports, reason = "which of them are used depends on the type")]
        use $crate::secrets::page::{
            CanFail, CannotFail, HasDisplay, HasJson, HasNoDisplay, HasNoJson, Teller,
        };
        let (page, value) = ($page, &$value);
        page.debug(value);
        (&Teller(value)).display(page);
        (&Teller(value)).causes(page);
        (&Teller(value)).json(page);
    }};
}

pub(super) use tell;

pub(super) struct Teller<'a, T>(pub(super) &'a T);

pub(super) trait HasDisplay {
    fn display(&self, page: &Page);
}

impl<T: Display> HasDisplay for Teller<'_, T> {
    fn display(&self, page: &Page) {
        page.write(&format!("{} {:#}", self.0, self.0));
    }
}

pub(super) trait HasNoDisplay {
    fn display(&self, _: &Page) {}
}

impl<T> HasNoDisplay for &Teller<'_, T> {}

pub(super) trait CanFail {
    fn causes(&self, page: &Page);
}

impl<T: Error> CanFail for Teller<'_, T> {
    fn causes(&self, page: &Page) {
        let mut cause = self.0.source();
        while let Some(error) = cause {
            page.write(&format!("{error} {error:#} {error:?} {error:#?}"));
            cause = error.source();
        }
    }
}

pub(super) trait CannotFail {
    fn causes(&self, _: &Page) {}
}

impl<T> CannotFail for &Teller<'_, T> {}

pub(super) trait HasJson {
    fn json(&self, page: &Page);
}

impl<T: Serialize> HasJson for Teller<'_, T> {
    fn json(&self, page: &Page) {
        page.write(&serde_json::to_string(self.0).unwrap());
    }
}

pub(super) trait HasNoJson {
    fn json(&self, _: &Page) {}
}

impl<T> HasNoJson for &Teller<'_, T> {}

impl Observer for Page {
    fn attempt_started(&self, event: &AttemptStarted<'_>) {
        tell!(self, *event);
        tell!(self, event.call_id);
    }

    fn attempt_finished(&self, event: &AttemptFinished<'_>) {
        tell!(self, *event);
        tell!(self, event.call_id);
        if let Some(failure) = event.failure {
            tell!(self, failure);
        }
    }

    fn attempt_abandoned(&self, event: &AttemptAbandoned<'_>) {
        tell!(self, *event);
        tell!(self, event.call_id);
    }
}

#[test]
fn a_value_tells_all_that_it_can_say() {
    let page = Page::default();
    let error = payments_core::model::CardNumber::new("x").unwrap_err();
    tell!(&page, error);
    let id = "txn_7".parse().unwrap();
    tell!(&page, payments_core::model::TransactionReceipt::new(id));
    let text = page.text();
    assert!(text.contains("ValidationError") && text.contains(&error.to_string()), "{text}");
    assert!(text.contains(r#"{"TransactionId":"txn_7"}"#), "{text}");
    let types: Vec<_> = page.types().into_iter().collect();
    assert_eq!(types, ["payments_model::TransactionReceipt", "payments_model::ValidationError"]);
}
