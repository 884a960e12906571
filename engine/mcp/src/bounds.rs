//! How many calls do what at once, and who still wants their answers.
//!
//! Finding out who calls may wait for a provider, and a call may wait for a message's stage. Both
//! have threads of their own, so that neither keeps other calls from being answered, and both end
//! at once when the call is cancelled, and soon when the host is gone. Knows no tool and no rule.

use crate::Cancel;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

/// Calls whose caller is being found out; further ones wait.
const PROVING: usize = 32;
/// Calls that read files and databases; further ones wait.
const WORKING: usize = 16;
/// Calls that wait for a message's stage; further ones do not wait.
const WAITING: usize = 64;
/// The pipes, where the system reads them by threads.
const PIPES: usize = 2;
/// Threads that all of it may take.
pub(crate) const THREADS: usize = PROVING + WORKING + WAITING + PIPES;

/// The bounds of one server.
#[derive(Clone)]
pub(crate) struct Bounds {
    closing: CancellationToken,
    proving: Arc<Semaphore>,
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// Its host has given it up.
    #[error("the call was given up")]
    GivenUp,
    /// As many calls wait as may.
    #[error("{WAITING} calls wait already")]
    Crowded,
    /// A mistake of ours.
    #[error(transparent)]
    Panic(#[from] JoinError),
}

impl Bounds {
    /// Of a server that ends when `closing` is set.
    pub fn new(closing: CancellationToken) -> Self {
        Self {
            closing,
            proving: Arc::new(Semaphore::new(PROVING)),
            working: Arc::new(Semaphore::new(WORKING)),
            waiting: Arc::new(Semaphore::new(WAITING)),
        }
    }

    /// Finds out who calls.
    pub async fn prove<T: Send + 'static>(
        &self,
        call: &CancellationToken,
        job: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let permit = tokio::select! {
            biased;
            permit = self.permit(&self.proving, call) => permit?,
            // Whoever has no place yet has nothing to end well.
            () = self.closing.cancelled() => return Err(Unanswered::GivenUp),
        };
        self.attended(call, permit, job).await
    }

