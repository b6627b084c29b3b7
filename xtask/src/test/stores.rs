//! Over which of its stores the journal is tested on this machine.

use payments_postgres_for_tests::Binaries;

pub(super) fn are_all_covered() -> bool {
    Binaries::find().is_some()
}

/// All of them, or which one is missing and why.
pub(super) fn covered() -> String {
    covered_with(Binaries::find().as_ref().map(Binaries::version))
}

fn covered_with(postgres: Option<&str>) -> String {
    match postgres {
        Some(version) => format!("memory, SQLite, PostgreSQL {version}"),
        None => "memory, SQLite; PostgreSQL NOT, because neither the path nor /usr/lib/postgresql has initdb and postgres"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_not_tested_is_named() {
        assert_eq!(covered_with(Some("15.18")), "memory, SQLite, PostgreSQL 15.18");
        assert!(covered_with(None).contains("PostgreSQL NOT"));
    }
}
