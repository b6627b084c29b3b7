use crate::Canaries;
use crate::sighting::{self, Sighting};

/// For places in which a security code may stand by chance: each page is what the same run left with other secrets.
///
/// # Panics
///
/// If a long secret is in any page, or a short one in every page.
#[track_caller]
pub fn assert_leaks_in_no_run(place: &str, pages: &[(Canaries, Vec<u8>)]) {
    assert!(pages.len() > 2, "chance can be told from a leak in three runs and more");
    let leaks = leaks(pages);
    assert!(leaks.is_empty(), "secrets in {place}:\n{}", sighting::list(&leaks));
}

fn leaks(pages: &[(Canaries, Vec<u8>)]) -> Vec<Sighting> {
    let sightings: Vec<_> = pages.iter().map(|(canaries, page)| canaries.sightings(page)).collect();
    let in_every_run = |one: &Sighting| {
        sightings
            .iter()
            .all(|run| run.iter().any(|other| (other.secret, &other.form) == (one.secret, &one.form)))
    };
    let leaks =
        sightings.iter().flatten().filter(|sighting| !sighting.may_be_chance() || in_every_run(sighting));
    leaks.cloned().collect()
}

/// For runs that are the same byte for byte, but for their secrets: who sees a page must not even learn which it was.
///
/// # Panics
///
/// At the first line in which two pages differ.
#[track_caller]
pub fn assert_tells_no_difference(place: &str, pages: &[String]) {
    assert!(pages.len() > 1 && !pages[0].is_empty(), "{place}: there is nothing to compare");
    for page in &pages[1..] {
        for (number, (one, other)) in pages[0].lines().zip(page.lines()).enumerate() {
            assert_eq!(one, other, "line {} of {place} depends on a secret", number + 1);
        }
        assert_eq!(pages[0].len(), page.len(), "the length of {place} depends on a secret");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(text: impl Fn(usize, &Canaries) -> String) -> Vec<(Canaries, Vec<u8>)> {
        let sets = (0..3).map(|number| (number, Canaries::set(number)));
        sets.map(|(number, canaries)| (canaries.clone(), text(number, &canaries).into_bytes())).collect()
    }

    #[test]
    fn a_short_secret_leaks_if_it_is_in_every_run() {
        let secrets = |pages: &[_]| -> Vec<_> { leaks(pages).iter().map(|leak| leak.secret).collect() };
        assert_eq!(secrets(&pages(|_, canaries| format!("code {}", canaries.cvv()))), ["cvv"; 3]);
        let by_chance = |number, canaries: &Canaries| {
            if number == 1 { format!("port {}", canaries.cvv()) } else { "port 8080".to_owned() }
        };
        assert_eq!(secrets(&pages(by_chance)), [""; 0]);
        let once = |number, canaries: &Canaries| {
            if number == 1 { format!("key {}", canaries.key()) } else { "key".to_owned() }
        };
        assert_eq!(secrets(&pages(once)), ["key"]);
    }

    #[test]
    #[should_panic(expected = "line 2 of the page depends on a secret")]
    fn a_hash_of_a_secret_is_a_difference() {
        assert_tells_no_difference("the page", &["same\n9f86d0\n".to_owned(), "same\n60303a\n".to_owned()]);
    }

    #[test]
    #[should_panic(expected = "the length of the page depends on a secret")]
    fn a_line_more_is_a_difference() {
        assert_tells_no_difference("the page", &["same\n".to_owned(), "same\nmore\n".to_owned()]);
    }
}
