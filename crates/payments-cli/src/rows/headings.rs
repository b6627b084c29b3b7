//! The header of a file of rows.

use std::ops::Deref;

/// The headings, in the order of their columns.
pub(crate) struct Headings(pub(super) Vec<String>);

impl Headings {
    /// The columns with such a heading.
    pub(crate) fn find(&self, is_it: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.len()).filter(|index| is_it(&self[*index])).collect()
    }

    /// The only one of them, if there is one. The error is the rule that the header breaks.
    pub(crate) fn find_one(&self, is_it: impl Fn(&str) -> bool) -> Result<Option<usize>, &'static str> {
        match *self.find(is_it) {
            [] => Ok(None),
            [index] if self[index].trim() == self[index] => Ok(Some(index)),
            [_] => Err("has white space around the name in the header: remove it"),
            _ => Err("is a column more than once"),
        }
    }
}

impl Deref for Headings {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}
