//! The sandbox over real sockets. The client is a plain `std::net::TcpStream`, so that no HTTP client hides anything.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod admin;
mod clock;
mod control_header;
mod data_file;
mod faults;
mod http;
mod lifetime;
mod limits;
mod page;
mod raw_client;
mod responses;
mod tls;
