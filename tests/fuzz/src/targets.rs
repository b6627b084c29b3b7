//! One function for each target. It checks the properties that hold for any bytes.

pub(crate) mod amounts;

pub(crate) mod endpoints;
pub(crate) mod faults;
pub(crate) mod fixtures;
pub(crate) mod gateway;
pub(crate) mod masking;
pub(crate) mod path_ids;
pub(crate) mod records;
pub(crate) mod requests;
pub(crate) mod responses;
pub(crate) mod retry_after;
