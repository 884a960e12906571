//! The fuzz entry functions on arbitrary bytes, by fixed seeds: the same on every machine.
//! `README.md` says how to run them for longer.

mod entry;

/// A small generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }
}

/// What means something to YAML, conditions, templates or scripts.
const PIECES: [&[u8]; 40] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b": ",
    b"- ",
    b"\n",
    b"\n  ",
    b"#",
    b"&a ",
    b"*a",
    b"'",
    b"\"",
    b"\\",
    b"{{",
    b"${",
    b"{id}",
    b"..",
    b"/",
    b"~",
    b"\xff\xfe",
    b"\x00",
    "é🛒".as_bytes(),
    b"true",
    b"99999999999999999999",
    b"-1",
    b"{ id: ",
    b"not: ",
    b"any: [",
    b"{ present: true }",
    b"matches: '(a*)*b'",
    b"exists: true",
    b"loop { }",
    b"x += x;",
    b"#{ veto: ",
    b"#{ grants: [\"send\"] }",
    b"throw 1",
    b"while true { ",
    b"eval(\"1\")",
    b"fn f() { f() } f()",
];

fn bytes(dice: &mut Dice, seeds: &[String]) -> Vec<u8> {
    let mut out = match dice.roll(4) {
        0 => (0..dice.roll(80)).map(|_| dice.roll(256) as u8).collect(),
        1 => (0..dice.roll(12))
            .flat_map(|_| PIECES[dice.roll(PIECES.len())].to_vec())
            .collect(),
        _ => seeds[dice.roll(seeds.len())].clone().into_bytes(),
    };
    for _ in 0..dice.roll(4) {
        let at = dice.roll(out.len() + 1);
        let len = dice.roll(24).min(out.len() - at);
        match dice.roll(4) {
            0 => drop(out.drain(at..at + len)),
            1 => drop(out.splice(at..at, PIECES[dice.roll(PIECES.len())].iter().copied())),
            2 => {
                let copy = out[at..at + len].to_vec();
                out.splice(at..at, copy);
            }
            _ => out[at..at + len]
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_add(1)),
        }
    }
    out
}

/// Runs an entry function; `AXIOWL_FUZZ_ROUNDS` and `AXIOWL_FUZZ_SEED` make it longer or other.
fn rounds(seed: u64, count: usize, entry: fn(&[u8]) -> bool) {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let count = number("AXIOWL_FUZZ_ROUNDS").map_or(count, |n| n as usize);
    let seeds = entry::seeds();
    let mut dice = Dice(number("AXIOWL_FUZZ_SEED").unwrap_or(seed).max(1));
    let mut accepted = 0;
    for round in 0..count {
        let bytes = bytes(&mut dice, &seeds);
        let caught = std::panic::catch_unwind(|| entry(&bytes));
        accepted += usize::from(matches!(caught, Ok(true)));
        assert!(
            caught.is_ok(),
            "round {round}: {:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    // The generator is neither harmless nor always refused.
    assert!(
        (count / 100..count).contains(&accepted),
        "{accepted} of {count}"
    );
}

#[test]
fn the_loader_answers_to_any_bytes() {
    rounds(0x5eed_0011, 400, entry::loader);
}

#[test]
fn conditions_bar_and_never_let_in() {
    rounds(0x5eed_0012, 300, entry::conditions);
}

#[test]
fn templates_fill_and_change_no_name() {
    rounds(0x5eed_0013, 300, entry::templates);
}

#[test]
fn whatever_a_policy_returns_takes_away_or_does_nothing() {
    rounds(0x5eed_0014, 300, entry::policies);
}
