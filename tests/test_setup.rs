//! A client and the gateway it talks to, in process, over HTTP or over HTTPS.

use payments_core::{ApiKey, Client, Endpoint};
use payments_fake::{FakeGateway, FakeGatewayBuilder};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;
use rcgen::CertifiedKey;

/// What lies between a client and the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    InProcess,
    Http,
    /// With a certificate made for the occasion, which the client trusts and nobody else does.
    Https,
}

pub(crate) struct Rig {
    pub(crate) network: Network,
    pub(crate) client: Client,
    pub(crate) gateway: FakeGateway,
    wire: Wire,
}

enum Wire {
    Fake,
    Http(Box<Sandbox>, HyperTransport),
}

impl Network {
    pub(crate) const ALL: [Self; 3] = [Self::InProcess, Self::Http, Self::Https];

    pub(crate) async fn rig(self) -> Rig {
        self.rig_of(FakeGateway::builder()).await
    }

    /// One seed for every rig, so that the ids are the same over both networks.
    pub(crate) async fn rig_of(self, gateway: FakeGatewayBuilder) -> Rig {
        let gateway = gateway.seed(7).build();
        let wire = match self {
            Self::InProcess => Wire::Fake,
            Self::Http => {
                let sandbox = Sandbox::builder().gateway(gateway.clone()).start().await.unwrap();
                Wire::Http(Box::new(sandbox), HyperTransport::builder().build().unwrap())
            }
            Self::Https => {
                let CertifiedKey { cert, signing_key } =
                    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
                let sandbox = Sandbox::builder().tls_pem(cert.pem(), signing_key.serialize_pem());
                let sandbox = sandbox.gateway(gateway.clone()).start().await.unwrap();
                assert!(sandbox.base_url().starts_with("https://"));
                let transport = HyperTransport::builder().only_root_certificates_pem(cert.pem());
                Wire::Http(Box::new(sandbox), transport.build().unwrap())
            }
        };
        let client = wire.client(&gateway, &gateway.api_key());
        Rig { network: self, client, gateway, wire }
    }
}

impl Rig {
    pub(crate) fn client_with_key(&self, key: &str) -> Client {
        self.wire.client(&self.gateway, key)
    }
}

impl Wire {
    fn client(&self, gateway: &FakeGateway, key: &str) -> Client {
        let key = ApiKey::new(key).unwrap();
        match self {
            Self::Fake => {
                let endpoint = Endpoint::new(gateway.endpoint().base_url(), key).unwrap();
                Client::builder(endpoint, gateway.transport(), gateway.clock().clone()).build()
            }
            Self::Http(sandbox, transport) => {
                let endpoint = Endpoint::new(&sandbox.base_url(), key).unwrap();
                Client::builder(endpoint, transport.clone(), TokioTimer::new()).build()
            }
        }
    }
}
