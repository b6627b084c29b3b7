use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{HandshakeKind, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::fixed_server::{Answers, converse};

/// The fixed answers over https, on a thread of this process that ends with this value.
#[derive(Debug)]
pub(crate) struct HttpsServer {
    address: SocketAddr,
    root_pem: String,
    handshakes: Handshakes,
    /// Its only thread is the server.
    _runtime: Runtime,
}

/// What every client's handshake was, in the order in which they ended.
type Handshakes = Arc<Mutex<Vec<HandshakeKind>>>;

impl HttpsServer {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let authority = authority()?;
        let root_pem = authority.pem();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&authority)?));
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let handshakes = Handshakes::default();
        runtime.spawn(serve(listener, acceptor, Arc::clone(&handshakes)));
        Ok(Self { address, root_pem, handshakes, _runtime: runtime })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The only certificate that a client has to trust.
    pub(crate) fn root_pem(&self) -> &str {
        &self.root_pem
    }

    /// The handshakes so far.
    pub(crate) fn handshakes(&self) -> Vec<HandshakeKind> {
        // A push is whole or has not happened.
        self.handshakes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, handshakes: Handshakes) {
    let answers = Arc::new(Answers::new());
    while let Ok((socket, _)) = listener.accept().await {
        let (acceptor, answers) = (acceptor.clone(), Arc::clone(&answers));
        let handshakes = Arc::clone(&handshakes);
        // However a connection ends: the client knows, and it is the client that is measured.
        tokio::spawn(async move { drop(answer(socket, &acceptor, &answers, &handshakes).await) });
    }
}

async fn answer(
    socket: TcpStream,
    acceptor: &TlsAcceptor,
    answers: &Answers,
    handshakes: &Mutex<Vec<HandshakeKind>>,
) -> anyhow::Result<()> {
    socket.set_nodelay(true)?;
    let stream = acceptor.accept(socket).await?;
    let (_, connection) = stream.get_ref();
    let kind = connection.handshake_kind().context("a handshake that has ended is of some kind")?;
    handshakes.lock().unwrap_or_else(PoisonError::into_inner).push(kind);
    converse(stream, answers).await
}

fn authority() -> anyhow::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

/// Resumption as rustls has it by default: TLS 1.3 tickets that point at sessions in memory.
fn server_config(authority: &CertifiedIssuer<'static, KeyPair>) -> anyhow::Result<ServerConfig> {
    let key = KeyPair::generate()?;
    let params = CertificateParams::new([Ipv4Addr::LOCALHOST.to_string()])?;
    let certificate: CertificateDer<'static> = params.signed_by(&key, authority)?.der().clone();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_no_client_auth().with_single_cert(vec![certificate], key)?)
}
