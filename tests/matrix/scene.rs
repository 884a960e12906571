//! The home of one client that the cells of a run share, with AxiOwl and the mock model.
//!
//! Knows no situation.

use crate::client::{Client, DEADLINE, Said};
use axiowl_test_support::{ClientHome, Clients, MockModel, Running};
use std::cell::Cell;

/// A client's home, which the cells of one run share: the sessions of every cell are bystanders
/// of those that come after it.
pub struct Scene<'a> {
    pub client: &'a dyn Client,
    pub home: ClientHome,
    pub model: MockModel,
    cells: Cell<usize>,
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        self.client.tidy(&self.home);
    }
}

impl<'a> Scene<'a> {
    /// A home in which one session stands.
    pub fn new(client: &'a dyn Client, clients: &Clients) -> Self {
        let model = MockModel::start();
        let home = ClientHome::new(clients, &model).expect("a home");
        client.prepare(&home);
        let cells = Cell::new(0);
        let scene = Self {
            client,
            home,
            model,
            cells,
        };
        let cwd = scene.home.project("bystander").expect("a folder");
        client.make(&scene.home, "Stock Feed", "Watch the stock feed", &cwd);
        scene.configure(client.login());
        scene
    }

    /// AxiOwl's configuration, in which the client's login stands.
    pub fn configure(&self, login: &str) {
        let text = format!("limits: {{ delivery: 6m }}\nproviders:\n  {login}\n");
        self.home
            .write(".config/axiowl/config.yaml", &text)
            .expect("written");
    }

    /// Starts AxiOwl as the home's owner.
    pub fn axiowl(&self, arguments: &[&str]) -> Running {
        // Another build of it, for runs that take long.
        let program = std::env::var_os("AXIOWL_PROGRAM");
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_axiowl").into());
        let mut command = self.home.command(program, self.home.path());
        command
            .env("NO_COLOR", "1")
            // A client that tries again and again only takes longer to fail.
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .args(arguments);
        let mut running = Running::start(&mut command).expect("axiowl");
        running.feed("");
        running
    }

    /// Brings AxiOwl's table of sessions up to date.
    pub fn discover(&self) {
        let run = self.axiowl(&["discover", "all", "--json"]);
        let run = run.finish(DEADLINE).expect("it ends");
        assert!(run.status.success(), "{}", run.output());
    }

    /// Everything that was said in all sessions.
    pub fn said(&self) -> Vec<Said> {
        self.client.said(&self.home)
    }

    /// The number of the next cell, which stands in everything that it makes.
    pub fn next_number(&self) -> usize {
        let number = self.cells.get() + 1;
        self.cells.set(number);
        number
    }
}
