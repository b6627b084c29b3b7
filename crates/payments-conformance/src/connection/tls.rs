//! What a server can do at the TLS layer.

use std::io::{Read, Write};

use rustls::crypto::cipher::{OutboundChunks, OutboundOpaqueMessage, OutboundPlainMessage};
use rustls::{
    ConnectionTrafficSecrets, ContentType, HandshakeKind, ProtocolVersion, ServerConnection,
    SupportedCipherSuite,
};

use super::Connection;

impl Connection {
    /// Completes the TLS handshake, if there is one. Returns `false` if it fails.
    pub(crate) fn handshake(&mut self) -> bool {
        self.begin();
        let (Some(tls), Some(mut tcp)) = (&mut self.tls, self.tcp.as_deref()) else { return false };
        while tls.is_handshaking() {
            if tls.complete_io(&mut tcp).is_err() {
                return false;
            }
        }
        true
    }

    /// Completes the handshake. Returns whether the client chose HTTP/2.
    pub(crate) fn speaks_http2(&mut self) -> bool {
        self.handshake() && self.tls.as_ref().is_some_and(|tls| tls.alpn_protocol() == Some(b"h2"))
    }

    /// Whether the client resumed an earlier session.
    pub(crate) fn is_resumed(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.handshake_kind() == Some(HandshakeKind::Resumed))
    }

    /// Completes the handshake. Returns how many bytes of early data came; they are processed like any others.
    pub(crate) fn read_early_data(&mut self) -> usize {
        self.handshake();
        let mut early = Vec::new();
        if let Some(mut data) = self.tls.as_mut().and_then(|tls| tls.early_data()) {
            drop(data.read_to_end(&mut early));
        }
        self.unread.extend_from_slice(&early);
        early.len()
    }

    /// Sends bytes unencrypted, past TLS.
    pub(crate) fn write_past_tls(&mut self, bytes: &[u8]) {
        if let Some(mut tcp) = self.tcp.as_deref() {
            drop(tcp.write_all(bytes));
        }
    }

    /// Sends a fatal alert with this code. TLS is over after that, so the caller must close the connection.
    ///
    /// No TLS library sends alerts on demand, so the alert is encrypted here with the connection's secrets.
    pub(crate) fn alert(&mut self, code: u8) {
        self.note("the server sent a fatal TLS alert");
        let alert = [2, code];
        let record = self.tls.take().and_then(|tls| sealed_alert(*tls, alert));
        // With TLS 1.2 the alert is sent unencrypted, which also ends the connection.
        self.write_past_tls(&record.unwrap_or_else(|| [&[21, 3, 3, 0, 2], alert.as_slice()].concat()));
    }
}

/// The alert, encrypted as the next record of the connection.
fn sealed_alert(tls: ServerConnection, alert: [u8; 2]) -> Option<Vec<u8>> {
    let SupportedCipherSuite::Tls13(suite) = tls.negotiated_cipher_suite()? else { return None };
    let (number, secrets) = tls.dangerous_extract_secrets().ok()?.tx;
    let (ConnectionTrafficSecrets::Aes128Gcm { key, iv }
    | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
    | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = secrets
    else {
        return None;
    };
    let message = OutboundPlainMessage {
        typ: ContentType::Alert,
        version: ProtocolVersion::TLSv1_2,
        payload: OutboundChunks::Single(&alert),
    };
    suite.aead_alg.encrypter(key, iv).encrypt(message, number).ok().map(OutboundOpaqueMessage::encode)
}
