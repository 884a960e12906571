//! The pipes of a host, a message a line: every line gets what JSON-RPC says it gets, however
//! long or broken it is, and nothing that a host sends makes the server hold much of it.
//!
//! rmcp's own transport answers neither lines that are no JSON nor lines that are too long, and
//! gives two requests of one id one answer. Knows no tool.

use crate::wire::{self, Line, Refusal};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Bytes of a line. What the HTTP door takes, too.
pub(crate) const LONGEST: usize = 4 << 20;
/// Requests without an answer.
const OPEN: usize = 1024;
/// Ids of cancelled requests that are remembered; MCP lets nobody use one again.
const CANCELLED: usize = 4096;
/// Answers that wait for a host to read them; then no more of it is read.
const UNREAD: usize = 64;
/// A buffer larger than this is given back after its line.
const KEPT: usize = 64 << 10;

/// A host's pipes as rmcp takes them.
pub(crate) struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that was refused is still to come.
    dropping: bool,
    /// An answer that has no place in `out` yet.
    owed: Option<Vec<u8>>,
    out: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    open: Arc<Mutex<Open>>,
    greeted: Arc<AtomicBool>,
    /// Set when the host is gone.
    closing: CancellationToken,
    goodbye: Duration,
}

/// Requests that were asked.
#[derive(Default)]
struct Open {
    answerless: HashSet<RequestId>,
    cancelled: HashSet<RequestId>,
    in_order: VecDeque<RequestId>,
}

impl Open {
    /// Takes a request in, or says why not.
    fn take(&mut self, id: &RequestId) -> Result<(), Refusal> {
        if self.answerless.contains(id) || self.cancelled.contains(id) {
            return Err(Refusal::id_in_use(id.clone()));
        }
        if self.answerless.len() >= OPEN {
            return Err(Refusal::crowded(id.clone(), OPEN));
        }
        self.answerless.insert(id.clone());
        Ok(())
    }

    /// A cancelled request gets no answer. One that took its id would get the other's.
    fn cancel(&mut self, id: &RequestId) {
        if self.answerless.remove(id) && self.cancelled.insert(id.clone()) {
            self.in_order.push_back(id.clone());
        }
        if self.in_order.len() > CANCELLED
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.cancelled.remove(&oldest);
        }
    }
}

/// What reading gave.
enum Read {
    Line,
    TooLong,
    End,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// Serves a host's pipes; `closing` is set once it has closed them, and its last answers may
    /// take `goodbye` to leave.
    pub fn new(
        read: R,
        write: impl AsyncWrite + Send + Unpin + 'static,
        closing: CancellationToken,
        goodbye: Duration,
    ) -> Self {
        let (out, unread) = mpsc::channel(UNREAD);
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            dropping: false,
            owed: None,
            out: Some(out),
            writer: Some(tokio::spawn(write_down(write, unread))),
            open: Arc::default(),
            greeted: Arc::default(),
            closing,
            goodbye,
        }
    }

    /// To be set once the host is greeted. What is no request is left out until then.
    pub fn greeted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.greeted)
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads one line into `line`. What was read stays there when this is dropped half-way.
    async fn line(&mut self) -> io::Result<Read> {
        loop {
            let there = self.read.fill_buf().await?;
            if there.is_empty() {
                // A last line without an end is a line.
                let rest = !self.line.is_empty();
                return Ok(if rest { Read::Line } else { Read::End });
            }
            let end = there.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(there.len(), |at| at + 1);
            let bytes = &there[..end.unwrap_or(there.len())];
            let fits = self.line.len() + bytes.len() <= LONGEST;
            let dropped = self.dropping;
            if fits && !dropped {
                self.line.extend_from_slice(bytes);
            }
            self.read.consume(taken);
            self.dropping = (dropped || !fits) && end.is_none();
            match (dropped, fits, end) {
                (false, false, _) => {
                    self.line = Vec::new();
                    return Ok(Read::TooLong);
                }
                (false, true, Some(_)) => return Ok(Read::Line),
                _ => {}
            }
        }
    }

    /// What the line in `line` asks for.
    fn judged(&mut self) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let judged = wire::read(&self.line);
        self.line.clear();
        if self.line.capacity() > KEPT {
            self.line = Vec::new();
        }
        let message = match judged {
            Line::Message(message) => *message,
            Line::Nothing => return Ok(None),
            Line::Refused(refusal) => return Err(refusal),
        };
        match &message {
            JsonRpcMessage::Request(request) => self.open().take(&request.id)?,
            _ if !self.greeted.load(Ordering::Acquire) => return Ok(None),
            JsonRpcMessage::Notification(said) => {
                if let ClientNotification::CancelledNotification(cancelled) = &said.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open().cancel(id);
                }
            }
            _ => {}
        }
        Ok(Some(message))
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        let out = self.out.clone()?;
        loop {
            if self.owed.is_some() {
                // Only what has a place is taken: this may be dropped while it waits for one.
                let place = out.reserve().await.ok()?;
                place.send(self.owed.take()?);
            }
            let read = tokio::select! {
                // Nobody reads answers any more.
                () = out.closed() => return None,
                read = self.line() => read,
            };
            let refusal = match read {
                Ok(Read::Line) => match self.judged() {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => continue,
                    Err(refusal) => refusal,
                },
                Ok(Read::TooLong) => Refusal::too_long(LONGEST),
                Ok(Read::End) => return None,
                Err(error) => {
                    tracing::warn!(%error, "the host's pipe cannot be read");
                    return None;
                }
            };
            tracing::debug!(?refusal, "a line is no request");
            self.owed = Some(refusal.line());
        }
    }
}

/// Writes lines until nobody gives or nobody takes any more.
async fn write_down(mut write: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut line) = lines.recv().await {
        line.push(b'\n');
        let written = async {
            write.write_all(&line).await?;
            write.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the host takes no more answers");
            return;
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(answer) => answer.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            self.open().answerless.remove(id);
        }
        let line = serde_json::to_vec(&item);
        let out = self.out.clone();
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let out = out.ok_or_else(gone)?;
            out.send(line?).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.next().await;
        if message.is_none() {
            self.closing.cancel();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.out = None;
        if let Some(mut writer) = self.writer.take()
            && tokio::time::timeout(self.goodbye, &mut writer)
                .await
                .is_err()
        {
            // A host that does not read keeps nobody from ending.
            writer.abort();
        }
        Ok(())
    }
}
