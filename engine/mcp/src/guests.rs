//! Who keeps a connection to the HTTP door: whoever has shown the token has a place of its own,
//! and those who have not are few and leave for newer ones, so that they keep nobody out.
//!
//! Knows neither HTTP nor the token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Connections that have not shown the token. The oldest leaves for one more: a host shows it
/// with its first words.
const STRANGERS: usize = 64;
/// Connections that have.
const MEMBERS: usize = 256;

/// All connections of a door.
pub(crate) struct Guests {
    strangers: Mutex<Strangers>,
    members: Arc<Semaphore>,
}

#[derive(Default)]
struct Strangers {
    next: u64,
    oldest_first: VecDeque<(u64, CancellationToken)>,
}

/// One connection; its place is free when it is dropped.
pub(crate) struct Guest {
    guests: Arc<Guests>,
    number: u64,
    leave: CancellationToken,
    place: OnceLock<OwnedSemaphorePermit>,
}

impl Guests {
    /// A door without guests.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            strangers: Mutex::default(),
            members: Arc::new(Semaphore::new(MEMBERS)),
        })
    }

    /// Lets a stranger in, and sends the oldest one away where there are too many.
    pub fn admit(self: &Arc<Self>) -> Guest {
        let leave = CancellationToken::new();
        let mut strangers = self.strangers();
        let number = strangers.next;
        strangers.next += 1;
        let one = (number, leave.clone());
        strangers.oldest_first.push_back(one);
        if strangers.oldest_first.len() > STRANGERS
            && let Some((_, oldest)) = strangers.oldest_first.pop_front()
        {
            oldest.cancel();
        }
        drop(strangers);
        Guest {
            guests: Arc::clone(self),
            number,
            leave,
            place: OnceLock::new(),
        }
    }

    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, number: u64) {
        let strangers = &mut self.strangers().oldest_first;
        strangers.retain(|(other, _)| *other != number);
    }
}

impl Guest {
    /// Takes the place of one that has shown the token; says whether there was one.
    pub fn shows_the_token(&self) -> bool {
        if self.place.get().is_some() {
            return true;
        }
        let Ok(place) = Arc::clone(&self.guests.members).try_acquire_owned() else {
            return false;
        };
        self.guests.forget(self.number);
        // Requests of one connection come one after the other.
        self.place.set(place).is_ok()
    }

    /// Waits until it has to leave for a newer one.
    pub async fn sent_away(&self) {
        self.leave.cancelled().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.forget(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_leave_for_newer_ones_and_members_stay() {
        let guests = Guests::new();
        let member = guests.admit();
        assert!(member.shows_the_token() && member.shows_the_token());
        let strangers: Vec<Guest> = (0..STRANGERS).map(|_| guests.admit()).collect();
        assert!(strangers.iter().all(|one| !one.leave.is_cancelled()));
        let newer = guests.admit();
        assert!(strangers[0].leave.is_cancelled());
        assert!(!strangers[1].leave.is_cancelled() && !newer.leave.is_cancelled());
        assert!(!member.leave.is_cancelled());
        drop(strangers);
        assert_eq!(guests.strangers().oldest_first.len(), 1);
    }

    #[test]
    fn a_door_full_of_members_has_no_place_until_one_leaves() {
        let guests = Guests::new();
        let mut members: Vec<Guest> = (0..MEMBERS).map(|_| guests.admit()).collect();
        assert!(members.iter().all(Guest::shows_the_token));
        let late = guests.admit();
        assert!(!late.shows_the_token());
        members.pop();
        assert!(late.shows_the_token());
    }
}
