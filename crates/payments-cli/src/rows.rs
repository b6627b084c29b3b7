//! Files with a row for each payment or key: how they are read and written, what spreadsheets do to them, and what nobody means to
//! have in them.

pub(crate) mod card_like_ids;
pub(crate) mod csv_file;
pub(crate) mod headings;
pub(crate) mod own_files;
pub(crate) mod row_file;
pub(crate) mod spreadsheet;
