//! What every client has to be able to do for the matrix.
//!
//! Knows no client and no situation.

use axiowl_test_support::{ClientHome, Terminal, poll};
use std::path::Path;
use std::time::{Duration, Instant};

/// One step of a client takes seconds; machines are slow and busy.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// One thing that was said in a session, as the client recorded it.
#[derive(Debug, Clone)]
pub struct Said {
    /// The client's own id of the session.
    pub session: String,
    /// By the user, and not by the model.
    pub by_user: bool,
    pub text: String,
}

/// A client that is driven.
pub trait Client: Sync {
    /// As people call it.
    fn name(&self) -> &'static str;

    /// What is special about it in the matrix, behind its version.
    fn variant(&self) -> &'static str {
        ""
    }

    /// Sets the home up before any session is made.
    fn prepare(&self, home: &ClientHome) {
        let _ = home;
    }

    /// Its npm package, which has its version.
    fn package(&self) -> &'static str;

    /// Which variables its login stands in.
    fn login(&self) -> &'static str;

    /// The id AxiOwl gives a session of it.
    fn target(&self, session: &str) -> String;

    /// An id that no session has.
    fn unknown(&self) -> String;

    /// Makes a named session by one turn, which nobody has open then.
    fn make(&self, home: &ClientHome, name: &str, prompt: &str, cwd: &Path) -> String;

    /// Opens a session in a terminal.
    fn open(&self, home: &ClientHome, session: &str, cwd: &Path) -> Terminal;

    /// Waits for what a window starts beside itself before it takes messages.
    fn wait_ready(&self, home: &ClientHome, session: &str) {
        let _ = (home, session);
    }

    /// Everything that was said in all sessions of the home.
    fn said(&self, home: &ClientHome) -> Vec<Said>;

    /// Whether the turn with that answer is over in a session.
    fn is_over(&self, home: &ClientHome, session: &str, answer: &str) -> bool;

    /// Gives a session another name, the way its user does; nobody has it open afterwards.
    fn rename(&self, home: &ClientHome, session: &str, cwd: &Path, name: &str);

    /// What the user types to begin afresh.
    fn clear(&self) -> &'static str;

    /// The keys by which its user breaks a turn off.
    fn break_keys(&self) -> &'static [&'static str] {
        &["Escape"]
    }

    /// Whether the session says that its user broke a turn off.
    fn broke_off(&self, home: &ClientHome, session: &str, window: &Terminal) -> bool;

    /// Opens a session in a mode in which it keeps messages of others back; why there is none.
    fn open_holding(
        &self,
        home: &ClientHome,
        session: &str,
        cwd: &Path,
    ) -> Result<Terminal, &'static str>;

    /// A file of the home that its login stands in, and what the file is without one; nothing
    /// where it stands in variables only.
    fn without_login(&self, home: &ClientHome) -> Option<(&'static str, String)>;

    /// Ends what the client left running.
    fn tidy(&self, home: &ClientHome) {
        let _ = home;
    }
}

/// What the session was made with, and so what its window shows.
pub const FIRST_PROMPT: &str = "Review the checkout design";

/// Opens a session in a terminal and waits until it shows the session.
pub fn untouched(client: &dyn Client, home: &ClientHome, session: &str, cwd: &Path) -> Terminal {
    let terminal = client.open(home, session, cwd);
    is_open(&terminal);
    client.wait_ready(home, session);
    terminal
}

/// Opens a session in a terminal and has a turn there.
pub fn opened(client: &dyn Client, home: &ClientHome, session: &str, cwd: &Path) -> Terminal {
    let terminal = untouched(client, home, session, cwd);
    has_turn(client, home, &terminal, session);
    terminal
}

/// Waits until a terminal shows the session.
pub fn is_open(terminal: &Terminal) {
    terminal
        .shows(&[FIRST_PROMPT], DEADLINE)
        .expect("the session on the screen");
}

/// Has a turn in a terminal and waits for its end.
pub fn has_turn(client: &dyn Client, home: &ClientHome, terminal: &Terminal, session: &str) {
    let answer = "ready-in-the-window";
    let prompt = format!("@@text {answer}");
    says(terminal, &prompt, || {
        client.is_over(home, session, answer).then_some(())
    });
}

/// Types a prompt and waits for what it is to bring about. Some terminal programs take no Enter
/// while they start or begin anew, so it is pressed again from time to time; an empty line is
/// nothing to any of them.
pub fn says<T>(terminal: &Terminal, prompt: &str, done: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    // What is typed while a program starts may be lost with its first screen.
    while let Err(error) = terminal.type_line(prompt) {
        assert!(Instant::now() < end, "{error}");
    }
    loop {
        if let Some(done) = poll(Duration::from_secs(15), &done) {
            return done;
        }
        assert!(
            Instant::now() < end,
            "nothing came of {prompt}; the terminal shows\n{}",
            terminal.screen()
        );
        terminal.press_enter().expect("a terminal");
    }
}

/// Breaks off the turn that runs in a terminal, as its user does. Some clients want the key to be
/// pressed again, and not at once: two Escapes that come together are another key.
pub fn breaks_off(client: &dyn Client, home: &ClientHome, terminal: &Terminal, session: &str) {
    let is_over = || client.broke_off(home, session, terminal).then_some(());
    let broken = poll(DEADLINE, || {
        let pressed = client.break_keys().iter().find_map(|key| {
            terminal.press(key).expect("a terminal");
            poll(Duration::from_millis(200), is_over)
        });
        pressed.or_else(|| poll(Duration::from_secs(3), is_over))
    });
    broken.unwrap_or_else(|| panic!("it goes on:\n{}", terminal.screen()));
}

/// Whether a session holds an answer of the model.
pub fn holds_answer(said: &[Said], session: &str, answer: &str) -> bool {
    said.iter()
        .any(|said| !said.by_user && said.session == session && said.text.contains(answer))
}
