//! The sandbox over real sockets, asked by plain `std::net::TcpStream` so that no HTTP client hides anything.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod admin;
mod answers;
mod clock;
mod control_header;
mod faults;
mod http;
mod lifetime;
mod limits;
mod page;
mod raw_client;
mod tls;
