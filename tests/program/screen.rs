//! A terminal of so many columns: what a person at one sees of a command, colours and all.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};

/// Runs a command whose standard output is a terminal of that width; whether it went well and
/// what it wrote there. What it tells of its progress goes elsewhere.
pub fn run(command: &mut Command, columns: u16) -> (bool, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("a terminal");
    unlockpt(&ours).expect("a terminal");
    let size = Winsize {
        ws_col: columns,
        ws_row: 50,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&ours, size).expect("its size");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let name = name.to_str().expect("text");
    let mut options = OpenOptions::new();
    let theirs = options.read(true).write(true).open(name).expect("opened");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(theirs)
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    // The command holds our copy of its side; without it the end of the output shows.
    command.stdout(Stdio::null());
    let mut said = Vec::new();
    let mut bytes = [0; 4096];
    let mut ours = File::from(ours);
    // A terminal whose other side is closed by all is an error to read.
    while let Ok(count @ 1..) = ours.read(&mut bytes) {
        said.extend_from_slice(&bytes[..count]);
    }
    let status = child.wait().expect("its end");
    let said = String::from_utf8(said).expect("text");
    (status.success(), said.replace("\r\n", "\n"))
}