    /// Does what takes no longer than reading takes.
    pub async fn work<T: Send + 'static>(
        &self,
        call: &CancellationToken,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let permit = self.permit(&self.working, call).await?;
        let done = spawn_blocking(move || {
            let _permit = permit;
            job()
        });
        Ok(done.await?)
    }

    /// Waits for something, where there is room for one more that waits.
    pub async fn wait<T: Send + 'static>(
        &self,
        call: &CancellationToken,
        job: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let permit = Arc::clone(&self.waiting).try_acquire_owned();
        let permit = permit.map_err(|_| Unanswered::Crowded)?;
        self.attended(call, permit, job).await
    }

    /// Waits until nothing is being done, no longer than `most`.
    pub async fn quiet(&self, most: Duration) {
        let all = async {
            for (bound, size) in [
                (&self.proving, PROVING),
                (&self.working, WORKING),
                (&self.waiting, WAITING),
            ] {
                let size = u32::try_from(size).unwrap_or(u32::MAX);
                // Never closed.
                let _all = bound.acquire_many(size).await;
            }
        };
        if tokio::time::timeout(most, all).await.is_err() {
            tracing::warn!("calls that are still under way are left");
        }
    }

    /// A place, as long as somebody wants one.
    async fn permit(
        &self,
        bound: &Arc<Semaphore>,
        call: &CancellationToken,
    ) -> Result<OwnedSemaphorePermit, Unanswered> {
        tokio::select! {
            biased;
            () = call.cancelled() => Err(Unanswered::GivenUp),
            permit = Arc::clone(bound).acquire_owned() => permit.map_err(|_| Unanswered::GivenUp),
        }
    }

    /// Runs a job that may wait. One that nobody wants any more is told to end; a host that is
    /// gone may still read what the job says then, and one that cancelled wants nothing.
    async fn attended<T: Send + 'static>(
        &self,
        call: &CancellationToken,
        permit: OwnedSemaphorePermit,
        job: impl FnOnce(Cancel) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let cancel = Cancel::default();
        let told = cancel.clone();
        let mut job: JoinHandle<T> = spawn_blocking(move || {
            let _permit = permit;
            job(told)
        });
        tokio::select! {
            done = &mut job => return Ok(done?),
            () = call.cancelled() => {
                cancel.cancel();
                return Err(Unanswered::GivenUp);
            }
            () = self.closing.cancelled() => cancel.cancel(),
        }
        Ok(job.await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{RwLock, mpsc};

    /// A job that waits until it is told to end, and says when it begins.
    fn waiter(begun: mpsc::Sender<()>) -> impl FnOnce(Cancel) -> bool + Send + 'static {
        move |cancel| {
            begun.send(()).expect("somebody waits");
            while !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            true
        }
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .max_blocking_threads(THREADS)
            .build()
            .expect("a runtime")
    }

    #[test]
    fn a_cancelled_job_is_told_and_not_waited_for() {
        let runtime = runtime();
        let bounds = Bounds::new(CancellationToken::new());
        let call = CancellationToken::new();
        let (begun, begins) = mpsc::channel();
        let proving = {
            let (bounds, call) = (bounds.clone(), call.clone());
            runtime.spawn(async move { bounds.prove(&call, waiter(begun)).await })
        };
        begins.recv().expect("it begins");
        call.cancel();
        let ended = runtime.block_on(proving).expect("no panic");
        assert!(matches!(ended, Err(Unanswered::GivenUp)), "{ended:?}");
        runtime.block_on(bounds.quiet(Duration::from_secs(60)));
        assert_eq!(bounds.proving.available_permits(), PROVING);
    }

    #[test]
    fn the_end_of_the_server_ends_waits_and_lets_them_answer() {
        let runtime = runtime();
        let closing = CancellationToken::new();
        let bounds = Bounds::new(closing.clone());
        let (begun, begins) = mpsc::channel();
        let waiting = {
            let bounds = bounds.clone();
            let call = CancellationToken::new();
            runtime.spawn(async move { bounds.wait(&call, waiter(begun)).await })
        };
        begins.recv().expect("it begins");
        closing.cancel();
        assert!(runtime.block_on(waiting).expect("no panic").expect("told"));
    }

    #[test]
    fn as_many_waits_as_there_may_be_keep_nobody_from_working() {
        let gate = Arc::new(RwLock::new(()));
        let shut = gate.write().expect("the gate");
        let runtime = runtime();
        let bounds = Bounds::new(CancellationToken::new());
        let (begun, begins) = mpsc::channel();
        let stuck = || {
            let (gate, begun) = (Arc::clone(&gate), begun.clone());
            move |_: Cancel| {
                begun.send(()).expect("somebody waits");
                drop(gate.read());
            }
        };
        for _ in 0..PROVING {
            let (bounds, job) = (bounds.clone(), stuck());
            runtime.spawn(async move { bounds.prove(&CancellationToken::new(), job).await });
        }
        for _ in 0..WAITING {
            let (bounds, job) = (bounds.clone(), stuck());
            runtime.spawn(async move { bounds.wait(&CancellationToken::new(), job).await });
        }
        for _ in 0..PROVING + WAITING {
            begins.recv().expect("it begins");
        }
        let call = CancellationToken::new();
        let worked = runtime.block_on(bounds.work(&call, || 7));
        assert_eq!(worked.expect("room"), 7);
        let one_more = runtime.block_on(bounds.wait(&call, |_| ()));
        assert!(matches!(one_more, Err(Unanswered::Crowded)), "{one_more:?}");
        // One more caller has to wait for its turn, and leaves when it is given up.
        call.cancel();
        let given_up = runtime.block_on(bounds.prove(&call, |_| ()));
        assert!(matches!(given_up, Err(Unanswered::GivenUp)), "{given_up:?}");
        // And so it does when the host is gone.
        bounds.closing.cancel();
        let given_up = runtime.block_on(bounds.prove(&CancellationToken::new(), |_| ()));
        assert!(matches!(given_up, Err(Unanswered::GivenUp)), "{given_up:?}");
        drop(shut);
        runtime.block_on(bounds.quiet(Duration::from_secs(60)));
        assert_eq!(bounds.waiting.available_permits(), WAITING);
    }
}
