//! A client and its gateway, connected in process, over HTTP or over HTTPS.

use payments_core::{ApiKey, Client, Endpoint};
use payments_fake::{FakeGateway, FakeGatewayBuilder};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use rcgen::CertifiedKey;

/// The connection between a client and the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    InProcess,
    Http,
    /// With a self-signed certificate that only this client trusts.
    Https,
}

pub(crate) struct TestSetup {
    pub(crate) network: Network,
    pub(crate) client: Client,
    pub(crate) gateway: FakeGateway,
    connection: Connection,
}

enum Connection {
    Fake,
    Http(Box<Sandbox>, HyperTransport),
}

impl Network {
    pub(crate) const ALL: [Self; 3] = [Self::InProcess, Self::Http, Self::Https];

    pub(crate) async fn setup(self) -> TestSetup {
        self.setup_with(FakeGateway::builder()).await
    }

    /// Always uses the same seed, so that the ids are the same over every network.
    pub(crate) async fn setup_with(self, gateway: FakeGatewayBuilder) -> TestSetup {
        let gateway = gateway.seed(7).build();
        let connection = match self {
            Self::InProcess => Connection::Fake,
            Self::Http => {
                let sandbox = Sandbox::builder().gateway(gateway.clone()).start().await.unwrap();
                Connection::Http(Box::new(sandbox), HyperTransport::builder().build().unwrap())
            }
            Self::Https => {
                let CertifiedKey { cert, signing_key } =
                    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
                let sandbox = Sandbox::builder().tls_pem(cert.pem(), signing_key.serialize_pem());
                let sandbox = sandbox.gateway(gateway.clone()).start().await.unwrap();
                assert!(sandbox.base_url().starts_with("https://"));
                let transport = HyperTransport::builder().only_root_certificates_pem(cert.pem());
                Connection::Http(Box::new(sandbox), transport.build().unwrap())
            }
        };
        let client = connection.client(&gateway, gateway.api_key());
        TestSetup { network: self, client, gateway, connection }
    }
}

impl TestSetup {
    pub(crate) fn client_with_key(&self, key: &str) -> Client {
        self.connection.client(&self.gateway, key)
    }
}

impl Connection {
    fn client(&self, gateway: &FakeGateway, key: &str) -> Client {
        let key = ApiKey::new(key).unwrap();
        match self {
            Self::Fake => {
                let endpoint = Endpoint::new(gateway.endpoint().base_url(), key).unwrap();
                Client::builder(endpoint, gateway.transport(), gateway.clock().clone()).build()
            }
            Self::Http(sandbox, transport) => {
                let endpoint = Endpoint::new(sandbox.base_url(), key).unwrap();
                Client::builder(endpoint, transport.clone(), TokioTimer::new()).build()
            }
        }
    }
}
