//! A client of a test's own: a program of some name that runs hooks as it is told and has started
//! the server.

use crate::host::{Host, below_after};
use crate::recorded::Recorded;
use axiowl_test_support::poll;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A running client.
pub struct Client {
    pub host: Host,
    orders: File,
    folder: PathBuf,
    count: u32,
}

impl Client {
    /// Starts it: by the name of its program, and as it greets.
    pub fn start(world: &Recorded, program: &str, greets: &str, hook: &str) -> Self {
        let folder = world.axiowl.path("client");
        std::fs::create_dir_all(&folder).expect("folder");
        let orders = folder.join(format!("orders-{}", axiowl_model::RunId::new()));
        let made = Command::new("mkfifo").arg(&orders).status();
        assert!(made.expect("mkfifo runs").success());
        let hook = world.command(&["hook", hook]);
        let words = std::iter::once(hook.get_program()).chain(hook.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        // The one process runs the hooks and the server, as clients do.
        let hooks = format!(
            "(while read -r in out; do {} <\"$in\" >\"$out.new\"; /bin/mv \"$out.new\" \"$out\"; done) <'{}' &",
            words.join(" "),
            orders.display()
        );
        let server = below_after(&world.axiowl, world.command(&["mcp"]), program, &hooks);
        // Open for both, so that opening does not wait for the other end.
        let orders = OpenOptions::new().read(true).write(true).open(orders);
        Self {
            orders: orders.expect("orders"),
            host: Host::greeting(server, greets),
            folder,
            count: 0,
        }
    }

    /// Lets it run its hook; what it reads.
    pub fn hook(&mut self, payload: &[u8]) -> String {
        self.count += 1;
        let name = format!("{}-{}", axiowl_model::RunId::new(), self.count);
        let file = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let (payload_file, answer) = (file("in"), file("out"));
        std::fs::write(&payload_file, payload).expect("payload");
        writeln!(
            self.orders,
            "{} {}",
            payload_file.display(),
            answer.display()
        )
        .expect("order");
        let came = poll(Duration::from_secs(60), || {
            std::fs::read_to_string(&answer).ok()
        });
        came.expect("the hook ends").trim_end().to_owned()
    }
}
