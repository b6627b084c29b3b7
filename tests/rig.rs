//! A client and the gateway it talks to, in process or over HTTP.

use payments_core::{ApiKey, Client, Endpoint};
use payments_fake::{FakeGateway, FakeGatewayBuilder};
use payments_hyper::{HyperTransport, TokioTimer};
use payments_sandbox::Sandbox;

/// What lies between a client and the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    InProcess,
    Http,
}

pub(crate) struct Rig {
    pub(crate) network: Network,
    pub(crate) client: Client,
    pub(crate) gateway: FakeGateway,
    wire: Wire,
}

enum Wire {
    Fake,
    Http(Sandbox, HyperTransport),
}

impl Network {
    pub(crate) const ALL: [Self; 2] = [Self::InProcess, Self::Http];

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
                Wire::Http(sandbox, HyperTransport::builder().build().unwrap())
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
