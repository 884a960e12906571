//! The mock model: real clients talk to it over loopback, a test decides what it says.
//!
//! One server speaks Anthropic Messages, OpenAI Responses and chat completions, and Gemini. What it answers is written in the
//! prompt itself (see [`Script`]), so a message that AxiOwl delivered drives the
//! target's model too. Knows nothing of any client, home or process.

mod anthropic;
mod chat;
mod events;
mod gemini;
mod journal;
mod responses;
mod script;
mod server;
mod turn;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use journal::{NoRequest, Request, Wire};
pub use script::{Script, ToolLine};

/// A running mock model on an ephemeral loopback port; stops when dropped.
#[derive(Debug)]
pub struct MockModel {
    address: SocketAddr,
    journal: Arc<journal::Journal>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockModel {
    /// Starts the server on a thread of its own; it accepts connections when this returns.
    ///
    /// # Panics
    /// Where no loopback port or runtime can be had: no test can go on then.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let address = listener.local_addr().expect("the address of a bound port");
        listener
            .set_nonblocking(true)
            .expect("a non-blocking listener");
        let journal = Arc::new(journal::Journal::default());
        let router = server::router(Arc::clone(&journal));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime for the mock model");
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("the listener");
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("the mock model serves"),
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            journal,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Base URL for `ANTHROPIC_BASE_URL`.
    pub fn anthropic_base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Base URL for an OpenAI provider, with `/v1`.
    pub fn openai_base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Base URL for `GOOGLE_GEMINI_BASE_URL`.
    pub fn gemini_base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The loopback address the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.journal.requests()
    }

    /// The requests of real turns (no side calls) whose prompt holds the text.
    pub fn asked(&self, text: &str) -> Vec<Request> {
        self.requests()
            .into_iter()
            .filter(|request| request.asks(text))
            .collect()
    }

    /// The first request, past or coming, that fits the predicate.
    ///
    /// # Errors
    /// [`NoRequest`] with what did arrive, once `deadline` is over.
    pub fn wait_for(
        &self,
        predicate: impl Fn(&Request) -> bool,
        deadline: Duration,
    ) -> Result<Request, NoRequest> {
        self.journal.wait_for(predicate, deadline)
    }

    /// Lets every answer held as `@@hold NAME` go, those still to come too.
    pub fn release(&self, name: &str) {
        self.journal.release(name);
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The receiver is gone only where the server already ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
