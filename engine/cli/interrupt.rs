//! Ctrl-C and a request to end let a run stop tidily: private copies of providers' stores, which
//! may hold their credentials, are gone before the program is. A second one ends it at once.

use axiowl_sources::Cancel;
use std::sync::mpsc;
use std::{io, process, thread};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What shells report for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A token that the first signal sets. Signals are heeded from here on. Where none can be waited
/// for, the token is never set, and the system ends the program as it always does.
pub fn cancel() -> Cancel {
    let cancel = Cancel::default();
    let shared = cancel.clone();
    let (ready, is_ready) = mpsc::channel();
    let waiting = thread::Builder::new().name("signals".into());
    let started = waiting.spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let Ok(mut signals) = Signals::open() else {
                return;
            };
            // Whoever asked may be gone already; there is nobody to tell then.
            let _ = ready.send(());
            signals.next().await;
            shared.cancel();
            signals.next().await;
            process::exit(INTERRUPTED);
        });
    });
    match started {
        // An error says that the thread has given up: there is nothing to wait for.
        Ok(_) => drop(is_ready.recv()),
        Err(error) => tracing::debug!("signals are not waited for: {error}"),
    }
    cancel
}

/// The signals that ask a program to end.
#[cfg(unix)]
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Signals {
    fn open() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn open() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
