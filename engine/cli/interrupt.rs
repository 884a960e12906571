//! Ctrl-C and a request to end let a run stop tidily: private copies of providers' stores, which
//! may hold their credentials, are gone before the program is. A second one ends it at once.

use axiowl_sources::Cancel;
use std::process;

/// What shells report for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// A token that the first signal sets. Where no signal can be waited for it is never set, and
/// the system ends the program as it always does.
pub fn cancel() -> Cancel {
    let cancel = Cancel::default();
    let shared = cancel.clone();
    let waiting = std::thread::Builder::new().name("signals".into());
    let started = waiting.spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            if wait().await {
                shared.cancel();
            }
            if wait().await {
                process::exit(INTERRUPTED);
            }
        });
    });
    if let Err(error) = started {
        tracing::debug!("signals are not waited for: {error}");
    }
    cancel
}

/// Waits for a signal; false where none can come.
#[cfg(unix)]
async fn wait() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut end) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.is_ok();
    };
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
        ended = end.recv() => ended.is_some(),
    }
}

#[cfg(not(unix))]
async fn wait() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}
