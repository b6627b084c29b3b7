use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use payments_postgres_for_tests::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A network between stores and their server, in which one message or everything can be lost.
pub(super) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    socket: PathBuf,
    /// Connections live for as long as this stays the same.
    era: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_down: bool,
    loss: Option<(Loss, String)>,
    held: Option<Held>,
}

/// What happens to the COMMIT of a transaction that holds a certain text. The store's connection is closed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The message with the text is lost, and no COMMIT is sent.
    BeforeTheCommit,
    /// It reaches the server, which does what it says; the reply is lost.
    OfTheReply,
    /// It is held on its way, and may still be delivered.
    OnTheWay,
}

struct Held {
    server: UnixStream,
    message: Vec<u8>,
}

impl Proxy {
    pub(super) async fn before(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared =
            Arc::new(Shared { socket: server.socket(), era: watch::Sender::new(0), state: Mutex::default() });
        let serving = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !serving.state.lock().unwrap().is_down {
                    tokio::spawn(serving.clone().carry(client));
                }
            }
        });
        Self { port, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Loses the COMMIT of the next transaction that holds this text.
    pub(super) fn lose(&self, loss: Loss, text: &str) {
        self.shared.state.lock().unwrap().loss = Some((loss, text.to_owned()));
    }

    /// Whether that has happened.
    pub(super) fn has_lost(&self) -> bool {
        self.shared.state.lock().unwrap().loss.is_none()
    }

    /// Delivers what was held, and says whether the server has executed it.
    pub(super) async fn deliver(&self) -> bool {
        let held = self.shared.state.lock().unwrap().held.take();
        let Held { mut server, message } = held.expect("a message is held");
        // A connection that was ended meanwhile takes nothing.
        if server.write_all(&message).await.is_err() {
            return false;
        }
        is_answered(&mut server).await
    }

    /// Cuts every connection and lets none through.
    pub(super) fn go_down(&self) {
        self.shared.state.lock().unwrap().is_down = true;
        self.shared.era.send_modify(|era| *era += 1);
    }

    pub(super) fn come_up(&self) {
        self.shared.state.lock().unwrap().is_down = false;
    }
}

impl Shared {
    async fn carry(self: Arc<Self>, mut client: TcpStream) {
        let mut era = self.era.subscribe();
        let Ok(mut server) = UnixStream::connect(&self.socket).await else { return };
        let (mut up, mut down, mut is_to_be_lost) = ([0; 16_384], [0; 16_384], false);
        loop {
            tokio::select! {
                read = client.read(&mut up) => {
                    let Ok(length @ 1..) = read else { return };
                    let message = &up[..length];
                    match self.loss_of(message, &mut is_to_be_lost) {
                        None => if server.write_all(message).await.is_err() { return },
                        Some(Loss::BeforeTheCommit) => return,
                        Some(Loss::OfTheReply) => {
                            server.write_all(message).await.unwrap();
                            assert!(is_answered(&mut server).await);
                            return;
                        }
                        Some(Loss::OnTheWay) => {
                            self.state.lock().unwrap().held = Some(Held { server, message: message.to_owned() });
                            return;
                        }
                    }
                }
                read = server.read(&mut down) => {
                    let Ok(length @ 1..) = read else { return };
                    if client.write_all(&down[..length]).await.is_err() {
                        return;
                    }
                }
                _ = era.changed() => return,
            }
        }
    }

    /// The COMMIT of the transaction that holds the text, which may come in the same message.
    fn loss_of(&self, message: &[u8], is_to_be_lost: &mut bool) -> Option<Loss> {
        let holds = |text: &str| message.windows(text.len()).any(|window| window == text.as_bytes());
        let mut state = self.state.lock().unwrap();
        let (loss, text) = state.loss.as_ref()?;
        *is_to_be_lost |= holds(text);
        let is_lost = *is_to_be_lost && (*loss == Loss::BeforeTheCommit || holds("COMMIT"));
        is_lost.then(|| state.loss.take())?.map(|(loss, _)| loss)
    }
}

/// Reads until the server is ready for the next statement; not so if it has closed the connection.
async fn is_answered(server: &mut UnixStream) -> bool {
    let mut answer = Vec::new();
    while server.read_buf(&mut answer).await.is_ok_and(|length| length > 0) {
        if answer.ends_with(b"Z\0\0\0\x05I") {
            return true;
        }
    }
    false
}
