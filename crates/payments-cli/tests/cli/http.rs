//! A minimal HTTP client, to call a sandbox without the command.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// One connection, kept open between requests.
pub(crate) struct Http {
    stream: BufReader<TcpStream>,
    path: String,
    headers: String,
}

impl Http {
    /// Connects to a base URL. `headers` are sent with every request; each ends with a line break.
    pub(crate) fn connect(url: &str, headers: &str) -> io::Result<Self> {
        let rest = url.strip_prefix("http://").expect("a plain address");
        let (address, path) = rest.split_once('/').expect("an address with a path");
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // Makes a test fail instead of hang. No test depends on its length.
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        let headers = format!("host: {address}\r\n{headers}");
        Ok(Self { stream: BufReader::new(stream), path: format!("/{path}"), headers })
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<(u16, Value)> {
        self.call("GET", path, "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> io::Result<(u16, Value)> {
        self.call("POST", path, body)
    }

    /// Fails if the connection ends before the complete response.
    fn call(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let Self { stream, path: base, headers } = self;
        let request = format!(
            "{method} {base}{path} HTTP/1.1\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        read_line(stream, &mut line)?;
        let status = line[9..12].parse().expect("a status");
        let mut length = 0;
        loop {
            line.clear();
            read_line(stream, &mut line)?;
            match line.trim_end().split_once(": ") {
                Some(("content-length", value)) => length = value.parse().expect("a length"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body).expect("the response is JSON")))
    }
}

fn read_line(stream: &mut BufReader<TcpStream>, line: &mut String) -> io::Result<()> {
    match stream.read_line(line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
