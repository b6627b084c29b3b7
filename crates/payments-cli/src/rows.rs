//! Files with a row for each payment or key: how they are read and written, what spreadsheets do to them, and what nobody means to
//! have in them.

pub(crate) mod card_like_ids;
pub(crate) mod csv_file;
pub(crate) mod own_files;
pub(crate) mod problems;
mod row_file;
pub(crate) mod spreadsheet;

pub(crate) use self::csv_file::Table;
pub(crate) use self::problems::{Problems, Role};
pub(crate) use self::row_file::{NO_API_KEY, RowFile};
