//! The threads that stores are read and rows are judged with.

/// Lets the calling thread work with the others instead of waiting for them: one thread less is
/// needed, and all the memory it would take. It counts only before the first work of the process
/// and in a thread that lives as long as it.
pub fn work_on_this_one() {
    let threads = rayon::ThreadPoolBuilder::new().use_current_thread();
    if let Err(error) = threads.build_global() {
        tracing::debug!(%error, "this thread does not work with the others");
    }
}
