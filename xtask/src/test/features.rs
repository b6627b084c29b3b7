//! Which combinations of a crate's features are compiled.

/// Up to this many features, every combination is compiled: 32 of them.
const COMPLETE_UP_TO: usize = 5;

/// Every combination, the empty one first; of many features, none, each, each pair and all.
pub(super) fn combinations(features: &[String]) -> Vec<Vec<&str>> {
    let count = features.len();
    let every_set = 0..1_u64 << count;
    let kept = every_set.filter(|set| {
        let size = set.count_ones() as usize;
        count <= COMPLETE_UP_TO || size <= 2 || size == count
    });
    let members = |set: u64| (0..count).filter(move |index| set >> index & 1 == 1);
    kept.map(|set| members(set).map(|index| features[index].as_str()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("feature-{index}")).collect()
    }

    #[test]
    fn few_features_are_compiled_in_every_combination() {
        assert_eq!(combinations(&[]), [Vec::<&str>::new()]);
        let two = ["a", "b"].map(str::to_owned);
        assert_eq!(combinations(&two), [vec![], vec!["a"], vec!["b"], vec!["a", "b"]]);
        assert_eq!(combinations(&features(4)).len(), 16);
    }

    #[test]
    fn many_features_are_compiled_in_pairs() {
        let seven = features(7);
        let combinations = combinations(&seven);
        assert_eq!(combinations.len(), 1 + 7 + 21 + 1);
        assert!(combinations.iter().any(|set| set.len() == 7));
    }
}
