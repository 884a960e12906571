//! Where the time of a run goes, stage by stage.
//!
//! Stages follow each other, and each may use several threads: what the whole process used
//! between a stage's start and its end is the stage's. It must not know what a stage does.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Measures the stages of a run.
#[derive(Debug, Default)]
pub struct Timings {
    stages: Mutex<Vec<Stage>>,
}

/// What one stage took, in all of its turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it does: `read threads`, `judge`.
    pub name: String,
    /// Processor time of all threads; the time on the clock where the platform does not count it.
    pub cpu: Duration,
    /// Time on the clock.
    pub wall: Duration,
    /// How many things it did: files, rows.
    pub count: usize,
}

impl Timings {
    /// Measures `work`, which also says how many things it did.
    pub fn stage<T>(&self, name: &str, work: impl FnOnce() -> (T, usize)) -> T {
        let (cpu, wall) = (processor(), Instant::now());
        let (answer, count) = work();
        let wall = wall.elapsed();
        let cpu = match (cpu, processor()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => wall,
        };
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        match stages.iter_mut().find(|stage| stage.name == name) {
            Some(stage) => {
                stage.cpu += cpu;
                stage.wall += wall;
                stage.count += count;
            }
            None => stages.push(Stage {
                name: name.to_owned(),
                cpu,
                wall,
                count,
            }),
        }
        answer
    }

    /// The stages, in the order in which they began.
    pub fn stages(&self) -> Vec<Stage> {
        let stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.clone()
    }
}

/// Measures `work` where anybody wants to know.
pub fn timed<T>(
    timings: Option<&Timings>,
    name: impl FnOnce() -> String,
    work: impl FnOnce() -> T,
    count: impl FnOnce(&T) -> usize,
) -> T {
    let Some(timings) = timings else {
        return work();
    };
    timings.stage(&name(), || {
        let answer = work();
        let count = count(&answer);
        (answer, count)
    })
}

/// What the calling thread has worked so far; `None` where the platform does not count it.
pub fn of_thread() -> Option<Duration> {
    #[cfg(unix)]
    return of(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(unix))]
    return None;
}

#[cfg(unix)]
fn processor() -> Option<Duration> {
    of(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(unix)]
fn of(clock: rustix::time::ClockId) -> Option<Duration> {
    let now = rustix::time::clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).ok()?;
    let nanos = u32::try_from(now.tv_nsec).ok()?;
    Some(Duration::new(seconds, nanos))
}

#[cfg(not(unix))]
fn processor() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_a_stage_are_added_up_and_stages_keep_their_order() {
        let timings = Timings::default();
        let spin = || {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(2) {}
        };
        for (name, count) in [("read", 2), ("judge", 1), ("read", 3)] {
            timed(Some(&timings), || name.into(), spin, |()| count);
        }
        let stages = timings.stages();
        let shown: Vec<(&str, usize)> = stages.iter().map(|s| (&*s.name, s.count)).collect();
        assert_eq!(shown, [("read", 5), ("judge", 1)]);
        assert!(stages[0].wall >= Duration::from_millis(4));
        assert!(stages.iter().all(|stage| stage.cpu > Duration::ZERO));
        assert_eq!(timed(None, || unreachable!("nobody asks"), || 7, |_| 0), 7);
    }
}
