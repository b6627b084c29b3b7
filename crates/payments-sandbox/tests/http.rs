//! Whole answers over a real socket: keep-alive, limits, and a graceful end.

use std::io::{Read, Write};
use std::net::TcpStream;

use payments_sandbox::BlockingSandbox;

#[test]
fn smoke() {
    let sandbox = BlockingSandbox::start().unwrap();
    let address = sandbox.base_url().strip_prefix("http://").unwrap().split_once('/').unwrap().0.to_owned();
    let mut s = TcpStream::connect(address).unwrap();
    write!(s, "GET /api/v1/public/customer/cus_1 HTTP/1.1\r\nhost: x\r\nauthorization: {}\r\nconnection: close\r\n\r\n", sandbox.api_key()).unwrap();
    let mut t = String::new();
    s.read_to_string(&mut t).unwrap();
    println!("{t}");
    assert!(t.starts_with("HTTP/1.1 200 OK"));
}
