use std::fmt;

use bytes::Bytes;

use crate::charge::ID_HEADER;

/// A whole request as it reached the server, byte for byte.
#[derive(Clone)]
pub(crate) struct Received {
    /// On which connection, counted from 0.
    pub(crate) connection: usize,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn of(connection: usize, request: &http::Request<Bytes>) -> Self {
        let target = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let headers = request.headers().iter();
        Self {
            connection,
            method: request.method().to_string(),
            target: target.to_owned(),
            headers: headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
            body: request.body().to_vec(),
        }
    }

    /// Every value of a header, in order.
    pub(crate) fn header(&self, name: &str) -> Vec<&[u8]> {
        let fields = self.headers.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        fields.map(|(_, value)| value.as_slice()).collect()
    }

    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.header(ID_HEADER).first() == Some(&id.as_bytes())
    }

    /// The unique id that the kit gave the request.
    pub(crate) fn id(&self) -> String {
        self.header(ID_HEADER).first().map(|id| String::from_utf8_lossy(id).into_owned()).unwrap_or_default()
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, body, .. } = self;
        write!(f, "{method} of {}, whole, body {} bytes", self.id(), body.len())
    }
}
