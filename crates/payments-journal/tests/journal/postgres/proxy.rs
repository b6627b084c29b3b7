use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use payments_postgres_for_tests::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{oneshot, watch};

/// A network between stores and their server that can lose one message or everything.
pub(super) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    socket: PathBuf,
    /// A change closes every connection.
    era: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_down: bool,
    loss: Option<(Loss, String)>,
    held: Option<Held>,
    /// What the server must send, and who waits for it.
    awaited: Option<(String, oneshot::Sender<()>)>,
    /// The routine of the server that seems to warn before the next commit is confirmed.
    warning_of: Option<String>,
}

/// What happens to the COMMIT of a transaction that contains a certain text. The store's connection is then closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The message with the text is lost, and no COMMIT is sent.
    BeforeTheCommit,
    /// The server executes it; the response is lost.
    OfTheResponse,
    /// It is held, and may be delivered later.
    Delayed,
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
                    tokio::spawn(serving.clone().forward(client));
                }
            }
        });
        Self { port, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Loses the COMMIT of the next transaction that contains this text.
    pub(super) fn lose(&self, loss: Loss, text: &str) {
        self.shared.state.lock().unwrap().loss = Some((loss, text.to_owned()));
    }

    /// Whether that has happened.
    pub(super) fn has_lost(&self) -> bool {
        self.shared.state.lock().unwrap().loss.is_none()
    }

    /// Waits until the server sends this text.
    pub(super) fn until_sent(&self, text: &str) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.shared.state.lock().unwrap().awaited = Some((text.to_owned(), sender));
        receiver
    }

    /// Adds a warning of this routine of the server before the next confirmation of a commit.
    pub(super) fn warn(&self, routine: &str) {
        self.shared.state.lock().unwrap().warning_of = Some(routine.to_owned());
    }

    /// Delivers the held message, and returns whether the server has executed it.
    pub(super) async fn deliver(&self) -> bool {
        let held = self.shared.state.lock().unwrap().held.take();
        let Held { mut server, message } = held.expect("a message is held");
        // This fails if the server has closed the connection meanwhile.
        if server.write_all(&message).await.is_err() {
            return false;
        }
        has_responded(&mut server).await
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
    async fn forward(self: Arc<Self>, mut client: TcpStream) {
        let mut era = self.era.subscribe();
        let Ok(mut server) = UnixStream::connect(&self.socket).await else { return };
        let (mut up, mut down, mut must_lose) = ([0; 16_384], [0; 16_384], false);
        loop {
            tokio::select! {
                read = client.read(&mut up) => {
                    let Ok(length @ 1..) = read else { return };
                    let message = &up[..length];
                    match self.loss_of(message, &mut must_lose) {
                        None => if server.write_all(message).await.is_err() { return },
                        Some(Loss::BeforeTheCommit) => return,
                        Some(Loss::OfTheResponse) => {
                            server.write_all(message).await.unwrap();
                            assert!(has_responded(&mut server).await);
                            return;
                        }
                        Some(Loss::Delayed) => {
                            self.state.lock().unwrap().held = Some(Held { server, message: message.to_owned() });
                            return;
                        }
                    }
                }
                read = server.read(&mut down) => {
                    let Ok(length @ 1..) = read else { return };
                    self.note(&down[..length]);
                    let warning = self.warning_before(&down[..length]);
                    if client.write_all(&warning.unwrap_or_default()).await.is_err() {
                        return;
                    }
                    if client.write_all(&down[..length]).await.is_err() {
                        return;
                    }
                }
                _ = era.changed() => return,
            }
        }
    }

    fn warning_before(&self, message: &[u8]) -> Option<Vec<u8>> {
        let mut state = self.state.lock().unwrap();
        let routine = state.warning_of.take_if(|_| contains(message, "COMMIT\0"))?;
        let fields = format!("SWARNING\0VWARNING\0C01000\0Mtake care\0R{routine}\0\0");
        let length = u32::try_from(4 + fields.len()).unwrap();
        Some([b"N", &length.to_be_bytes()[..], fields.as_bytes()].concat())
    }

    fn note(&self, message: &[u8]) {
        let mut state = self.state.lock().unwrap();
        if let Some((_, waiting)) = state.awaited.take_if(|(text, _)| contains(message, text)) {
            let _ = waiting.send(());
        }
    }

    /// The loss, if this message is the COMMIT to lose. The text may be in the same message.
    fn loss_of(&self, message: &[u8], must_lose: &mut bool) -> Option<Loss> {
        let mut state = self.state.lock().unwrap();
        let (loss, text) = state.loss.as_ref()?;
        *must_lose |= contains(message, text);
        let is_lost = *must_lose && (*loss == Loss::BeforeTheCommit || contains(message, "COMMIT"));
        is_lost.then(|| state.loss.take())?.map(|(loss, _)| loss)
    }
}

fn contains(message: &[u8], text: &str) -> bool {
    message.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Reads until the server is ready for the next statement. Returns `false` if it has closed the connection.
async fn has_responded(server: &mut UnixStream) -> bool {
    let mut response = Vec::new();
    while server.read_buf(&mut response).await.is_ok_and(|length| length > 0) {
        if response.ends_with(b"Z\0\0\0\x05I") {
            return true;
        }
    }
    false
}
