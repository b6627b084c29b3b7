use crate::Canaries;
use crate::sighting::{self, Sighting};

/// Asserts that runs with different secrets show none of them. A short secret that is in only some runs counts as chance.
///
/// # Panics
///
/// If a long secret is in any output, or a short one in every output.
#[track_caller]
pub fn assert_no_leak_in_runs(place: &str, outputs: &[(Canaries, Vec<u8>)]) {
    assert!(outputs.len() > 2, "at least three runs are needed to distinguish a leak from chance");
    let leaks = leaks(outputs);
    assert!(leaks.is_empty(), "secrets in {place}:\n{}", sighting::list(&leaks));
}

fn leaks(outputs: &[(Canaries, Vec<u8>)]) -> Vec<Sighting> {
    let sightings: Vec<_> = outputs.iter().map(|(canaries, output)| canaries.sightings(output)).collect();
    let in_every_run = |one: &Sighting| {
        sightings
            .iter()
            .all(|run| run.iter().any(|other| (other.secret, &other.form) == (one.secret, &one.form)))
    };
    let leaks =
        sightings.iter().flatten().filter(|sighting| !sighting.may_be_chance() || in_every_run(sighting));
    leaks.cloned().collect()
}

/// Asserts that reproducible runs with different secrets have the same output.
///
/// # Panics
///
/// At the first line in which two outputs differ.
#[track_caller]
pub fn assert_independent_of_secrets(place: &str, outputs: &[String]) {
    assert!(outputs.len() > 1 && !outputs[0].is_empty(), "{place}: there is nothing to compare");
    for output in &outputs[1..] {
        for (number, (one, other)) in outputs[0].lines().zip(output.lines()).enumerate() {
            assert_eq!(one, other, "line {} of {place} depends on a secret", number + 1);
        }
        assert_eq!(outputs[0].len(), output.len(), "the length of {place} depends on a secret");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(text: impl Fn(usize, &Canaries) -> String) -> Vec<(Canaries, Vec<u8>)> {
        let sets = (0..3).map(|number| (number, Canaries::set(number)));
        sets.map(|(number, canaries)| (canaries.clone(), text(number, &canaries).into_bytes())).collect()
    }

    #[test]
    fn short_secret_leaks_only_if_it_is_in_every_run() {
        let secrets = |outputs: &[_]| -> Vec<_> { leaks(outputs).iter().map(|leak| leak.secret).collect() };
        assert_eq!(secrets(&outputs(|_, canaries| format!("code {}", canaries.cvv()))), ["cvv"; 3]);
        let by_chance = |number, canaries: &Canaries| {
            if number == 1 { format!("port {}", canaries.cvv()) } else { "port 8080".to_owned() }
        };
        assert_eq!(secrets(&outputs(by_chance)), [""; 0]);
        let once = |number, canaries: &Canaries| {
            if number == 1 { format!("key {}", canaries.key()) } else { "key".to_owned() }
        };
        assert_eq!(secrets(&outputs(once)), ["key"]);
    }

    #[test]
    #[should_panic(expected = "line 2 of the output depends on a secret")]
    fn hash_of_a_secret_is_found() {
        assert_independent_of_secrets(
            "the output",
            &["same\n9f86d0\n".to_owned(), "same\n60303a\n".to_owned()],
        );
    }

    #[test]
    #[should_panic(expected = "the length of the output depends on a secret")]
    fn additional_line_is_found() {
        assert_independent_of_secrets("the output", &["same\n".to_owned(), "same\nmore\n".to_owned()]);
    }
}
